import {
  createIdCodec,
  type Environment,
  type ExecutionConfig,
  type IdCodec,
  type Read,
  type ReadKind,
  type Reads,
  type StoredEvent,
  StoreError,
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
import { journalRow } from '../engine/journal-row.ts'
import { newsOf, type News } from '../engine/news.ts'
import type { ProcessIdentity } from '../process-identity.ts'
import { freshStoreId } from '../sqlite/incarnations.ts'
import type { Hashes } from '../sqlite/integrity.ts'
import { statementsOf } from './tables/apply.ts'
import { type Found, question, type Statement, statement } from './connection/statement.ts'
import { serverClock, type StoreClock } from './processes/clock.ts'
import { CommitSession } from './connection/commit-session.ts'
import type { Connections } from './connection/connections.ts'
import { clockAndTimesText, DueTimes, timesText, type What } from './processes/due-times.ts'
import { Competition } from './processes/competition.ts'
import { codeOf, failedBefore, isPassing, storeErrorOf } from './connection/errors.ts'
import { eventsText, foreignEvent } from './processes/foreign-events.ts'
import {
  type Head,
  type HeadRow,
  headMoved,
  headText,
  lockHeadText,
  lossSeen,
  lostOf,
  movedHead,
  raisedVersion,
  seenText,
  standingHead,
} from './processes/head.ts'
import { AskedAhead } from './reads/asked-ahead.ts'
import { assertKnown } from '../migration.ts'
import { Looks } from './processes/looks.ts'
import { openTables, type Opened } from './open.ts'
import { toldLoss } from './care/lost-commits.ts'
import { Presence } from './processes/presence.ts'
import {
  droppedLines,
  endedProcesses,
  keptLine,
  livingProcesses,
  renewedIdle,
} from './processes/process-rows.ts'
import { Questions } from './reads/questions.ts'
import { Reader } from './reads/reader.ts'
import { schemaVersion } from './tables/schema.ts'
import type { Session } from './connection/session.ts'
import { newsText } from './processes/news-text.ts'
import { changesUntold, touchedTasks, touchedText } from './processes/touched.ts'
import { Turn } from './processes/turn.ts'
import { UnderWay } from './processes/under-way.ts'
import { Vacuum } from './care/vacuum.ts'

export interface PostgresOptions {
  readonly connections: Connections
  readonly config: ExecutionConfig
  readonly environment: Environment
  readonly hashes: Hashes
  readonly identity: ProcessIdentity
  /** Whether workers of other machines come over lines. */
  readonly lines: boolean
  /** Open it although commits are missing. */
  readonly acceptLoss: boolean
  readonly existing: boolean
  /** The settings of the store that this process states. */
  readonly states?: string | undefined
  /** The environment's clock instead of the server's: in tests, whose time stands still. */
  readonly isVirtual: boolean
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
 * commit. Where other processes have committed just now, it locks `head` before, which is a round trip more; otherwise it takes the store to be as
 * the last commit left it, and the commit finds out. Source: `docs/decisions/0026-commits-of-several-processes.md`.
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
  private readonly environment: Environment
  private readonly clock: StoreClock
  private readonly presence: Presence
  private readonly reader: Reader
  private readonly questions: Questions
  private readonly link: CommitSession
  private readonly underWay: UnderWay
  private readonly vacuum: Vacuum
  /** What this transaction writes: it is sent with the commit. */
  private writes: Statement[] = []
  /**
   * `assumed`: nothing was sent yet, and the store is taken to be as the last commit left it. `reading`: all is read as of one moment, without a lock,
   * and nothing can be written.
   */
  private open: 'no' | 'assumed' | 'locked' | 'reading' = 'no'
  /** It was assumed wrongly. */
  private isStale = false
  /** What this transaction was begun on. */
  private head: Head
  /** The schema that the store has: this program's, or a later one that has only added to it. */
  private schema: number
  private next: Head | undefined
  /** What tells others of it once it stands. */
  private notice: Statement | undefined
  /** The tasks that others have changed since the last commit that this process has seen; undefined where that is not known. */
  private touched: ReadonlySet<number> | undefined
  /** The connection is a new one, perhaps to another server: what was read before is read again. */
  private isReconnected = false
  private readonly ahead: AskedAhead
  private readonly due = new DueTimes()
  private readonly competition: Competition
  private readonly turn: Turn
  /** By the clock of the server. */
  private readonly openedAt: number
  private readonly looks: Looks

  static async open(options: PostgresOptions): Promise<PostgresDatabase> {
    const { config, connections, environment, identity, lines, acceptLoss, existing } = options
    const { states, isVirtual, onHint, looksAt } = options
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
        identity,
        freshId: freshStoreId(environment.ids),
        at: (serverMs) => {
          clock.tell(serverMs)
          return clock.now().at
        },
        isVirtual,
        lines,
        acceptLoss,
        existing,
        states,
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
    this.environment = environment
    this.clock = clock
    this.link = new CommitSession(connections, opened.session, {
      onNew: () => {
        this.isReconnected = true
        this.turn.forget()
      },
      onReach: options.onReach,
    })
    this.process = opened.process
    this.remote = opened.remote
    this.configuration = opened.configuration
    this.config = config
    presence.remote = opened.remote ?? 0
    this.head = opened.head
    this.schema = opened.schema
    this.underWay = new UnderWay(opened.head, {
      connections,
      link: this.link,
      writer: opened.process,
      onMissing: () => this.heardOfOthers(),
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
    this.openedAt = opened.openedAt
    this.presence = presence
    this.competition = competition
    this.reader = new Reader({
      connections,
      ids: this.ids,
      hashes,
      config: () => this.config,
      now: () => this.now(),
    })
    this.questions = new Questions(this.ids, hashes, this)
    this.ahead = new AskedAhead(this.questions)
    const { due } = this
    this.looks = new Looks({ connections, presence, clock, due, version: () => this.last.version })
  }

  /** This process and those on its lines. */
  private get owners(): readonly number[] {
    return this.remote === undefined ? [this.process] : [this.process, this.remote]
  }

  private get session(): Session {
    return this.link.session
  }

  /** As the last commit that stands left it. */
  private get last(): Head {
    return this.underWay.last
  }

  /** The commits that were sent and do not stand yet: where each of them moves the head. */
  private get sent(): readonly Head[] {
    return this.underWay.sent
  }

  get lastCommit(): number {
    return this.last.number
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
    return this.isCalm || !this.connections.place.hasSessions ? Number.POSITIVE_INFINITY : callsOfTurn
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
      if (isForeign) this.heardOfOthers()
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

  async begin(haste: Haste): Promise<boolean> {
    if (!(await this.connect())) return false
    this.beginAnew()
    // What a new connection leads to is looked at under the lock.
    const mayAssume = !this.isReconnected && (this.isCalm || this.turn.isOn)
    if (mayAssume || this.sent.length > 0) {
      this.turn.decides(this.session, haste)
      this.open = 'assumed'
      this.head = this.underWay.tip
      return true
    }
    this.turn.end(this.session)
    const asks = this.turn.isThere
    this.open = 'locked'
    try {
      const turn = asks ? this.turn.ask(this.session, this.others, haste) : undefined
      const ahead = this.askAhead()
      const answer = this.session.batch([
        ...this.connections.beginning,
        question(lockHeadText),
        question(clockAndTimesText),
        question(touchedText, [this.last.number]),
        ...(this.isReconnected ? [this.seenQuestion()] : ahead.statements),
      ])
      // Both are on their way: where the first fails, so does the second.
      answer.catch(() => undefined)
      await turn
      const found = await answer
      if (asks) this.turn.begins(this.session, this.others, haste)
      const about = found.slice(this.connections.beginning.length)
      this.begun(about)
      await this.assertNothingLost(this.isReconnected ? about[3] : undefined)
      if (!this.isReconnected) ahead.take(about.slice(3))
      this.isReconnected = false
      return true
    } catch (error) {
      return this.notBegun(error)
    }
  }

  /** Returns false where it may be tried again. */
  private async notBegun(error: unknown): Promise<false> {
    this.link.failed(error)
    await this.rollback()
    if (isPassing(error)) return false
    // Perhaps a later program has changed the tables: what it says of that is read without them.
    if (error instanceof StoreError || !codeOf(error).startsWith('42') || !this.ahead.stop()) throw error
    return false
  }

  private askAhead() {
    return this.ahead.begin(this.isReconnected ? undefined : this.last.number, this.config)
  }

  /** Nothing is left of the transaction before. */
  private beginAnew(): void {
    this.ahead.forget()
    this.next = undefined
    this.notice = undefined
    this.writes = []
    this.touched = undefined
    this.isStale = false
  }

  /** The head as a transaction begins, and what others have changed since the last. */
  private begun([heads, told, journal]: readonly Found[]): void {
    const [at, ...times] = told?.rows[0] ?? []
    this.clock.tell(at as number)
    this.due.take(times)
    const [schema, version, number, hash, untold, oldest] = (heads?.rows[0] ?? []) as HeadRow
    assertKnown({ version: schema, oldest }, schemaVersion, this.info.location)
    this.schema = schema
    this.head = { version, number, hash, untold }
    if (!this.isReconnected) this.touched = touchedTasks(journal?.rows ?? [], this.last, this.head)
  }

  /**
   * Reads without the turn and without the lock, which a process that is alone, or has its turn, does not wait for anyway. On a new connection, and
   * where a commit is missing, what follows needs the lock.
   */
  async beginReading(): Promise<boolean> {
    if (this.isCalm || this.turn.isOn || this.sent.length > 0 || this.link.isLost || this.isReconnected)
      return false
    this.beginAnew()
    this.turn.end(this.session)
    this.open = 'reading'
    const settings = this.connections.beginning.slice(1)
    const ahead = this.askAhead()
    try {
      const found = await this.session.batch([
        statement('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'),
        ...settings,
        question(headText),
        question(clockAndTimesText),
        question(touchedText, [this.last.number]),
        ...ahead.statements,
      ])
      const about = found.slice(settings.length + 1)
      this.begun(about)
      ahead.take(about.slice(3))
      if (lostOf(this.head, this.last, undefined) === undefined) return true
    } catch (error) {
      return this.notBegun(error)
    }
    await this.rollback()
    return false
  }

  /** Who has seen what is missing tells those that start afterwards, and stops. */
  private async assertNothingLost(seen: Found | undefined): Promise<void> {
    const { head, last, openedAt, session } = this
    const kind = lostOf(head, last, seen)
    if (kind === undefined) return
    const loss = lossSeen(head, last, this.info.location)
    if (kind === 'process') throw loss
    const { storeId } = this.info
    try {
      await session.batch([toldLoss({ kind, commit: last.number, storeId, openedAt }), statement('COMMIT')])
      this.open = 'no'
    } catch {
      // Each process that has seen it tries.
    }
    throw loss
  }

  private seenQuestion(): Statement {
    const { last, process, info } = this
    return question(seenText, [last.number, process, info.processId])
  }

  /** No other process has committed just now. */
  private get isCalm(): boolean {
    return this.competition.isOver(this.environment.clock.monotonic())
  }

  private heardOfOthers(): void {
    this.competition.saw(this.environment.clock.monotonic())
  }

  /** True once there is a connection, of which it is known that all that was sent on the one before it stands or came to nothing. */
  private async connect(): Promise<boolean> {
    if (!this.link.isLost) return true
    return this.underWay.isSettled && this.link.connect()
  }

  hasForeignChanges(): boolean {
    if (this.sent.length > 0) return false
    const isForeign = this.head.version !== this.last.version
    this.underWay.last = this.head
    if (isForeign) this.heardOfOthers()
    else if (this.open !== 'assumed') this.competition.sawNone()
    return isForeign
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
    const touched = wanted.since === undefined ? undefined : this.touched
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
    const { open, session } = this
    const { asking } = this.questions
    const isOfOneState = open === 'locked' || open === 'reading'
    const isPlain = isOfOneState || (open === 'assumed' && this.connections.place.hasSessions)
    return isPlain ? asking.answer(session, read) : this.reader.inOneState(session, asking, read)
  }

  show(lives: boolean, gone: readonly number[], at: number): void {
    if (lives) this.writes.push(livingProcesses(this.owners, at, this.isSeen))
    if (gone.length === 0) return
    this.writes.push(...endedProcesses(gone, at))
    // What one of them still has on its way to the server finds another version, and comes to nothing.
    this.next = { ...this.head, version: this.head.version + 1 }
  }

  /** Neither the lock of `head` nor a turn, and a crash may lose it. A process that was taken for dead meanwhile has to come back by a commit. */
  async renewIdle(workers: readonly number[], { at, leaseAt }: Instant): Promise<boolean> {
    const { session, connections, link } = this
    if (link.isLost || this.isReconnected || !this.isSeen) return false
    const begins = [...connections.beginning, statement('SET LOCAL synchronous_commit TO off')]
    try {
      const done = await session.batch([
        ...begins,
        ...renewedIdle(this.process, workers, { at, leaseAt, schema: this.schema }),
      ])
      return done.at(-3)?.command === 'UPDATE 1' && done.at(-2)?.command === `UPDATE ${workers.length}`
    } catch (error) {
      // The commit that comes in its place meets the same, and judges it.
      this.link.failed(error)
      this.open = 'locked'
      await this.rollback()
      return false
    }
  }

  apply(changes: WorkingSet, isTold: boolean): void {
    const { events, now } = changes
    const written = statementsOf(changes, this.head.number + 1)
    this.vacuum.deletes(changes.pruned.length)
    let { number, hash } = this.head
    if (events.length > 0 || isTold) {
      number += 1
      const row = journalRow(number, hash, now.at, events)
      hash = Buffer.from(row.hash)
      this.add('INSERT INTO journal VALUES ($1::bigint, $2::bigint, $3::text, $4::bytea)', [
        number,
        now.at,
        row.touched,
        hash,
      ])
    }
    const version = this.head.version + 1
    const untold = changesUntold(changes, this.process) ? version : this.head.untold
    this.next = { version, number, hash, untold }
    this.writes.push(...written)
    if (this.others === 0 || !this.presence.notifies) return
    // Others see renewals, and who has come, when they look by themselves.
    const news = untold === version ? 'all' : newsOf(changes, this.process)
    if (news !== 'none')
      this.notice = statement(this.presence.notifyText, [newsText({ writer: this.process, version, news })])
  }

  async commit(isLast: boolean): Promise<Sent | undefined> {
    const sent = this.sendCommit(isLast)
    await sent.heard
    if (this.underWay.isUnknown) return sent
    try {
      await sent.answered
    } catch (error) {
      this.underWay.forget()
      throw error
    }
    this.stands()
    return undefined
  }

  /** Where the transaction was begun in vain, its commit fails: so the next may be decided meanwhile, as it may under the lock in a turn. */
  send(isLast: boolean): Sent | undefined {
    return (this.open === 'assumed' || this.turn.isOn) && this.connections.place.hasSessions
      ? this.sendCommit(isLast)
      : undefined
  }

  get takesMore(): boolean {
    const isAlone = this.isCalm || this.turn.isOn
    return isAlone && !this.link.isLost && !this.underWay.isBroken && !this.underWay.isLost
  }

  stands(): void {
    if (this.underWay.stands()) this.turn.rests(this.session)
  }

  fell(): Promise<void> {
    this.underWay.forget()
    this.isStale = false
    return this.rollback()
  }

  lineRecord(line: string): Promise<string | undefined> {
    return this.ask(() => this.questions.line(line))
  }

  keepLine(line: string, record: string): void {
    this.writes.push(keptLine(line, record))
  }

  dropLines(before: number): void {
    this.writes.push(droppedLines(before))
  }

  /** All that is written and the commit are one round trip. */
  private sendCommit(isLast: boolean): Sent {
    const { session, next, open, writes, head, notice } = this
    const statements: Statement[] = open === 'assumed' ? [...this.connections.beginning] : []
    if (next !== undefined) statements.push(movedHead(this.schema, head, next, this.process))
    else if (open === 'assumed') statements.push(standingHead(this.schema, head))
    const turn = this.turn.sends(isLast)
    // Nothing follows the commit: what fails there would make one that stands look as if it had come to nothing.
    statements.push(...writes, ...turn, question(timesText), question('COMMIT'))
    this.open = 'no'
    this.writes = []
    this.notice = undefined
    this.questions.asking.forget()
    const to = { ...(next ?? head) }
    this.underWay.sent.push(to)
    const answer = session.batch(statements)
    // Behind it: a commit that notifies waits for all others of the server that do, and keeps them waiting until it is synced.
    if (notice !== undefined) session.batch([notice]).catch(() => undefined)
    const { promise: heard, resolve } = Promise.withResolvers<void>()
    return { answered: this.answered(answer, { to, asksTurn: turn.length > 0, heard: resolve }), heard }
  }

  private async answered(
    answer: Promise<readonly Found[]>,
    { to, asksTurn, heard }: { readonly to: Head; readonly asksTurn: boolean; readonly heard: () => void },
  ): Promise<void> {
    try {
      const found = await answer
      const [times, done] = found.slice(-2)
      if (done?.command !== 'COMMIT') throw uncommitted(done?.command)
      this.due.take(times?.rows[0] ?? [])
      if (asksTurn) this.turn.hears(this.session, found.at(-3)?.rows ?? [])
    } catch (error) {
      if (codeOf(error) === headMoved) this.heardOfOthers()
      await this.underWay.failed(to, error, heard)
    } finally {
      heard()
    }
  }

  async rollback(): Promise<void> {
    const { session, open, underWay } = this
    const { isBroken } = underWay
    this.writes = []
    this.next = undefined
    this.open = 'no'
    // What was decided on what came to nothing is decided again.
    if (this.sent.length > 0 && (isBroken || this.link.isLost)) this.isStale = true
    underWay.isBroken = false
    if (this.link.isLost || (open === 'no' && !isBroken)) return
    try {
      if (open === 'reading') {
        // What comes next on the connection waits for it.
        session.run('ROLLBACK').catch(() => undefined)
      } else if (open === 'locked' || isBroken) {
        await session.run(this.connections.rollback)
        this.turn.forget()
      } else {
        const { rows } = await session.query(this.connections.qualified('SELECT version FROM head'))
        this.isStale = rows[0]?.[0] !== underWay.tip.version
        this.turn.end(session)
        if (this.isStale) this.heardOfOthers()
      }
    } catch {
      // A connection that cannot even do that is of no use: the server undoes what it began.
      session.drop()
    }
    if (this.link.isReadOnly) session.drop()
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

  /** What was decided on a state that was another's already may fail for any reason. */
  isPassing(error: unknown): boolean {
    return this.isStale || isPassing(error)
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
        this.writes = [
          ...(this.configuration === undefined ? [] : [raisedVersion]),
          ...endedProcesses([this.process], this.now().at),
        ]
        const told = this.presence.notifies
          ? [statement(this.presence.notifyText, [String(this.process)])]
          : []
        const { beginning } = this.connections
        await this.session.batch([...beginning, ...this.writes, statement('COMMIT'), ...told])
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

  private add(text: string, values: readonly unknown[]): void {
    this.writes.push(statement(text, values))
  }
}

/** The server answers the commit of a transaction that failed with another word, and with no error: nothing of it is stored. */
function uncommitted(command: string | undefined): Error {
  return Object.assign(new Error(`the server answered a commit with ${command}`), { code: failedBefore })
}

const noDuties: Duties = { lapsed: [], due: [], orphans: [], budgets: [] }

/** So many calls share a flush while others compete. */
const callsOfTurn = 250
/** After a commit the lock is left alone for this long while others may want it. */
const pooledFairnessMs = 0.3
