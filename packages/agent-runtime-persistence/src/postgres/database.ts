import {
  createIdCodec,
  StoreError,
  RuntimeError,
  type Environment,
  type ExecutionConfig,
  type IdCodec,
  type Read,
  type StoredEvent,
  type StoreInfo,
} from '@ku0/agent-runtime-core'
import {
  blobReference,
  groupOf,
  noTotals,
  type Duties,
  type Instant,
  type Loaded,
  type Wanted,
  type WorkingSet,
} from '@ku0/agent-runtime-core/transition'
import type { Database, DutiesWanted, Kept, KeptWanted } from '../engine/database.ts'
import { journalRow } from '../engine/journal-row.ts'
import { applyChanges } from './apply.ts'
import { ddl, leases, quotas, streams, tasks, totals, workers } from './tables.ts'
import type { Connection } from './table.ts'
import { unwritten } from './unwritten.ts'
import { loadWanted } from './wanted.ts'

export interface PostgresOptions {
  readonly connection: Connection
  readonly config: ExecutionConfig
  readonly environment: Environment
  readonly processId: string
}

/** What a transaction locks first: nobody else writes while it is held. */
interface Head {
  readonly version: number
  readonly number: number
  readonly hash: string
}

/**
 * The beginning of a store on PostgreSQL: the engine's database over one connection. It knows tasks, leases and steps so far, and says
 * of all else that it is not written yet. That another process is gone it takes from its silence alone.
 */
export class PostgresDatabase implements Database {
  readonly info: StoreInfo
  readonly ids: IdCodec
  readonly process: number
  readonly fenceFloor = 0
  others = 0
  gone: readonly number[] = []
  private readonly on: Connection
  private readonly config: ExecutionConfig
  private readonly environment: Environment
  /** What the database's clock is ahead of the monotonic one. */
  private readonly ahead: number
  private last: { readonly number: number; readonly hash: Uint8Array }
  private seenVersion: number
  private head: Head
  private next: Head | undefined
  private careAt = 0

  /** Makes the tables where there are none, and registers the process. */
  static async open(options: PostgresOptions): Promise<PostgresDatabase> {
    const { connection: on, environment, processId } = options
    const before = environment.clock.monotonic()
    const [now] = (await on.query(
      'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8',
    )) as readonly number[]
    const ahead = (now ?? 0) - (before + environment.clock.monotonic()) / 2
    await on.query('BEGIN')
    // Two that open a new store at once make it one after the other.
    await on.query('SELECT pg_advisory_xact_lock(hashtext(current_schema()))')
    const [isThere] = await on.query("SELECT to_regclass('head') IS NOT NULL")
    if (isThere !== true) {
      for (const statement of ddl) await on.query(statement)
      const fresh = environment.ids.uuid().replaceAll('-', '').slice(0, 17)
      await on.query("INSERT INTO head VALUES (true, $1, 0, 0, decode(repeat('00', 32), 'hex'))", [fresh])
      await totals.put(on, [{ id: 1, ...noTotals }])
    }
    const [head] = (await on.query('SELECT to_json(head) FROM head FOR UPDATE')) as readonly (Head & {
      readonly store_id: string
    })[]
    if (head === undefined) throw new StoreError('store_schema', 'the table head is empty; restore a backup')
    const at = Math.floor(environment.clock.monotonic() + ahead)
    const [process] = await on.query(
      'INSERT INTO process SELECT coalesce(max(id), 0) + 1, $1, $2, $2 FROM process RETURNING id::float8',
      [processId, at],
    )
    const [version] = await on.query("SELECT current_setting('server_version')")
    await on.query('COMMIT')
    return new PostgresDatabase(options, {
      ahead,
      head,
      process: process as number,
      version: String(version),
    })
  }

  private constructor(
    { connection, config, environment, processId }: PostgresOptions,
    it: {
      readonly ahead: number
      readonly head: Head & { readonly store_id: string }
      readonly process: number
      readonly version: string
    },
  ) {
    this.on = connection
    this.config = config
    this.environment = environment
    this.ahead = it.ahead
    this.process = it.process
    this.head = it.head
    this.seenVersion = it.head.version
    this.last = lastOf(it.head)
    this.ids = createIdCodec(it.head.store_id)
    this.info = {
      kind: 'postgres',
      location: 'postgres',
      storeId: it.head.store_id,
      processId,
      durability: 'full',
      schemaVersion: 1,
      versions: { postgres: it.version, node: process.versions.node },
    }
  }

