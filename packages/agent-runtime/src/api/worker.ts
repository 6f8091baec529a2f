import type { EventsMatching, StoreInfo, StoreStats } from '@ku0/agent-runtime-core'
import type { RuntimeEvent } from './events.ts'
import type { LeaseObserver } from './leases.ts'
import type { CleanupReason } from './task-context.ts'

/**
 * The workers of this process: they run the handlers of its task types, and fire the schedules that are due. It takes no submissions but those
 * that handlers make. `await using` stops it at the end of the block. Source: `docs/client-and-worker.md`.
 */
export interface Worker extends AsyncDisposable {
  /** What the store says of itself. */
  readonly info: StoreInfo

  /** How many tasks are in which state, what the store holds, and what runs in this process. */
  stats(): Promise<RuntimeStats>

  /** Hears of the leases of this process that have a profile, from now on. Source: `docs/semantics.md 10.7`. */
  observe(observer: LeaseObserver): Disposable

  /**
   * Handlers of this process that have not stopped within `abortGraceMs`, and leases of its callers that were not released by then.
   * Source: `docs/semantics.md 5.4`.
   */
  leaked(): readonly LeakedHandler[]

  /**
   * Hears events of every process as they are committed, from now on: `task.completed`, `task.*`, `task:*` or `*`; a pattern that
   * selects no event is `invalid_argument`. Only what is listened for leaves the store. An error of the listener is logged and changes nothing.
   */
  on<const P extends string>(
    pattern: P,
    listener: (event: EventsMatching<RuntimeEvent, P>) => void,
  ): Disposable

  /** Registers the workers. Needed after `createWorker` or `createRuntime` with `start: false` only; calling it again does nothing. */
  start(): Promise<void>

  /**
   * Stops the workers. With `drain` (the default) running tasks have `graceMs` (`drainGraceMs`) to end; what still runs then,
   * or at once without it, is aborted and goes back to the queue with the same attempt. No submission is taken from the call on.
   * Called again meanwhile, it waits no longer, save half a second at most for the last writes. Every call resolves with the same
   * report. Source: `docs/semantics.md 5.6`.
   */
  stop(options?: StopOptions): Promise<StopReport>
}

/**
 * A handler that has not stopped within `abortGraceMs` of its abort, which still takes its slot; or a lease of a caller's that was not
 * released by then: its `workerId` is `caller`, its `type` the route. Source: `docs/semantics.md 5.4`.
 */
export interface LeakedHandler {
  readonly taskId: string
  readonly type: string
  readonly leaseId: string
  readonly workerId: string
  readonly attempt: number
  /** What it was told to stop for. */
  readonly reason: Exclude<CleanupReason, 'failed'>
  /** When it was found out, epoch ms. */
  readonly at: number
}

/** A worker to be: how many tasks it runs at once, and of which types. */
export interface WorkerSpec {
  readonly workerId: string
  readonly capacity: number
  readonly types: readonly string[]
}

export interface StopOptions {
  /** True by default. */
  readonly drain?: boolean | undefined
  /** A finite number of ms, 0 or more; `drainGraceMs` by default. */
  readonly graceMs?: number | undefined
}

/** How a stop went. */
export interface StopReport {
  /** Every task that was running has ended by itself. */
  readonly drained: boolean
  /** Tasks that went back to the queue. */
  readonly released: number
}

export interface RuntimeStats extends StoreStats {
  /** Attempts of this process of which something still runs. */
  readonly inFlight: number
  /** How many {@link Worker.leaked} lists. */
  readonly leaked: number
}
