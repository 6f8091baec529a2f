import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  type AcceptedLoss,
  type ConfigurationRecord,
  type DataLoss,
  differencesAmong,
  isRecord,
  settingsAmong,
  StoreError,
} from '@ku0/agent-runtime-core'
import { parseStoreUrl } from '../store-url.ts'
import { anchorPath } from '../anchor-path.ts'
import { type Anchor, lookForAnchor } from '../sqlite/anchor.ts'
import { offsetIn } from '../sqlite/clock.ts'
import { acceptedLosses, lossIn, describeLoss } from './data-loss.ts'
import type { LossRecords } from './loss-records.ts'
import { prepareConfigurationLoad } from '../sqlite/configurations.ts'
import { storeErrorOf } from '../sqlite/errors.ts'
import type { Durability } from '../durability.ts'
import { type Db, openDatabase, severalNames } from '../sqlite/open.ts'
import { livesBy } from '../sqlite/processes.ts'
import { openForReading } from '../sqlite/reading.ts'
import { schemaVersion } from '../sqlite/schema.ts'
import { Statements } from '../sqlite/statements.ts'
import { systemEnvironment, systemIdentity } from '../system.ts'

/** Options of `inspectStore`. */
export interface InspectOptions {
  /** Whether it works in a thread of its own; false by default. A process that answers others does not stand still meanwhile. */
  readonly thread?: boolean
}

/** How a store and its surroundings are. */
export interface Inspection {
  /** No problem is an error. */
  readonly ok: boolean
  readonly path: string
  readonly storeId: string
  readonly versions: {
    readonly node: string
    readonly sqlite: string
    /** The version of the file, and the one that this program writes. */
    readonly schema: number
    readonly schemaKnown: number
  }
  readonly durability: {
    /** The setting of the file, which is stored in it. */
    readonly journalMode: string
    /**
     * The setting that this program gets for each mode, read back after a write to a scratch database in the folder of temporary files: of `full` 2, of
     * `normal` 1; null where none could be made there.
     */
    readonly synchronous: Readonly<Record<Durability, number | null>>
    /** The setting of the process that wrote last; null if no anchor has it. */
    readonly lastWriter: Durability | null
  }
  readonly files: readonly StoreFile[]
  readonly size: {
    readonly pageBytes: number
    readonly pages: number
    /** Pages that are free for use. */
    readonly freePages: number
    readonly walBytes: number
  }
  readonly counts: {
    readonly tasks: number
    readonly running: number
    readonly waiting: number
    readonly commits: number
  }
  readonly clock: {
    /** The wall clock, epoch ms. */
    readonly at: number
    /** Whether the store was opened in this boot of the machine; the offset is of that boot only. */
    readonly isThisBoot: boolean
    /** By how much the wall clock has moved against the monotonic one since the store was first opened in this boot, ms; null where nothing tells. */
    readonly offsetMs: number | null
  }
  readonly processes: readonly StoreProcess[]
  readonly anchor: {
    /** The commit that it names; null where there is none, or it cannot be read. */
    readonly commit: number | null
    /** It is there and cannot be read: nothing tells whether commits are missing. */
    readonly isDamaged: boolean
    readonly loss: DataLoss | null
  }
  readonly acceptedLosses: readonly AcceptedLoss[]
  /** Settings of task types that workers of living processes know differently. Source: `docs/semantics.md 8.11`. */
  readonly differing: ReturnType<typeof differencesAmong>
  /** Settings of the store that living processes have otherwise than they are in force (`here`). Source: `docs/semantics.md 8.12`. */
  readonly settings: ReturnType<typeof settingsAmong>
  readonly problems: readonly Problem[]
}

/** A file or folder of a store. */
export interface StoreFile {
  readonly path: string
  /** Null where it is not there. */
  readonly bytes: number | null
  /** In octal: `600`. */
  readonly mode: string | null
}

/** A process that is registered with a store and has not ended in order. */
export interface StoreProcess {
  readonly processId: string
  readonly host: string
  readonly pid: number
  readonly lastSeenAt: number
  /** By its lock; null where no lock tells. */
  readonly alive: boolean | null
}

