import type { WorkTelemetry } from '@ku0/agent-runtime-core'
import type { Client } from './client.ts'
import type { LeaseOutcome, StartTaskOptions, TaskLease } from './leases.ts'
import type { ProfileSetting } from './profiles.ts'
import type { Receipt } from './receipts.ts'
import type { ReplayOptions, ReplayReport } from './replay.ts'
import type { RouteOptions, RouteStatus, RouteVerdict } from './routes.ts'
import type { Swarm, SwarmOptions } from './swarms.ts'
import type { RuntimeStats, Worker } from './worker.ts'

/**
 * A runtime: a client and the workers of this process on one store handle. Every process on a store may have
 * one, and all are equal. `await using` stops it at the end of the block. A call about a task takes its
 * receipt or its id. A call throws `invalid_argument` for an argument it does not accept, and names what it
 * accepts. Source: `docs/ARCHITECTURE.md`.
 */
export interface Runtime extends Client, Worker {
  /** How many tasks are in each state, what the store holds, and what runs in this process. */
  stats(): Promise<RuntimeStats>

  /**
   * Runs a task's handler with the code of this process and answers its calls only from the recorded history.
   * No function of a step runs, no command runs and nothing is written, whatever the task's state, even while
   * another process runs the task. Code of the handler outside of `ctx` does run. The finding is returned,
   * not thrown: see {@link ReplayReport}. The replay ends where the history ends, at a call that the history
   * has no answer for, or when the handler ends. Throws `not_found`, and `invalid_argument` for a rejected
   * task. Source: `docs/semantics.md 6.3, 6.4`.
   */
  replay(task: Receipt | string, options: ReplayOptions): Promise<ReplayReport>

  /**
   * Sets, for this process, the default profile of a route's work: of un-leased work and of leases of {@link
   * startTask}. A task type names its own profile. Throws `invalid_argument`. Source: `docs/profiles.md`,
   * `docs/semantics.md 10.1`.
   */
  setRouteProfile(route: string, profile: ProfileSetting): void

  /**
   * For un-leased work. Without `telemetry` it asks whether the work may run. With `telemetry` it reports how
   * the work went, and leaves a scar if it was slower than its profile (`LIGHT` by default) expects. A
   * refusal by an open circuit is returned; resistance refuses nothing. Throws `invalid_argument`, `store_*`.
   * Source: `docs/semantics.md 10.1, 10.3`, C11.
   */
  route(route: string, telemetry?: WorkTelemetry, options?: RouteOptions): Promise<RouteVerdict>

  /**
   * Starts work that the caller runs, as a task under a lease of its own: resolves when both are committed. `HEAVY` and `EXTREME` work
   * needs an `abortController`. Throws `invalid_argument`, `TaskRejected` when the route's circuit is open, `already_exists` for a
   * `taskId` that is taken, `shutdown`, `store_*`. Source: `docs/profiles.md`, `docs/semantics.md 10.1`.
   */
  startTask(route: string, options?: StartTaskOptions): Promise<TaskLease>

  /**
   * Takes one certain task from the queue, to work on it without a handler. True if this process holds its lease now; false if the task does not wait in the
   * queue, or may not start now. At most `maxInFlightPerWorker` are held at once. The runtime renews the lease as long as the process lives. If it dies, the
   * task goes back to the queue with the next attempt. Source: `docs/semantics.md 4.12`.
   */
  acquireLease(task: Receipt | string): Promise<boolean>

  /** Whether this process still holds the lease of {@link acquireLease}; false once it was canceled, lost or released. Stores the progress. */
  heartbeatLease(task: Receipt | string, progress?: unknown): Promise<boolean>

  /**
   * Ends the lease of {@link acquireLease}: with an outcome the task is completed or has failed, without one it goes back to the queue. False if the lease had
   * ended before; then nothing is stored. Throws `invalid_argument`.
   */
  releaseLease(task: Receipt | string, outcome?: LeaseOutcome): Promise<boolean>

  /**
   * Creates a swarm of agents that share a budget, or joins the swarm with this name and these settings.
   * Throws `already_exists` if the swarm has other settings, `invalid_argument`, `shutdown`, `store_*`.
   * Source: `docs/profiles.md`, `docs/semantics.md 10.6`.
   */
  createSwarm(route: string, options?: SwarmOptions): Promise<Swarm>

  /**
   * The pressure, resistance, scar and circuit of every route that the store or this process knows. Source:
   * `docs/semantics.md 10.3`.
   */
  routes(): Promise<readonly RouteStatus[]>

  /** Stops the runtime as {@link stop} does, without its report. */
  close(): Promise<void>
}
