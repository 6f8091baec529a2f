import {
  StoreError,
  type Claim,
  type Interest,
  type Read,
  type StoreInfo,
  type StoreReach,
  type Write,
} from '@ku0/agent-runtime-core'
import type { Surroundings } from '@ku0/agent-runtime-core/transition'
import { Cache } from './cache.ts'
import type { Call } from './call.ts'
import type { Database, Outcomes } from './database.ts'
import { Due } from './due.ts'
import type { Credit } from './flush.ts'
import { HeldLeases } from './held-leases.ts'
import { InForce } from './in-force.ts'
import { LineAnswers, type LineCall } from './line-answers.ts'
import type { Message } from './message.ts'
import type { News } from './news.ts'
import { OwnWorkers } from './own-workers.ts'
import { Publisher } from './publisher.ts'
import { ReadAhead } from './read-ahead.ts'
import { SentFlushes, type SentFlush } from './sent-flushes.ts'
import { got, type Steps } from './steps.ts'
import { transact } from './transaction.ts'
import { TurnDraft, type Turn } from './turn.ts'
import { type EngineSetting } from './engine-setting.ts'

/** A lock held by another process is tried for this long before a call that waits for it is refused with `store_busy`. */
const busyPatienceMs = 10_000
/** A caller is told after so long that nobody knows whether the call was done. */
const unknownPatienceMs = 60_000
/** Operations folded in one flush at the most; what is left follows in the next. */
const maxBatch = 4_000
/** So many calls are decided while a commit is under way. Fewer share the next commit with those that come in meanwhile. */
const followers = 64

/**
 * A store's life over any database, one turn at a time: it takes in calls, flushes when something waits or is due, and says what came
 * of it. It does not wait and owns no timer: whoever runs it asks when it wants its next turn. What asks the database is a generator,
 * run at once or with waiting; one of them at a time. Source: `docs/ARCHITECTURE.md`, The store.
 */
export class Engine {
  private readonly setting: EngineSetting
  private readonly db: Database
  private readonly cache: Cache
  private readonly ahead: ReadAhead
  private readonly around: Surroundings
  private readonly inForce: InForce
  private readonly draft = new TurnDraft()
  private readonly due: Due
  private readonly held: HeldLeases
  private readonly publisher: Publisher
  private readonly sent = new SentFlushes()
  /** The workers of which their processes heard that they are drained from outside. */
  private readonly drainsTold = new Set<string>()
  private readonly demand = new Map<string, Credit>()
  private calls: Call[] = []
  private readonly lines: LineAnswers
  private readonly own: OwnWorkers
  private heldAsks: HeldAsk[] = []
  private busySince: number | undefined
  /** When it first asked in vain what has become of a commit. */
  private lostSince: number | undefined
  /** Calls of commits that were sent whose callers were told that nobody knows what has become of them. */
  private readonly unknown = new Set<number>()
  private claimable = true
  /** The last look found nothing to write: the next one does without the lock. */
  private looksInVain = false
  /** There was something to write since the last hint, besides calls. */
  private found = false
  private staleWrites = 0
  private commits = 0
  private repeatedFlushes = 0
  private isClosed = false
  /** So many of the calls are flushed one at a time, since together they failed. */
  private singly = 0
  private failure: Error | undefined
  /** A commit that stands and was told of, until {@link Engine.settle} takes it into the cache. */
  private untaken: Pick<SentFlush, 'flushed' | 'foreign'> | undefined

  constructor(db: Database, setting: EngineSetting) {
    this.db = db
    this.setting = setting
    const { config, environment, chain } = setting
    this.cache = new Cache(db.process, db.remote, db.readAhead * 2)
    this.ahead = new ReadAhead(db.readAhead)
    this.lines = new LineAnswers(db)
    this.own = new OwnWorkers(db)
    const inForce = new InForce(setting, db)
    this.inForce = inForce
    this.around = {
      get config() {
        return inForce.config
      },
      ids: db.ids,
      chain,
      sha256Hex: (text) => environment.digest.sha256Hex(text),
      fenceFloor: db.fenceFloor,
    }
    this.due = new Due(config, db, this.cache)
    this.held = new HeldLeases(config, db, this.cache, this.draft)
    this.publisher = new Publisher(db)
  }

  get info(): StoreInfo {
    return this.db.info
  }

