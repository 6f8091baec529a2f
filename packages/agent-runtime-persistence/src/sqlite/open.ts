import { chmodSync, readlinkSync, realpathSync, type Stats, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { RuntimeError, show, StoreError } from '@ku0/agent-runtime-core'
import Database from 'better-sqlite3'
import { assertNodeSupported } from '../node-version.ts'
import { applicationId, migrations, schemaVersion } from './schema.ts'
import { assertKnown, assertMigrated, type Migration, oldestOf, type StoredSchema } from '../migration.ts'
import type { Durability } from '../durability.ts'
import { columns, namesOf, type TableName } from './columns.ts'
import { isBusy, lacking, storeErrorOf } from './errors.ts'

export type Db = Database.Database

export interface OpenedDatabase {
  readonly db: Db
  readonly memory: boolean
  /** The absolute path, or `:memory:`. */
  readonly path: string
  readonly durability: 'full' | 'normal' | 'memory'
  /** The files at opening, the database's, its log's and its index's: they must stay these (T8). */
  readonly files?: readonly FileId[]
}

interface FileId {
  readonly path: string
  readonly dev: number
  readonly ino: number
  /** Of the log: how long it was when it was last looked at. */
  length: number
}

const synchronousOf: Record<Durability, number> = { normal: 1, full: 2 }

/** How a database is opened. */
interface Opening {
  /** Sees the real path before anything is opened that could write, and may throw. */
  readonly inspect?: (path: string) => void
  /** Neither make it nor migrate it. */
  readonly existing?: boolean
}

/**
 * Opens or creates a database file, migrates it, and sets durability explicitly, reading it back after a first write (T1).
 * Throws a StoreError that names the path and what to do; nothing is overwritten.
 */
export function openDatabase(
  path: string,
  durability: Durability,
  { inspect = () => undefined, existing = false }: Opening = {},
): OpenedDatabase {
  assertNodeSupported()
  const memory = path === ':memory:' || path === ''
  if (memory && existing)
    throw new RuntimeError('invalid_argument', 'a store in memory is made by opening it; leave out existing')
  const full = memory ? ':memory:' : realPathOf(resolve(path))
  if (!memory) assertNameKept(full)
  const isNew = !memory && statOf(full) === undefined
  if (!memory) assertOpenable(full)
  for (let left = openingTries; ; left--) {
    try {
      if (!memory) inspect(full)
      if (isNew && existing) throw new RuntimeError('not_found', `there is no store at ${full}`)
      return tryOpen(full, memory, durability, { isNew, existing })
    } catch (error) {
      if (!isBusy(error) || left === 0) throw storeErrorOf(error, full)
      pause(openingPauseMs)
    }
  }
}

/** Inputs and results are in the file as plain text. */
const ownersOnly = 0o600

/** Switching a new file to WAL does not wait for others that do the same: it fails at once, and is tried again. */
const openingTries = 80
const openingPauseMs = 25

/** An empty store of this schema: the next store in memory begins as a copy, which is five times as fast as its migrations. */
let emptyStore: Buffer | undefined

function tryOpen(
  path: string,
  memory: boolean,
  durability: Durability,
  { isNew, existing }: { readonly isNew: boolean; readonly existing: boolean },
): OpenedDatabase {
  const db = new Database(memory ? (emptyStore ?? path) : path, { timeout: 0, fileMustExist: existing })
  try {
    if (existing) assertMade(db, path)
    // Nothing is in it yet. The log and its index get the rights that the file has.
    if (isNew) chmodSync(path, ownersOnly)
    return { db, memory, path, ...configure(db, path, memory, durability) }
  } catch (error) {
    db.close()
    throw error
  }
}

/** Blocks this thread: only where nothing else can go on. */
export function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

function configure(db: Db, path: string, memory: boolean, durability: Durability) {
  waitForLocks(db, openingPatienceMs)
  // A copy of the empty store was looked at when that was made.
  const isCopy = memory && emptyStore !== undefined
  if (!isCopy) assertOurs(db, path)
  const mode = db.pragma('journal_mode = WAL', { simple: true })
  if (!memory && mode !== 'wal')
    throw new StoreError(
      'store_not_durable',
      `${path}: the file system does not support WAL (got ${String(mode)}); use a local disk`,
    )
  db.pragma(`synchronous = ${synchronousOf[durability]}`)
  db.pragma('fullfsync = 1')
  db.pragma('foreign_keys = 0')
  // With more of either a drain of 100 000 tasks was slower, and took 60 MiB more: what is in the log is looked for among fewer pages.
  db.pragma('cache_size = -8192')
  db.pragma('wal_autocheckpoint = 4000')
  db.pragma(`journal_size_limit = ${logLimit}`)
  db.pragma('temp_store = 2')
  if (!isCopy) {
    migrate(db, path)
    assertWhole(db, path)
    if (memory) emptyStore = db.serialize()
  }
  touch(db)
  // better-sqlite3 resets `synchronous` at the first write (T1): what counts is what stands there afterwards.
  db.pragma(`synchronous = ${synchronousOf[durability]}`)
  const real = db.pragma('synchronous', { simple: true })
  if (real !== synchronousOf[durability])
    throw new StoreError(
      'store_not_durable',
      `${path}: synchronous is ${String(real)} although ${durability} was set`,
      { details: { synchronous: real } },
    )
  if (memory) return { durability: 'memory' as const }
  return { durability, files: [path, `${path}-wal`, `${path}-shm`].map(fileId) }
}

/** SQLite shortens a log that is longer when it begins it anew, and no other. */
const logLimit = 67_108_864

function fileId(path: string): FileId {
  const { dev, ino } = statSync(path)
  return { path, dev, ino, length: 0 }
}

/** What can be said before SQLite touches anything. Only `stat`: opening the file here would drop SQLite's locks (T5). */
function assertOpenable(path: string): void {
  const stat = statOf(path)
  if (stat?.isDirectory())
    throw new StoreError('store_not_a_database', `${path} is a folder; name a file in it`)
  if (stat !== undefined && !stat.isFile())
    throw new StoreError('store_not_a_database', `${path} is not a regular file`)
  if (stat !== undefined) assertLargeEnough(path, stat)
  // SQLite finds the log, and we the locks of processes, by the name: whoever comes by another would overwrite what is acknowledged here.
  if (stat !== undefined && stat.nlink > 1)
    throw new StoreError('store_not_durable', `${path} ${severalNames(stat)}`)
  const folder = dirname(path)
  if (stat === undefined && !statOf(folder)?.isDirectory())
    throw new StoreError(
      'store_folder_missing',
      `${folder} does not exist; create the folder or correct the path of the store`,
    )
  const network = process.platform === 'linux' ? networks.get(statfsSync(folder).type) : undefined
  if (network !== undefined)
    throw new StoreError(
      'store_not_durable',
      `${path} is on ${network}, where SQLite's locks do not work between machines; use a local disk`,
    )
  for (const beside of [`${path}-wal`, `${path}-shm`])
    if (statOf(beside)?.isFile() === false)
      throw new StoreError(
        'store_not_a_database',
        `${beside} is not a regular file, and SQLite keeps its log there; remove it or choose another path`,
      )
}

/** What is wrong with a file of several hard links, and what to do; the path goes before it. */
export function severalNames({ nlink, ino }: Stats): string {
  return `has ${nlink} names (hard links), and a process that opens it by another name would overwrite its commits; remove the other names (find -inum ${ino}) or open a copy`
}

/** The driver cuts white space off the end of a name, and would open another file. */
export function assertNameKept(path: string): void {
  if (path === path.trimEnd()) return
  throw new RuntimeError(
    'invalid_argument',
    `the path of a store must not end in white space; given ${show(path)}`,
  )
}

/** SQLite takes a file of one byte for an empty one, and would write over it. */
export function assertLargeEnough(path: string, { size }: Stats): void {
  if (size > 0 && size < smallestPage)
    throw new StoreError('store_not_a_database', `${path} is not a SQLite database; choose another file`)
}

/** Nothing where there is no file; a StoreError for a name that no file can have, and where nobody may look. */
export function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (cause) {
    throw unopenable(path, cause)
  }
}

