import {
  createIdCodec,
  StoreError,
  type Environment,
  type ExecutionConfig,
  type IdCodec,
  type Read,
  type ReadKind,
  type Reads,
  type StoredEvent,
  type StoreInfo,
} from '@ku0/agent-runtime-core'
import {
  blobReference,
  type Duties,
  type Instant,
  type Loaded,
  type Wanted,
  type WorkingSet,
} from '@ku0/agent-runtime-core/transition'
import type { Database, DutiesWanted, Kept, KeptWanted, LocalCounts } from '../engine/database.ts'
import { journalRow } from '../engine/journal-row.ts'
import type { ProcessIdentity } from '../process-identity.ts'
import type { Hashes } from '../sqlite/integrity.ts'
import { prepareKeep } from '../sqlite/keep.ts'
import { StoredTables } from '../sqlite/stored-tables.ts'
import { prepareWanted } from '../sqlite/wanted.ts'
import { statementsOf } from './apply.ts'
import { Asking } from './asked.ts'
import { serverClock, type StoreClock } from './clock.ts'
import type { Connections } from './connections.ts'
import { codeOf, isLost, isPassing, storeErrorOf } from './errors.ts'
import { prepareFarLoad } from './load.ts'
import { assertKnown, openTables, type Opened } from './open.ts'
import { Presence } from './presence.ts'
import { Reader } from './reader.ts'
import { schemaVersion } from './schema.ts'
import type { Session } from './session.ts'

export interface PostgresOptions {
  readonly connections: Connections
  readonly config: ExecutionConfig
  readonly environment: Environment
  readonly hashes: Hashes
  readonly identity: ProcessIdentity
  /** The environment's clock instead of the server's: in tests, whose time stands still. */
  readonly isVirtual: boolean
  /** Another process has committed. */
  readonly onHint: () => void
}

/** The one row that a transaction locks first: nobody else writes while it is held. */
interface Head {
  /** Rises with every write. */
  readonly version: number
  /** Of the last commit in the journal. */
  readonly number: number
  readonly hash: Buffer
}

type What = 'task' | 'lease' | 'schedule' | 'budget'

/**
 * The engine's database on PostgreSQL. A flush crosses the network once to lock `head`, once for each thing that it has to know and does
 * not, and once to write and commit. Source: `docs/decisions/0026-commits-of-several-processes.md`.
 */
export class PostgresDatabase implements Database {
  readonly info: StoreInfo
  readonly ids: IdCodec
  readonly process: number
  readonly fenceFloor = 0
  private readonly connections: Connections
  private readonly environment: Environment
  private readonly clock: StoreClock
  private readonly presence: Presence
  private readonly reader: Reader
  private readonly asking = new Asking()
  private readonly wanted
  private readonly kept
  private readonly tables: StoredTables
  private session: Session
  /** Statements of this transaction that were sent and not waited for. */
  private sent: Promise<unknown>[] = []
  private isOpen = false
  private last: Head
  private head: Head
  private next: Head | undefined
  private times: readonly (number | null)[] = []
  /** After this the server is tried again that could not be reached. */
  private retryMs = 0
  private failure: Error | undefined
  private isClosed = false

  static async open(options: PostgresOptions): Promise<PostgresDatabase> {
    const { connections, environment, identity, isVirtual } = options
    const clock = serverClock(environment.clock, isVirtual)
    const opened = await openTables(connections, {
      identity,
      freshId: environment.ids.uuid().replaceAll('-', '').slice(0, 17),
      at: (serverMs) => {
        clock.tell(serverMs)
        return clock.now().at
      },
    })
    const database = new PostgresDatabase(options, opened, clock)
    try {
      await database.presence.show()
      return database
    } catch (error) {
      await database.close(false)
      throw storeErrorOf(error, connections.place.location)
    }
  }

  private constructor(options: PostgresOptions, opened: Opened, clock: StoreClock) {
    const { connections, config, environment, hashes, identity, onHint } = options
    this.connections = connections
    this.environment = environment
    this.clock = clock
    this.session = opened.session
    this.process = opened.process
    this.head = this.last = opened.head
    this.ids = createIdCodec(opened.storeId)
    this.info = {
      kind: 'postgres',
      location: connections.place.location,
      storeId: opened.storeId,
      processId: identity.processId,
      durability: 'full',
      schemaVersion,
      versions: { postgres: opened.serverVersion, node: process.versions.node },
    }
    this.presence = new Presence(connections, {
      process: opened.process,
      ttlMs: config.presenceTtlMs,
      timers: environment.timers,
      onHint,
    })
    this.reader = new Reader({
      connections,
      ids: this.ids,
      hashes,
      config,
      now: () => this.now(),
    })
    this.tables = new StoredTables(this.asking, this.ids, hashes, prepareFarLoad(this.asking))
    this.wanted = prepareWanted(this.tables, (names, find) => this.asking.gather(names, find))
    this.kept = prepareKeep(this.tables, opened.process)
  }

