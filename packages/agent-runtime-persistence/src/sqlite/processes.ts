import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { REMOTE, type ProcessIdentity } from '../process-identity.ts'
import { isBusy } from './errors.ts'
import { type Db, openingPatienceMs } from './open.ts'
import { rightsAsOf } from './rights.ts'
import { stateSettings } from './configurations.ts'

/**
 * The processes of one database. Each holds an exclusive lock on a small sidecar database for as long as it lives: the
 * operating system frees it when the process dies, however it dies, and not when it is merely stopped. So a lock that can be
 * had proves that its owner is gone. Source: `docs/semantics.md 4.10`.
 */
export class Processes {
  readonly own: number
  /** The row of the processes on lines; undefined where there are none. */
  readonly remote: number | undefined
  /** The row of the settings that it states; undefined where it states none. */
  readonly configuration: number | undefined
  private readonly db: Db
  private readonly folder: string | undefined
  private readonly lock: Db | undefined
  private readonly others
  private readonly endProcess
  private readonly seen

  constructor(db: Db, path: string, memory: boolean, { identity, now, lines = false, states }: Coming) {
    this.db = db
    this.folder = memory ? undefined : ownersFolder(path)
    this.lock = this.folder === undefined ? undefined : holdLock(path, this.folder, identity.processId)
    try {
      this.configuration = states === undefined ? undefined : stateSettings(db, states, now)
      this.own = register(db, identity, now, this.configuration)
      this.remote = lines ? registerRemote(db, now) : undefined
    } catch (error) {
      this.close()
      throw error
    }
    this.others = db.prepare<[number, number], Other>(
      'SELECT id, process_id, last_seen_at FROM process WHERE ended_at IS NULL AND id NOT IN (?, ?)',
    )
    this.seen = db.prepare('UPDATE process SET last_seen_at = ? WHERE id = ?')
    this.endProcess = db.prepare('UPDATE process SET ended_at = ? WHERE id = ?')
  }

  /** This process and those on its lines. */
  get owners(): readonly number[] {
    return this.remote === undefined ? [this.own] : [this.own, this.remote]
  }

  /** Registered processes beside this one. */
  count(): number {
    return this.others.all(this.own, this.remote ?? 0).length
  }

  /** A sign of life, with each heartbeat. */
  beat(now: number): void {
    for (const owner of this.owners) this.seen.run(now, owner)
  }

  /** Those of the others that are proven gone. A lock file that somebody removed proves nothing: then silence must. */
  gone(now: number, silenceMs: number): readonly number[] {
    const { folder } = this
    if (folder === undefined) return []
    return this.others
      .all(this.own, this.remote ?? 0)
      .filter(
        ({ process_id, last_seen_at }) =>
          isFree(lockPath(folder, process_id)) ?? now - last_seen_at > silenceMs,
      )
      .map(({ id }) => id)
  }

  /** Their leases have been ended in this transaction: forget them and their workers. */
  end(process: number, now: number): void {
    this.endProcess.run(now, process)
    this.db.prepare('UPDATE worker SET registered = 0 WHERE process = ? AND registered = 1').run(process)
  }

  /** The files of ended processes go once that is committed. */
  forgetLocks(processes: readonly number[]): void {
    if (this.folder === undefined || processes.length === 0) return
    const id = this.db.prepare<[number], string>('SELECT process_id FROM process WHERE id = ?').pluck()
    for (const process of processes) removeLock(lockPath(this.folder, id.get(process) ?? ''))
  }

  processId(process: number): string | undefined {
    return this.db
      .prepare<[number], string>('SELECT process_id FROM process WHERE id = ?')
      .pluck()
      .get(process)
  }

  /** The lock goes, its file stays: so the operating system leaves it when a process dies. */
  die(): void {
    this.lock?.close()
  }

  /** Lets the lock go, last of all. */
  close(): void {
    if (this.lock === undefined || this.folder === undefined) return
    const path = this.lock.name
    this.lock.close()
    removeLock(path)
  }
}

/** A process that comes. */
interface Coming {
  readonly identity: ProcessIdentity
  readonly now: number
  readonly lines?: boolean | undefined
  /** The settings of the store that it states. */
  readonly states?: string | undefined
}

function register(
  db: Db,
  { processId, host, bootId, pid }: ProcessIdentity,
  now: number,
  configuration: number | undefined,
): number {
  const insert = db.prepare(
    'INSERT INTO process (process_id, host, boot_id, pid, started_at, last_seen_at, configuration) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  return Number(insert.run(processId, host, bootId, pid, now, now, configuration ?? null).lastInsertRowid)
}

/** One row for all processes on lines, whichever process of the store their lines lead to. It has no lock: silence tells that nobody keeps a line. */
function registerRemote(db: Db, now: number): number {
  db.prepare(
    `INSERT INTO process (process_id, host, boot_id, pid, started_at, last_seen_at) VALUES ('${REMOTE}', '${REMOTE}', '', 0, ?, ?)
     ON CONFLICT (process_id) DO UPDATE SET ended_at = NULL, last_seen_at = excluded.last_seen_at`,
  ).run(now, now)
  return Number(db.prepare(`SELECT id FROM process WHERE process_id = '${REMOTE}'`).pluck().get())
}

function lockPath(folder: string, processId: string): string {
  return join(folder, `${processId}.lock`)
}

/** In this mode the lock outlives the transaction that took it. The file stays empty: there is nothing to sync, and nothing to damage. */
function holdLock(path: string, folder: string, processId: string): Db {
  if (mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined) rightsAsOf(path, folder, true)
  // A process that opens the store at this moment may be probing the lock, and lets it go at once.
  const lock = new Database(lockPath(folder, processId), { timeout: openingPatienceMs })
  try {
    lock.pragma('locking_mode = EXCLUSIVE')
    lock.pragma('journal_mode = MEMORY')
    lock.exec('BEGIN EXCLUSIVE; ROLLBACK')
    // The others look whether it is held: for that they write.
    rightsAsOf(path, lock.name)
    return lock
  } catch (error) {
    lock.close()
    throw error
  }
}

/** Whether a process that has a store open lives: undefined where no lock tells. */
export function livesBy(path: string, processId: string): boolean | undefined {
  const free = isFree(lockPath(ownersFolder(path), processId))
  return free === undefined ? undefined : !free
}

/** Whether a process that lives has the store open. */
export function isInUse(path: string): boolean {
  const folder = ownersFolder(path)
  if (!existsSync(folder)) return false
  return readdirSync(folder).some((name) => name.endsWith('.lock') && isFree(join(folder, name)) === false)
}

/** Where the locks of a store's processes are. */
function ownersFolder(path: string): string {
  return `${path}-owners`
}

/** Whether nobody holds the lock; undefined when there is no file that could tell. */
function isFree(path: string): boolean | undefined {
  if (!existsSync(path)) return undefined
  let probe: Db | undefined
  try {
    probe = new Database(path, { timeout: 0, fileMustExist: true })
    probe.exec('BEGIN EXCLUSIVE; ROLLBACK')
    return true
  } catch (error) {
    return isBusy(error) ? false : undefined
  } finally {
    probe?.close()
  }
}

interface Other {
  readonly id: number
  readonly process_id: string
  readonly last_seen_at: number
}

/** Once its process has ended nobody looks at it: where it cannot be removed, it stays. */
function removeLock(path: string): void {
  try {
    for (const suffix of ['', '-journal', '-wal', '-shm']) rmSync(path + suffix, { force: true })
  } catch {
    // A store goes on, and closes, without that.
  }
}