/** One store under all its names: SQLite keeps the log, and we the locks of processes, beside the file that a link leads to. */
function realPathOf(path: string): string {
  const stat = statOf(path)
  if (stat !== undefined) return stat.isFile() ? realpathSync(path) : path
  try {
    return resolve(dirname(path), readlinkSync(path))
  } catch {
    return path
  }
}

function unopenable(path: string, cause: unknown): StoreError {
  const detail = cause instanceof Error ? cause.message : String(cause)
  return new StoreError(
    'store_read_only',
    `${path} cannot be opened (${detail}); correct the path of the store`,
    {
      cause,
    },
  )
}

export const smallestPage = 512

/** File systems that other machines share, by the number that Linux gives them. Source: statfs(2). */
const networks: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
])

/**
 * A database of another program, or of a later version of this one, is left as it is. Looked at in one transaction: between two
 * looks another process may make the store.
 */
export function assertOurs(db: Db, path: string): void {
  const { id, schema, tables } = db.transaction(() => ({
    id: db.pragma('application_id', { simple: true }) as number,
    schema: schemaOf(db),
    tables: db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() as number,
  }))()
  if (id !== applicationId && (id !== 0 || tables > 0))
    throw new StoreError(
      'store_not_a_database',
      `${path} is a SQLite database of another program; choose another file`,
    )
  assertKnown(schema, schemaVersion, path)
}