  get lastCommit(): number {
    return this.last.number
  }

  get pollMs(): number {
    return this.presence.pollMs
  }

  get busyMs(): number {
    return Math.max(0.1, this.retryMs)
  }

  get others(): number {
    return this.presence.others
  }

  get gone(): readonly number[] {
    return this.presence.gone
  }

  now(): Instant {
    return this.clock.now()
  }

  /** One question. Where the database cannot be reached, the next transaction waits for it. */
  async look(mono: number): Promise<boolean> {
    try {
      if (this.session.lost !== undefined) return true
      const [version, , at, ...times] = (await this.session.query(this.qualified(lookText)))
        .rows[0] as number[]
      this.clock.tell(at as number)
      this.times = times
      await this.presence.look(this.session, (text) => this.qualified(text), mono, this.now().at)
      return version !== this.last.version
    } catch (error) {
      if (!isPassing(error)) throw error
      return true
    }
  }

  nextAt(what: What): number | undefined {
    return this.times[whats.indexOf(what)] ?? undefined
  }

  async begin(): Promise<boolean> {
    if (!(await this.connect())) return false
    const { session } = this
    this.next = undefined
    this.sent = []
    try {
      const began = session.run(`BEGIN; ${this.connections.prelude}`)
      const locked = session.query('SELECT schema, version, number, hash FROM head FOR UPDATE')
      // In a statement of its own: this one begins when the lock is there.
      const told = session.query('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision')
      this.isOpen = true
      const [, { rows: heads }, { rows: times }] = await Promise.all([held(began), held(locked), held(told)])
      this.clock.tell(times[0]?.[0] as number)
      const [schema, version, number, hash] = heads[0] as [number, number, number, Buffer]
      assertKnown(schema, this.info.location)
      this.head = { version, number, hash }
      this.assertNothingLost()
      return true
    } catch (error) {
      await this.rollback()
      if (!isPassing(error)) throw error
      this.failure = error as Error
      return false
    }
  }

  /** A promoted standby may lack commits that were acknowledged here: the number of the last one tells. */
  private assertNothingLost(): void {
    const { head, last } = this
    if (head.number > last.number || (head.number === last.number && head.hash.equals(last.hash))) return
    throw new StoreError(
      'store_data_loss',
      `${this.info.location} has lost commits: this process has seen commit ${last.number}, and the database ends with another commit ${head.number}; stop every process, and restore the server that has it`,
    )
  }

  /** True once there is a connection. Where there is none, it is tried later and later. */
  private async connect(): Promise<boolean> {
    if (this.session.lost === undefined) return true
    try {
      this.session = await this.connections.open('commit')
      this.retryMs = 0
      return true
    } catch (error) {
      this.failure = error as Error
      this.retryMs = Math.min(longestRetryMs, Math.max(firstRetryMs, this.retryMs * 2))
      return false
    }
  }

  hasForeignChanges(): boolean {
    const isForeign = this.head.version !== this.last.version
    this.last = this.head
    return isForeign
  }

  async clientsRemoved(): Promise<string> {
    return this.asking.answer(this.session, () => this.tables.load.clientsRemoved())
  }

  keep(wanted: KeptWanted): Promise<Kept> {
    const { load } = this.tables
    const { process } = this
    const { since, shares } = wanted
    return this.asking.answer(this.session, () => {
      // All that does not build on other answers, at once.
      this.asking.ahead<() => unknown>(
        [
          () => load.running(process).map(({ task }) => load.task(task)),
          () => load.next(),
          () => (since === undefined ? load.streams() : load.streamsSince(since)),
          ...(shares
            ? [
                () => (since === undefined ? load.clients() : load.clientsSince(since)),
                () => load.runningByStream(),
                () => load.nextClient(),
              ]
            : []),
          () => load.quotas(),
          () => load.work.circuits(),
          () => load.work.usages(),
          () => load.work.swarms(),
          () => load.workers(process),
          () => load.totals(),
          () => load.nextSchedule(),
          () => load.nextBudget(),
        ],
        (read) => read(),
      )
      return this.kept(wanted)
    })
  }

  duties({ at, leaseAt, gone, limit, budgets }: DutiesWanted): Promise<Duties> {
    const { load } = this.tables
    const reads = [
      () => load.lapsed(leaseAt, limit),
      () => load.due(at, limit),
      () => gone.map((process) => load.running(process)),
      () => (budgets ? load.budgetsDue(at, limit) : []),
    ] as const
    return this.asking.answer(this.session, () => {
      this.asking.ahead<() => unknown>(reads, (read) => read())
      return { lapsed: reads[0](), due: reads[1](), orphans: reads[2]().flat(), budgets: reads[3]() }
    })
  }

