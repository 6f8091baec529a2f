import type {
  EventsMatching,
  ExecutionLease,
  Explanation,
  StoreInfo,
  StoreStats,
  TaskFilter,
  TaskState,
  WorkerStatus,
} from '@ku0/agent-runtime-core'
import type { LeakedHandler, SubmitOptions } from './execution/index.ts'
import type { Receipt, TaskId } from './receipts.ts'
import type { RuntimeEvent } from './runtime-event.ts'
import type { TaskDefinition } from './task-definition.ts'
import type { TaskStatus } from './task-status.ts'

/**
 * A runtime: the way in for tasks, and the workers of this process that run them. Every process on a store has one; none is
 * special. `await using` stops it at the end of the block. Source: `docs/ARCHITECTURE.md`.
 */
export interface Runtime extends AsyncDisposable {
  /** What the store says of itself. */
  readonly info: StoreInfo

  /**
   * Submits a task; resolves once the task, or its rejection, is committed. A submission that is refused (queue full, quota,
   * unknown type, an input that does not fit the schema) is an answer, not an error: look at `accepted`.
   *
   * Throws `PayloadTooLarge`, `StepNotSerializable`, `invalid_argument` for a bad option, `idempotency_conflict`,
   * `already_exists`, `store_*`. Source: Track AA, AA1; `docs/semantics.md 2`.
   */
  submit<Input, Output>(
    task: TaskDefinition<string, Input, Output>,
    input: NoInfer<Input>,
    options?: SubmitOptions,
  ): Promise<Receipt<Output>>
  submit(task: string, input: unknown, options?: SubmitOptions): Promise<Receipt>

  /**
   * Submits several tasks in one commit; receipts in the order of the items. A key or id that another task has is thrown after
   * the commit, with all `receipts` in its `details`.
   */
  submitMany<Tasks extends readonly (TaskDefinition | string)[] | []>(
    items: ItemsOf<Tasks>,
  ): Promise<ReceiptsOf<Tasks>>

  /** A task as it stands; undefined if there is none of this id, or it was pruned. */
  status(taskId: string): Promise<TaskStatus | undefined>

  /**
   * Waits for a task's end, whichever process runs it, and resolves with its output. Throws `TaskFailed`, `TaskCanceled`,
   * `TaskRejected`, `not_found`, a `TimeoutError` after `timeoutMs`, the signal's reason.
   */
  result<Output>(task: Receipt<Output> | TaskId<Output>, options?: WaitOptions): Promise<Output>
  result(taskId: string, options?: WaitOptions): Promise<unknown>

  /**
   * Cancels a task: its state is `canceled` when this resolves, its handler is told then. False for a final or unknown task.
   * Source: Track AA, Scheduling Rules; `docs/semantics.md 5`.
   */
  cancel(taskId: string, options?: { readonly reason?: string }): Promise<boolean>

  /** Tasks, newest first. `cancelled` is understood. */
  list(filter?: ListFilter): Promise<{ readonly tasks: readonly TaskStatus[]; readonly cursor?: number }>

  /** The events of a task after `after`: history, then live without a gap; ends after the final event. Throws `not_found`. */
  events(taskId: string, options?: FollowOptions): AsyncIterable<RuntimeEvent>

  /** What the task emits, in the same way. After a failover `attempt.restarted` comes first. Source: `docs/semantics.md 9`. */
  output(taskId: string, options?: FollowOptions): AsyncIterable<OutputItem>

  stats(): Promise<RuntimeStats>
  /** Why a task is where it is. */
  explain(taskId: string): Promise<Explanation | undefined>
  /** The registered workers, of every process on the store. */
  workers(): Promise<readonly WorkerStatus[]>
  /** The leases of a task, live and ended. */
  leases(taskId: string): Promise<readonly ExecutionLease[]>
  /** Handlers of this process that have not stopped within `abortGraceMs`. Source: `docs/semantics.md 5.4`. */
  leaked(): readonly LeakedHandler[]

  /**
   * Hears events of every process as they are committed, from now on: `task.completed`, `task.*`, `task:*` or `*`. Only what is
   * listened for leaves the store. An error of the listener is logged and changes nothing.
   */
  on<const P extends string>(
    pattern: P,
    listener: (event: EventsMatching<RuntimeEvent, P>) => void,
  ): Disposable

  /** Registers the workers. Needed after `createRuntime({ start: false })` only; calling it again does nothing. */
  start(): Promise<void>

  /**
   * Stops the workers. With `drain` (the default) running tasks have `graceMs` (`drainGraceMs`) to end; what still runs then,
   * or at once without it, is aborted and goes back to the queue with the same attempt. Called again meanwhile, it waits no longer.
   * Every call resolves with the same report. Source: `docs/semantics.md 5.6`.
   */
  stop(options?: StopOptions): Promise<StopReport>
}

export interface WaitOptions {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

export interface FollowOptions {
  /** The `seq` of the last item that is known already; 0 by default. */
  readonly after?: number
  readonly signal?: AbortSignal
}

export interface StopOptions {
  readonly drain?: boolean
  readonly graceMs?: number
}

/** How a stop went. */
export interface StopReport {
  /** Every task that was running has ended by itself. */
  readonly drained: boolean
  /** Tasks that went back to the queue. */
  readonly released: number
}

export interface ListFilter extends Omit<TaskFilter, 'states'> {
  readonly states?: readonly (TaskState | 'cancelled')[]
}

export type OutputItem =
  | {
      readonly type: 'chunk'
      readonly seq: number
      readonly attempt: number
      readonly at: number
      readonly data: unknown
    }
  /** What follows comes from a later attempt, which began from the start. */
  | { readonly type: 'attempt.restarted'; readonly attempt: number }

export interface RuntimeStats extends StoreStats {
  /** Attempts of this process of which something still runs. */
  readonly inFlight: number
  /** Handlers of this process that have not stopped within `abortGraceMs`. */
  readonly leaked: number
}

/** A submission of each task, with the input that it takes. */
export type ItemsOf<Tasks extends readonly (TaskDefinition | string)[]> = {
  readonly [K in keyof Tasks]: {
    readonly task: Tasks[K]
    readonly input: Tasks[K] extends TaskDefinition<string, infer Input> ? Input : unknown
    readonly options?: SubmitOptions
  }
}

/** A receipt of each task. */
export type ReceiptsOf<Tasks extends readonly (TaskDefinition | string)[]> = {
  readonly [K in keyof Tasks]: Tasks[K] extends TaskDefinition<string, infer _, infer Output>
    ? Receipt<Output>
    : Receipt
}
