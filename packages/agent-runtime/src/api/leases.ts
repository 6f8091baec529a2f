import type { ResourceBudget, ResourceLimits, WorkloadProfile, WorkTelemetry } from '@ku0/agent-runtime-core'
import type { Heartbeat, ProfileSetting, UsageProbe } from './profiles.ts'

/** How work is started that its caller runs. */
export interface StartTaskOptions {
  /** That of the route by default (`setRouteProfile`), else `STANDARD`. */
  readonly profile?: ProfileSetting | undefined
  readonly limits?: ResourceLimits | undefined
  /** How long it may take, in ms; the profile's `maxDurationMs` where that is less. */
  readonly timeout?: number | undefined
  /** Aborted when the work has to stop: `HEAVY` and `EXTREME` work is refused without one. */
  readonly abortController?: AbortController | undefined
  /** Measures what it uses, besides what heartbeats say. */
  readonly measure?: UsageProbe | undefined
  /** `normal` by default: of a swarm the lowest lane is shed first. */
  readonly lane?: 'interactive' | 'normal' | 'batch' | undefined
  /** An id of the caller's own for its task. */
  readonly taskId?: string | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
}

/** What {@link TaskLease.heartbeat} takes: `memoryUsed` is what it holds now, `computeUs` the CPU time so far. */
export interface LeaseHeartbeat extends Pick<
  Heartbeat,
  'progress' | 'computeUs' | 'errorRate' | 'saturation'
> {
  readonly memoryUsed?: number | undefined
}

/** How the work ended: with an output, or with what it threw. */
export type LeaseOutcome = { readonly output: unknown } | { readonly error: unknown }

/**
 * Work that its caller runs, under a lease of its own: a task like any other to everybody else, seen in `list`, `status`, `events` and
 * `stats`, and canceled from any process. The runtime renews the lease as long as the process lives; when that dies, the task fails
 * as `lease_lost`. `await using` releases it. Source: rfc-0010-workload-profiles, The Lease Pattern; `docs/semantics.md 10.1, 10.4`.
 */
export interface TaskLease extends AsyncDisposable {
  readonly id: string
  readonly taskId: string
  readonly routeId: string
  readonly profile: WorkloadProfile
  /** Epoch ms. */
  readonly startedAt: number
  /** Its deadline, epoch ms: heartbeats do not move it. */
  readonly expiresAt: number
  /** Aborts when the work has to stop: that of the `abortController`, or one of its own. */
  readonly signal: AbortSignal
  /** What it has left: `Infinity` where nothing limits it; `remainingMs` is 0 once it is over or was released. */
  budget(): ResourceBudget
  /** What was reported of it. */
  telemetry(): WorkTelemetry
  /**
   * Reports how it is getting on. The promise resolves when it is stored. It rejects with `lease_released` after {@link release}, with
   * `invalid_argument` for what is no report, and with the signal's reason when the lease is over; it need not be awaited.
   */
  heartbeat(report?: LeaseHeartbeat): Promise<void>
  /**
   * Gives the lease back: the task is completed, or failed with `error`. Releasing twice is releasing once. A lease that is over
   * already (canceled, expired, lost) stays so; that its work has stopped is noted then.
   */
  release(outcome?: LeaseOutcome): Promise<void>
}

/**
 * Hears of the leases of this process that have a profile: those of tasks, and those that callers hold. What it throws is logged and
 * changes nothing. Source: rfc-0010-workload-profiles, Lease Events; `docs/semantics.md 10.7`.
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
    /** 0 to 1, where it was reported as such. */
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
  /** `timeout`: its time is over; `budget_exceeded`: a hard limit was broken. */
  onLeaseExpired?(event: {
    readonly routeId: string
    readonly leaseId: string
    readonly reason: 'timeout' | 'budget_exceeded'
  }): void
}

/** How a lease ended that did not expire; `ended`: the task goes on later, or was taken away. */
export type LeaseEnding = 'completed' | 'failed' | 'canceled' | 'ended'