/** Something to look after. `error`: what was promised does not hold. */
export interface Problem {
  readonly level: 'error' | 'warning'
  readonly message: string
  readonly remedy: string
}

/** A wall clock that has moved by more than this is told of: a third of the default of `leaseTtlMs`. */
const maxOffsetMs = 10_000
const maxWalBytes = 128 * 1024 * 1024

/** See `inspectStore`. */
export async function inspect(url: string): Promise<Inspection> {
  const { db, path } = openForReading(parseStoreUrl(url))
  try {
    // First: the journal is never behind what was an anchor before.
    const anchor = lookForAnchor(path)
    const { lossFaults, ...seen } = db.transaction(() => look(db, path, anchor))()
    const problems = [...problemsIn(path, { ...seen, lossFaults })]
    return { ok: !problems.some(({ level }) => level === 'error'), path, ...seen, problems }
  } catch (error) {
    throw storeErrorOf(error, path)
  } finally {
    db.close()
  }
}

type Seen = Omit<Inspection, 'ok' | 'path' | 'problems'> & {
  /** What is wrong with the records of accepted losses. */
  readonly lossFaults: LossRecords['faults']
}

function look(db: Db, path: string, found: Anchor | 'unreadable' | undefined): Seen {
  const isDamaged = found === 'unreadable'
  const anchor = isDamaged ? undefined : found
  const number = (sql: string) => db.prepare<[], number | null>(sql).pluck().get() ?? 0
  const meta = (key: string) =>
    db.prepare<[string], string>('SELECT value FROM meta WHERE key = ?').pluck().get(key)
  const pragma = (name: string) => db.pragma(name, { simple: true }) as number
  const totals = db
    .prepare<[], { running: number; waiting: number }>('SELECT running, waiting FROM totals')
    .get()
  const files = ['', '-wal', '-shm', '-anchor', '-owners'].map((suffix) => fileAt(path + suffix))
  const loss = lossIn(db, path, anchor)
  const accepted = acceptedLosses(db)
  return {
    storeId: meta('store_id') ?? '',
    versions: {
      node: process.versions.node,
      sqlite: db.prepare<[], string>('SELECT sqlite_version()').pluck().get() ?? '',
      schema: pragma('user_version'),
      schemaKnown: schemaVersion,
    },
    durability: {
      journalMode: String(db.pragma('journal_mode', { simple: true })),
      synchronous: settingsHere(),
      lastWriter: anchor?.durability ?? null,
    },
    files,
    size: {
      pageBytes: pragma('page_size'),
      pages: pragma('page_count'),
      freePages: pragma('freelist_count'),
      walBytes: files[1]?.bytes ?? 0,
    },
    counts: {
      tasks: number('SELECT count(*) FROM task'),
      running: totals?.running ?? 0,
      waiting: totals?.waiting ?? 0,
      commits: number('SELECT max(number) FROM journal'),
    },
    clock: clockOf(meta('boot_id'), meta('boot_offset')),
    processes: db
      .prepare<[], [string, string, number, number]>(
        'SELECT process_id, host, pid, last_seen_at FROM process WHERE ended_at IS NULL ORDER BY id',
      )
      .raw()
      .all()
      .map(([processId, host, pid, lastSeenAt]) => ({
        processId,
        host,
        pid,
        lastSeenAt,
        alive: livesBy(path, processId) ?? null,
      })),
    differing: differencesAmong(workersOf(db, path)),
    settings: settingsAmong(configurationsOf(db, path)),
    anchor: { commit: anchor?.commit ?? null, isDamaged, loss: loss ?? null },
    acceptedLosses: accepted.losses,
    lossFaults: accepted.faults,
  }
}

/** The registered workers of processes that live. Stores of versions before have no settings of their task types. */
function workersOf(db: Db, path: string): readonly { workerId: string; settings: Settings }[] {
  const columns = db.prepare<[], string>("SELECT name FROM pragma_table_info('worker')").pluck().all()
  if (!columns.includes('settings')) return []
  return db
    .prepare<[], [string, string, string]>(
      'SELECT w.worker_id, w.settings, p.process_id FROM worker w JOIN process p ON p.id = w.process WHERE w.registered = 1 AND w.settings IS NOT NULL ORDER BY w.id',
    )
    .raw()
    .all()
    .filter(([, , processId]) => livesBy(path, processId) !== false)
    .flatMap(([workerId, text]) => {
      const settings = settingsIn(text)
      return settings === undefined ? [] : [{ workerId, settings }]
    })
}

