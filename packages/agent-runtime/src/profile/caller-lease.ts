import {
  assertOptions,
  type Clock,
  describeError,
  encode,
  type ExecutionStore,
  type LeaseNotice,
  type OutcomeOf,
  type ProfileTerms,
  type ResourceBudget,
  type ResourcesLeft,
  type Rules,
  RuntimeError,
  type Settlement,
  type WorkTelemetry,
  type Write,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import { canceled, exceeded, lost, type Stop } from '../lease/cancellation.ts'
import type { Deadline } from '../lease/deadlines.ts'
import { insist } from '../lease/insist.ts'
import type { LeakedHandler } from '../api/worker.ts'
import { heartbeatRules } from '../terms/heartbeat.ts'
import type { LeaseHeartbeat, LeaseOutcome, TaskLease } from '../api/leases.ts'
import type { UsageProbe } from '../api/profiles.ts'
import { settlementOf } from './settlement-of.ts'
import { ProfileWatch, type WatchParts } from '../lease/watch.ts'

/** What a caller's lease is made of. */
export interface CallerLeaseCase {
  readonly leaseId: string
  readonly taskId: string
  readonly route: string
  readonly terms: ProfileTerms
  readonly controller: AbortController
  readonly measure: UsageProbe | undefined
  readonly left: ResourcesLeft | undefined
  /** Called when its work has stopped. */
  readonly onGone: () => void
}

/** What it needs of its runtime. */
export interface CallerLeaseParts extends Omit<WatchParts, 'write'> {
  readonly store: Pick<ExecutionStore, 'write'>
  readonly environment: { readonly clock: Clock }
  readonly values: ValueCodec
}

/** A lease of this process that whoever started it holds. */
export class CallerLease implements TaskLease {
  readonly id: string
  readonly taskId: string
  readonly routeId: string
  readonly profile: TaskLease['profile']
  readonly startedAt: number
  readonly expiresAt: number
  readonly #parts: CallerLeaseParts
  readonly #it: CallerLeaseCase
  readonly #watch: ProfileWatch
  #released: Promise<void> | undefined
  /** Why its work has to stop; the lease is over then. */
  #over: (Stop & { readonly at: number }) | undefined
  #grace: Deadline | undefined
  #leaked: LeakedHandler | undefined

  constructor(parts: CallerLeaseParts, it: CallerLeaseCase) {
    this.#parts = parts
    this.#it = it
    this.id = it.leaseId
    this.taskId = it.taskId
    this.routeId = it.route
    this.profile = it.terms.profile
    this.startedAt = parts.environment.clock.now()
    this.expiresAt = this.startedAt + it.terms.grantedMs
    const { config, environment, deadlines, log, observers } = parts
    const write: WatchParts['write'] = (operation) => this.#insist(operation)
    this.#watch = new ProfileWatch(
      { config, environment, deadlines, log, observers, write },
      {
        leaseId: it.leaseId,
        taskId: it.taskId,
        route: it.route,
        terms: it.terms,
        probe: it.measure,
        left: it.left,
        onDeadline: (message) => this.#expire(message),
        onBreach: (message) => this.#end(exceeded(message)),
      },
    )
  }

  /** Its work has not stopped within `abortGraceMs`, and it has not been given back since. Source: `docs/semantics.md 5.4`. */
  get leaked(): LeakedHandler | undefined {
    return this.#leaked
  }

  get signal(): AbortSignal {
    return this.#it.controller.signal
  }

  budget(): ResourceBudget {
    return this.#watch.budget()
  }

  telemetry(): WorkTelemetry {
    return this.#watch.telemetry()
  }

  heartbeat(report: LeaseHeartbeat = {}): Promise<void> {
    const beat = this.#heartbeat(report)
    // Who does not await it hears of the end by the signal.
    beat.catch((error: unknown) => {
      if (this.#over === undefined) this.#log('a heartbeat was refused', { error: describeError(error) })
    })
    return beat
  }

  async #heartbeat(report: LeaseHeartbeat): Promise<void> {
    if (this.#released !== undefined)
      throw new RuntimeError(
        'lease_released',
        `the lease ${this.id} of '${this.routeId}' was released: it takes no more heartbeats`,
      )
    assertOptions('heartbeat', report, leaseHeartbeatRules)
    const { memoryUsed, ...rest } = report
    await this.#beat(memoryUsed === undefined ? rest : { ...rest, memoryBytes: memoryUsed })
  }

  async release(outcome: LeaseOutcome = { output: undefined }): Promise<void> {
    // An outcome that cannot be stored releases nothing.
    this.#released ??= this.#release(settlementOf(outcome, `the output of '${this.routeId}'`, this.#parts))
    await this.#released
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }

  /** The store tells what became of it from outside. */
  heed({ verdict, reason }: LeaseNotice): void {
    if (verdict === 'canceled') this.#end(canceled(this.taskId, reason))
    if (verdict === 'lost') this.lose()
  }

  lose(cause?: unknown): void {
    this.#end(lost(this.id, this.taskId, cause))
  }

  /** The runtime stops: whoever runs it is told, and the task is canceled, since nobody can go on with it. */
  async abandon(): Promise<void> {
    if (this.#over !== undefined || this.#released !== undefined) return
    this.#end({ kind: 'shutdown', error: new RuntimeError('shutdown', 'the runtime is stopping') })
    await this.#write(() =>
      this.#parts.store.write({ kind: 'cancel', taskId: this.taskId, reason: 'its runtime was stopped' }),
    )
  }

  async #beat(report: Parameters<ProfileWatch['heartbeat']>[0]): Promise<void> {
    if (this.#over === undefined && (await this.#watch.heartbeat(report)) === 'stale') this.lose()
    const over = this.#overNow()
    if (over !== undefined) throw over.error
  }

  #overNow() {
    return this.#over
  }

  #expire(message: string): void {
    if (this.#over !== undefined || this.#released !== undefined) return
    const stop = exceeded(message)
    const text = encode(describeError(stop.error), { what: 'an error' })
    this.#end(stop)
    void this.#write(() =>
      this.#settle({ as: 'failed', kind: 'budget_exceeded', error: text, breach: 'deadline' }),
    )
  }

  #end(stop: Stop): void {
    if (this.#over !== undefined || this.#released !== undefined) return
    const { config, deadlines, environment } = this.#parts
    this.#over = { ...stop, at: environment.clock.monotonic() }
    this.#watch.disarm()
    this.#grace = deadlines.after(config.abortGraceMs, () => this.#outlive())
    this.#it.controller.abort(stop.error)
  }

  /** Its work has not stopped in time: what it ran too long counts from here. Source: `docs/semantics.md` C9. */
  #outlive(): void {
    if (this.#over === undefined) return
    const { config, environment } = this.#parts
    const { taskId, routeId: type, id: leaseId } = this
    const { kind: reason } = this.#over
    const at = environment.clock.now()
    this.#leaked = { taskId, type, leaseId, workerId: 'caller', attempt: 1, reason, at }
    this.#watch.settle(reason === 'budget_exceeded')
    this.#tellStop('leaked', config.abortGraceMs)
  }

  async #release(settlement: Settlement): Promise<void> {
    const over = this.#over
    try {
      if (over === undefined) {
        this.#watch.settle(true)
        this.#watch.released(settlement.as === 'failed' ? 'failed' : 'completed')
        await this.#settle(settlement)
      } else {
        this.#grace?.cancel()
        this.#watch.settle(over.kind === 'budget_exceeded')
        this.#watch.released(over.kind === 'canceled' || over.kind === 'shutdown' ? 'canceled' : 'ended')
        this.#tellStop('acknowledged', this.#parts.environment.clock.monotonic() - over.at)
      }
    } finally {
      this.#it.onGone()
    }
  }

  async #settle(settlement: Settlement): Promise<void> {
    const fenced = await this.#insist({ kind: 'settle', leaseId: this.id, settlement })
    if (fenced === 'stale') this.#log('the lease ended before its work did', {})
  }

  #tellStop(how: 'acknowledged' | 'leaked', afterMs: number): void {
    void this.#write(() => this.#parts.store.write({ kind: 'abortSettled', leaseId: this.id, how, afterMs }))
  }

  #insist<K extends 'settle' | 'report' | 'scar'>(operation: Write<K>): Promise<OutcomeOf<K>> {
    return this.#parts.store
      .write(operation)
      .catch((error: unknown) => insist(this.#parts, operation, error, () => this.#over?.kind !== 'lost'))
  }

  async #write(write: () => Promise<unknown>): Promise<void> {
    try {
      await write()
    } catch (error) {
      this.#log('the store did not accept a write', { error: describeError(error) })
    }
  }

  #log(message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#parts.log('warn', message, { taskId: this.taskId, leaseId: this.id, ...fields })
  }
}

const { memoryBytes, ...otherRules } = heartbeatRules
const leaseHeartbeatRules: Rules<LeaseHeartbeat> = { ...otherRules, memoryUsed: memoryBytes }
