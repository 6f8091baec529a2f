import type {
  BudgetOptions,
  EventsMatching,
  ExecutionLease,
  Explanation,
  RouteRecord,
  StoreInfo,
  StoreStats,
  SwarmRecord,
  TaskFilter,
  TaskState,
  WaitHistogram,
  WorkerStatus,
} from '@ku0/agent-runtime-core'
import type { Approvals } from './approvals.ts'
import type { Budgets } from './budgets.ts'
import type { Clients } from './clients.ts'
import type { Evaluations } from './evaluations.ts'
import type { RuntimeEvent } from './events.ts'
import type { Graph, GraphNodes, GraphOutput } from './graphs.ts'
import type { Receipt, TaskId } from './receipts.ts'
import type { Schedules } from './schedules.ts'
import type { TaskStatus } from './status.ts'
import type { SubmitOptions } from './submissions.ts'
import type { TaskType } from './task-type.ts'

/**
 * The way in for tasks. A call about a task takes its receipt or its id. A call that is given something outside what it documents throws
 * `invalid_argument`, saying what is allowed. `await using` closes it at the end of the block. Source: `docs/client-and-worker.md`.
 */
export interface Client extends AsyncDisposable {
  /** What the store says of itself. */
  readonly info: StoreInfo

  /** What waits for a human, and the verdicts on it. */
  readonly approvals: Approvals
  /** What tasks and all below them may use up: `docs/budgets.md`. */
  readonly budgets: Budgets
  /** Tasks that are submitted at their times: `docs/schedules.md`. */
  readonly schedules: Schedules
  /** On whose account tasks run: `docs/shares.md`. */
  readonly clients: Clients
  /** How good agents are: `docs/evaluation.md`. */
  readonly evaluations: Evaluations

  /**
   * Submits a task; resolves once the task, or its rejection, is committed. A submission that is refused (queue full, quota,
   * unknown type, an input that does not fit the schema) is an answer, not an error: look at `accepted`.
   *
   * Throws `PayloadTooLarge`, `StepNotSerializable`, `invalid_argument` for a bad option, `idempotency_conflict`,
   * `already_exists`, `store_*`, and `shutdown` once {@link close} was called; what was handed to the store before that is
   * answered. Source: Track AA, AA1; `docs/semantics.md 2`.
   */
  submit<Input, Output>(
    task: TaskType<string, Input, Output>,
    input: NoInfer<Input>,
    options?: SubmitOptions,
  ): Promise<Receipt<Output>>
  submit(task: string, input: unknown, options?: SubmitOptions): Promise<Receipt>

  /**
   * Submits several tasks in one commit; receipts in the order of the items. Throws as {@link submit} does, naming the item, and
   * nothing is stored then; but a key or id that another task has is thrown after the commit, with all `receipts` in its `details`.
   */
  submitMany<Tasks extends readonly (TaskType | string)[] | []>(
    items: ItemsOf<Tasks>,
  ): Promise<ReceiptsOf<Tasks>>

  /**
   * Submits a graph of tasks: one task that runs each node as a child, as soon as the nodes that it waits for are done, and whose result
   * is the output of every node by name, each `maxPayloadBytes` at most. Nothing is stored when anything is wrong with the graph: `invalid_argument` names all of it,
   * a circle with its path. A submission that is refused by a limit is an answer, as in {@link submit}; throws what that throws.
   * Canceling the task cancels its nodes; a retry keeps those that are done. Source: `docs/semantics.md 13.3`.
   */
  submitGraph<const Nodes extends GraphNodes>(
    graph: Graph<Nodes>,
    options?: SubmitOptions,
  ): Promise<Receipt<GraphOutput<Nodes>>>

  /** A task as it stands; undefined if there is none of this id, or it was pruned. */
  status(task: Receipt | string): Promise<TaskStatus | undefined>

  /**
   * Waits for a task's end, whichever process runs it, and resolves with its output. Throws `TaskFailed`, `TaskCanceled`,
   * `TaskRejected`, `not_found`, a `TimeoutError` after `timeoutMs`, the signal's reason.
   *
   * Throws `TaskDiverged` for a task that is parked because its handler took a different path than its recorded history, or is parked meanwhile: it goes on only when
   * somebody does something about it. Ask again once it was resumed. Throws `inside_handler` in a handler of this runtime, which would keep
   * its slot from the task: use `ctx.call` or the `result()` of a child there. Source: `docs/semantics.md 4.11, 6.4`.
   */
  result<Output>(task: Receipt<Output> | TaskId<Output>, options?: WaitOptions): Promise<Output>
  result(taskId: string, options?: WaitOptions): Promise<unknown>

