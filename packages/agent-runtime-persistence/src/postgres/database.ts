import {
  createIdCodec,
  type Environment,
  type ExecutionConfig,
  type IdCodec,
  type Read,
  type ReadKind,
  type Reads,
  type StoredEvent,
  type StoreInfo,
  type StoreReach,
} from '@ku0/agent-runtime-core'
import type { Duties, Instant, Loaded, Wanted, WorkingSet } from '@ku0/agent-runtime-core/transition'
import type {
  Database,
  DutiesWanted,
  Haste,
  Kept,
  KeptWanted,
  LocalCounts,
  LockWait,
  Outcomes,
  Sent,
} from '../engine/database.ts'
import type { News } from '../engine/news.ts'
import { freshStoreId } from '../sqlite/incarnations.ts'
import type { Hashes } from '../sqlite/integrity.ts'
import { Vacuum } from './care/vacuum.ts'
import { CommitSession } from './connection/commit-session.ts'
import type { Connections } from './connection/connections.ts'
import { isPassing, storeErrorOf } from './connection/errors.ts'
import type { Session } from './connection/session.ts'
import { statement } from './connection/statement.ts'
import { type Entry, openTables, type Opened } from './open.ts'
import { serverClock, type StoreClock } from './processes/clock.ts'
import { Competition } from './processes/competition.ts'
import { DueTimes, type What } from './processes/due-times.ts'
import { eventsText, foreignEvent } from './processes/foreign-events.ts'
import { raisedVersion } from './processes/head.ts'
import { Looks } from './processes/looks.ts'
import { Presence } from './processes/presence.ts'
import { droppedLines, endedProcesses, keptLine, livingProcesses } from './processes/process-rows.ts'
import { Turn } from './processes/turn.ts'
import { UnderWay } from './processes/under-way.ts'
import { AskedAhead } from './reads/asked-ahead.ts'
import { Questions } from './reads/questions.ts'
import { Reader } from './reads/reader.ts'
import { schemaVersion } from './tables/schema.ts'
import { Transactions } from './transactions.ts'

export interface PostgresOptions extends Entry {
  readonly connections: Connections
  readonly config: ExecutionConfig
  readonly environment: Environment
  readonly hashes: Hashes
  /** Another process has committed. */
  readonly onHint: () => void
  /** Whether this process looks at once because another one has committed something that concerns so many. */
  readonly looksAt: (news: News) => boolean
  /** The server cannot be reached, or can be again. */
  readonly onReach: (reach: StoreReach) => void
}

interface Parts {
  readonly opened: Opened
  readonly clock: StoreClock
  readonly presence: Presence
  readonly competition: Competition
}

/**
 * The engine's database on PostgreSQL. A flush crosses the network once for each thing that it has to know and does not, and once to write and
 * commit. Source: `docs/decisions/0026-commits-of-several-processes.md`.
 */
export class PostgresDatabase implements Database {
  readonly info: StoreInfo
  readonly ids: IdCodec
  readonly process: number
  readonly remote: number | undefined
  readonly configuration: number | undefined
  readonly fenceFloor: number
  /** A question waits for the commit that is under way. So it is asked once for several flushes. */
  readonly readAhead = 2_048
  private config: ExecutionConfig
  private readonly connections: Connections
  private readonly clock: StoreClock
  private readonly presence: Presence
  private readonly reader: Reader
  private readonly questions: Questions
  private readonly link: CommitSession
  private readonly underWay: UnderWay
  private readonly vacuum: Vacuum
  private readonly transactions: Transactions
  private readonly ahead: AskedAhead
  private readonly due = new DueTimes()
  private readonly turn: Turn
  private readonly looks: Looks

  static async open(options: PostgresOptions): Promise<PostgresDatabase> {
    const { config, connections, environment, isVirtual, onHint, looksAt } = options
    const clock = serverClock(environment.clock, isVirtual)
    const competition = new Competition()
    const presence = new Presence(connections, {
      ttlMs: config.presenceTtlMs,
      timers: environment.timers,
      isVirtual,
      onHint,
      looksAt: (news) => {
        competition.saw(environment.clock.monotonic())
        return looksAt(news)
      },
    })
    try {
      const opened = await openTables(connections, {
        ...options,
        freshId: freshStoreId(environment.ids),
        at: (serverMs) => {
          clock.tell(serverMs)
          return clock.now().at
        },
        meet: () => presence.meet(),
        show: (process) => presence.show(process),
        hide: () => presence.hide(),
        mono: () => environment.clock.monotonic(),
      })
      return new PostgresDatabase(options, { opened, clock, presence, competition })
    } catch (error) {
      await presence.close()
      throw error
    }
  }