  /** Takes in what the front says. Returns the work, if the database has to be asked for it; a read may go on beside a turn. */
  receive(message: Message): Steps<void> | undefined {
    switch (message.to) {
      case 'write':
        this.write(message.call, message.operation, message.from)
        return undefined
      case 'read':
        return this.read(message.call, message.query)
      case 'demand':
        this.setDemand(message.workerId, message.credit, message.given)
        return undefined
      case 'interest':
        // What it follows now may have been committed since it was read, and have concerned nobody here.
        if (this.db.looksAtMissed()) this.due.tickNow(this.mono())
        return this.follow(message.interest)
      case 'absent':
        this.setAbsent(message.workerIds)
        return undefined
      case 'held':
        this.tellHeld(message.call, message.workerIds)
        return undefined
    }
  }

  /** What is to be heard from now on, also of a commit under way: who reads next may not see that one. The message itself follows in its order. */
  expect(interest: Interest): void {
    this.publisher.expect(interest)
  }

  private *follow(interest: Interest): Steps<void> {
    try {
      yield* this.publisher.follow(interest)
    } catch (error) {
      if (this.isLive) this.stop(this.db.errorOf(error))
    }
  }

  /** `from`: which call of a line it is. */
  private write(call: number, operation: Write, from?: LineCall): void {
    if (this.refuses(call)) return
    // One that comes back under its name starts to count anew.
    if (operation.kind === 'removeWorkers') {
      this.own.forget(operation.workerIds)
      for (const workerId of operation.workerIds) {
        this.demand.delete(workerId)
        this.drainsTold.delete(workerId)
      }
    }
    this.calls.push({ call, operation, from, foundBusyAt: this.foundBusyAt() })
  }

  /** For what comes in now. */
  private foundBusyAt(): number | undefined {
    return this.busySince === undefined ? undefined : this.mono()
  }

  private *read(call: number, query: Read): Steps<void> {
    if (this.refuses(call)) return
    const { staleWrites, commits, repeatedFlushes } = this
    try {
      const value = yield* got(this.db.read(query, { staleWrites, commits, repeatedFlushes }))
      this.draft.reads.push({ call, value })
    } catch (error) {
      const reason = this.db.errorOf(error)
      this.draft.reads.push({ call, error: reason })
      if (this.db.isFatal(error)) this.stop(reason)
    }
  }

  /** `given`: how many the worker has received, said when its line has come back. */
  private setDemand(workerId: string, credit: number, given?: number): void {
    this.demand.set(workerId, { credit, given: given ?? this.demand.get(workerId)?.given ?? 0 })
    this.claimable = true
  }

  /** The line of these workers is silent: until their demand is stated again they are given nothing, and their leases are not renewed. */
  private setAbsent(workerIds: readonly string[]): void {
    for (const workerId of workerIds) this.demand.delete(workerId)
    this.own.forget(workerIds)
  }

  /** Tells which live leases workers have, after the next commit. */
  private tellHeld(call: number, workerIds: readonly string[]): void {
    if (this.refuses(call)) return
    this.heldAsks.push({ call, workerIds: new Set(workerIds), foundBusyAt: this.foundBusyAt() })
    this.claimable = true
  }

  /** Somebody else has written: the next turn looks at once. */
  hint(): void {
    this.found = false
    this.due.tickNow(this.mono())
  }

  /** Whether it is to look because of what another process has committed. */
  isConcerned(news: News): boolean {
    if (news === 'all' || this.publisher.follows) return true
    // Where there is preemption, a full process asks its tasks to give way to what is queued.
    return news === 'takers' && (this.inForce.config.preemption || this.hasDemand())
  }

  /** Whether the turn after the last hint found something to write. A flush with calls does not tell. */
  get hasFound(): boolean {
    return this.found
  }

  /** Whether this process holds no lease. */
  get rests(): boolean {
    return this.untaken === undefined && !this.held.holdsAny
  }

  /** Whether calls wait for a flush that may begin now. */
  get ready(): boolean {
    return this.calls.length > 0 || this.claimable
  }

  /** Resolves when a commit that was sent is answered, or the answer is lost: then there is something to be done. */
  get answered(): Promise<void> | undefined {
    return this.sent.answered
  }

  /** Whether it waits for time to pass until it asks again what has become of a commit. */
  get isLost(): boolean {
    return this.db.outcomes?.isUnknown === true
  }

  /** The database cannot be reached, or can be again. */
  reach(reach: StoreReach): void {
    this.draft.reach = reach
  }

