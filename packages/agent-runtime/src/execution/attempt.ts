import {
  type Claim,
  type Divergence,
  describeError,
  isReadable,
  type PastFailures,
  type RateLimited,
  RuntimeError,
  type Settlement,
  show,
} from '@ku0/agent-runtime-core'
import type { Heartbeat } from '../api/profiles.ts'
import type { CleanupHook } from '../api/task-context.ts'
import type { Dependant, Host } from '../durable/host.ts'
import type { LogLevel } from '../api/logger.ts'
import { RateLimits } from '../durable/rate-limits.ts'
import { readTerms } from '../durable/child/submission-data.ts'
import { Received } from '../durable/pipeline/received.ts'
import { Stir } from '../durable/pipeline/stir.ts'
import { UsageTab } from '../durable/usage-tab.ts'
import { readHeartbeat } from '../terms/heartbeat.ts'
import type { ProfileWatch } from '../lease/watch.ts'
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
} from '../lease/cancellation.ts'
import { CleanupHooks } from './cleanup.ts'
import { LeaseWriter } from './lease-writer.ts'
import { type Parts, timeToStop } from './parts.ts'
import type { Running } from './running.ts'
import type { ReplayWatch } from '../durable/pass/replay-watch.ts'

/**
 * Notified of the two ends of an attempt: that of its handler, which frees the slot, and that of everything
 * it started.
 */
export interface AttemptObserver {
  /**
   * The handler's promise has settled, or the handler will never be called. Source: `docs/semantics.md 4.5,
   * 5.1`.
   */
  slotFree(attempt: Running): void
  /** Hooks and commands have ended too. */
  gone(attempt: Running): void
  /**
   * Everything that had to stop has stopped, this long after the abort. `leaked`: its handler did not stop
   * within `abortGraceMs`, and may stop later. Source: `docs/semantics.md 5.4`.
   */
  halted(
    attempt: Running,
    halt: { readonly kind: Stop['kind']; readonly afterMs: number; readonly leaked: boolean },
  ): void
}

/**
 * A claim that is being run: whether its handler may still act, and what has to stop if it may not. A lease
 * ends once; later reports of its end change nothing.
 */
export class Attempt implements Host, Running {
  readonly claim: Claim
  readonly parts: Parts
  /** Why it has to stop; undefined until it has to. */
  stopped: Stop | undefined
  handlerEnded = false
  /** Another task asked for the slot; the pass yields at its next step boundary. */
  yieldAsked = false
  /** How its pass was settled; undefined for one that waits, was stopped or gave its task back. */
  settledAs: 'completed' | 'failed' | undefined
  isUnsettled = false

  /** Holds its lease to its profile, if it has one. */
  watch: ProfileWatch | undefined

  /** Set in a replay, which has no effects: it is told how far the handler comes. */
  readonly replay: ReplayWatch | undefined

  /** The failures of its task so far. */
  past: PastFailures = {}

  /** Writes under its lease. */
  readonly lease: LeaseWriter
  /** The usage that it charges. */
  readonly usage: UsageTab
  /** Finds out which of its errors are refusals of a provider. */
  readonly limits = new RateLimits()

  readonly #observer: AttemptObserver
  #controller: AbortController | undefined
  #hooks: CleanupHooks | undefined
  #dependants: Set<Dependant> | undefined
  /** Commands that are being stopped. */
  #stopping: Promise<void>[] | undefined
  /** Counts the handler, its settlement, running hooks and commands: at 0 the attempt has ended. */
  #holds = 1
  /** It knows of the end of its lease, or caused it. */
  #leaseEnded = false
  /** The store waits for the report that the handler has stopped. Source: `docs/semantics.md` C3. */
  #mustAcknowledge = false
  #stoppedAt = 0
  #grace: { cancel(): void } | undefined

  constructor(parts: Parts, claim: Claim, observer: AttemptObserver, replay?: ReplayWatch) {
    this.parts = parts
    this.replay = replay
    this.claim = claim
    const { guard } = parts
    this.usage = new UsageTab(guard && ((usage) => guard.charged(usage)))
    this.lease = new LeaseWriter(parts, this, this.usage)
    this.#observer = observer
  }