  private constructor(options: PostgresOptions, { opened, clock, presence, competition }: Parts) {
    const { connections, config, environment, hashes, identity, isVirtual } = options
    const { clock: processClock, timers } = environment
    this.turn = new Turn({
      ...connections.place,
      clock: processClock,
      timers,
      isVirtual,
      leaseTtlMs: () => this.config.leaseTtlMs,
    })
    this.connections = connections
    this.vacuum = new Vacuum(connections)
    this.clock = clock
    this.link = new CommitSession(connections, opened.session, {
      onNew: () => this.transactions.reconnected(),
      onReach: options.onReach,
    })
    this.process = opened.process
    this.remote = opened.remote
    this.configuration = opened.configuration
    this.config = config
    presence.remote = opened.remote ?? 0
    this.underWay = new UnderWay(opened.head, {
      connections,
      link: this.link,
      writer: opened.process,
      onMissing: () => this.transactions.heardOfOthers(),
    })
    this.ids = createIdCodec(opened.storeId, opened.past)
    this.fenceFloor = opened.past.at(-1)?.fenceFloor ?? 0
    this.info = {
      kind: 'postgres',
      location: connections.place.location,
      storeId: opened.storeId,
      processId: identity.processId,
      durability: 'full',
      schemaVersion,
      versions: { postgres: opened.serverVersion, node: process.versions.node },
      ...(opened.loss === undefined ? {} : { acceptedLoss: opened.loss }),
    }
    this.presence = presence
    this.reader = new Reader({
      connections,
      ids: this.ids,
      hashes,
      config: () => this.config,
      now: () => this.now(),
    })
    this.questions = new Questions(this.ids, hashes, this)
    this.ahead = new AskedAhead(this.questions)
    const { ahead, due, link, questions, turn, underWay } = this
    this.looks = new Looks({ connections, presence, clock, due, version: () => underWay.last.version })
    this.transactions = new Transactions({
      connections,
      opened,
      processId: identity.processId,
      link,
      turn,
      underWay,
      presence,
      competition,
      clock,
      due,
      questions,
      ahead,
      config: () => this.config,
      mono: () => processClock.monotonic(),
    })
  }

  /** This process and those on its lines. */
  private get owners(): readonly number[] {
    return this.remote === undefined ? [this.process] : [this.process, this.remote]
  }

  private get session(): Session {
    return this.link.session
  }

  get lastCommit(): number {
    return this.underWay.last.number
  }

  get pollMs(): number {
    return this.presence.pollMs
  }

  get restPollMs(): number {
    return this.pollMs
  }

  retryMs({ draw }: LockWait): number {
    return Math.max(0.1, this.link.retryMs) + draw * 0.4
  }

  get others(): number {
    return this.presence.others
  }

  /** Who waits for the turn, or for the lock, comes next by itself. Behind a pooler a process that hurries may be first again. */
  get fairnessMs(): number {
    return this.others > 0 && !this.connections.place.hasSessions ? pooledFairnessMs : 0
  }

  /** In a turn the next flush is decided while the server writes this one, so there have to be several. */
  get maxCalls(): number {
    return this.transactions.isCalm || !this.connections.place.hasSessions
      ? Number.POSITIVE_INFINITY
      : callsOfTurn
  }

  get outcomes(): Outcomes {
    return this.underWay
  }

  get isSeen(): boolean {
    return this.presence.isSeen
  }

  get gone(): readonly number[] {
    return this.presence.gone
  }

  now(): Instant {
    return this.clock.now()
  }

  /** Where the database cannot be reached, the next transaction waits for it. */
  async look(mono: number): Promise<boolean> {
    if (this.link.isLost) return true
    // Others wait for it before they commit, or their commit makes the next one fail. The process asks afterwards who lives.
    if (this.turn.isOn) return false
    try {
      const isForeign = await this.looks.look(this.session, mono)
      if (isForeign) this.transactions.heardOfOthers()
      return isForeign
    } catch (error) {
      if (!isPassing(error)) throw error
      return true
    }
  }

  looksAtMissed(): boolean {
    return this.presence.wantMissed()
  }

  nextAt(what: What): number | undefined {
    return this.due.of(what)
  }

  begin(haste: Haste): Promise<boolean> {
    return this.transactions.begin(haste)
  }

  beginReading(): Promise<boolean> {
    return this.transactions.beginReading()
  }

  hasForeignChanges(): boolean {
    return this.transactions.hasForeignChanges()
  }

  configured(config: ExecutionConfig): void {
    this.config = config
  }

  configurationWithout(gone: readonly number[]): Promise<number | undefined> {
    return this.ask(() => this.questions.configurationWithout(gone))
  }

  settings(row: number): Promise<string> {
    return this.ask(() => this.questions.settings(row))
  }

