import {
  describeError,
  type ExecutionConfig,
  type OutcomeOf,
  type ProfileTerms,
  type ResourceBudget,
  type ResourcesLeft,
  type UsageSample,
  type WorkTelemetry,
  type Write,
} from '@ku0/agent-runtime-core'
import type { Deadline, Deadlines } from './deadlines.ts'
import type { LogLine } from '../api/logger.ts'
import type { Heartbeat, UsageProbe } from '../api/profiles.ts'
import { readHeartbeat } from '../terms/heartbeat.ts'
import type { LeaseEnding } from '../api/leases.ts'
import type { LeaseObservers } from './observers.ts'

/** The dependencies of a watch. */
export interface WatchParts {
  /** Writes on behalf of the lease, and waits until passing trouble of the store is over. */
  readonly write: <K extends 'report' | 'scar'>(operation: Write<K>) => Promise<OutcomeOf<K>>
  readonly config: ExecutionConfig
  readonly environment: { readonly clock: { monotonic(): number } }
  readonly deadlines: Deadlines
  readonly log: LogLine
  readonly observers: LeaseObservers
}

/** The lease that is watched. */
export interface Watched {
  readonly leaseId: string
  readonly taskId: string
  readonly route: string
  readonly terms: ProfileTerms
  /** The time limit is exceeded, which heartbeats do not extend. The lease is still live. */
  readonly onDeadline: (message: string) => void
  /** A hard limit is exceeded, and the store has ended the lease. */
  readonly onBreach: (message: string) => void
  readonly probe?: UsageProbe | undefined
  /**
   * The amounts that the lease may use before its first report, if other work draws on it as well; by default its own
   * hard limits.
   */
  readonly left?: ResourcesLeft | undefined
}

/**
 * Holds one lease to its terms: its deadline, its limits, its duty to report. Scars are recorded when the
 * work has really stopped. Source: `docs/semantics.md 10.1, 10.5` and C8, C9.
 */
export class ProfileWatch {
  readonly #parts: WatchParts
  readonly #lease: Watched
  readonly #startedAt: number
  #timers: Deadline[] = []
  #last: UsageSample & { readonly progress?: number } = {}
  #left: ResourcesLeft
  #reportedAt: number | undefined
  /**
   * Waits for the next required heartbeat. Undefined if none is required, and during a silence that was
   * already reported.
   */
  #silence: Deadline | undefined
  /** The holder has to stop, or has stopped. */
  #isOver = false
  #isSettled = false
  #isTold = false

  constructor(parts: WatchParts, lease: Watched) {
    this.#parts = parts
    this.#lease = lease
    this.#startedAt = parts.environment.clock.monotonic()
    const { cpuTimeUs = null, memoryBytes = null } = lease.terms.limits.hard ?? {}
    this.#left = lease.left ?? { cpuTimeUs, memoryBytes }
    this.#arm()
    const { leaseId, route: routeId, terms } = lease
    parts.observers.tell('onLeaseAcquired', {
      routeId,
      leaseId,
      profile: terms.profile,
      budget: this.budget(),
    })
  }

  get terms(): ProfileTerms {
    return this.#lease.terms
  }

  get elapsedMs(): number {
    return this.#parts.environment.clock.monotonic() - this.#startedAt
  }

  budget(): ResourceBudget {
    return {
      cpuTimeUs: this.#left.cpuTimeUs ?? Number.POSITIVE_INFINITY,
      memoryBytes: this.#left.memoryBytes ?? Number.POSITIVE_INFINITY,
      remainingMs: this.#isOver ? 0 : Math.max(0, Math.round(this.terms.grantedMs - this.elapsedMs)),
    }
  }

