import type { Explanation, TaskState } from '@ku0/agent-runtime-core'
import type { FollowOptions } from './follow.ts'
import type { Operations } from './operations.ts'
import type { CallOptions } from './options.ts'
import type { TaskLike } from './task-id.ts'
import type { InputOf, ResultOf } from './typed.ts'
import type {
  ListFilter,
  OutputItem,
  Receipt,
  RuntimeEvent,
  SubmitItem,
  SubmitOptions,
  TaskDetails,
  TaskName,
  StoredCheckpoint,
  StoredStep,
  TaskStatus,
} from './records.ts'

/**
 * The runtime of a server. Its calls have the names and the answers of the runtime's own client: times are epoch ms. A call about a task
 * takes its receipt or its id. Values are JSON; a Date or a Map of a task arrives in the form of the codec, `{ "$ku0": […] }`, which
 * `decode` of `@ku0/agent-runtime-core` turns back.
 *
 * A call throws {@link ApiError} with the code of the library, such as `not_found` or `invalid_argument`, and {@link ServerUnreachable} if
 * no answer comes.
 */
export interface HttpClient extends Operations {
  /**
   * Submits a task; resolves once the task, or its rejection, is committed. A refused submission is returned, not thrown: check
   * `accepted`. With what `defineTask` or `defineContract` returned, the compiler checks the input and knows the result.
   */
  submit<const Task extends TaskName>(
    task: Task,
    input: InputOf<Task>,
    options?: SubmitOptions & CallOptions,
  ): Promise<Receipt<ResultOf<Task>>>
  /** Submits several tasks in one commit; the receipts are in their order. */
  submitMany(items: readonly SubmitItem[], options?: CallOptions): Promise<readonly Receipt[]>
  /** The current status of a task; undefined for an unknown one. */
  status(task: TaskLike, options?: CallOptions): Promise<TaskStatus | undefined>
  /** A task with its last leases, first steps and newest children. Throws `not_found`. */
  get(task: TaskLike, options?: CallOptions): Promise<TaskDetails>
  /**
   * Waits until a task has ended, and resolves with its output. Throws `TaskFailed`, `TaskCanceled`, `TaskRejected`, `TaskDiverged`, and
   * `TimeoutError` after `timeoutMs`. The receipt of a task type has the type of its result, as JSON brings it.
   */
  result<Output = unknown>(
    task: TaskLike<Output>,
    options?: CallOptions & { readonly timeoutMs?: number | undefined },
  ): Promise<Output>
  /** Cancels a task and its children. False if it had already ended. */
  cancel(task: TaskLike, options?: CallOptions & { readonly reason?: string | undefined }): Promise<boolean>
  /**
   * Submits a failed, canceled or parked task again as a new task, which keeps the completed steps. A task is retried once: a second call
   * answers with the first retry (`deduplicated`), unless it says `again` or has an `idempotencyKey` of its own.
   */
  retry(
    task: TaskLike,
    options?: CallOptions & AgainOptions & { readonly again?: boolean | undefined },
  ): Promise<Receipt>
  /** Submits a task again from one of its steps, with other results if wanted. */
  fork(
    task: TaskLike,
    options?: CallOptions &
      AgainOptions & {
        readonly fromStep?: string | undefined
        readonly edits?: Readonly<Record<string, unknown>> | undefined
      },
  ): Promise<Receipt>
  /** Sends a signal to a task. */
  signal(
    task: TaskLike,
    name: string,
    value?: unknown,
    options?: CallOptions,
  ): Promise<{ readonly delivered: true; readonly state: TaskState; readonly awaited: boolean }>
  /** Queues a task again that is parked because its code took another path than its history. */
  resume(task: TaskLike, options?: CallOptions): Promise<void>
  /** Tasks, newest first. While a page has a `cursor` there may be more. */
  list(
    filter?: ListFilter,
    options?: CallOptions,
  ): Promise<{ readonly tasks: readonly TaskStatus[]; readonly cursor?: string }>
  /** How many tasks the filter selects. */
  count(filter?: Omit<ListFilter, 'values' | 'limit' | 'cursor'>, options?: CallOptions): Promise<number>
  /** A page of the events of a task that are stored now. */
  history(
    task: TaskLike,
    page?: CallOptions & PageOptions,
  ): Promise<{ readonly events: readonly RuntimeEvent[]; readonly cursor?: number }>
  /** A page of what a task has emitted so far. */
  emitted(
    task: TaskLike,
    page?: CallOptions & PageOptions,
  ): Promise<{ readonly items: readonly OutputItem[]; readonly cursor?: number }>
  /** A page of the recorded steps of a task with their results. While it has a `cursor` there may be more: pass it as `after`. */
  steps(
    task: TaskLike,
    page?: CallOptions & PageOptions,
  ): Promise<{ readonly steps: readonly StoredStep[]; readonly cursor?: number }>
  /** The events of a task: first its history, then live, without a gap, across broken connections. Ends after the final event. */
  events(task: TaskLike, options?: FollowOptions): AsyncIterable<RuntimeEvent>
  /** The values that the task emits, in the same way. */
  output(task: TaskLike, options?: FollowOptions): AsyncIterable<OutputItem>
  /** The newest checkpoint of a task. Undefined without one. */
  checkpoint(task: TaskLike, options?: CallOptions): Promise<StoredCheckpoint | undefined>
  /** Why a task is in its state, and what it waits for; undefined for an unknown one. */
  explain(task: TaskLike, options?: CallOptions): Promise<Explanation | undefined>
}

/** Options of a retry and a fork. */
export interface AgainOptions {
  readonly taskId?: string | undefined
  readonly idempotencyKey?: string | undefined
  readonly budget?: SubmitOptions['budget']
}

/** A page of what is numbered. */
export interface PageOptions {
  readonly after?: number | undefined
  /** 1 to 1000, 100 by default. */
  readonly limit?: number | undefined
}
