import Database from 'better-sqlite3'
import { columns, listed, type TableName } from '../../sqlite/columns.ts'
import { markSchema } from '../../sqlite/open.ts'
import { insertInto } from '../../sqlite/put.ts'
import { migrations } from '../../sqlite/schema.ts'
import { systemEnvironment } from '../../system.ts'
import { Connections } from '../connection/connections.ts'
import { loadDriver } from '../connection/driver.ts'
import { storeErrorOf } from '../connection/errors.ts'
import { assertTables } from '../tables/migrate.ts'
import type { Session } from '../connection/session.ts'
import { parsePostgresUrl } from '../connection/url.ts'

/** What is read and written at once. */
const sliceRows = 2_000

export interface CopyOptions {
  readonly signal?: AbortSignal | undefined
  /** After each slice: how many rows are copied. */
  readonly onProgress?: ((rows: number) => void) | undefined
}

/**
 * Copies a store on PostgreSQL into an empty SQLite file, all tables as they were at one moment; the store is used meanwhile. Nothing is
 * written to it.
 */
export async function copyToFile(url: string, path: string, options: CopyOptions = {}): Promise<void> {
  const place = parsePostgresUrl(url)
  const connections = new Connections(await loadDriver(), place, systemEnvironment().timers)
  let session: Session | undefined
  let file: Database.Database | undefined
  try {
    session = await connections.open('copy')
    await session.run(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${connections.prelude}`)
    await assertTables(session, place)
    file = new Database(path)
    file.pragma('journal_mode = MEMORY')
    file.exec('BEGIN')
    for (const { sql } of migrations) file.exec(sql)
    file.exec('DELETE FROM totals; DELETE FROM meta')
    let rows = 0
    for (const table of Object.keys(columns) as TableName[])
      rows = await copyTable(session, file, table, rows, options)
    // What a file has besides: the clock of the machine that opens it, which none has yet.
    file.exec("INSERT INTO meta VALUES ('boot_id', 'copied'), ('boot_offset', '0'), ('opened', '1')")
    markSchema(file)
    file.exec('COMMIT')
  } catch (error) {
    if (options.signal?.aborted === true) throw error
    throw storeErrorOf(error, place.location)
  } finally {
    file?.close()
    await session?.end()
  }
}

async function copyTable(
  session: Session,
  file: Database.Database,
  table: TableName,
  before: number,
  { signal, onProgress }: CopyOptions,
): Promise<number> {
  const insert = file.prepare(insertInto(table))
  await session.run(`DECLARE copied NO SCROLL CURSOR FOR SELECT ${listed(table)} FROM ${table}`)
  let copied = before
  for (;;) {
    signal?.throwIfAborted()
    const { rows } = await session.query(`FETCH ${sliceRows} FROM copied`)
    for (const row of rows) insert.run(...row)
    copied += rows.length
    if (rows.length > 0) onProgress?.(copied)
    if (rows.length < sliceRows) break
  }
  await session.run('CLOSE copied')
  return copied
}
