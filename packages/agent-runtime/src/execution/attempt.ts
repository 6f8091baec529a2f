import {
  addUsage,
  type BackOff,
  type Claim,
  type Divergence,
  describeError,
  isReadable,
  type OutcomeOf,
  type RateLimited,
  RuntimeError,
  type Settlement,
  show,
  type UsageSum,
  type Write,
} from '@ku0/agent-runtime-core'
import type { CleanupHook } from '../task-context.ts'
import type { ProfileWatch } from '../workload/watch.ts'
import {
  canceled,
  exceeded,
  lost,
  overBudget,
  type Stop,
  shutDown,
  timedOut,
  waiting,
  yielded,
} from './cancellation.ts'
import { CleanupHooks } from './cleanup.ts'
import { insist } from './insist.ts'
import type { LogLevel, Parts } from './parts.ts'
import type { ReplayWatch } from './replay-watch.ts'

/** Something that goes on on behalf of an attempt and must not outlive it: a command, open waits. */
export interface Dependant {
  /** What does not stop at once says when clean-up hooks may take it for over. */
  stop(reason: Error): Promise<void> | void
}

/** Told of the two ends of an attempt: its handler's, which frees the slot, and that of all it set off. */
export interface AttemptObserver {
  /** The handler's promise has settled, or the handler will never be called. Source: `docs/semantics.md 4.5, 5.1`. */
  slotFree(attempt: Attempt): void
  /** Hooks and commands are over too. */
  gone(attempt: Attempt): void
  /**
   * All that had to stop has, so long after it was told to; `leaked`: its handler has not within `abortGraceMs`, and may later.
   * Source: `docs/semantics.md 5.4`.
   */
  halted(
    attempt: Attempt,
    halt: { readonly kind: Stop['kind']; readonly afterMs: number; readonly leaked: boolean },
  ): void
}

/**
 * One claim being run: whether its handler may still act, and what has to stop when it may not. A lease ends once; whatever
 * is told of its end later changes nothing.
 */
export class Attempt {
  readonly claim: Claim
  readonly parts: Parts
  /** Why it has to stop, from the moment that it has to. */
  stopped: Stop | undefined
  handlerEnded = false
  /** Another task asks for the slot; heeded at the next step boundary. */
  yieldAsked = false

  /** What holds its lease to its profile, when it has one. */
  watch: ProfileWatch | undefined

  /** Nothing is done on behalf of a replay: it is told where the handler comes to. */
  readonly replay: ReplayWatch | undefined

  readonly #observer: AttemptObserver
  #controller: AbortController | undefined
  #hooks: CleanupHooks | undefined
  #dependants: Set<Dependant> | undefined
  /** Commands that were told to stop. */
  #stopping: Promise<void>[] | undefined
  /** The handler, its settlement, running hooks, commands: the attempt is gone when it reaches 0. */
  #holds = 1
  /** It was told of, or brought about, the end of its lease. */
  #leaseEnded = false
  /** The store waits to hear that the handler has stopped. Source: `docs/semantics.md` C3. */
  #mustAcknowledge = false
  #stoppedAt = 0
  #charged: UsageSum | undefined
  #told: RateLimited | undefined
  /** What runs of steps have used up that have not been told, by run; of those that came to nothing in one sum. */
  #runs: Map<object, UsageSum> | undefined
  #owed: UsageSum | undefined
  #grace: { cancel(): void } | undefined

  constructor(parts: Parts, claim: Claim, observer: AttemptObserver, replay?: ReplayWatch) {
    this.parts = parts
    this.replay = replay
    this.claim = claim
    this.#observer = observer
  }

  /** Made on first use: most handlers never look at it. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.stopped !== undefined) this.#controller.abort(this.stopped.error)
    }
    return this.#controller.signal
  }

  /** Why the handler may no longer act on behalf of its lease; undefined while it may. */
  get closedBy(): Error | undefined {
    if (this.stopped !== undefined) return this.stopped.error
    if (!this.handlerEnded) return undefined
    return new RuntimeError(
      'step_outside_handler',
      `the handler of task ${this.claim.taskId} has ended: await what it starts`,
    )
  }

  /** The task goes on in a later pass. What this one awaits never settles. */
  get isSuspended(): boolean {
    return this.stopped?.kind === 'waiting' || this.stopped?.kind === 'yielded'
  }

  /** Throws unless the handler may act on behalf of its lease. */
  assertOpen(): void {
    const reason = this.closedBy
    if (reason !== undefined) throw reason
  }