  /** Does what is due and says what came of it; run it when something came in, and after {@link Engine.restMs}. */
  *take(): Steps<Turn> {
    if (this.isLive) yield* this.tryRun()
    yield* this.settle()
    return this.said()
  }

  /** The same before {@link Engine.settle}, which follows: whoever waits for an answer need not wait for that. */
  *takeFirst(): Steps<Turn> {
    if (this.isLive) yield* this.tryRun()
    return this.said()
  }

  private get isLive(): boolean {
    return this.failure === undefined && !this.isClosed
  }

  private said(): Turn {
    this.draft.settings = this.inForce.takeNews()
    return this.draft.take()
  }

  /** Takes what the last turn committed into the cache. */
  *settle(): Steps<void> {
    try {
      yield* this.takeIn()
    } catch (error) {
      this.stop(this.db.errorOf(error))
    }
  }

  /** The answers to what was read since the last turn: none of them has to wait for a flush. */
  takeReads(): Turn {
    return this.draft.takeReads()
  }

  /** Does what was handed over before the end, whatever pause was due; a lock is waited for. */
  *finish(): Steps<Turn> {
    const { due } = this
    const { outcomes } = this.db
    const isBusy = () => this.calls.length > 0 || this.sent.count > 0
    const latest = this.mono() + busyPatienceMs
    for (let left = 5_000; isBusy() && this.failure === undefined && left > 0; left--) {
      if (outcomes?.isUnknown === true) {
        yield* got(this.db.pause(Math.max(1, due.notBefore - this.mono())))
        if (this.mono() >= latest) {
          // These were never sent.
          const error = this.db.refusal(busyPatienceMs)
          for (const { call } of this.calls) this.draft.answers.push({ call, error })
          this.calls = []
          this.stop(outcomes.refusal(busyPatienceMs))
        }
      } else due.notBefore = 0
      const { answered } = this.sent
      if (answered !== undefined && outcomes?.isUnknown !== true) yield* got(answered)
      yield* this.tryRun()
      if (due.notBefore > 0 && this.calls.length > 0) yield* got(this.db.pause(1))
    }
    return yield* this.take()
  }

  /** How long it may rest, in ms, when nothing comes in. */
  restMs(): number {
    // That it has stopped is said in a turn.
    if (!this.isClosed && (this.untaken ?? this.draft.failed) !== undefined) return 0
    if (this.failure !== undefined || this.isClosed) return Number.POSITIVE_INFINITY
    const now = this.mono()
    // What is due waits for the answer to the commit under way.
    if (this.sent.count > 0) {
      if (this.isLost) return Math.max(0, this.due.notBefore - now)
      return this.mayFollow(now) ? 0 : Number.POSITIVE_INFINITY
    }
    const next = this.ready ? now : this.due.next(now)
    return Math.max(0, next - now, this.due.notBefore - now)
  }

  *close(): Steps<void> {
    if (this.isClosed) return
    this.isClosed = true
    yield* got(this.db.close(this.failure !== undefined))
  }

  /** It takes no turn any more, and its database is let go of by somebody else. */
  abandon(): void {
    this.isClosed = true
  }

  private mono(): number {
    return this.setting.environment.clock.monotonic()
  }

  private *tryRun(): Steps<void> {
    try {
      yield* this.takeIn()
      yield* this.run(this.mono())
    } catch (error) {
      this.stop(this.db.errorOf(error))
    }
  }

