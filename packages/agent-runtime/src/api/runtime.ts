import type { WorkTelemetry } from '@ku0/agent-runtime-core'
import type { Client } from './client.ts'
import type { StartTaskOptions, TaskLease } from './leases.ts'
import type { ProfileSetting } from './profiles.ts'
import type { Receipt } from './receipts.ts'
import type { ReplayOptions, ReplayReport } from './replay.ts'
import type { RouteOptions, RouteStatus, RouteVerdict } from './routes.ts'
import type { Swarm, SwarmOptions } from './swarms.ts'
import type { RuntimeStats, Worker } from './worker.ts'

/**
 * A runtime: a client and the workers of this process on one store handle. Every process on a store may have one; none is
 * special. `await using` stops it at the end of the block. A call about a task takes its receipt or its id. A call that is given
 * something outside what it documents throws `invalid_argument`, saying what is allowed. Source: `docs/ARCHITECTURE.md`.
 */
export interface Runtime extends Client, Worker {
  /** How many tasks are in which state, what the store holds, and what runs in this process. */
  stats(): Promise<RuntimeStats>

  /**
   * Goes through a task with the code of this process and answers its calls from its history alone: no function of a step, no command
   * and no write happens, whatever the task's state, also while another process runs it. What is the handler's own, outside of
   * `ctx`, does happen. What is found is an answer, not an error: see {@link ReplayReport}. The replay ends where the history does, at a
   * call that it has no answer for, or at the end of the handler. Throws `not_found`, and `invalid_argument` for a rejected task.
   * Source: `docs/semantics.md 6.3, 6.4`.
   */
  replay(task: Receipt | string, options: ReplayOptions): Promise<ReplayReport>

  /**
   * Sets, for this process, the profile that work of a route has where it names none: un-leased work, and leases of
   * {@link startTask}. A task type names its own. Throws `invalid_argument`. Source: `docs/profiles.md`, `docs/semantics.md 10.1`.
   */
  setRouteProfile(route: string, profile: ProfileSetting): void

  /**
   * Un-leased work: without `telemetry` it asks whether it may go, with it it tells how it went, and leaves a scar where it was slower
   * than its profile (`LIGHT` by default) expects. A refusal by an open circuit is an answer; resistance refuses nothing. Throws
   * `invalid_argument`, `store_*`. Source: `docs/semantics.md 10.1, 10.3`, C11.
   */
  route(route: string, telemetry?: WorkTelemetry, options?: RouteOptions): Promise<RouteVerdict>

  /**
   * Starts work that the caller runs, as a task under a lease of its own: resolves when both are committed. `HEAVY` and `EXTREME` work
   * needs an `abortController`. Throws `invalid_argument`, `TaskRejected` when the route's circuit is open, `already_exists` for a
   * `taskId` that is taken, `shutdown`, `store_*`. Source: `docs/profiles.md`, `docs/semantics.md 10.1`.
   */
  startTask(route: string, options?: StartTaskOptions): Promise<TaskLease>

  /**
   * Makes a swarm of agents that share a budget, or joins the one that has this name and these settings; `already_exists` for others.
   * Throws `invalid_argument`, `shutdown`, `store_*`. Source: `docs/profiles.md`, `docs/semantics.md 10.6`.
   */
  createSwarm(route: string, options?: SwarmOptions): Promise<Swarm>

  /** How routes stand: pressure, resistance, scar, circuit. Those of which anything is known. Source: `docs/semantics.md 10.3`. */
  routes(): Promise<readonly RouteStatus[]>

  /** Stops the runtime as {@link stop} does, without its report. */
  close(): Promise<void>
}