  async load(wanted: Wanted): Promise<Loaded> {
    if (this.isOpen) return this.asking.answer(this.session, () => this.loadNow(wanted))
    return this.reader.inOneState(this.session, this.asking, () => this.loadNow(wanted))
  }

  private loadNow(wanted: Wanted): Loaded {
    const kinds = Object.keys(wanted) as (keyof Wanted)[]
    this.asking.ahead(kinds, (kind) => this.wanted({ [kind]: wanted[kind] }))
    return this.wanted(wanted)
  }

  show(lives: boolean, gone: readonly number[], at: number): void {
    if (lives)
      this.send('UPDATE process SET last_seen_at = $2::bigint WHERE id = $1::bigint', [this.process, at])
    if (gone.length > 0) this.endProcesses(gone, at)
  }

  /** Sent, and waited for with the commit: where one of them fails, so does that. */
  apply(changes: WorkingSet, isTold: boolean): void {
    const { events, now } = changes
    for (const { text, values } of statementsOf(changes, this.last.number + 1)) this.send(text, values)
    let { number, hash } = this.last
    if (events.length > 0 || isTold) {
      number += 1
      const row = journalRow(number, hash, now.at, events)
      hash = Buffer.from(row.hash)
      this.send('INSERT INTO journal VALUES ($1::bigint, $2::bigint, $3::text, $4::bytea)', [
        number,
        now.at,
        row.touched,
        hash,
      ])
    }
    this.next = { version: this.head.version + 1, number, hash }
    this.send(
      'UPDATE head SET version = $1::bigint, number = $2::bigint, hash = $3::bytea, writer = $4::bigint',
      [this.next.version, number, hash, this.process],
    )
    if (this.others > 0 && this.presence.notifies) this.send(this.presence.notifyText, [String(this.process)])
  }

  async commit(): Promise<void> {
    const { session, next } = this
    const times = session.query(timesText)
    const done = session.query('COMMIT')
    const answers = await Promise.allSettled([...this.sent, times, done])
    this.isOpen = false
    const failed = answers.find((it) => it.status === 'rejected')
    if (failed !== undefined) {
      const error: unknown = failed.reason
      if (!isLost(error) || next === undefined) throw this.isOurs(error) ? this.errorOf(error) : error
      // Whether it was committed, the next connection tells.
      if (!(await this.wasCommitted(next))) throw error
    } else {
      this.times = ((await times).rows[0] ?? []) as (number | null)[]
    }
    if (next === undefined) return
    this.last = next
  }

  /** What no second try mends. */
  private isOurs(error: unknown): boolean {
    return codeOf(error) === 'KU001'
  }

  /**
   * The connection was lost while a commit was on its way. The server decides first: it holds the lock of `head` until it has committed or
   * given up. Then the journal tells. What has no row there may be done twice: nobody was told of it.
   */
  private async wasCommitted(next: Head): Promise<boolean> {
    const { clock } = this.environment
    this.session.drop()
    for (const until = clock.monotonic() + outcomeMs; clock.monotonic() < until;) {
      if (!(await this.connect())) {
        await this.connections.pause(this.retryMs)
        continue
      }
      const { session } = this
      try {
        await session.run(`BEGIN; ${this.connections.prelude}`)
        const { rows } = await session.query('SELECT version, number, writer FROM head FOR UPDATE')
        const found = await session.query('SELECT hash FROM journal WHERE number = $1::bigint', [next.number])
        await session.run('COMMIT')
        const [version, , writer] = rows[0] as [number, number, number]
        if (next.number > this.last.number)
          return (found.rows[0]?.[0] as Buffer | undefined)?.equals(next.hash) ?? false
        return version === next.version && writer === this.process
      } catch (error) {
        if (!isPassing(error)) throw error
        session.drop()
      }
    }
    throw new StoreError(
      'store_outcome_unknown',
      `${this.info.location}: the connection was lost during commit ${next.number}, and the server could not be asked for ${outcomeMs} ms whether it is stored; repeat the calls with their keys once it answers`,
    )
  }

  async rollback(): Promise<void> {
    const { session, sent } = this
    this.sent = []
    this.next = undefined
    if (!this.isOpen) return
    this.isOpen = false
    await Promise.allSettled(sent)
    if (session.lost !== undefined) return
    try {
      await session.run('ROLLBACK')
    } catch {
      // A connection that cannot even do that is of no use: the server undoes what it began.
      session.drop()
    }
  }

  afterCommit(): void {
    this.presence.forgetGone()
  }