  /** At most one flush: what does not fit into it follows in the next turn, after the answers to this one are out. */
  private *run(mono: number): Steps<void> {
    const { due, db, held } = this
    const { config } = this.setting
    if (this.sent.count > 0) {
      // Who waits for an answer has it before anything else is done.
      if (yield* this.heard(mono)) return
      if (db.outcomes?.isUnknown === true) yield* this.findOut(db.outcomes, mono)
      else if (this.mayFollow(mono))
        yield* this.attempt(
          { renewing: false, showing: false, waits: false, hasTime: false, looks: false },
          mono,
        )
      return
    }
    if (mono < due.notBefore) return
    if (due.saysSchedule(mono)) this.draft.schedulesDue = true
    const ticked = due.ticks(mono)
    if (ticked) yield* this.look(mono)
    const beats = due.isHeartbeat(mono)
    const alive = beats && this.setting.stalledMs() < config.maxStallMs
    const renewing = alive && held.hasAny
    const showing = renewing || due.isPresence(mono)
    const isDue = due.isTimer(mono) || (ticked && (db.gone.length > 0 || (yield* this.hasLapsed())))
    if (this.calls.length === 0 && !this.claimable && !showing && !isDue) {
      if (beats) due.heartbeatDone(mono)
      return
    }
    if (renewing && !this.ready && !isDue && (yield* held.renewIdle())) {
      due.presenceShown(mono)
      due.heartbeatDone(mono)
      return
    }
    const waits =
      showing ||
      beats ||
      this.singly > 0 ||
      db.gone.length > 0 ||
      this.heldAsks.length > 0 ||
      this.hasLineCalls()
    const looks = this.looksInVain && this.calls.length === 0 && !waits && !isDue
    const hasTime =
      (renewing || this.calls.length > 0) &&
      !isDue &&
      !due.isRenewalLate(mono) &&
      db.gone.length === 0 &&
      this.heldAsks.length === 0 &&
      !this.mayClaim()
    const end = yield* this.attempt({ renewing, showing, waits, hasTime, looks }, mono)
    if (end === 'sent') due.firstSent(this.mono())
    // What was refused took the renewal of its flush with it, which is due still.
    if (end !== 'committed') return
    if (showing) due.presenceShown(mono)
    if (beats) due.heartbeatDone(mono)
  }

  /** One flush of the calls that wait. */
  private *attempt(beat: Beat, mono: number): Steps<FlushEnd> {
    const batch = this.takeBatch()
    let end: FlushEnd = 'repeat'
    try {
      end = yield* this.flush(batch, beat, mono)
    } finally {
      // They are answered when the store stops, or in a later flush.
      if (end === 'repeat') this.calls = this.calls.length === 0 ? batch : [...batch, ...this.calls]
    }
    if (end === 'committed' || end === 'refused') {
      if (this.untaken === undefined) yield* this.due.armTasks(this.mono())
      this.singly = Math.max(0, this.singly - batch.length)
    }
    return end
  }

  /** Whether calls wait that may be decided while the last commit is under way: nothing else is due, and what it changed is known. */
  private mayFollow(mono: number): boolean {
    const { last, count } = this.sent
    if (count !== 1 || last === undefined || this.calls.length < followers) return false
    const { schedules, budgets, outputs } = last.flushed.ws
    return (
      schedules.changed.size + budgets.changed.size + outputs.length === 0 &&
      this.cache.warm &&
      this.singly === 0 &&
      this.heldAsks.length === 0 &&
      !this.hasLineCalls() &&
      this.db.takesMore &&
      this.due.notBefore <= mono &&
      !this.due.isUrgent(mono)
    )
  }

  /** What is remembered of calls over lines is of commits that stand. */
  private hasLineCalls(): boolean {
    return this.calls.some(({ from }) => from !== undefined)
  }

  /** The connection was lost on which commits were sent: whether they stand is asked on a new one, and nothing else is done until that is known. */
  private *findOut(outcomes: Outcomes, mono: number): Steps<void> {
    if (mono < this.due.notBefore) return
    if (yield* got(outcomes.ask())) {
      this.busySince = undefined
      this.lostSince = undefined
      return
    }
    this.lostSince ??= mono
    this.waitForLock([], mono)
    const waitedMs = mono - this.lostSince
    if (waitedMs < unknownPatienceMs) return
    // A holder has nothing else to do, and is told if its lease is lost meanwhile.
    const callers = this.sent.calls.filter(
      ({ call, operation }) => !('leaseId' in operation) && !this.unknown.has(call),
    )
    const error = outcomes.refusal(unknownPatienceMs)
    for (const { call } of callers) {
      this.unknown.add(call)
      this.draft.answers.push({ call, error })
    }
  }

  /** Tells what came of commits that were answered. True if one was. */
  private *heard(mono: number): Steps<boolean> {
    let isAny = false
    for (let it = this.sent.takeStanding(); it !== undefined; it = this.sent.takeStanding()) {
      isAny = true
      this.db.stands()
      this.busySince = undefined
      this.forsake(it)
      yield* this.told(it)
      yield* this.due.armTasks(this.mono())
    }
    if (!this.sent.hasFallen) return isAny
    yield* got(this.sent.allAnswered())
    yield* this.undo(mono)
    return true
  }