/** The settings that processes state which live, as they are in force among these. Stores of versions before have none. */
function configurationsOf(db: Db, path: string): readonly ConfigurationRecord[] {
  const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all()
  if (!tables.includes('configuration')) return []
  return livingIn(db, path).map((it, at) => ({ ...it, inForce: at === 0 }))
}

function livingIn(db: Db, path: string): readonly ConfigurationRecord[] {
  try {
    return prepareConfigurationLoad(new Statements(db))
      .records()
      .map((it) => ({
        ...it,
        processes: it.processes.filter(({ processId }) => livesBy(path, processId) !== false),
      }))
      .filter(({ processes }) => processes.length > 0)
  } catch {
    // What is damaged, `verify` says.
    return []
  }
}

/** Undefined for a text that somebody spoiled: what is damaged, `verify` says. */
function settingsIn(text: string): Settings | undefined {
  try {
    const settings: unknown = JSON.parse(text)
    return isRecord(settings) && Object.values(settings).every(isRecord) ? (settings as Settings) : undefined
  } catch {
    return undefined
  }
}

type Settings = NonNullable<Parameters<typeof differencesAmong>[0][number]['settings']>

function fileAt(path: string): StoreFile {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return { path, bytes: null, mode: null }
  return { path, bytes: stat.size, mode: (stat.mode & 0o777).toString(8).padStart(3, '0') }
}