  async eventsAfter(commit: number, until: number): Promise<readonly StoredEvent[]> {
    const { rows } = await this.session.query(this.qualified(eventsText), [commit, until])
    return rows.map((row) => {
      const [task, explicitId, seq, type, at, data, hash, blob, text] = row as FoundEvent
      return {
        taskId: explicitId ?? this.ids.task(task),
        seq,
        type,
        at,
        data:
          blob === null || text === null ? data : data.replace(blobReference(blob, text.length), () => text),
        hash: hash.toString('hex'),
      }
    })
  }

  read(query: Read, counts: LocalCounts): Promise<Reads[ReadKind]['answer']> {
    return this.reader.read(query, counts)
  }

  refusal(waitedMs: number): Error {
    const cause = this.failure
    if (this.session.lost === undefined || cause === undefined)
      return new StoreError(
        'store_busy',
        `${this.info.location} was held by another process for ${waitedMs} ms; try again`,
      )
    return new StoreError(
      'store_unavailable',
      `${this.info.location} could not be reached for ${waitedMs} ms (${cause.message}); check the server, then try again`,
      { cause },
    )
  }

  isPassing(error: unknown): boolean {
    return isPassing(error)
  }

  errorOf(cause: unknown): Error {
    return storeErrorOf(cause, this.info.location)
  }

  /** A lost connection is replaced by a new one. */
  isFatal(): boolean {
    return false
  }

  pause(ms: number): Promise<void> {
    return this.connections.pause(ms)
  }

  async close(failed: boolean): Promise<void> {
    if (this.isClosed) return
    this.isClosed = true
    if (!failed && this.session.lost === undefined)
      try {
        await this.session.run(`BEGIN; ${this.connections.prelude}`)
        this.sent = []
        this.endProcesses([this.process], this.now().at)
        await Promise.all([...this.sent, this.session.run('COMMIT')])
      } catch {
        // Its silence says the same, later.
      }
    await Promise.all([this.session.end(), this.reader.close(), this.presence.close()])
  }

  /** Closes its connections without a word, as the death of its process would. */
  die(): void {
    this.isClosed = true
    this.session.drop()
    void this.reader.close()
    void this.presence.close()
  }

  private endProcesses(gone: readonly number[], at: number): void {
    this.send('UPDATE process SET ended_at = $2::bigint WHERE id = ANY($1::bigint[])', [gone, at])
    this.send('UPDATE worker SET registered = 0 WHERE registered = 1 AND process = ANY($1::bigint[])', [gone])
  }

  private send(text: string, values: readonly unknown[]): void {
    this.sent.push(held(this.session.query(text, values)))
  }

  /** A statement outside a transaction, where no search path is set: the tables with their schema. */
  private qualified(text: string): string {
    const { hasSessions, schema } = this.connections.place
    return hasSessions
      ? text
      : text.replaceAll(
          /\b(FROM|JOIN) (head|task|lease|schedule|budget|process|journal|event|blob)\b/g,
          `$1 ${schema}.$2`,
        )
  }
}

/** A promise that is waited for later: until then its failure is nobody's. */
function held<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}

type FoundEvent = [
  task: number,
  explicitId: string | null,
  seq: number,
  type: StoredEvent['type'],
  at: number,
  data: string,
  hash: Buffer,
  blob: string | null,
  text: string | null,
]

const whats: readonly What[] = ['task', 'lease', 'schedule', 'budget']
const timesList = `(SELECT min(due_at) FROM task WHERE due_at IS NOT NULL), (SELECT min(expires_at) FROM lease WHERE state = 0),
  (SELECT min(next_at) FROM schedule WHERE paused = 0 AND next_at IS NOT NULL), (SELECT min(due_at) FROM budget WHERE due_at IS NOT NULL)`
/** When something is due, in the order of {@link whats}. */
const timesText = `SELECT ${timesList}`
const lookText = `SELECT version, number, (extract(epoch FROM clock_timestamp()) * 1000)::double precision, ${timesList} FROM head`
const eventsText = `SELECT event.task, task.explicit_id, event.seq, event.type, event.at, event.data, event.hash, blob.sha256, blob.data
  FROM journal CROSS JOIN json_array_elements(journal.touched::json) WITH ORDINALITY AS touched (stretch, place)
    JOIN event ON event.task = (stretch ->> 0)::bigint AND event.seq BETWEEN (stretch ->> 1)::bigint AND (stretch ->> 2)::bigint
    JOIN task ON task.id = event.task LEFT JOIN blob ON blob.sha256 = event.blob
  WHERE number > $1::bigint AND number <= $2::bigint ORDER BY number, place, event.seq`

const firstRetryMs = 20
const longestRetryMs = 1_000
/** How long the server is asked whether a commit is stored. */
const outcomeMs = 60_000
