import type { ExecutionConfigInput, Lane } from '@ku0/agent-runtime-core'
import type { RuntimeLogger } from './logger.ts'
import type { StopOptions, StopReport } from './stop.ts'

/** How many workers a pool has, and when it changes that. Source: `docs/semantics.md 8.1`. */
export interface PoolLimits {
  /** The pool keeps at least so many workers; 1 by default. */
  readonly min: number
  /** The pool never has more; 4 by default. */
  readonly max: number
  /** With so many queued tasks the pool grows by one worker a pass; 5 by default. */
  readonly growAt: number
  /** A worker that was idle for longer leaves when nothing is queued, in ms; 300 000 by default. */
  readonly idleMs: number
  /** The time between two passes, in ms; 10 000 by default. */
  readonly everyMs: number
}

/** Limits that are given; the others are the defaults, or stay. */
export type PoolSettings = { readonly [Name in keyof PoolLimits]?: PoolLimits[Name] | undefined }

/** A pool of workers that grows with the queue and shrinks when it is idle. Source: `docs/pool.md`. */
export interface Pool {
  /** The limits that are in force. */
  readonly limits: PoolLimits
  /** The present work of the workers, and the work that they have done since the pool started. */
  stats(): PoolStats
  /**
   * Changes limits, from now on; the others stay. A pool that gave up starts again. Throws `invalid_argument`
   * for limits that contradict each other, and changes nothing then.
   */
  resize(limits: PoolSettings): void
  /**
   * Lets a worker end its tasks and leave; resolves when it has left. The pool starts another one if it then has less than `min`. Returns false if the
   * pool has no such worker.
   */
  drain(workerId: string): Promise<boolean>
  /** Calls the listener for each change of the pool, from now on. An error of the listener is logged. */
  on(listener: (change: PoolChange) => void): Disposable
}

/** A change of a pool. `size` is the number of workers after it that take tasks. */
export type PoolChange =
  | {
      readonly type: 'worker.started'
      readonly workerId: string
      readonly size: number
      readonly why: string
    }
  | {
      readonly type: 'worker.draining'
      readonly workerId: string
      readonly size: number
      readonly why: string
    }
  /** A drain from outside was taken back: the worker takes tasks again. */
  | { readonly type: 'worker.undrained'; readonly workerId: string; readonly size: number }
  | { readonly type: 'worker.stopped'; readonly workerId: string; readonly size: number }
  /** A worker process ended by itself: by a crash, a kill or `process.exit`. */
  | { readonly type: 'worker.died'; readonly workerId: string; readonly size: number; readonly how: string }
  /** Workers died quickly again and again: the pool starts none until `resize`. */
  | { readonly type: 'pool.gave_up'; readonly size: number; readonly how: string }

/** Source: `docs/semantics.md 8.3`. */
export interface PoolStats {
  readonly totalWorkers: number
  readonly idleWorkers: number
  readonly processingWorkers: number
  /** Passes of tasks that ended as completed, of all workers that the pool ever had. */
  readonly totalCompleted: number
  /** Passes that ended as failed, retries included. */
  readonly totalFailed: number
  readonly workers: Readonly<Record<string, PoolWorkerStats>>
}

export interface PoolWorkerStats {
  /** A worker that takes no more tasks is `draining`. */
  readonly status: 'idle' | 'processing' | 'draining'
  /** The task that it has been running for the longest time. */
  readonly currentTask: string | null
  readonly inFlight: number
  readonly completed: number
  readonly failed: number
}

/** Options of {@link createPool}. */
export interface PoolOptions extends PoolSettings {
  /** The URL of a store that several processes can open: a file of SQLite, or PostgreSQL. */
  readonly store: string
  /**
   * The module that exports the task definitions, one by one or in lists: a `file:` URL, such as `new URL('./tasks.ts', import.meta.url)`, or an
   * absolute path. Each worker process imports it.
   */
  readonly module: string | URL
  /** Number of tasks that each worker runs at once; `maxInFlightPerWorker` by default. */
  readonly capacity?: number | undefined
  /** The task types that the workers run; by default all that the module exports. */
  readonly types?: readonly string[] | undefined
  /** The lanes that the workers take tasks from, and whose tasks make the pool grow; all by default. Source: `docs/semantics.md 3.2`. */
  readonly lanes?: readonly Lane[] | undefined
  /** Track AA's settings, for the workers. */
  readonly config?: ExecutionConfigInput | undefined
  readonly durability?: 'full' | 'normal' | undefined
  /** SIGTERM and SIGINT drain the pool and end the process, as in `docs/operating.md`, Signals and exit codes. False by default. */
  readonly signals?: boolean | undefined
  /** Where the pool's own lines go; the worker processes write to standard error. */
  readonly logger?: RuntimeLogger | false | undefined
}

/** A pool whose workers are processes. `await using` stops it at the end of the block. */
export interface ProcessPool extends Pool, AsyncDisposable {
  /**
   * Stops all workers: with `drain` (the default) they end their tasks within `graceMs` (`drainGraceMs`), else the tasks go back to the queue. A second
   * call ends the processes at once.
   */
  stop(options?: StopOptions): Promise<StopReport>
}