/** What a file says of its schema, to somebody who may not know it. */
export function schemaOf(db: Db): StoredSchema {
  const version = db.pragma('user_version', { simple: true }) as number
  if (version <= schemaVersion) return { version, oldest: undefined }
  const saysSo = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get() !== undefined
  const oldest = saysSo
    ? db.prepare<[], string>("SELECT value FROM meta WHERE key = 'oldest_schema'").pluck().get()
    : undefined
  return { version, oldest: oldest === undefined ? undefined : Number(oldest) }
}

/** A store that needs no migration. */
function assertMade(db: Db, path: string): void {
  assertOurs(db, path)
  const schema = schemaOf(db)
  if (schema.version === 0)
    throw new RuntimeError('not_found', `there is no store at ${path}: the file is empty`)
  assertMigrated(schema, schemaVersion, path)
}

/**
 * Makes an empty store of this schema at once, as its steps have made one: whoever makes many begins each so, in a fraction of the time. The
 * second store tells it: a process that makes only one would not get back the time that it takes.
 */
let allSteps: string | undefined
let isOneMade = false

/** Brings the tables up to date, in one transaction. One that has had more steps is left as it is. */
export function migrate(db: Db, path: string, steps: readonly Migration[] = migrations): void {
  if ((db.pragma('user_version', { simple: true }) as number) >= steps.length) return
  inTurn(db, () => {
    assertOurs(db, path)
    const version = db.pragma('user_version', { simple: true }) as number
    const isWhole = version === 0 && steps === migrations
    if (isWhole && allSteps !== undefined) db.exec(allSteps)
    else for (const { sql } of steps.slice(version)) db.exec(sql)
    if (isWhole && isOneMade) allSteps ??= dumpOf(db)
    isOneMade ||= isWhole
    if (version < steps.length) markSchema(db, steps)
  })
}

/** What makes the tables, indexes and views of a database, with their rows. */
function dumpOf(db: Db): string {
  const named = "sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
  const made = db
    .prepare<[], string>(`SELECT sql FROM sqlite_schema WHERE ${named} ORDER BY type <> 'table', rowid`)
    .pluck()
    .all()
  const filling = db
    .prepare<[], [table: string, values: string]>(
      `SELECT name, (SELECT group_concat('quote("' || info.name || '")', ' || '','' || ' ORDER BY info.cid) FROM pragma_table_info(schema.name) AS info) FROM sqlite_schema AS schema WHERE type = 'table' AND ${named}`,
    )
    .raw()
    .all()
  const rows = filling.flatMap(([table, values]) =>
    db
      .prepare<[], string>(`SELECT 'INSERT INTO "${table}" VALUES (' || ${values} || ')' FROM "${table}"`)
      .pluck()
      .all(),
  )
  return [...made, ...rows].join(';\n')
}