  clientsRemoved(): Promise<string> {
    return this.ask(() => this.questions.clientsRemoved())
  }

  async keep(wanted: KeptWanted): Promise<Kept> {
    const touched = wanted.since === undefined ? undefined : this.transactions.current.touched
    const kept = await this.ask(() => this.questions.kept(wanted, touched))
    this.questions.asking.forget()
    return kept
  }

  duties(wanted: DutiesWanted): Duties | Promise<Duties> {
    const { due } = this
    const { at, leaseAt, gone, budgets } = wanted
    if (gone.length === 0 && !budgets && !due.isDue('task', at) && !due.isDue('lease', leaseAt))
      return noDuties
    return this.ask(() => this.questions.duties(wanted))
  }

  load(wanted: Wanted): Loaded | Promise<Loaded> {
    return this.ahead.answer(wanted) ?? this.ask(() => this.questions.loaded(wanted))
  }

  /** In a transaction that is assumed, what others commit meanwhile shows when it is committed. */
  private ask<T>(read: () => T): Promise<T> {
    const { session } = this
    const { open } = this.transactions.current
    const { asking } = this.questions
    const isOfOneState = open === 'locked' || open === 'reading'
    const isPlain = isOfOneState || (open === 'assumed' && this.connections.place.hasSessions)
    return isPlain ? asking.answer(session, read) : this.reader.inOneState(session, asking, read)
  }

  show(lives: boolean, gone: readonly number[], at: number): void {
    const { current } = this.transactions
    if (lives) current.add(livingProcesses(this.owners, at, this.isSeen))
    if (gone.length === 0) return
    current.add(...endedProcesses(gone, at))
    // What one of them still has on its way comes to nothing.
    current.raise()
  }

  renewIdle(workers: readonly number[], now: Instant): Promise<boolean> {
    return this.transactions.renewIdle(workers, now)
  }

  apply(changes: WorkingSet, isTold: boolean): void {
    const { notifies, notifyText, others } = this.presence
    this.transactions.current.apply(changes, isTold, others > 0 && notifies ? notifyText : undefined)
    this.vacuum.deletes(changes.pruned.length)
  }

  commit(isLast: boolean): Promise<Sent | undefined> {
    return this.transactions.commit(isLast)
  }

  send(isLast: boolean): Sent | undefined {
    return this.transactions.send(isLast)
  }

  get takesMore(): boolean {
    return this.transactions.takesMore
  }

  stands(): void {
    this.transactions.stands()
  }

  fell(): Promise<void> {
    return this.transactions.fell()
  }

  rollback(): Promise<void> {
    return this.transactions.rollback()
  }

  lineRecord(line: string): Promise<string | undefined> {
    return this.ask(() => this.questions.line(line))
  }

  keepLine(line: string, record: string): void {
    this.transactions.current.add(keptLine(line, record))
  }

  dropLines(before: number): void {
    this.transactions.current.add(droppedLines(before))
  }

  afterCommit(): void {
    this.presence.forgetGone()
    this.vacuum.afterCommit()
  }

  async eventsAfter(commit: number, until: number): Promise<readonly StoredEvent[]> {
    const { rows } = await this.session.query(this.connections.qualified(eventsText), [commit, until])
    return rows.map((row) => foreignEvent(row, this.ids))
  }

  read(query: Read, counts: LocalCounts): Promise<Reads[ReadKind]['answer']> {
    return this.reader.read(query, counts)
  }

  refusal(waitedMs: number): Error {
    return this.link.refusal(waitedMs)
  }

  isPassing(error: unknown): boolean {
    return this.transactions.isPassing(error)
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
    if (this.link.isClosed) return
    this.link.isClosed = true
    this.vacuum.close()
    this.turn.end(this.session)
    if (!failed && !this.link.isLost)
      try {
        const { notifies, notifyText } = this.presence
        await this.session.batch([
          ...this.connections.beginning,
          ...(this.configuration === undefined ? [] : [raisedVersion]),
          ...endedProcesses([this.process], this.now().at),
          statement('COMMIT'),
          ...(notifies ? [statement(notifyText, [String(this.process)])] : []),
        ])
      } catch {
        // Its silence says the same, later.
      }
    await Promise.all([this.session.end(), this.reader.close(), this.presence.close()])
  }

  /** Closes its connections without a word, as the death of its process would. */
  die(): void {
    this.link.isClosed = true
    this.vacuum.close()
    this.turn.forget()
    this.session.drop()
    void this.reader.close()
    void this.presence.close()
  }
}

const noDuties: Duties = { lapsed: [], due: [], orphans: [], budgets: [] }

/** So many calls share a flush while others compete. */
const callsOfTurn = 250
/** After a commit the lock is left alone for this long while others may want it. */
const pooledFairnessMs = 0.3