  /** Callers who were told that nobody knows do not hear of the leases that they were given, so nobody renews those. */
  private forsake({ batch, flushed }: SentFlush): void {
    for (const [index, { call }] of batch.entries()) {
      const outcome = flushed.outcomes[index]
      const isTold = this.unknown.delete(call)
      if (!isTold || typeof outcome !== 'object' || !('leaseId' in outcome)) continue
      const lease = this.db.ids.leaseNumber(outcome.leaseId)
      if (lease !== undefined) this.held.lapsed.add(lease)
    }
  }

  /** What was decided on a commit that did not come about goes with it. Their calls wait again, in their order. */
  private *undo(mono: number): Steps<void> {
    const { fallen, error } = this.sent.takeFallen()
    const [first, ...others] = fallen
    if (first === undefined) return
    const given = new Set(this.unknown)
    const batches = (all: readonly SentFlush[]) =>
      all.flatMap(({ batch }) => batch.filter(({ call }) => !given.has(call)))
    const waiting = this.calls
    this.unknown.clear()
    this.calls = [...batches(fallen), ...waiting]
    for (const { flushed } of fallen) this.hand(flushed.claims, -1)
    const changed = fallen.flatMap(({ flushed }) => [...flushed.ws.tasks.changed.values()])
    this.held.drop(first.held, changed)
    this.cache.clear()
    this.claimable = true
    yield* got(this.db.fell())
    if (this.db.isPassing(error)) {
      this.waitForLock([], mono)
      return
    }
    if (this.isFinal(error)) throw error
    this.held.tellLapsed()
    if (this.refuseOrRepeat(first.batch, error, mono) === 'refused')
      this.calls = [...batches(others), ...waiting]
  }

  /** The calls of the next flush. What comes in while it goes on is for the one after it. */
  private takeBatch(): Call[] {
    const size = this.singly > 0 ? 1 : Math.min(maxBatch, this.db.maxCalls)
    const { calls } = this
    this.calls = calls.length <= size ? [] : calls.slice(size)
    return calls.length <= size ? calls : calls.slice(0, size)
  }

  /** On every tick: has another process written, died or come? */
  private *look(mono: number): Steps<void> {
    yield* this.due.armTasks(mono)
    if (yield* got(this.db.look(mono))) this.claimable = true
    if (this.cache.depth > 0 && this.hasDemand()) this.claimable = true
  }

  /** Whether a flush may claim tasks, or ask some to give way. */
  private mayClaim(): boolean {
    return this.claimable && (this.inForce.config.preemption || this.hasDemand())
  }

  private hasDemand(): boolean {
    for (const { credit, given } of this.demand.values()) if (credit > given) return true
    return false
  }

  private *hasLapsed(): Steps<boolean> {
    const expiry = yield* got(this.db.nextAt('lease'))
    return expiry !== undefined && expiry <= this.db.now().leaseAt
  }

  /** One transaction. Its calls are answered, unless it is to be repeated. */
  private *flush(batch: readonly Call[], beat: Beat, mono: number): Steps<FlushEnd> {
    const { renewing, showing, waits, hasTime, looks } = beat
    const { db, cache, around, held, own } = this
    const wasClaimable = this.claimable
    this.claimable = false
    const parts = { inForce: this.inForce, around, db, cache, held, own, lines: this.lines }
    const end = yield* transact(parts, {
      operations: batch.map(({ operation }) => operation),
      calls: batch.map(({ from }) => from),
      renew: renewing,
      showing,
      waits,
      abandoned: held.lapsed,
      gone: db.gone,
      demand: this.demand,
      readAhead: db.others > 0 ? this.ahead.size : db.readAhead,
      hasMore: this.calls.length > 0,
      hasTime,
      looks,
    })
    if (end.as === 'busy') {
      this.claimable ||= wasClaimable
      return this.waitForLock(batch, mono)
    }
    if (end.as === 'sent') {
      const { flushed, foreign, sent } = end
      const it = { flushed, foreign, batch, mono, held: new Map(cache.running) }
      if (batch.length === 0) this.looked(flushed.wrote)
      this.hand(flushed.claims, 1)
      this.taken({ flushed, foreign })
      this.sent.add(it, sent)
      return 'sent'
    }
    if (end.as === 'looked') {
      this.busySince = undefined
      this.claimable ||= end.finds
      this.looked(end.finds)
      yield* this.told({ flushed: end.flushed, foreign: end.foreign, batch, mono })
      return 'looked'
    }
    this.busySince = undefined
    if (end.as === 'committed') {
      if (batch.length === 0) this.looked(end.flushed.wrote)
      const { flushed, foreign } = end
      this.hand(flushed.claims, 1)
      // What is told of leases and workers besides the answers is read from the cache.
      if (this.heldAsks.length > 0 || flushed.ws.workers.changed.size > 0) this.taken({ flushed, foreign })
      else this.untaken = { flushed, foreign }
      yield* this.told({ flushed, foreign, batch, mono })
      return 'committed'
    }
    // What is to be renewed, and when something is due, is read again at once: perhaps nobody writes for long.
    this.claimable = true
    const { error } = end
    if (this.isFinal(error)) throw error
    held.tellLapsed()
    return this.refuseOrRepeat(batch, error, mono)
  }

