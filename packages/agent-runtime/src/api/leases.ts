import type { ResourceBudget, ResourceLimits, WorkloadProfile, WorkTelemetry } from '@ku0/agent-runtime-core'
import type { Heartbeat, ProfileSetting, UsageProbe } from './profiles.ts'

/** Options of work that its caller runs. */
export interface StartTaskOptions {
  /** The route's profile by default (`setRouteProfile`), else `STANDARD`. */
  readonly profile?: ProfileSetting | undefined
  readonly limits?: ResourceLimits | undefined
  /** The time limit in ms; the profile's `maxDurationMs` if that is less. */
  readonly timeout?: number | undefined
  /** Aborted when the work has to stop. `HEAVY` and `EXTREME` work is refused without it. */
  readonly abortController?: AbortController | undefined
  /** Measures what the work uses, in addition to the heartbeats. */
  readonly measure?: UsageProbe | undefined
  /** `normal` by default. A swarm that is overloaded cancels agents of the lowest lane first. */
  readonly lane?: 'interactive' | 'normal' | 'batch' | undefined
  /** An id of the caller's own for its task. */
  readonly taskId?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/**
 * The argument of {@link TaskLease.heartbeat}: `memoryUsed` is the memory in use now, `computeUs` the CPU
 * time so far.
 */
export interface LeaseHeartbeat extends Pick<
  Heartbeat,
  'progress' | 'computeUs' | 'errorRate' | 'saturation'
> {
  readonly memoryUsed?: number | undefined
}

/** How the work ended: with an output, or with the error that it threw. */
export type LeaseOutcome = { readonly output: unknown } | { readonly error: unknown }

/**
 * Work that its caller runs under its own lease. It is a task like any other: it appears in `list`, `status`,
 * `events` and `stats`, and any process can cancel it. The runtime renews the lease as long as the process
 * lives; if the process dies, the task fails with `lease_lost`. `await using` releases the lease. Source:
 * rfc-0010-workload-profiles, The Lease Pattern; `docs/semantics.md 10.1, 10.4`.
 */
export interface TaskLease extends AsyncDisposable {
  readonly id: string
  readonly taskId: string
  readonly routeId: string
  readonly profile: WorkloadProfile
  /** Epoch ms. */
  readonly startedAt: number
  /** Its deadline, epoch ms. Heartbeats do not move it. */
  readonly expiresAt: number
  /** Aborts when the work has to stop: the signal of the `abortController`, or of one that the lease made. */
  readonly signal: AbortSignal
  /**
   * The amounts that the lease has left: `Infinity` for an amount without a limit. `remainingMs` is 0 once it has ended
   * or was released.
   */
  budget(): ResourceBudget
  /** The reports about the work. */
  telemetry(): WorkTelemetry
  /**
   * Reports progress and usage. The promise resolves when the report is stored. It rejects with
   * `lease_released` after {@link release}, with `invalid_argument` for an invalid report, and with the
   * signal's reason when the lease has ended. It need not be awaited.
   */
  heartbeat(report?: LeaseHeartbeat): Promise<void>
  /**
   * Ends the lease: the task is completed, or failed with `error`. Calling it again has no effect. A lease
   * that has already ended (canceled, expired, lost) stays so; the call then only records that its work has
   * stopped.
   */
  release(outcome?: LeaseOutcome): Promise<void>
}

/**
 * Called for the leases of this process that have a profile: those of tasks, and those that callers hold.
 * An error that it throws is logged and has no other effect. Source: rfc-0010-workload-profiles, Lease Events;
 * `docs/semantics.md 10.7`.
 */
export interface LeaseObserver {
  onLeaseAcquired?(event: {
    readonly routeId: string
    readonly leaseId: string
    readonly profile: WorkloadProfile
    readonly budget: ResourceBudget
  }): void
  onHeartbeat?(event: {
    readonly routeId: string
    readonly leaseId: string
    /** 0 to 1, if it was reported as a number. */
    readonly progress: number | undefined
    readonly memoryUsed: number | undefined
  }): void
  onLeaseReleased?(event: {
    readonly routeId: string
    readonly leaseId: string
    /** Ms from its start. */
    readonly duration: number
    readonly outcome: LeaseEnding
  }): void
  /** `timeout`: the time limit was exceeded. `budget_exceeded`: a hard limit was exceeded. */
  onLeaseExpired?(event: {
    readonly routeId: string
    readonly leaseId: string
    readonly reason: 'timeout' | 'budget_exceeded'
  }): void
}

/**
 * How a lease ended that did not expire. `ended`: the task goes on later, or another process took it over.
 */
export type LeaseEnding = 'completed' | 'failed' | 'canceled' | 'ended'
