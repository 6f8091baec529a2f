import { type ExecutionConfig, StoreError } from '@ku0/agent-runtime-core'
import type { Instant } from '@ku0/agent-runtime-core/transition'
import type { Haste, Sent } from '../engine/database.ts'
import { assertKnown } from '../migration.ts'
import { toldLoss } from './care/lost-commits.ts'
import type { CommitSession } from './connection/commit-session.ts'
import type { Connections } from './connection/connections.ts'
import { codeOf, failedBefore, headMoved, isPassing } from './connection/errors.ts'
import type { Session } from './connection/session.ts'
import { type Found, question, type Statement, statement } from './connection/statement.ts'
import type { Opened } from './open.ts'
import type { StoreClock } from './processes/clock.ts'
import type { Competition } from './processes/competition.ts'
import { clockAndTimesText, type DueTimes, timesText } from './processes/due-times.ts'
import {
  type Head,
  type HeadRow,
  headText,
  lockHeadText,
  lossSeen,
  lostOf,
  seenText,
} from './processes/head.ts'
import type { Presence } from './processes/presence.ts'
import { renewedIdle } from './processes/process-rows.ts'
import { touchedTasks, touchedText } from './processes/touched.ts'
import type { Turn } from './processes/turn.ts'
import type { UnderWay } from './processes/under-way.ts'
import type { AskedAhead } from './reads/asked-ahead.ts'
import type { Questions } from './reads/questions.ts'
import { schemaVersion } from './tables/schema.ts'
import { Transaction } from './transaction.ts'

interface TransactionsParts {
  readonly connections: Connections
  readonly opened: Opened
  /** The id of this process. */
  readonly processId: string
  readonly link: CommitSession
  readonly turn: Turn
  readonly underWay: UnderWay
  readonly presence: Presence
  readonly competition: Competition
  readonly clock: StoreClock
  readonly due: DueTimes
  readonly questions: Questions
  readonly ahead: AskedAhead
  readonly config: () => ExecutionConfig
  /** The monotonic clock. */
  readonly mono: () => number
}

/**
 * The transactions of a process, one after the other. Where other processes have committed just now, one locks `head` before anything is decided, which is
 * a round trip more; otherwise it takes the store to be as the last commit left it, and its commit finds out.
 */
export class Transactions {
  readonly current: Transaction
  private readonly it: TransactionsParts
  /** It was assumed wrongly. */
  private isStale = false
  /** The schema that the store has: this program's, or a later one that has only added to it. */
  private schema: number
  /** The connection is a new one, perhaps to another server: what was read before is read again. */
  private isReconnected = false

  constructor(it: TransactionsParts) {
    this.it = it
    this.schema = it.opened.schema
    this.current = new Transaction(it.opened.head, it.opened.process)
  }

  private get session(): Session {
    return this.it.link.session
  }

  /** As the last commit that stands left it. */
  private get last(): Head {
    return this.it.underWay.last
  }

  /** No other process has committed just now. */
  get isCalm(): boolean {
    return this.it.competition.isOver(this.it.mono())
  }

  heardOfOthers(): void {
    this.it.competition.saw(this.it.mono())
  }

  reconnected(): void {
    this.isReconnected = true
    this.it.turn.forget()
  }

  async begin(haste: Haste): Promise<boolean> {
    const { connections, presence, turn, underWay } = this.it
    const { current } = this
    if (!(await this.connect())) return false
    this.beginAnew()
    // What a new connection leads to is looked at under the lock.
    const mayAssume = !this.isReconnected && (this.isCalm || turn.isOn)
    if (mayAssume || underWay.sent.length > 0) {
      turn.decides(this.session, haste)
      current.open = 'assumed'
      current.head = underWay.tip
      return true
    }
    turn.end(this.session)
    const asks = turn.isThere
    current.open = 'locked'
    try {
      const given = asks ? turn.ask(this.session, presence.others, haste) : undefined
      const ahead = this.askAhead()
      const answer = this.session.batch([
        ...connections.beginning,
        ...this.questions(lockHeadText),
        ...(this.isReconnected ? [this.seenQuestion()] : ahead.statements),
      ])
      // Both are on their way: where the first fails, so does the second.
      answer.catch(() => undefined)
      await given
      const found = await answer
      if (asks) turn.begins(this.session, presence.others, haste)
      const about = found.slice(connections.beginning.length)
      this.begun(about)
      await this.assertNothingLost(this.isReconnected ? about[3] : undefined)
      if (!this.isReconnected) ahead.take(about.slice(3))
      this.isReconnected = false
      return true
    } catch (error) {
      return this.notBegun(error)
    }
  }