  /**
   * Cancels a task, and its children with it: its state is `canceled` when this resolves, its handler is told then. False for a final or unknown task.
   * Source: Track AA, Scheduling Rules; `docs/semantics.md 5`.
   */
  cancel(task: Receipt | string, options?: CancelOptions): Promise<boolean>

  /**
   * Cancels every open task that the filter selects, and their children with them, a few hundred in each commit. Tasks submitted after the call began are
   * left alone. `expect` guards against a filter that selects more or less than you think: if another number of tasks is found,
   * nothing is canceled and `refused` is true. `expect: 0` is a way to count. A crash in between leaves some canceled; call again.
   * Throws `invalid_argument` for a filter that selects everything, unless `expect` is given. Source: `docs/semantics.md 5.8`.
   */
  cancelMany(filter: CancelFilter, options?: CancelManyOptions): Promise<CanceledMany>

  /**
   * Sends a task a signal, for `ctx.waitForSignal`: it is kept until the task waits for it, and wakes it then. Resolves once that is
   * committed; any process on the store may send. Every call that resolves is another signal, also one of the same name and value.
   *
   * `name` has 1 to 255 characters; the value is encoded like an input, `maxPayloadBytes` at most. Throws `not_found`;
   * `invalid_argument`, with its state in `details.state`, for a task that is over, which takes none; both store nothing. Throws
   * `invalid_argument` for what is no name, `StepNotSerializable`, `PayloadTooLarge`, `limit_exceeded` when the task has `maxSignals` that it has not taken, `store_*`.
   * Source: `docs/semantics.md 12.4`.
   */
  signal(task: Receipt | string, name: string, value?: unknown): Promise<SignalReceipt>

  /**
   * Submits a failed, canceled or parked task again, as a new one that keeps its completed steps, the waits that were over and the
   * feedback of its reviewers; steps have all their tries again, and the old one stays as it is. A wait whose end the task failed of (its time
   * ran out, its request was rejected) is asked anew. Like {@link submit} it may be refused by a limit. Throws `not_found`, `invalid_argument` for a task in
   * another state, `store_corrupt` for a history that was edited. Source: `docs/semantics.md 1.2, 6.3`.
   */
  retry<Output>(task: Receipt<Output> | TaskId<Output>, options?: RetryOptions): Promise<Receipt<Output>>
  retry(taskId: string, options?: RetryOptions): Promise<Receipt>

  /**
   * Submits a task again, as a new one that keeps what was done before `fromStep` (all of it without one), some of it with other
   * results; the task itself, which may be in any state, stays as it is. Like {@link submit} it may be refused by a limit. Throws
   * `not_found`, `invalid_argument` for a step that was not completed, or an edit of one that a decided race or `all` answers for,
   * `idempotency_conflict` for a key of another fork, `store_corrupt` for a history that was edited, `StepNotSerializable`, `PayloadTooLarge`. Source: `docs/semantics.md 6.3`.
   */
  fork<Output>(task: Receipt<Output> | TaskId<Output>, options?: ForkOptions): Promise<Receipt<Output>>
  fork(taskId: string, options?: ForkOptions): Promise<Receipt>

  /**
   * Puts back a task that is parked because its handler took a different path than its recorded history (`waitingFor: 'divergence'`), once the code that runs it fits:
   * it is queued, past the limits, with the same attempt; what it waited for counts, if it came meanwhile. Where code and history still differ
   * it is parked again. Throws `not_found`, and `invalid_argument`, naming its state, for a task that is not parked.
   * Source: `docs/semantics.md 6.4`.
   */
  resume(task: Receipt | string): Promise<void>

  /**
   * Tasks, newest first. `cancelled` is understood. As long as there is a `cursor` there may be more: hand it to the next call; a
   * page of large inputs and outputs may be short of `limit`.
   */
  list(filter?: ListFilter): Promise<{ readonly tasks: readonly TaskStatus[]; readonly cursor?: number }>

  /** The events of a task after `after`: history, then live without a gap; ends after the final event. Throws `not_found`. */
  events(task: Receipt | string, options?: FollowOptions): AsyncIterable<RuntimeEvent>

  /** What the task emits, in the same way. After a failover `attempt.restarted` comes first. Source: `docs/semantics.md 9`. */
  output(task: Receipt | string, options?: FollowOptions): AsyncIterable<OutputItem>

