import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { RuntimeError, StoreError } from '@ku0/agent-runtime-core'
import Database from 'better-sqlite3'
import { assertNodeSupported } from '../node-version.ts'
import { dataLossError, findDataLoss } from '../care/data-loss.ts'
import { isCutWithinAPage, storeErrorOf } from './errors.ts'
import { assertLargeEnough, assertNameKept, assertOurs, type Db, schemaOf, statOf } from './open.ts'
import { assertOwnerStaysIn } from './other-users.ts'
import { schemaVersion } from './schema.ts'
import { assertMigrated, assertWhole } from '../migration.ts'

/**
 * A connection of its own for long reads, which never writes: closing it leaves a log as it is. Throws `not_found` where there is no file or an
 * empty one, and a StoreError for one that is no store of this version, or is empty although its anchor tells of commits.
 */
export function openForReading(given: string): { readonly db: Db; readonly path: string } {
  return openedForReading(given, false)
}

/** The same, of a file that may end before its last page: what is left of it is read, if SQLite can read its tables' definitions. */
export function openWhatIsLeft(given: string): {
  readonly db: Db
  readonly path: string
  readonly isCut: boolean
} {
  try {
    return { ...openedForReading(given, false), isCut: false }
  } catch (error) {
    const { code, cause } = error as StoreError
    if (code !== 'store_corrupt' && !isCutWithinAPage(cause)) throw error
    try {
      return { ...openedForReading(given, true), isCut: true }
    } catch {
      throw error
    }
  }
}

function openedForReading(given: string, isCut: boolean): { readonly db: Db; readonly path: string } {
  assertNodeSupported()
  const path = existing(given)
  assertOwnerStaysIn(path)
  let db: Db | undefined
  try {
    db = new Database(path, { readonly: true, fileMustExist: true, timeout: 10_000 })
    if (isCut) {
      // SQLite refuses a file that ends before the pages that its header names, unless tables may be mended: nothing is written here.
      db.unsafeMode(true)
      db.pragma('writable_schema = ON')
    }
    assertOurs(db, path)
    const schema = schemaOf(db)
    assertWhole(schema, schemaVersion, path)
    const { version } = schema
    // A young store whose whole log is lost is an empty file: that is no older version.
    const lost = version === 0 ? findDataLoss(path) : undefined
    if (lost !== undefined) throw dataLossError(path, lost.loss)
    // A young store is in its log, and its file may be empty.
    if (version === 0)
      throw new RuntimeError(
        'not_found',
        `there is no store at ${path}: the file is empty; the next runtime that opens it creates one`,
      )
    assertMigrated(schema, schemaVersion, path)
    return { db, path }
  } catch (error) {
    db?.close()
    throw storeErrorOf(error, path)
  }
}

/** The real path of a database file. */
function existing(given: string): string {
  if (given === ':memory:')
    throw new RuntimeError('invalid_argument', 'a store in memory can be read only by its own process')
  const path = resolve(given)
  const stat = statOf(path)
  if (stat === undefined) throw new RuntimeError('not_found', `there is no store at ${path}`)
  if (!stat.isFile()) throw new StoreError('store_not_a_database', `${path} is not a regular file`)
  assertLargeEnough(path, stat)
  const real = realpathSync(path)
  assertNameKept(real)
  return real
}