  private looked(finds: boolean): void {
    this.looksInVain = !finds
    this.found ||= finds
  }

  private isFinal(error: unknown): boolean {
    return this.db.isFatal(error) || (error instanceof StoreError && error.code !== 'store_full')
  }

  /** What was decided is what the next flush builds on. */
  private taken({ flushed, foreign }: Pick<SentFlush, 'flushed' | 'foreign'>): void {
    this.ahead.claimed(flushed.claims.length, foreign)
    this.cache.absorb(flushed.ws)
  }

  /** The same for a commit that stands, with what follows from it for this process. */
  private *takeIn(): Steps<void> {
    const { untaken } = this
    if (untaken === undefined || this.isClosed) return
    this.untaken = undefined
    this.taken(untaken)
    this.held.forgetEnded()
    yield* this.due.armTasks(this.mono())
  }

  /** What follows a commit that stands. Nothing here may be repeated, and what fails here stops the store. */
  private *told({ flushed, foreign, batch, mono }: Omit<SentFlush, 'held'>): Steps<void> {
    const { cache, db, due, draft, publisher } = this
    const { ws, wrote } = flushed
    // Other processes first: they may have something to do at once. Whatever comes of that, callers have their answers.
    const failure = yield* this.toldOthers(wrote, mono)
    this.lines.committed()
    this.own.committed(ws.workers.changed.values())
    if (ws.schedules.changed.size > 0) {
      cache.scheduleAt = yield* got(db.nextAt('schedule'))
      due.schedulesChanged()
    }
    if (ws.budgets.changed.size > 0) cache.budgetAt = yield* got(db.nextAt('budget'))
    if (this.untaken === undefined) this.held.forgetEnded()
    if (wrote) this.commits++
    this.staleWrites += ws.staleWrites
    for (const [index, { call }] of batch.entries())
      draft.answers.push({ call, value: flushed.outcomes[index] })
    if (flushed.claims.length > 0) draft.claims.push(...this.inTime(flushed.claims))
    // Of what is held they are told as of a commit that stands.
    if (this.sent.count === 0) this.answerHeld()
    draft.notices.push(...ws.notices)
    this.tellDrains()
    yield* publisher.publish(draft, ws, foreign)
    if (failure !== undefined) throw failure
    if (wrote && db.fairnessMs > 0) due.notBefore = this.mono() + db.fairnessMs
  }

  /** The claims whose leases have not run out since they were decided. The others are not renewed, and so run out. */
  private inTime(claims: readonly Claim[]): readonly Claim[] {
    const late = this.held.late(claims)
    if (late.length === 0) return claims
    this.hand(late, -1)
    return claims.filter((claim) => !late.includes(claim))
  }

  /** Returns why that failed. */
  private *toldOthers(wrote: boolean, mono: number): Steps<Error | undefined> {
    try {
      yield* got(this.db.afterCommit({ wrote, mono }))
      return undefined
    } catch (error) {
      return this.db.errorOf(error)
    }
  }

  /** A flush that failed is repeated operation by operation, so that only the one at fault is refused. */
  private refuseOrRepeat(batch: readonly Call[], cause: unknown, mono: number): FlushEnd {
    if (batch.length > 1) {
      this.repeatedFlushes++
      this.singly = batch.length
      return 'repeat'
    }
    for (const { call } of batch) this.draft.answers.push({ call, error: this.db.errorOf(cause) })
    if (batch.length === 0) this.due.notBefore = mono + 50
    return 'refused'
  }