  /** How many tasks are in which state, and what the store holds. */
  stats(): Promise<StoreStats>
  /** Why a task is where it is, what it waits for, and when it is likely to start; undefined for an unknown task. Source: `docs/explain.md`. */
  explain(task: Receipt | string): Promise<Explanation | undefined>
  /** Why tasks wait, over all that are queued or waiting: by reason how many, and the oldest. Source: `docs/explain.md`. */
  explainQueue(): Promise<WaitHistogram>
  /** The registered workers, of every process on the store. */
  workers(): Promise<readonly WorkerStatus[]>
  /** The leases of a task, live and ended. */
  leases(task: Receipt | string): Promise<readonly ExecutionLease[]>
  /** How routes stand: pressure, resistance, scar, circuit. Those of which the store knows anything. Source: `docs/semantics.md 10.3`. */
  routes(): Promise<readonly RouteRecord[]>
  /** The swarms of the store. */
  swarms(): Promise<readonly SwarmRecord[]>

  /**
   * Hears events of every process as they are committed, from now on: `task.completed`, `task.*`, `task:*` or `*`; a pattern that
   * selects no event is `invalid_argument`. Only what is listened for leaves the store. An error of the listener is logged and changes nothing.
   */
  on<const P extends string>(
    pattern: P,
    listener: (event: EventsMatching<RuntimeEvent, P>) => void,
  ): Disposable

  /**
   * Ends the calls of this client: no submission is taken from now on, what was handed to the store is answered, and whoever waits for a
   * result or an event gets `store_closed`. Tasks go on in the processes that run them. A store that this client opened is closed.
   */
  close(): Promise<void>
}

/** What became of a signal. */
export interface SignalReceipt {
  /** It is kept for the task, or has woken it; a signal that is not is an error. */
  readonly delivered: true
  /** The task's state then. */
  readonly state: TaskState
  /** Whether a wait of the task for this name was open. False: the signal is kept until the task waits for it, which may be never. */
  readonly awaited: boolean
}

export interface CancelOptions {
  /** Kept with the task, and told to its handler. */
  readonly reason?: string | undefined
}

export interface RetryOptions {
  /** An id of your own for the new task. */
  readonly taskId?: string | undefined
  /** A second call with the same key gets the first one's task. */
  readonly idempotencyKey?: string | undefined
  /** The budget of the new task; without one it begins with that of the old one, anew. */
  readonly budget?: BudgetOptions | undefined
}

export interface ForkOptions extends RetryOptions {
  /** The step, or other recorded call, that is the first to run again; those called before it keep their results. All do without one. */
  readonly fromStep?: string | undefined
  /** Other results for steps, races and alls that are kept, by key. What waits, approvals and children gave cannot be edited. */
  readonly edits?: Readonly<Record<string, unknown>> | undefined
}

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
  /** A finite number of ms, 0 or more. */
  readonly timeoutMs?: number | undefined
}

export interface FollowOptions {
  /** The `seq` of the last item that is known already; 0 by default. */
  readonly after?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface ListFilter extends Omit<TaskFilter, 'states'> {
  readonly states?: readonly (TaskState | 'cancelled')[] | undefined
}

/** Open tasks: those that are not over. */
export interface CancelFilter extends Omit<ListFilter, 'states' | 'limit' | 'cursor'> {
  /** `queued`, `running` and `waiting` by default. */
  readonly states?: readonly ('queued' | 'running' | 'waiting')[] | undefined
}

export interface CancelManyOptions extends CancelOptions {
  /** How many tasks the filter has to select. */
  readonly expect?: number | undefined
}

export interface CanceledMany {
  /** How many tasks the filter selected. */
  readonly found: number
  /** How many of them this call canceled: the others ended meanwhile. */
  readonly canceled: number
  /** `found` is not what was expected, so nothing was canceled. */
  readonly refused: boolean
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

/** A submission of each task, with the input that it takes. */
export type ItemsOf<Tasks extends readonly (TaskType | string)[]> = {
  readonly [K in keyof Tasks]: {
    readonly task: Tasks[K]
    readonly input: Tasks[K] extends TaskType<string, infer Input> ? Input : unknown
    readonly options?: SubmitOptions | undefined
  }
}

/** A receipt of each task. */
export type ReceiptsOf<Tasks extends readonly (TaskType | string)[]> = {
  readonly [K in keyof Tasks]: Tasks[K] extends TaskType<string, infer _, infer Output>
    ? Receipt<Output>
    : Receipt
}
