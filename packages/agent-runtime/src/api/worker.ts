import type { EventsMatching, Lane, StoreInfo, StoreStats } from '@ku0/agent-runtime-core'
import type { EventPattern, RuntimeEvent } from './events.ts'
import type { Pool } from './pool.ts'
import type { LeaseObserver } from './leases.ts'
import type { CleanupReason } from './task-context.ts'
import { type StopOptions, type StopReport } from './stop.ts'

/**
 * The workers of this process: they run the handlers of its task types, and fire the schedules that are due.
 * A worker accepts no submissions except those of its handlers. `await using` stops it at the end of the
 * block. Source: `docs/client-and-worker.md`.
 */
export interface Worker extends AsyncDisposable {
  /** Facts about the store. */
  readonly info: StoreInfo

  /** How many tasks are in each state, what the store holds, and what runs in this process. */
  stats(): Promise<RuntimeStats>

  /** The workers of this process as a pool: their number, what they do, and limits that may be changed. Source: `docs/pool.md`. */
  readonly pool: Pool

  /**
   * Calls the observer for the leases of this process that have a profile, from now on. Source:
   * `docs/semantics.md 10.7`.
   */
  observe(observer: LeaseObserver): Disposable

  /**
   * Handlers of this process that did not stop within `abortGraceMs`, and leases of its callers that were not
   * released in that time. Source: `docs/semantics.md 5.4`.
   */
  leaked(): readonly LeakedHandler[]

  /**
   * Calls the listener for events of every process as they are committed, from now on: `task.completed`,
   * `task.*`, `task:*`, `*`, or a name of the scheduler paper such as `agent_terminated`. A pattern that matches no event throws `invalid_argument`. Only events that
   * somebody listens for leave the store. An error of the listener is logged and has no other effect.
   */
  on<const P extends EventPattern>(
    pattern: P,
    listener: (event: EventsMatching<RuntimeEvent, P>) => void,
  ): Disposable

  /**
   * Registers the workers. Needed only after `createWorker` or `createRuntime` with `start: false`; a second
   * call does nothing.
   */
  start(): Promise<void>

  /**
   * Stops the workers. With `drain` (the default) running tasks have `graceMs` (`drainGraceMs`) to end; tasks
   * that still run then, or at once without `drain`, are aborted and go back to the queue with the same
   * attempt. No submission is accepted from the call on. A second call meanwhile ends the grace: it waits
   * only for the last writes, at most half a second. Every call resolves with the same report. Source:
   * `docs/semantics.md 5.6`.
   */
  stop(options?: StopOptions): Promise<StopReport>
}

/**
 * A handler that did not stop within `abortGraceMs` of its abort and still takes its slot, or a lease of a
 * caller that was not released in that time: then `workerId` is `caller` and `type` is the route. Source:
 * `docs/semantics.md 5.4`.
 */
export interface LeakedHandler {
  readonly taskId: string
  readonly type: string
  readonly leaseId: string
  readonly workerId: string
  readonly attempt: number
  /** Why it was aborted. */
  readonly reason: Exclude<CleanupReason, 'failed'>
  /** When this was noticed, epoch ms. */
  readonly at: number
}

/** A worker to start: how many tasks it runs at once, and of which types. */
export interface WorkerSpec {
  readonly workerId: string
  readonly capacity: number
  readonly types: readonly string[]
  /** The lanes that it takes tasks from; all by default. */
  readonly lanes?: readonly Lane[] | undefined
  /** It takes no more than so many. */
  readonly maxTasks?: number
}

export interface RuntimeStats extends StoreStats {
  /** Number of attempts of this process that still run code. */
  readonly inFlight: number
  /** The length of {@link Worker.leaked}. */
  readonly leaked: number
}