  telemetry(): WorkTelemetry {
    const heartbeatAge = this.elapsedMs - (this.#reportedAt ?? 0)
    return { ...this.#last, latencyMs: this.elapsedMs, heartbeatAge }
  }

  /** A heartbeat of the holder. Throws for values that cannot be stored. */
  heartbeat(given: Heartbeat): Promise<'ok' | 'stale'> {
    const { sample, ...rest } = readHeartbeat(given, this.#parts.config.maxInlineBytes)
    const { share: progress } = rest
    this.#reportedAt = this.elapsedMs
    this.#last = { ...this.#last, ...sample, ...(progress === undefined ? {} : { progress }) }
    this.#listen()
    const { leaseId, route: routeId } = this.#lease
    const memoryUsed = sample.memoryBytes
    this.#parts.observers.tell('onHeartbeat', { routeId, leaseId, progress, memoryUsed })
    return this.#report({ ...rest, sample, heartbeat: true })
  }

  /** The holder has to stop, or has stopped: the watch ends. */
  disarm(): void {
    this.#isOver = true
    this.#silence?.cancel()
    for (const timer of this.#timers.splice(0)) timer.cancel()
  }

  /**
   * The work has stopped, or did not stop within its grace. `counts`: the work itself is to blame for running
   * too long. Source: `docs/semantics.md` C9.
   */
  settle(counts: boolean): void {
    this.disarm()
    if (this.#isSettled) return
    this.#isSettled = true
    const { grantedMs } = this.terms
    const overrunMs = this.elapsedMs - grantedMs
    if (counts && overrunMs > 0) this.#scar({ as: 'overrun', overrunMs, grantedMs })
  }

  /** For observers: the lease ended without expiring. */
  released(outcome: LeaseEnding): void {
    if (this.#isTold) return
    this.#isTold = true
    const { leaseId, route: routeId } = this.#lease
    this.#parts.observers.tell('onLeaseReleased', { routeId, leaseId, duration: this.elapsedMs, outcome })
  }

  #arm(): void {
    const { grantedMs, limits } = this.terms
    const { heartbeatIntervalMs } = this.#parts.config
    // The granted time, and an amount equal to a limit, are within the budget; a millisecond more is not.
    this.#after(grantedMs + 1, () => this.#expire())
    for (const { durationMs } of [limits.soft ?? {}, limits.hard ?? {}])
      if (durationMs !== undefined && durationMs < grantedMs) this.#after(durationMs + 1, () => this.#look())
    this.#listen()
    if (this.#lease.probe !== undefined) this.#after(heartbeatIntervalMs, () => void this.#measure())
  }

  /** Time alone may have exceeded a limit. */
  #look(): void {
    this.#report({ sample: {}, heartbeat: false }).catch((error: unknown) => this.#untaken('report', error))
  }

  #after(ms: number, run: () => void): void {
    this.#timers.push(this.#parts.deadlines.after(ms, run))
  }

  #expire(): void {
    this.expired('timeout')
    const { route, terms } = this.#lease
    this.#lease.onDeadline(
      `'${route}' ran longer than the ${terms.grantedMs} ms that its profile ${terms.profile} grants a lease`,
    )
  }

  /**
   * Each heartbeat allows `leaseTtlMs` until the next one. The running timer checks whether one came
   * meanwhile.
   */
  #listen(): void {
    if (!this.terms.config.heartbeatRequired || this.#silence !== undefined) return
    const { deadlines, config } = this.#parts
    const heardAt = this.#reportedAt
    const leftMs = (heardAt ?? 0) + config.leaseTtlMs - this.elapsedMs
    this.#silence = deadlines.after(Math.max(0, leftMs), () => {
      this.#silence = undefined
      if (this.#reportedAt === heardAt) this.#silent()
      else this.#listen()
    })
  }

  /** Reported once per silence; the next heartbeat ends it. Source: `docs/semantics.md` C8. */
  #silent(): void {
    const { route, terms } = this.#lease
    const { leaseTtlMs } = this.#parts.config
    this.#log(
      'warn',
      `'${route}' has the profile ${terms.profile}, which requires heartbeats, and has sent none for ${leaseTtlMs} ms`,
    )
    this.#scar({ as: 'silent' })
  }

  async #measure(): Promise<void> {
    try {
      const sample = await this.#lease.probe?.()
      if (this.#isOver) return
      if (sample !== undefined) {
        this.#last = { ...this.#last, ...sample }
        await this.#report({ sample, heartbeat: false })
      }
    } catch (error) {
      this.#log('warn', 'the usage of a lease could not be measured', { error: describeError(error) })
    }
    if (!this.#isOver) this.#after(this.#parts.config.heartbeatIntervalMs, () => void this.#measure())
  }

  async #report(it: Omit<Write<'report'>, 'kind' | 'leaseId' | 'terms'>): Promise<'ok' | 'stale'> {
    const { leaseId, terms } = this.#lease
    const outcome = await this.#parts.write({ kind: 'report', leaseId, terms, ...it })
    if (outcome.fenced === 'stale') return 'stale'
    this.#left = outcome
    if (outcome.verdict === 'hard') this.#breach(outcome.message ?? '')
    else if (outcome.message !== undefined)
      this.#log('warn', `a lease has passed its soft limit: ${outcome.message}`)
    return 'ok'
  }

  #breach(message: string): void {
    this.disarm()
    this.expired('budget_exceeded')
    this.#lease.onBreach(`'${this.#lease.route}' is above a hard limit: ${message}`)
  }

  /** For observers: the time limit or a hard limit was exceeded. */
  expired(reason: 'timeout' | 'budget_exceeded'): void {
    if (this.#isTold) return
    this.#isTold = true
    const { leaseId, route: routeId } = this.#lease
    this.#parts.observers.tell('onLeaseExpired', { routeId, leaseId, reason })
  }

  #scar(cause: Write<'scar'>['cause']): void {
    const { leaseId } = this.#lease
    this.#parts
      .write({ kind: 'scar', leaseId, cause })
      .catch((error: unknown) => this.#untaken('scar', error))
  }

  #untaken(kind: string, error: unknown): void {
    this.#log('warn', 'the store did not accept a write', { kind, error: describeError(error) })
  }

  #log(level: 'warn', message: string, fields: Readonly<Record<string, unknown>> = {}): void {
    const { leaseId, taskId } = this.#lease
    this.#parts.log(level, message, { leaseId, taskId, ...fields })
  }
}