  /** Created on first use: most handlers never use it. */
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
      `the handler of task ${this.claim.taskId} has ended: await everything that it starts`,
    )
  }

  /** True if the task goes on in a later pass. Promises that this pass awaits never settle. */
  get isSuspended(): boolean {
    return this.stopped?.kind === 'waiting' || this.stopped?.kind === 'yielded'
  }

  get model(): string | undefined {
    return this.past.model ?? readTerms(this.claim.submission).model
  }

  /** Throws unless the handler may act on behalf of its lease. */
  assertOpen(): void {
    const reason = this.closedBy
    if (reason !== undefined) throw reason
  }

  /** The task was canceled, which is already committed. Source: `docs/semantics.md 5.1`. */
  cancel(reason?: string): void {
    this.#leaseEnded = true
    this.#mustAcknowledge = true
    this.#taken(canceled(this.claim.taskId, reason))
  }

  /** A notice or a stale write showed that the lease is lost. */
  lose(cause?: unknown): void {
    if (this.#leaseEnded) return
    this.#leaseEnded = true
    const { taskId, leaseId, workerId } = this.claim
    this.parts.announce('lease.lost', taskId, 0, { leaseId, workerId })
    this.#taken(lost(leaseId, taskId, cause))
  }

  /** The runtime has failed the task, which is already committed. Source: `docs/semantics.md 11.5`. */
  fail(reason: string): void {
    this.#leaseEnded = true
    this.#mustAcknowledge = true
    this.#taken(overBudget(this.claim.taskId, reason))
  }

  /** Its time limit is exceeded; the failure has been sent to the store. Source: `docs/semantics.md 8.8`. */
  timeOut(timeoutMs: number): void {
    this.#leaseEnded = true
    this.stop(timedOut(this.claim.taskId, timeoutMs))
  }

  /**
   * Its lease is over budget; the failure has been sent to the store, or the store recorded it itself.
   * Source: `docs/semantics.md 10.5`.
   */
  exceed(message: string): void {
    this.#leaseEnded = true
    this.stop(exceeded(message))
  }

  /**
   * Gives the task back at a step boundary, because another task asked for the slot. Source:
   * `docs/semantics.md 3.6`.
   */
  yield(): void {
    if (this.stopped !== undefined || this.handlerEnded) return
    this.#release('yielded')
    this.#endPass(yielded())
  }

  /** The task waits: the store has ended the lease. Source: `docs/semantics.md 12.3, 12.4`. */
  suspend(): void {
    if (this.suspendFirst()) this.parts.strict?.suspended(this.claim)
  }

  /** The same before the handler has begun: there is no pass to replay. False: it has ended meanwhile. */
  suspendFirst(): boolean {
    this.#leaseEnded = true
    if (this.stopped !== undefined || this.handlerEnded) return false
    this.#endPass(waiting())
    return true
  }

  /**
   * Code and history differ: the task is parked. Promises that the handler awaits never settle. Source:
   * `docs/semantics.md 6.4`.
   */
  diverge(divergence: Divergence): void {
    if (this.stopped !== undefined || this.handlerEnded) return
    this.#leaseEnded = true
    this.lease
      .write({ kind: 'diverge', leaseId: this.claim.leaseId, divergence, ...this.usage.takeAll() })
      .catch((error: unknown) => this.#unheard('diverge', error))
    if (divergence.kind === 'value_unreadable')
      this.log('error', 'the task is parked: this process cannot read its stored values', { ...divergence })
    else if (divergence.kind === 'history_edited')
      this.log('error', 'the task is parked: its history in the database was changed', { ...divergence })
    else
      this.log('warn', 'the task is parked: its handler took a different path than its recorded history', {
        ...divergence,
      })
    this.#endPass(waiting())
  }

  /** Gives the task back because the process ends. Source: `docs/semantics.md 5.6`. */
  shutDown(): void {
    if (this.stopped !== undefined || this.handlerEnded) return
    this.#release('drained')
    this.stop(shutDown())
  }

  /**
   * Aborts the signal, then stops commands, then runs clean-up hooks when the commands have ended. The write
   * that ends the lease has been sent to the store by now.
   */
  stop(stop: Stop): void {
    if (this.stopped !== undefined || this.handlerEnded) return
    const { deadlines, environment, guard } = this.parts
    this.stopped = stop
    this.watch?.disarm()
    this.#stoppedAt = environment.clock.monotonic()
    if (guard === undefined) this.#grace = deadlines.after(timeToStop(this.parts), () => this.#outlive())
    else guard.stopping(stop.kind)
    this.#controller?.abort(stop.error)
    this.#stopDependants(stop.error)
    this.#runHooks(stop.kind)
  }

  /**
   * Something else ended the lease. A handler that has already returned was too late: its value is dropped,
   * and its clean-up hooks run.
   */
  #taken(stop: Stop): void {
    if (this.stopped !== undefined || !this.handlerEnded) return this.stop(stop)
    this.#controller?.abort(stop.error)
    this.#runHooks(stop.kind)
  }

  /** The handler's promise has settled. `failed`: with an error that ended the attempt. */
  endHandler(failed: boolean): void {
    if (this.handlerEnded) return
    this.handlerEnded = true
    this.#grace?.cancel()
    if (this.watch !== undefined) this.#endWatch(this.watch, failed)
    Stir.of(this.parts.store).left(this.claim.taskId)
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

  /** The attempt does not end before `dependant` was dropped. */
  keep(dependant: Dependant): void {
    this.#dependants ??= new Set()
    this.#dependants.add(dependant)
    this.#holds += 1
  }

  drop(dependant: Dependant): void {
    if (this.#dependants?.delete(dependant) === true) this.#letGo()
  }

  /**
   * A heartbeat of the handler: the watch of its profile reports it; without a profile its progress is stored
   * with the lease.
   */
  async heartbeat(report: Heartbeat): Promise<void> {
    const watch = this.parts.guard ?? this.watch
    if (watch !== undefined) {
      this.lease.heard<'progress'>(await watch.heartbeat(report))
      return
    }
    const { progress } = readHeartbeat(report, this.parts.config.maxInlineBytes)
    if (progress !== undefined)
      await this.lease.write({ kind: 'progress', leaseId: this.claim.leaseId, progress })
  }

  /** The attempt does not end before the store has answered: a cancellation may have come first. */
  settle(settlement: Settlement, rateLimit?: RateLimited): void {
    this.#holds += 1
    this.isUnsettled = true
    if (settlement.as !== 'rate_limited')
      this.settledAs = settlement.as === 'completed' ? 'completed' : 'failed'
    if (settlement.as === 'completed') Received.of(this.parts.store).drop(this.claim.taskId)
    const charged = this.usage.takeAllAround()
    void this.lease
      .write({
        kind: 'settle',
        leaseId: this.claim.leaseId,
        settlement,
        ...charged,
        ...this.usage.backOff(rateLimit),
      })
      .catch((error: unknown) => this.#unheard('settle', error))
      .finally(() => {
        this.isUnsettled = false
        this.#letGo()
      })
  }

  log(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void {
    this.parts.log(level, message, { ...this.#ids(), ...fields })
  }

  /** A line of `ctx.log`: its text is the handler's and is not changed. */
  logForHandler(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void {
    // A problem with a log line must not fail the task.
    const own = fields === undefined || isReadable(fields) ? fields : { fields: show(fields) }
    this.parts.log(level, message, { ...this.#ids(), ...own }, 'handler')
  }

  #ids() {
    const { taskId, type, attempt, leaseId } = this.claim
    return { taskId, type, attempt, leaseId }
  }

  /**
   * The handler's promises are not rejected: a rejection would crash the process if the handler does not
   * await that promise at the moment.
   */
  #endPass(stop: Stop): void {
    this.stop(stop)
    this.endHandler(true)
  }

  #release(reason: 'yielded' | 'drained'): void {
    this.#leaseEnded = true
    this.lease
      .write({ kind: 'release', leaseId: this.claim.leaseId, reason, ...this.usage.takeAll() })
      .catch((error: unknown) => this.#unheard('release', error))
  }

  #stopDependants(reason: Error): void {
    for (const dependant of this.#dependants ?? []) {
      const over = dependant.stop(reason)
      if (over !== undefined) (this.#stopping ??= []).push(over)
    }
  }

  /** Hooks remove what commands work on, so they run after the commands have ended. */
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
    const afterMs = timeToStop(this.parts)
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

  /** A handler that had ended before the abort took no time to stop. */
  #halted(): void {
    const afterMs =
      this.stopped === undefined ? 0 : this.parts.environment.clock.monotonic() - this.#stoppedAt
    if (this.#mustAcknowledge || this.#owesMore()) this.#tellStore('acknowledged', afterMs)
    this.#observer.halted(this, { kind: this.stopped?.kind ?? 'canceled', afterMs, leaked: false })
  }

  #owesMore(): boolean {
    return this.stopped?.kind !== 'waiting' && this.usage.owesMore
  }

  #tellStore(how: 'acknowledged' | 'leaked', afterMs: number): void {
    const charged = this.stopped?.kind === 'canceled' ? this.usage.takeAllAround() : this.usage.takeAll()
    this.parts.store
      .write({ kind: 'abortSettled', leaseId: this.claim.leaseId, how, afterMs, ...charged })
      .catch((error: unknown) => this.#unheard('abortSettled', error))
  }

  #unheard(kind: string, error: unknown): void {
    this.log('warn', 'the store did not accept a write', { kind, error: describeError(error) })
  }
}