  /**
   * Reads without the turn and without the lock, which a process that is alone, or has its turn, does not wait for anyway. On a new connection, and
   * where a commit is missing, what follows needs the lock.
   */
  async beginReading(): Promise<boolean> {
    const { connections, link, turn, underWay } = this.it
    if (this.isCalm || turn.isOn || underWay.sent.length > 0 || link.isLost || this.isReconnected)
      return false
    this.beginAnew()
    turn.end(this.session)
    this.current.open = 'reading'
    const settings = connections.beginning.slice(1)
    const ahead = this.askAhead()
    try {
      const found = await this.session.batch([
        statement('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'),
        ...settings,
        ...this.questions(headText),
        ...ahead.statements,
      ])
      const about = found.slice(settings.length + 1)
      this.begun(about)
      ahead.take(about.slice(3))
      if (lostOf(this.current.head, this.last, undefined) === undefined) return true
    } catch (error) {
      return this.notBegun(error)
    }
    await this.rollback()
    return false
  }

  /** True once there is a connection, of which it is known that all that was sent on the one before it stands or came to nothing. */
  private async connect(): Promise<boolean> {
    const { link, underWay } = this.it
    return !link.isLost || (underWay.isSettled && link.connect())
  }

  private beginAnew(): void {
    this.it.ahead.forget()
    this.current.forget()
    this.isStale = false
  }

  /** What {@link begun} is told by. */
  private questions(head: string): readonly Statement[] {
    return [question(head), question(clockAndTimesText), question(touchedText, [this.last.number])]
  }

  /** The head as a transaction begins, and what others have changed since the last. */
  private begun([heads, told, journal]: readonly Found[]): void {
    const { clock, connections, due } = this.it
    const [at, ...times] = told?.rows[0] ?? []
    clock.tell(at as number)
    due.take(times)
    const [schema, version, number, hash, untold, oldest] = (heads?.rows[0] ?? []) as HeadRow
    assertKnown({ version: schema, oldest }, schemaVersion, connections.place.location)
    this.schema = schema
    const head = { version, number, hash, untold }
    this.current.head = head
    if (!this.isReconnected) this.current.touched = touchedTasks(journal?.rows ?? [], this.last, head)
  }

  private askAhead() {
    const { ahead, config } = this.it
    return ahead.begin(this.isReconnected ? undefined : this.last.number, config())
  }

  /** Returns false where it may be tried again. */
  private async notBegun(error: unknown): Promise<false> {
    this.it.link.failed(error)
    await this.rollback()
    if (isPassing(error)) return false
    // Perhaps a later program has changed the tables: what it says of that is read without them.
    if (error instanceof StoreError || !codeOf(error).startsWith('42') || !this.it.ahead.stop()) throw error
    return false
  }

  private seenQuestion(): Statement {
    const { opened, processId } = this.it
    return question(seenText, [this.last.number, opened.process, processId])
  }

  /** Who has seen what is missing tells those that start afterwards, and stops. */
  private async assertNothingLost(seen: Found | undefined): Promise<void> {
    const { connections, opened } = this.it
    const { last, session } = this
    const { head } = this.current
    const kind = lostOf(head, last, seen)
    if (kind === undefined) return
    const loss = lossSeen(head, last, connections.place.location)
    if (kind === 'process') throw loss
    const { storeId, openedAt } = opened
    try {
      await session.batch([toldLoss({ kind, commit: last.number, storeId, openedAt }), statement('COMMIT')])
      this.current.open = 'no'
    } catch {
      // Each process that has seen it tries.
    }
    throw loss
  }

  hasForeignChanges(): boolean {
    const { competition, underWay } = this.it
    if (underWay.sent.length > 0) return false
    const { head, open } = this.current
    const isForeign = head.version !== this.last.version
    underWay.last = head
    if (isForeign) this.heardOfOthers()
    else if (open !== 'assumed') competition.sawNone()
    return isForeign
  }

  /**
   * Shows that this process and its workers live. Neither the lock of `head` nor a turn, and a crash may lose it. A process that was taken for dead meanwhile
   * has to come back by a commit.
   */
  async renewIdle(workers: readonly number[], { at, leaseAt }: Instant): Promise<boolean> {
    const { connections, link, opened, presence } = this.it
    const { session } = this
    if (link.isLost || this.isReconnected || !presence.isSeen) return false
    const begins = [...connections.beginning, statement('SET LOCAL synchronous_commit TO off')]
    try {
      const done = await session.batch([
        ...begins,
        ...renewedIdle(opened.process, workers, { at, leaseAt, schema: this.schema }),
      ])
      return done.at(-3)?.command === 'UPDATE 1' && done.at(-2)?.command === `UPDATE ${workers.length}`
    } catch (error) {
      // The commit that comes in its place meets the same, and judges it.
      link.failed(error)
      this.current.open = 'locked'
      await this.rollback()
      return false
    }
  }

