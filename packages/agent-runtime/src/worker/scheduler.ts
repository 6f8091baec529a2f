import { type Claim, LeaseLost, type LeaseNotice, SHUTDOWN_LABEL, shutdownIn } from '@ku0/agent-runtime-core'
import type { LeakedHandler } from '../api/worker.ts'
import { readTerms } from '../durable/child/submission-data.ts'
import { Stir } from '../durable/pipeline/stir.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import { Attempt, type AttemptObserver } from '../execution/attempt.ts'
import type { Stop } from '../lease/cancellation.ts'
import type { Parts } from '../execution/parts.ts'
import type { Running } from '../execution/running.ts'
import type { Isolation } from '../isolation/isolation.ts'
import type { Tally } from '../pool/crew.ts'
import type { WorkerRegistry } from './registry.ts'
import { runClaim } from '../execution/worker.ts'

/** How long a handler ran after it was aborted. */
export interface HandlerStop {
  readonly taskId: string
  readonly leaseId: string
  readonly reason: Stop['kind']
  readonly afterMs: number
  readonly leaked: boolean
}

/** What a worker has done, and since when it runs nothing, on the monotonic clock. */
interface WorkerTally extends Tally {
  readonly idleSince: number | undefined
}

/**
 * Routes what the store sends to the attempts of this process: a claim starts one, a notice stops one. The
 * store decides which worker gets a task, and when (`comesBefore`, `decidePlacement`). Source: Track AA, AA1,
 * AA3.
 */
export class Scheduler implements AttemptObserver {
  readonly #parts: Parts
  readonly #definitions: ReadonlyMap<string, TaskDefinition>
  readonly #registry: WorkerRegistry
  readonly #onHandlerStopped: (stop: HandlerStop) => void
  readonly #attempts = new Map<string, Running>()
  readonly #isolation: Isolation | undefined
  readonly #leaked = new Map<string, LeakedHandler>()
  readonly #work = new Map<string, WorkerTally>()
  #totals: Tally = { completed: 0, failed: 0 }
  readonly #workListeners = new Set<() => void>()
  #waiting: (() => void)[] = []
  #waitingFor: { readonly workerId: string; readonly wake: () => void }[] = []
  #closing = false
  /** Leases that were lost while the process stopped; undefined before. */
  #lostInStop: Set<string> | undefined

  constructor(
    parts: Parts,
    definitions: ReadonlyMap<string, TaskDefinition>,
    registry: WorkerRegistry,
    onHandlerStopped: (stop: HandlerStop) => void,
    isolation: Isolation | undefined,
  ) {
    this.#isolation = isolation
    this.#parts = parts
    this.#definitions = definitions
    this.#registry = registry
    this.#onHandlerStopped = onHandlerStopped
  }

  /** Number of attempts that still run a handler, a hook or a command. */
  get inFlight(): number {
    return this.#attempts.size
  }