/** What a store gets that is opened by this program: the setting is each connection's own, so it is tried on one. */
function settingsHere(): Record<Durability, number | null> {
  const folder = scratchFolder()
  if (folder === undefined) return { full: null, normal: null }
  try {
    return {
      full: settingIn(join(folder, 'full.db'), 'full'),
      normal: settingIn(join(folder, 'normal.db'), 'normal'),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function settingIn(path: string, durability: Durability): number {
  try {
    const { db } = openDatabase(path, durability)
    try {
      db.exec("INSERT INTO meta VALUES ('tried', '1')")
      return db.pragma('synchronous', { simple: true }) as number
    } finally {
      db.close()
    }
  } catch (error) {
    // A store would not open here: what it got instead is what is to be told.
    const got = error instanceof StoreError ? error.details?.['synchronous'] : undefined
    if (typeof got === 'number') return got
    throw error
  }
}

/** Nothing where there can be none: that says nothing of the store. */
function scratchFolder(): string | undefined {
  try {
    return mkdtempSync(join(tmpdir(), 'ku0-doctor-'))
  } catch {
    return undefined
  }
}

function clockOf(bootId: string | undefined, text: string | undefined): Inspection['clock'] {
  const { clock } = systemEnvironment()
  const { bootId: own } = systemIdentity('')
  const at = Math.floor(clock.now())
  const isThisBoot = bootId === own
  const offset = isThisBoot ? offsetIn(text) : undefined
  return {
    at,
    isThisBoot,
    offsetMs: offset === undefined ? null : Math.round(at - clock.monotonic() - offset),
  }
}

function* problemsIn(
  path: string,
  { durability, files, size, clock, processes, anchor, ...it }: Seen,
): Iterable<Problem> {
  if (anchor.loss !== null)
    yield {
      level: 'error',
      message: describeLoss(path, anchor.loss),
      remedy: 'Keep a copy of the files; restore a backup, or open it once with acceptLoss: true.',
    }
  if (anchor.isDamaged)
    yield {
      level: 'error',
      message: `${anchorPath(path)} is damaged: missing commits cannot be detected`,
      remedy:
        'Keep a copy of the files; restore a backup, or remove the anchor to continue with what is there.',
    }
  else if (anchor.commit === null)
    yield {
      level: 'warning',
      message: `there is no ${anchorPath(path)}: missing commits cannot be detected`,
      remedy: 'Nothing to do: the next process that opens the store creates it.',
    }
  if (durability.journalMode !== 'wal')
    yield {
      level: 'warning',
      message: `the journal mode is ${durability.journalMode}, not wal`,
      remedy: 'A backup has this mode. The next process that opens the store sets it back.',
    }
  for (const [mode, expected] of [
    ['full', 2],
    ['normal', 1],
  ] as const)
    if (durability.synchronous[mode] !== null && durability.synchronous[mode] !== expected)
      yield {
        level: 'error',
        message: `with durability ${mode} synchronous is ${durability.synchronous[mode]}, not ${expected}`,
        remedy: 'Stores cannot be opened here: use the better-sqlite3 that this package asks for.',
      }
  if (durability.synchronous.full === null)
    yield {
      level: 'warning',
      message: `the durability settings could not be tried: no folder can be created in ${tmpdir()}`,
      remedy: 'Set TMPDIR to a folder that this user may write to.',
    }
  if (durability.lastWriter === 'normal')
    yield {
      level: 'warning',
      message: 'the process that wrote last used durability normal: a power loss may lose its last commits',
      remedy: "Give every process durability: 'full', unless you accept that.",
    }
  const open = files.filter(({ mode }) => mode !== null && (Number.parseInt(mode, 8) & 0o007) !== 0)
  // Elsewhere rights are told in another way.
  if (open.length > 0 && process.platform !== 'win32')
    yield {
      level: 'warning',
      message: `every user of this machine has access to ${open.map(({ path: file, mode }) => `${file} (${mode})`).join(', ')}`,
      remedy: 'Remove the access (chmod o-rwx), and start processes with umask 077.',
    }
  if (size.walBytes > maxWalBytes)
    yield {
      level: 'warning',
      message: `${path}-wal has ${size.walBytes} bytes`,
      remedy: 'Look for a program that keeps a read transaction open on the file.',
    }
  if (clock.offsetMs !== null && Math.abs(clock.offsetMs) > maxOffsetMs)
    yield {
      level: 'warning',
      message: `the wall clock has moved by ${clock.offsetMs} ms since the store was first opened in this boot`,
      remedy: 'Check the time service. Leases do not depend on it; due times and dates do.',
    }
  const dead = processes.filter(({ alive, host }) => alive === false && host === hostname())
  if (dead.length > 0)
    yield {
      level: 'warning',
      message: `${dead.length} processes ended without closing the store: ${dead.map(({ pid }) => pid).join(', ')}`,
      remedy:
        'Nothing to do: the next process that opens the store, or one that has it open, takes over their tasks.',
    }
  for (const { type, setting, here, there, first, workerId } of it.differing)
    yield {
      level: 'warning',
      message: `workers know the type ${type} differently: its ${setting} is ${here ?? 'not set'} for ${first}, and ${there ?? 'not set'} for ${workerId}`,
      remedy:
        'Nothing to do during a deploy; otherwise give every process the same version of its task types.',
    }
  for (const { setting, here, there, process: one } of it.settings)
    yield {
      level: 'warning',
      message: `processes have different settings: ${setting} is ${here ?? 'not set'} in force, and ${there ?? 'not set'} for process ${one.pid} on ${one.host}`,
      remedy: 'Nothing to do during a deploy; otherwise give every process the same config.',
    }
  for (const { lastGood, anchored, acceptedAt } of it.acceptedLosses)
    yield {
      level: 'warning',
      message: `commits ${lastGood + 1} to ${anchored} were missing when the store was opened on ${new Date(acceptedAt).toISOString()}, and the loss was accepted`,
      remedy: 'Nothing to do: this is a record.',
    }
  if (it.lossFaults.length > 0)
    yield {
      level: 'error',
      message: 'the record of accepted losses is damaged',
      remedy: 'Another program changed the store: run verify, and restore a backup.',
    }
  const stat = statSync(path)
  if (stat.nlink > 1)
    yield {
      level: 'error',
      message: `${path} ${severalNames(stat)}`,
      remedy: 'Stop every process that has it open, remove the other names, run verify.',
    }
  if (statSync(dirname(path)).dev !== stat.dev)
    yield {
      level: 'warning',
      message: `${path} is on another file system than its folder`,
      remedy: 'Mount folders, not files: otherwise the log is on another file system than the database.',
    }
}