  async commit(isLast: boolean): Promise<Sent | undefined> {
    const { underWay } = this.it
    const sent = this.sendCommit(isLast)
    await sent.heard
    if (underWay.isUnknown) return sent
    try {
      await sent.answered
    } catch (error) {
      underWay.forget()
      throw error
    }
    this.stands()
    return undefined
  }

  /** Where the transaction was begun in vain, its commit fails: so the next may be decided meanwhile, as it may under the lock in a turn. */
  send(isLast: boolean): Sent | undefined {
    const { connections, turn } = this.it
    return (this.current.open === 'assumed' || turn.isOn) && connections.place.hasSessions
      ? this.sendCommit(isLast)
      : undefined
  }

  get takesMore(): boolean {
    const { link, turn, underWay } = this.it
    return (this.isCalm || turn.isOn) && !link.isLost && !underWay.isBroken && !underWay.isLost
  }

  stands(): void {
    if (this.it.underWay.stands()) this.it.turn.rests(this.session)
  }

  fell(): Promise<void> {
    this.it.underWay.forget()
    this.isStale = false
    return this.rollback()
  }

  /** All that is written and the commit are one round trip. */
  private sendCommit(isLast: boolean): Sent {
    const { session } = this
    const { connections, questions, turn, underWay } = this.it
    const { to, statements, notice } = this.current.handOver(this.schema, connections.beginning)
    const ends = turn.sends(isLast)
    questions.asking.forget()
    underWay.sent.push(to)
    // Nothing follows the commit: what fails there would make one that stands look as if it had come to nothing.
    const answer = session.batch([...statements, ...ends, question(timesText), question('COMMIT')])
    // Behind it: a commit that notifies waits for all others of the server that do, and keeps them waiting until it is synced.
    if (notice !== undefined) session.batch([notice]).catch(() => undefined)
    const { promise: heard, resolve } = Promise.withResolvers<void>()
    return { answered: this.answered(answer, { to, asksTurn: ends.length > 0, heard: resolve }), heard }
  }

  private async answered(
    answer: Promise<readonly Found[]>,
    { to, asksTurn, heard }: { readonly to: Head; readonly asksTurn: boolean; readonly heard: () => void },
  ): Promise<void> {
    const { due, turn, underWay } = this.it
    try {
      const found = await answer
      const [times, done] = found.slice(-2)
      if (done?.command !== 'COMMIT') throw uncommitted(done?.command)
      due.take(times?.rows[0] ?? [])
      if (asksTurn) turn.hears(this.session, found.at(-3)?.rows ?? [])
    } catch (error) {
      if (codeOf(error) === headMoved) this.heardOfOthers()
      await underWay.failed(to, error, heard)
    } finally {
      heard()
    }
  }

  async rollback(): Promise<void> {
    const { session } = this
    const { connections, link, turn, underWay } = this.it
    const { open } = this.current
    const { isBroken } = underWay
    this.current.forget()
    // What was decided on what came to nothing is decided again.
    if (underWay.sent.length > 0 && (isBroken || link.isLost)) this.isStale = true
    underWay.isBroken = false
    if (link.isLost || (open === 'no' && !isBroken)) return
    try {
      if (open === 'reading') {
        // What comes next on the connection waits for it.
        session.run('ROLLBACK').catch(() => undefined)
      } else if (open === 'locked' || isBroken) {
        await session.run(connections.rollback)
        turn.forget()
      } else {
        const { rows } = await session.query(connections.qualified('SELECT version FROM head'))
        this.isStale = rows[0]?.[0] !== underWay.tip.version
        turn.end(session)
        if (this.isStale) this.heardOfOthers()
      }
    } catch {
      // A connection that cannot even do that is of no use: the server undoes what it began.
      session.drop()
    }
    if (link.isReadOnly) session.drop()
  }

  /** What was decided on a state that was another's already may fail for any reason. */
  isPassing(error: unknown): boolean {
    return this.isStale || isPassing(error)
  }
}

/** The server answers the commit of a transaction that failed with another word, and with no error: nothing of it is stored. */
function uncommitted(command: string | undefined): Error {
  return Object.assign(new Error(`the server answered a commit with ${command}`), { code: failedBefore })
}