  get lastCommit(): number {
    return this.last.number
  }

  now(): Instant {
    const at = Math.floor(this.environment.clock.monotonic() + this.ahead)
    return { at, leaseAt: at }
  }

  async look(mono: number): Promise<boolean> {
    const [version] = await this.on.query('SELECT version::float8 FROM head')
    if (mono >= this.careAt) {
      this.careAt = mono + careMs
      const silent = this.now().at - this.config.presenceTtlMs
      const others = (await this.on.query(
        "SELECT json_build_object('id', id, 'silent', last_seen_at < $2) FROM process WHERE ended_at IS NULL AND id <> $1",
        [this.process, silent],
      )) as readonly { readonly id: number; readonly silent: boolean }[]
      this.others = others.length
      this.gone = others.filter((it) => it.silent).map((it) => it.id)
    }
    return version !== this.seenVersion
  }

  async nextAt(what: 'task' | 'lease' | 'schedule' | 'budget'): Promise<number | undefined> {
    const query = nextTimes[what]
    if (query === undefined) return undefined
    const [at] = await this.on.query(query)
    return (at as number | null) ?? undefined
  }

  async begin(): Promise<boolean> {
    await this.on.query('BEGIN')
    const [head] = await this.on.query('SELECT to_json(head) FROM head FOR UPDATE')
    this.head = head as Head
    this.next = undefined
    return true
  }

  hasForeignChanges(): boolean {
    const isForeign = this.head.version !== this.seenVersion
    this.seenVersion = this.head.version
    return isForeign
  }

  clientsRemoved(): string {
    return '0'
  }

  /** All streams, whatever changed since: which did is not kept yet. */
  async keep({ shares }: KeptWanted): Promise<Kept> {
    if (shares) throw unwritten('shares')
    const { on, process } = this
    this.last = lastOf(this.head)
    const live = await leases.select(on, "WHERE process = $1 AND state = 'running'", [process])
    const [sums] = await totals.select(on, '')
    const [next] = await on.query(
      `SELECT json_build_object('task', (SELECT coalesce(max(id), 0) + 1 FROM task), 'lease', (SELECT coalesce(max(id), 0) + 1 FROM lease),
         'stream', (SELECT coalesce(max(id), 0) + 1 FROM stream), 'worker', (SELECT coalesce(max(id), 0) + 1 FROM worker), 'client', 1)`,
    )
    const rows = await streams.select(on, '')
    return {
      streams: rows.map((row) => ({ ...row, group: groupOf(row.laneRank, row.type, row.quotaKeys) })),
      clients: [],
      runningByStream: [],
      quotas: await quotas.select(on, ''),
      circuits: [],
      usages: [],
      swarms: [],
      workers: await workers.select(on, 'WHERE registered AND process = $1', [process]),
      leases: live,
      tasks: await tasks.select(on, 'WHERE id = ANY($1::bigint[])', [live.map(({ task }) => task)]),
      totals: sums ?? noTotals,
      scheduleAt: undefined,
      budgetAt: undefined,
      next: next as Kept['next'],
    }
  }

  async duties({ at, leaseAt, gone, limit }: DutiesWanted): Promise<Duties> {
    const { on } = this
    return {
      lapsed: await leases.select(
        on,
        "WHERE state = 'running' AND expires_at <= $1 ORDER BY expires_at, id LIMIT $2",
        [leaseAt, limit],
      ),
      due: await tasks.select(on, 'WHERE due_at <= $1 ORDER BY due_at, id LIMIT $2', [at, limit]),
      orphans:
        gone.length === 0
          ? []
          : await leases.select(on, "WHERE state = 'running' AND process = ANY($1::bigint[])", [gone]),
      budgets: [],
    }
  }

  load(wanted: Wanted): Promise<Loaded> {
    return loadWanted(this.on, wanted, (text) => this.environment.digest.sha256Hex(text))
  }

