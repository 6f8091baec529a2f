import { RuntimeError } from '@ku0/agent-runtime-core'
import { columns, listed, type TableName } from '../../sqlite/columns.ts'
import { endsLeases, freshStoreId, isMarkedCopy, withThisOver } from '../../sqlite/incarnations.ts'
import type { Db } from '../../sqlite/open.ts'
import { systemEnvironment } from '../../system.ts'
import { Connections } from '../connection/connections.ts'
import type { CopyOptions } from './copy.ts'
import { loadDriver } from '../connection/driver.ts'
import { storeErrorOf } from '../connection/errors.ts'
import { lockHeadText } from '../processes/head.ts'
import { assertTables } from '../tables/migrate.ts'
import type { Session } from '../connection/session.ts'
import { parsePostgresUrl } from '../connection/url.ts'
import { inserted, type Row } from '../tables/write.ts'
import { statement } from '../connection/statement.ts'

/** So many rows are read and sent at once. */
const sliceRows = 1_000

/** The facts that only a file has: the clock of its machine, what its schema says of itself, and that it is a backup. */
const onlyInFiles = new Set(['boot_id', 'boot_offset', 'opened', 'oldest_schema', 'copied'])

/**
 * Fills the tables of an empty store on PostgreSQL with the rows of a file, in one transaction; those of a backup are a new incarnation. Rejects with `already_exists` if the store is not
 * empty, or in use.
 */
export async function fillFromFile(file: Db, url: string, options: CopyOptions): Promise<void> {
  const place = parsePostgresUrl(url)
  const connections = new Connections(await loadDriver(), place, systemEnvironment().timers)
  let session: Session | undefined
  try {
    session = await connections.open('copy')
    await session.run(`BEGIN; ${connections.prelude}`)
    await assertTables(session, place)
    const [, version] = (await session.query(lockHeadText)).rows[0] ?? []
    const [isUsed] =
      (await session.query('SELECT EXISTS (SELECT 1 FROM process WHERE ended_at IS NULL)')).rows[0] ?? []
    if (isUsed !== 0)
      throw new RuntimeError('already_exists', `${place.location} is in use; stop the processes on it first`)
    // Every write raises the version, whatever it wrote: a schedule or a pause without any task is somebody's, too.
    if (version !== 0)
      throw new RuntimeError(
        'already_exists',
        `${place.location} is not empty; name another schema for the import, such as ?schema=imported`,
      )
    // Tasks refer to their streams.
    const tables = (Object.keys(columns) as TableName[]).toSorted((a, b) => order(a) - order(b))
    for (const table of tables.toReversed()) await session.run(`DELETE FROM ${table}`)
    let rows = 0
    for (const table of tables) rows = await fill(session, file, table, rows, options)
    if (isMarkedCopy(file)) await beginAnew(session, file)
    // Until the server looks by itself, a minute later, it would plan every query as for empty tables.
    for (const table of tables) await session.run(`ANALYZE ${table}`)
    const { number, hash } = lastCommit(file)
    await session.query(
      'UPDATE head SET version = version + 1, number = $1::bigint, hash = $2::bytea, writer = 0, untold = version + 1',
      [number, hash],
    )
    await session.run('COMMIT')
  } catch (error) {
    if (options.signal?.aborted === true || error instanceof RuntimeError) throw error
    throw storeErrorOf(error, place.location)
  } finally {
    await session?.end()
  }
}

/** As `beginIncarnation` does in a file. */
async function beginAnew(session: Session, file: Db): Promise<void> {
  const { clock, ids } = systemEnvironment()
  await session.batch([
    statement("DELETE FROM meta WHERE key IN ('incarnations', 'store_id')"),
    statement("INSERT INTO meta VALUES ('incarnations', $1::text), ('store_id', $2::text)", [
      withThisOver(file, clock.now()),
      freshStoreId(ids),
    ]),
    statement(endsLeases),
  ])
}

function order(table: TableName): number {
  return table === 'stream' ? 0 : 1
}

async function fill(
  session: Session,
  file: Db,
  table: TableName,
  before: number,
  { signal, onProgress }: CopyOptions,
): Promise<number> {
  let done = before
  let slice: Row[] = []
  const send = async () => {
    signal?.throwIfAborted()
    await session.batch(inserted(table, slice))
    done += slice.length
    slice = []
    onProgress?.(done)
  }
  for (const row of file
    .prepare<[], Row>(`SELECT ${listed(table)} FROM ${table}`)
    .raw()
    .iterate()) {
    if (table === 'meta' && onlyInFiles.has(row[0] as string)) continue
    slice.push(row)
    if (slice.length === sliceRows) await send()
  }
  if (slice.length > 0) await send()
  return done
}

/** The end of the journal, or of the part that retention has deleted. */
function lastCommit(file: Db): { readonly number: number; readonly hash: Buffer } {
  const last = file
    .prepare<[], { number: number; hash: Buffer }>(
      'SELECT number, hash FROM journal ORDER BY number DESC LIMIT 1',
    )
    .get()
  if (last !== undefined) return last
  const base = file.prepare<[], string>("SELECT value FROM meta WHERE key = 'journal_base'").pluck().get()
  const [number = '0', hash = '00'.repeat(32)] = (base ?? '').split(':')
  return { number: Number(number), hash: Buffer.from(hash, 'hex') }
}