  private waitForLock(batch: readonly Call[], mono: number): FlushEnd {
    this.busySince ??= mono
    const waitedMs = mono - this.busySince
    const isUrgent = this.due.isHeartbeatLate(mono) && this.held.holdsAny
    this.due.notBefore =
      mono + this.db.retryMs({ waitedMs, isUrgent, draw: this.setting.environment.random.next() })
    this.held.tellLapsed()
    const latest = mono - busyPatienceMs
    if (this.busySince > latest) return 'repeat'
    const isPatient = ({ foundBusyAt = 0 }: Pick<Call, 'foundBusyAt'>) => foundBusyAt > latest
    const waiting = [...batch, ...this.calls]
    if ([...waiting, ...this.heldAsks].every(isPatient)) return 'repeat'
    const refused = waiting.filter((call) => !isPatient(call))
    const error = this.db.refusal(busyPatienceMs)
    for (const it of [...refused, ...this.heldAsks])
      if (!isPatient(it)) this.draft.answers.push({ call: it.call, error })
    this.calls = waiting.filter(isPatient)
    this.heldAsks = this.heldAsks.filter(isPatient)
    this.singly = Math.max(0, this.singly - refused.length)
    return 'busy'
  }

  /** Claims count as given as soon as they are decided; `by` is −1 where they come to nothing. */
  private hand(claims: readonly Claim[], by: 1 | -1): void {
    for (const { workerId } of claims) {
      const credit = this.demand.get(workerId)
      if (credit !== undefined) this.demand.set(workerId, { ...credit, given: credit.given + by })
    }
  }

  /** Another process may have written into the rows of this one's workers. */
  private tellDrains(): void {
    const { drainsTold, draft } = this
    for (const { workerId, drainAsked } of this.cache.workers.values()) {
      if (drainAsked === drainsTold.has(workerId)) continue
      if (drainAsked) drainsTold.add(workerId)
      else drainsTold.delete(workerId)
      draft.drains.push({ workerId, draining: drainAsked })
    }
  }

  private answerHeld(): void {
    const { cache, db, draft } = this
    for (const { call, workerIds } of this.heldAsks) {
      const value: HeldLease[] = []
      for (const { id, task, worker, yieldAskedAt } of cache.running.values()) {
        const workerId = cache.workers.get(worker)?.workerId
        if (workerId === undefined || !workerIds.has(workerId)) continue
        const taskId = cache.tasks.get(task)?.explicitId ?? db.ids.task(task)
        value.push({ leaseId: db.ids.lease(id), taskId, workerId, yields: yieldAskedAt !== null })
      }
      draft.answers.push({ call, value })
    }
    this.heldAsks = []
  }

  private refuses(call: number): boolean {
    const error =
      this.failure ?? (this.isClosed ? new StoreError('store_closed', 'the store was closed') : undefined)
    if (error !== undefined) this.draft.answers.push({ call, error })
    return error !== undefined
  }

  /** Fail-stop: what is unknown stays unknown, so nothing more is acknowledged. */
  private stop(error: Error): void {
    this.failure = error
    this.untaken = undefined
    for (const { batch } of [...this.sent.takeAll(), { batch: [...this.calls, ...this.heldAsks] }])
      for (const { call } of batch) this.draft.answers.push({ call, error })
    this.calls = []
    this.heldAsks = []
    this.draft.failed = error
  }
}

/** A live lease of a worker on a line. */
export interface HeldLease {
  readonly leaseId: string
  readonly taskId: string
  readonly workerId: string
  /** Its holder is asked to give it back. */
  readonly yields: boolean
}

/** A question which leases workers have, until the next commit. */
interface HeldAsk extends Pick<Call, 'call' | 'foundBusyAt'> {
  readonly workerIds: ReadonlySet<string>
}

/** What a flush does for this process itself: extend its leases, show that it lives. */
interface Beat {
  readonly renewing: boolean
  readonly showing: boolean
  /** Whether its commit is waited for. */
  readonly waits: boolean
  /** Whether it finds nothing to do but its calls and a renewal that is not late. */
  readonly hasTime: boolean
  /** Whether it only looks for what there is to do. */
  readonly looks: boolean
}

/**
 * How a flush ended: its calls were told what came of them, or were refused; or nothing was said, and it is to be repeated. `busy`: all
 * calls were refused, since another process holds the lock for too long. `sent`: what came of it is not known yet. `looked`: it had no calls, and wrote
 * nothing.
 */
type FlushEnd = 'committed' | 'sent' | 'looked' | 'refused' | 'repeat' | 'busy'