  async show(lives: boolean, gone: readonly number[], at: number): Promise<void> {
    if (lives) await this.on.query('UPDATE process SET last_seen_at = $2 WHERE id = $1', [this.process, at])
    if (gone.length > 0) await this.end(gone, at)
  }

  async apply(changes: WorkingSet, isTold: boolean): Promise<void> {
    const { on } = this
    await applyChanges(on, changes)
    const { events, now } = changes
    let { number, hash } = this.last
    if (events.length > 0 || isTold) {
      number += 1
      const row = journalRow(number, hash, now.at, events)
      ;({ hash } = row)
      await on.query('INSERT INTO journal VALUES ($1, $2, $3::json, $4)', [number, now.at, row.touched, hash])
    }
    const version = this.head.version + 1
    await on.query('UPDATE head SET version = $1, number = $2, hash = $3', [version, number, hash])
    this.next = { version, number, hash: `\\x${Buffer.from(hash).toString('hex')}` }
  }

  async commit(): Promise<void> {
    await this.on.query('COMMIT')
    if (this.next === undefined) return
    this.seenVersion = this.next.version
    this.last = lastOf(this.next)
  }

  async rollback(): Promise<void> {
    await this.on.query('ROLLBACK')
  }

  afterCommit(): void {
    this.gone = []
  }

  async eventsAfter(commit: number, until: number): Promise<readonly StoredEvent[]> {
    const found = (await this.on.query(
      `SELECT json_build_object('task', event.task, 'explicitId', task.explicit_id, 'seq', event.seq, 'type', event.type, 'at', event.at,
         'data', event.data, 'hash', encode(event.hash, 'hex'), 'blob', blob.sha256, 'text', blob.data)
       FROM journal CROSS JOIN json_array_elements(journal.touched) WITH ORDINALITY AS touched (stretch, place)
         JOIN event ON event.task = (stretch ->> 0)::bigint AND event.seq BETWEEN (stretch ->> 1)::integer AND (stretch ->> 2)::integer
         JOIN task ON task.id = event.task LEFT JOIN blob ON blob.sha256 = event.blob
       WHERE number > $1 AND number <= $2 ORDER BY number, place, event.seq`,
      [commit, until],
    )) as readonly FoundEvent[]
    return found.map(({ task, explicitId, blob, text, data, ...event }) => ({
      taskId: explicitId ?? this.ids.task(task),
      data:
        blob === null || text === null ? data : data.replace(blobReference(blob, text.length), () => text),
      ...event,
    }))
  }

  read({ kind }: Read): never {
    throw unwritten(`the read ${kind}`)
  }

  errorOf(cause: unknown): Error {
    if (cause instanceof RuntimeError) return cause
    const detail = cause instanceof Error ? cause.message : String(cause)
    return new StoreError('store_io', `PostgreSQL: ${detail}; look at its log, then try again`, { cause })
  }

  /** The connection says nothing more once it has ended. */
  isFatal(error: unknown): boolean {
    const code = (error as { readonly code?: unknown } | null)?.code
    return typeof code === 'string' && /^(?:08|57P|ECONN|EPIPE)/.test(code)
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.environment.timers.after(ms, resolve))
  }

  async close(failed: boolean): Promise<void> {
    if (!failed) await this.end([this.process], this.now().at)
    await this.on.end()
  }

  private async end(processes: readonly number[], at: number): Promise<void> {
    await this.on.query('UPDATE process SET ended_at = $2 WHERE id = ANY($1::bigint[])', [processes, at])
    await this.on.query('UPDATE worker SET registered = false WHERE process = ANY($1::bigint[])', [processes])
  }
}

interface FoundEvent extends Omit<StoredEvent, 'taskId'> {
  readonly task: number
  readonly explicitId: string | null
  readonly blob: string | null
  readonly text: string | null
}

function lastOf({ number, hash }: Head): { readonly number: number; readonly hash: Uint8Array } {
  return { number, hash: Buffer.from(hash.slice(2), 'hex') }
}

/** How often the other processes are looked at. */
const careMs = 500

const nextTimes: { readonly [what: string]: string } = {
  task: 'SELECT min(due_at)::float8 FROM task WHERE due_at IS NOT NULL',
  lease: "SELECT min(expires_at)::float8 FROM lease WHERE state = 'running'",
}