/** Says which steps a file has had. */
export function markSchema(db: Db, steps: readonly Migration[] = migrations): void {
  db.prepare(
    "INSERT INTO meta (key, value) VALUES ('oldest_schema', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
  ).run(String(oldestOf(steps)))
  db.pragma(`application_id = ${applicationId}`)
  db.pragma(`user_version = ${steps.length}`)
}

/** A table or a column that is gone is told here, and not by the first call that needs it. */
function assertWhole(db: Db, path: string): void {
  const there = new Set(
    db
      .prepare<[], string>(
        "SELECT schema.name || ' ' || info.name FROM sqlite_schema AS schema JOIN pragma_table_info(schema.name) AS info WHERE schema.type = 'table'",
      )
      .pluck()
      .all(),
  )
  for (const table of Object.keys(columns) as TableName[])
    for (const name of namesOf(table) as readonly string[])
      if (!there.has(`${table} ${name}`)) throw lacking(path, `${table}.${name}`)
}

/**
 * Writes in one transaction. SQLite's own waiting looks for the lock every 100 ms at last, and beside busy writers never finds it free:
 * here it is looked for as a flush does, for so many ms at least.
 */
export function inTurn<T>(db: Db, write: () => T, patienceMs = openingPatienceMs): T {
  waitForLocks(db, 0)
  try {
    begin(db, patienceMs)
  } finally {
    waitForLocks(db, openingPatienceMs)
  }
  try {
    const outcome = write()
    db.exec('COMMIT')
    return outcome
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK')
    throw error
  }
}

function begin(db: Db, patienceMs: number): void {
  for (let left = patienceMs / lookEveryMs; ; left--) {
    try {
      db.exec('BEGIN IMMEDIATE')
      return
    } catch (error) {
      if (!isBusy(error) || left === 0) throw error
      pause(lookEveryMs)
    }
  }
}

/** How long opening waits for a lock that another process holds. */
export const openingPatienceMs = 10_000
const lookEveryMs = 0.25

/**
 * How long SQLite itself waits for another process's lock: at opening. In between it does not (0), since its
 * waiting starves beside a busy writer and blocks; a flush tries again on its own (T2, T9).
 */
export function waitForLocks(db: Db, ms: number): void {
  db.pragma(`busy_timeout = ${ms}`)
}

function touch(db: Db): void {
  inTurn(db, () =>
    db
      .prepare(
        "INSERT INTO meta (key, value) VALUES ('opened', '1') ON CONFLICT DO UPDATE SET value = value + 1",
      )
      .run(),
  )
}

/**
 * Fails when a file under the store's names is not the one that was opened any more: SQLite would go on writing to a file that
 * nobody can find (T8). The log counts: what was acknowledged since the last checkpoint is in it alone, and when somebody cuts it, SQLite
 * goes on behind the hole.
 */
export function assertSameFile({ files = [] }: OpenedDatabase): void {
  for (const file of files) {
    const { path } = file
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat?.ino === file.ino && stat.dev === file.dev) {
      if (!path.endsWith('-wal')) continue
      if (stat.size < Math.min(file.length, logLimit))
        throw new StoreError(
          'store_corrupt',
          `${path} was truncated while it was open, from ${file.length} bytes to ${stat.size}; stop every process, then run verify`,
        )
      file.length = stat.size
      continue
    }
    throw new StoreError(
      'store_unlinked',
      `${path} was removed or replaced while it was open; ` +
        // The index of the log is made anew.
        (path.endsWith('-shm') ? 'start again' : 'stop, put the file back, start again'),
    )
  }
}