  /** Calls the listener when a task began or ended here. */
  onWork(listener: () => void): Disposable {
    this.#workListeners.add(listener)
    return { [Symbol.dispose]: () => this.#workListeners.delete(listener) }
  }

  /** Passes that ended here, on all workers. */
  get totals(): Tally {
    return this.#totals
  }

  /** What a worker runs, and has run. `idleSince` is undefined before its first task. */
  workOf(workerId: string): WorkerTally & { readonly inFlight: number; readonly currentTask: string | null } {
    const { completed = 0, failed = 0, idleSince } = this.#work.get(workerId) ?? {}
    const running = [...this.#attempts.values()].filter(({ claim }) => claim.workerId === workerId)
    const currentTask = running[0]?.claim.taskId ?? null
    return { inFlight: running.length, currentTask, completed, failed, idleSince }
  }

  get leakedHandlers(): readonly LeakedHandler[] {
    return [...this.#leaked.values()]
  }

  /** The trace context of a task that runs here. */
  traceOf(taskId: string): Readonly<Record<string, string>> | undefined {
    for (const { claim } of this.#attempts.values()) {
      if (claim.taskId === taskId) return readTerms(claim.submission).trace
    }
    return undefined
  }

  /** The store has given tasks to workers of this process. */
  claimed(claims: readonly Claim[]): void {
    for (const claim of claims) {
      if (!this.#registry.has(claim.workerId) || this.#attempts.has(claim.leaseId)) continue
      if (this.#closing) this.#refuse(claim)
      else this.#run(claim)
    }
  }

  #run(claim: Claim): void {
    const definition = this.#definitions.get(claim.type)
    const parts = this.#partsFor(claim, definition)
    const isolated = definition && this.#isolation?.attemptOf(parts, claim, definition, this)
    const attempt = isolated ?? new Attempt(parts, claim, this)
    this.#add(attempt)
    if (attempt instanceof Attempt) runClaim(attempt, definition)
    else attempt.start()
  }

  /** A task type may have a grace of its own, and the supervisor of a task decides before that. */
  #partsFor({ isChild, submission }: Claim, { abortGraceMs }: Partial<TaskDefinition> = {}): Parts {
    const isTold = isChild === true && submission.includes(SHUTDOWN_LABEL)
    const shutdownMs = isTold ? shutdownIn(readTerms(submission)) : undefined
    if (abortGraceMs === undefined && shutdownMs === undefined) return this.#parts
    const config = abortGraceMs === undefined ? {} : { abortGraceMs }
    return { ...this.#parts, config: { ...this.#parts.config, ...config }, shutdownMs }
  }

  /** Gives a task back that came too late. */
  #refuse(claim: Claim): void {
    const attempt = new Attempt(this.#parts, claim, this)
    this.#add(attempt)
    attempt.shutDown()
    attempt.endHandler(true)
  }

  #add(attempt: Running): void {
    attempt.yieldAsked = attempt.claim.yields === true
    this.#attempts.set(attempt.claim.leaseId, attempt)
    this.#tellWork()
  }

  /** The store reports leases that were ended from outside. */
  noticed(notices: readonly LeaseNotice[]): void {
    for (const notice of notices) {
      const attempt = this.#attempts.get(notice.leaseId)
      if (attempt !== undefined) heed(attempt, notice)
    }
  }

  /** The store has failed for good: no lease can be kept, and no write is accepted. */
  failed(error: Error): void {
    this.#closing = true
    this.#lostInStop = undefined
    for (const attempt of this.#attempts.values()) attempt.lose(error)
  }

  /** Claims that arrive from now on are given back at once. */
  close(): void {
    this.#lostInStop ??= this.#closing ? undefined : new Set()
    this.#closing = true
  }

  /** Resolves when nothing is in flight. */
  idle(): Promise<void> {
    if (this.#attempts.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Resolves when a worker runs nothing. */
  idleOf(workerId: string): Promise<void> {
    if (!this.#isBusy(workerId)) return Promise.resolve()
    return new Promise((wake) => this.#waitingFor.push({ workerId, wake }))
  }

  /**
   * Aborts every handler and gives its task back with the same attempt; returns their number. Source:
   * `docs/semantics.md 5.6`.
   */
  abandon(): number {
    let released = 0
    for (const attempt of this.#attempts.values()) {
      if (attempt.closedBy !== undefined) continue
      attempt.shutDown()
      released += 1
    }
    return released
  }

  /**
   * Number of tasks that ended neither by themselves nor by {@link abandon}: their leases were lost since
   * {@link close}, or the store has not answered how they were settled.
   */
  get unsettled(): number {
    const left = new Set(this.#lostInStop)
    for (const [leaseId, { isUnsettled, closedBy }] of this.#attempts)
      if (isUnsettled || (this.#lostInStop !== undefined && closedBy instanceof LeaseLost)) left.add(leaseId)
    return left.size
  }

  slotFree(attempt: Running): void {
    this.#registry.slotFree(attempt.claim.workerId)
  }

  gone({ claim, settledAs }: Running): void {
    this.#attempts.delete(claim.leaseId)
    this.#leaked.delete(claim.leaseId)
    this.#count(claim.workerId, settledAs)
    if (settledAs === 'completed') Stir.of(this.#parts.store).completed(claim)
    if (this.#attempts.size > 0) return
    for (const wake of this.#waiting.splice(0)) wake()
  }

  #tellWork(): void {
    for (const listener of this.#workListeners) listener()
  }

  #isBusy(workerId: string): boolean {
    for (const { claim } of this.#attempts.values()) if (claim.workerId === workerId) return true
    return false
  }

  #count(workerId: string, settledAs: keyof Tally | undefined): void {
    const { completed = 0, failed = 0 } = this.#work.get(workerId) ?? {}
    const plus = { completed: settledAs === 'completed' ? 1 : 0, failed: settledAs === 'failed' ? 1 : 0 }
    const idleSince = this.#parts.environment.clock.monotonic()
    this.#work.set(workerId, {
      completed: completed + plus.completed,
      failed: failed + plus.failed,
      idleSince,
    })
    this.#totals = {
      completed: this.#totals.completed + plus.completed,
      failed: this.#totals.failed + plus.failed,
    }
    this.#tellWork()
    if (this.#waitingFor.length === 0 || this.#isBusy(workerId)) return
    const woken = this.#waitingFor.filter((waiting) => waiting.workerId === workerId)
    this.#waitingFor = this.#waitingFor.filter((waiting) => waiting.workerId !== workerId)
    for (const { wake } of woken) wake()
  }

  halted(
    attempt: Running,
    { kind: reason, afterMs, leaked }: { kind: Stop['kind']; afterMs: number; leaked: boolean },
  ): void {
    const { taskId, leaseId, workerId, type, attempt: tried } = attempt.claim
    if (reason === 'lost') this.#lostInStop?.add(leaseId)
    if (leaked) {
      const at = this.#parts.environment.clock.now()
      this.#leaked.set(leaseId, { taskId, type, leaseId, workerId, attempt: tried, reason, at })
    }
    this.#onHandlerStopped({ taskId, leaseId, reason, afterMs, leaked })
  }
}

function heed(attempt: Running, { verdict, reason }: LeaseNotice): void {
  switch (verdict) {
    case 'canceled':
      return attempt.cancel(reason)
    case 'lost':
      return attempt.lose()
    case 'failed':
      return attempt.fail(reason ?? 'a budget above it was exceeded')
    case 'yield':
      attempt.yieldAsked = true
  }
}