  /**
   * A fenced write. A store that is busy, full or away for a while is asked again for as long as the lease is not known to
   * be lost, so that trouble of the store fails no task. Source: `docs/reliability.md` D01, D03.
   */
  write<K extends HolderWrite>(operation: Write<K>): Promise<OutcomeOf<K>> {
    const written = this.parts.store
      .write(operation)
      .catch((error: unknown) => this.#insist(operation, error))
    const charged = 'charged' in operation && operation.kind !== 'suspend' ? operation.charged : undefined
    if (charged === undefined) return written
    return written.then((outcome) => {
      const isStale =
        outcome === 'stale' ||
        (typeof outcome === 'object' && 'fenced' in outcome && outcome.fenced === 'stale')
      if (isStale) this.#owed = addUsage(this.#owed, charged)
      return outcome
    })
  }

  /** Whether its lease may have run out while its process slept, unheard of. Source: `docs/reliability.md` C03. */
  get mayHaveSlept(): boolean {
    return this.parts.store.mayHaveSlept?.() ?? false
  }

  /** How often its process slept so: an answer from before the last time says nothing of the lease any more. */
  get timesSlept(): number {
    return this.parts.store.timesSlept?.() ?? 0
  }

  /**
   * Asks whether its lease is live, by a write of nothing under it, until there is an answer from after the last sleep. Resolves when that
   * is known: to be lost, or not.
   */
  async confirm(): Promise<void> {
    let asked: number
    do {
      asked = this.timesSlept
      const fenced = await this.write({ kind: 'appendOutput', leaseId: this.claim.leaseId, chunks: [] })
      if (fenced === 'stale') this.lose()
    } while (this.stopped === undefined && this.timesSlept !== asked)
  }

  /** The task was canceled: that is committed already. Source: `docs/semantics.md 5.1`. */
  cancel(reason?: string): void {
    this.#leaseEnded = true
    this.#mustAcknowledge = true
    this.#taken(canceled(this.claim.taskId, reason))
  }

  /** A notice or a stale write told that the lease is gone. */
  lose(cause?: unknown): void {
    if (this.#leaseEnded) return
    this.#leaseEnded = true
    const { taskId, leaseId, workerId } = this.claim
    this.parts.announce('lease.lost', taskId, 0, { leaseId, workerId })
    this.#taken(lost(leaseId, taskId, cause))
  }

  /** The runtime has failed the task: that is committed already. Source: `docs/semantics.md 11.5`. */
  fail(reason: string): void {
    this.#leaseEnded = true
    this.#mustAcknowledge = true
    this.#taken(overBudget(this.claim.taskId, reason))
  }

  /** Its running time is over; the failure has been handed to the store. Source: `docs/semantics.md 8.8`. */
  timeOut(timeoutMs: number): void {
    this.#leaseEnded = true
    this.stop(timedOut(this.claim.taskId, timeoutMs))
  }

  /** Its lease is over budget; the failure has been handed to the store, or is the store's own. Source: `docs/semantics.md 10.5`. */
  exceed(message: string): void {
    this.#leaseEnded = true
    this.stop(exceeded(message))
  }

  /** Gives the task back at a step boundary, because another asked for the slot. Source: `docs/semantics.md 3.6`. */
  yield(): void {
    if (this.stopped !== undefined || this.handlerEnded) return
    this.#release('yielded')
    this.#endPass(yielded())
  }

  /** The task waits: the store has ended the lease. Source: `docs/semantics.md 12.3, 12.4`. */
  suspend(): void {
    this.#leaseEnded = true
    if (this.stopped === undefined && !this.handlerEnded) this.#endPass(waiting())
  }

  /** Code and history part: the task is parked. What the handler awaits never settles. Source: `docs/semantics.md 6.4`. */
  diverge(divergence: Divergence): void {
    if (this.stopped !== undefined || this.handlerEnded) return
    this.#leaseEnded = true
    this.write({ kind: 'diverge', leaseId: this.claim.leaseId, divergence, ...this.#takeAll() }).catch(
      (error: unknown) => this.#unheard('diverge', error),
    )
    if (divergence.kind === 'history_edited')
      this.log('error', 'the task is parked: its history in the database was changed', { ...divergence })
    else this.log('warn', 'the task is parked: its code and its history part', { ...divergence })
    this.#endPass(waiting())
  }

  /** Gives the task back because the process ends. Source: `docs/semantics.md 5.6`. */
  shutDown(): void {
    if (this.stopped !== undefined || this.handlerEnded) return
    this.#release('drained')
    this.stop(shutDown())
  }

  /** Abort signal, then commands, then, when these are over, clean-up hooks. What ends the lease has been handed to the store by now. */
  stop(stop: Stop): void {
    if (this.stopped !== undefined || this.handlerEnded) return
    const { deadlines, config, environment } = this.parts
    this.stopped = stop
    this.watch?.disarm()
    this.#stoppedAt = environment.clock.monotonic()
    this.#grace = deadlines.after(config.abortGraceMs, () => this.#outlive())
    this.#controller?.abort(stop.error)
    this.#stopDependants(stop.error)
    this.#runHooks(stop.kind)
  }

  /** Another ended the lease. A handler that has returned did so too late: its value is dropped, and what it made is cleaned up after. */
  #taken(stop: Stop): void {
    if (this.stopped !== undefined || !this.handlerEnded) return this.stop(stop)
    this.#controller?.abort(stop.error)
    this.#runHooks(stop.kind)
  }

  /** The handler's promise has settled; `failed`: with an error that ended the attempt. */
  endHandler(failed: boolean): void {
    if (this.handlerEnded) return
    this.handlerEnded = true
    this.#grace?.cancel()
    if (this.watch !== undefined) this.#endWatch(this.watch, failed)
    this.#observer.slotFree(this)
    if (this.#dependants !== undefined)
      this.#stopDependants(new RuntimeError('step_outside_handler', 'the handler has ended'))
    if (failed && this.stopped === undefined) this.#runHooks('failed')
    this.#letGo()
  }

  addHook(hook: CleanupHook): () => void {
    if (this.handlerEnded && this.stopped === undefined) this.assertOpen()
    if (this.replay !== undefined) return () => {}
    this.#hooks ??= new CleanupHooks()
    const remove = this.#hooks.add(hook)
    if (this.stopped !== undefined) this.#runHooks(this.stopped.kind)
    return remove
  }

  /** The attempt is not gone before `dependant` was dropped. */
  keep(dependant: Dependant): void {
    this.#dependants ??= new Set()
    this.#dependants.add(dependant)
    this.#holds += 1
  }

  drop(dependant: Dependant): void {
    if (this.#dependants?.delete(dependant) === true) this.#letGo()
  }

  /** Something was used up outside of steps; it is told with the settlement. */
  charge(usage: UsageSum): void {
    this.#charged = addUsage(this.#charged, usage)
  }

  /** What a provider said, as the store is told it: once, by the step that met it or with the settlement. */
  backOff(rateLimit: RateLimited | undefined): { readonly backOff?: BackOff } {
    if (rateLimit === undefined || rateLimit === this.#told || rateLimit.quotaKeys.length === 0) return {}
    this.#told = rateLimit
    return { backOff: { keys: rateLimit.quotaKeys, retryAfterMs: rateLimit.retryAfterMs } }
  }

  /** A run of a step has used something up, which is told with its end, or that of the pass. */
  chargeRun(run: object, usage: UsageSum): void {
    this.#runs ??= new Map()
    this.#runs.set(run, addUsage(this.#runs.get(run), usage))
  }

  /** What a run has used up since it was asked last. */
  takeRun(run: object): Charged {
    const charged = this.#runs?.get(run)
    if (charged === undefined) return {}
    this.#runs?.delete(run)
    return { charged }
  }

  /** A run came to nothing: what it used up is told with whatever is told next. */
  endRun(run: object): void {
    const { charged } = this.takeRun(run)
    if (charged !== undefined) this.#owed = addUsage(this.#owed, charged)
  }

  /** What runs have used up that came to nothing; whoever takes it tells it. */
  takeOwed(): Charged {
    const { owed } = this
    this.#owed = undefined
    return owed
  }

  /** The same for a write that may not be the one that tells it. */
  get owed(): Charged {
    return this.#owed === undefined ? {} : { charged: this.#owed }
  }

  /** All that has not been told: the pass is over, and so is what runs in it. */
  #takeAll(): Charged {
    for (const run of this.#runs?.keys() ?? []) this.endRun(run)
    return this.takeOwed()
  }

  /** What it used up outside of steps is told too, by the pass that ends the task. */
  #takeAllAround(): Charged {
    if (this.#charged !== undefined) this.#owed = addUsage(this.#owed, this.#charged)
    this.#charged = undefined
    return this.#takeAll()
  }

  /** The attempt is not gone before the store has answered: a cancellation may have come first. */
  settle(settlement: Settlement, rateLimit?: RateLimited): void {
    this.#holds += 1
    const charged = this.#takeAllAround()
    this.write({
      kind: 'settle',
      leaseId: this.claim.leaseId,
      settlement,
      ...charged,
      ...this.backOff(rateLimit),
    }).then(
      (fenced) => this.#settled(fenced),
      (error: unknown) => this.#settled('ok', error),
    )
  }

  log(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void {
    this.parts.log(level, message, { ...this.#ids(), ...fields })
  }

  /** A line of `ctx.log`: its words are the handler's, and stay as they are. */
  logForHandler(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void {
    // A line of the log is nothing that a task fails of.
    const own = fields === undefined || isReadable(fields) ? fields : { fields: show(fields) }
    this.parts.log(level, message, { ...this.#ids(), ...own }, 'handler')
  }

  #ids() {
    const { taskId, type, attempt, leaseId } = this.claim
    return { taskId, type, attempt, leaseId }
  }

  /** The handler need not hear of it: to reject what it awaits would crash the process wherever it does not await it just now. */
  #endPass(stop: Stop): void {
    this.stop(stop)
    this.endHandler(true)
  }

  #settled(fenced: 'ok' | 'stale', error?: unknown): void {
    if (error !== undefined) this.#unheard('settle', error)
    if (fenced === 'stale') this.lose()
    this.#letGo()
  }

  #release(reason: 'yielded' | 'drained'): void {
    this.#leaseEnded = true
    this.write({ kind: 'release', leaseId: this.claim.leaseId, reason, ...this.#takeAll() }).catch(
      (error: unknown) => this.#unheard('release', error),
    )
  }

  #stopDependants(reason: Error): void {
    for (const dependant of this.#dependants ?? []) {
      const over = dependant.stop(reason)
      if (over !== undefined) (this.#stopping ??= []).push(over)
    }
  }

  /** Hooks remove what commands work on: not before these are over. */
  #runHooks(reason: Stop['kind'] | 'failed'): void {
    if (this.#hooks === undefined) return
    if (this.#stopping === undefined) return this.#startHooks(this.#hooks, reason)
    const hooks = this.#hooks
    this.#holds += 1
    const go = () => {
      this.#startHooks(hooks, reason)
      this.#letGo()
    }
    void Promise.all(this.#stopping).then(go)
  }

  #startHooks(hooks: CleanupHooks, reason: Stop['kind'] | 'failed'): void {
    hooks.start(reason, {
      deadlines: this.parts.deadlines,
      timeoutMs: this.parts.config.cleanupTimeoutMs,
      onError: (error) => this.log('error', 'a clean-up hook failed', { error: describeError(error) }),
      onBusy: () => {
        this.#holds += 1
      },
      onIdle: () => this.#letGo(),
    })
  }

  #endWatch(watch: ProfileWatch, failed: boolean): void {
    const kind = this.stopped?.kind
    watch.settle(kind === undefined || kind === 'budget_exceeded' || kind === 'timeout')
    watch.released(
      kind === 'canceled' ? 'canceled' : kind !== undefined ? 'ended' : failed ? 'failed' : 'completed',
    )
  }

  #outlive(): void {
    const kind = this.stopped?.kind
    this.watch?.settle(kind === 'budget_exceeded' || kind === 'timeout')
    const afterMs = this.parts.config.abortGraceMs
    this.#mustAcknowledge = true
    this.#tellStore('leaked', afterMs)
    if (this.stopped !== undefined)
      this.#observer.halted(this, { kind: this.stopped.kind, afterMs, leaked: true })
  }

  #letGo(): void {
    this.#holds -= 1
    if (this.#holds > 0) return
    if (this.stopped !== undefined || this.#mustAcknowledge) this.#halted()
    else if (this.#owesMore()) this.#tellStore('acknowledged', 0)
    this.#observer.gone(this)
  }

  /** A handler that had ended before it could be told to stop took no time for it. */
  #halted(): void {
    const afterMs =
      this.stopped === undefined ? 0 : this.parts.environment.clock.monotonic() - this.#stoppedAt
    if (this.#mustAcknowledge || this.#owesMore()) this.#tellStore('acknowledged', afterMs)
    this.#observer.halted(this, { kind: this.stopped?.kind ?? 'canceled', afterMs, leaked: false })
  }

  #owesMore(): boolean {
    return this.stopped?.kind !== 'waiting' && (this.#owed !== undefined || (this.#runs?.size ?? 0) > 0)
  }

  #tellStore(how: 'acknowledged' | 'leaked', afterMs: number): void {
    const charged = this.stopped?.kind === 'canceled' ? this.#takeAllAround() : this.#takeAll()
    this.parts.store
      .write({ kind: 'abortSettled', leaseId: this.claim.leaseId, how, afterMs, ...charged })
      .catch((error: unknown) => this.#unheard('abortSettled', error))
  }

  #unheard(kind: string, error: unknown): void {
    this.log('warn', 'the store did not take a write', { kind, error: describeError(error) })
  }

  #insist<K extends HolderWrite>(operation: Write<K>, first: unknown): Promise<OutcomeOf<K>> {
    return insist(this.parts, operation, first, () => this.stopped?.kind !== 'lost')
  }
}

/** The part of a write that tells what was used up. */
interface Charged {
  readonly charged?: UsageSum
}

/** The writes that name a lease and are fenced by it. */
export type HolderWrite =
  | 'recordStep'
  | 'failStep'
  | 'startStep'
  | 'checkpoint'
  | 'appendOutput'
  | 'progress'
  | 'settle'
  | 'suspend'
  | 'diverge'
  | 'spawn'
  | 'release'
  | 'report'
  | 'scar'
