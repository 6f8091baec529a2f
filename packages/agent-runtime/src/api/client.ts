import type {
  BudgetOptions,
  EventsMatching,
  ExecutionLease,
  Explanation,
  Lane,
  RejectionReason,
  RouteRecord,
  CheckpointRecord,
  StepRecord,
  StoreInfo,
  Series,
  SeriesFilter,
  StoreStats,
  SwarmRecord,
  TaskFilter,
  TaskState,
  WaitHistogram,
  WorkerStatus,
} from '@ku0/agent-runtime-core'
import type { Agreements } from './agreements.ts'
import type { Approvals } from './approvals.ts'
import type { Budgets } from './budgets.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { Clients } from './clients.ts'
import type { Credits } from './credits.ts'
import type { Evaluations } from './evaluations.ts'
import type { ChunkOf, Exchange, SignalInput, SignalNames } from './exchange.ts'
import type { EventPattern, RuntimeEvent } from './events.ts'
import type { Graph, GraphNodes, GraphOutput } from './graphs.ts'
import type { Receipt, TaskId } from './receipts.ts'
import type { Schedules } from './schedules.ts'
import type { Pipeline, PipelinePage, PipelineView } from './pipelines.ts'
import type { Supervisors } from './supervisors.ts'
import type { TaskStatus } from './status.ts'
import type { SubmitOptions } from './submissions.ts'
import type { TaskType } from './task-type.ts'

/**
 * The entry point for tasks. A call about a task takes its receipt or its id. A call throws
 * `invalid_argument` for an argument it does not accept, and names what it accepts. `await using` closes the
 * client at the end of the block. Source: `docs/client-and-worker.md`.
 */
export interface Client extends AsyncDisposable {
  /** Facts about the store. */
  readonly info: StoreInfo

  /** Requests that wait for a human, and the verdicts on them. */
  readonly approvals: Approvals
  /** The amounts that tasks, and all tasks below them, may use up: `docs/budgets.md`. */
  readonly budgets: Budgets
  /** Supervisors and their children: `docs/supervision.md`. */
  readonly supervisors: Supervisors
  /** Tasks that are submitted on a schedule: `docs/schedules.md`. */
  readonly schedules: Schedules
  /** On whose account tasks run: `docs/shares.md`. */
  readonly clients: Clients
  /** The agreements that submissions can name: `docs/credits.md`. */
  readonly agreements: Agreements
  /** The credits of clients, and their ledgers: `docs/credits.md`. */
  readonly credits: Credits
  /** The tokens that servers on this store accept: `docs/http-api.md`. */
  readonly accessTokens: AccessTokens
  /** How good agents are: `docs/evaluation.md`. */
  readonly evaluations: Evaluations

  /**
   * Submits a task; resolves once the task, or its rejection, is committed. A refused submission (queue full,
   * quota, unknown type, an input that does not fit the schema) is returned, not thrown: check `accepted`, or write `onReject: 'throw'`, which
   * throws a `TaskRejected`.
   *
   * Throws `PayloadTooLarge`, `StepNotSerializable`, `invalid_argument` for a bad option,
   * `idempotency_conflict`, `already_exists`, `store_*`, and `shutdown` after {@link close}. A submission
   * that reached the store before the close is still answered. Source: Track AA, AA1; `docs/semantics.md 2`.
   */
  submit(task: string, input: unknown, options?: SubmitOptions): Promise<Receipt>
  submit<Input, Output, X extends Exchange>(
    task: TaskType<string, Input, Output, X>,
    input: NoInfer<Input>,
    options?: SubmitOptions,
  ): Promise<Receipt<Output, X>>

  /**
   * Submits several tasks in one commit; the receipts are in the order of the items. Throws as {@link submit}
   * does, names the item, and stores nothing then. The exception is a key or id that another task has: that
   * error is thrown after the commit, with all `receipts` in its `details`. So is the `TaskRejected` of an item with `onReject: 'throw'`.
   */
  submitMany<Tasks extends readonly (TaskType | string)[] | []>(
    items: ItemsOf<Tasks>,
  ): Promise<ReceiptsOf<Tasks>>

  /**
   * Submits a graph of tasks as one task. It runs each node as a child as soon as the nodes that it waits for
   * have completed, and its result is the output of every node by name, each at most `maxPayloadBytes`. If
   * anything is wrong with the graph, nothing is stored, and `invalid_argument` lists every problem,
   * including the path of a cycle. A submission that is refused by a limit is returned, as in {@link submit};
   * this throws what `submit` throws. Canceling the task cancels its nodes; a retry keeps the nodes that have
   * completed. Source: `docs/semantics.md 13.3`.
   */
  submitGraph<const Nodes extends GraphNodes>(
    graph: Graph<Nodes>,
    options?: SubmitOptions,
  ): Promise<Receipt<GraphOutput<Nodes>>>

  /** The current status of a task. Undefined if no task has this id, or it was pruned. */
  status(task: Receipt | string): Promise<TaskStatus | undefined>

  /**
   * Waits until a task ends, whichever process runs it, and resolves with its output. Throws `TaskFailed`,
   * `TaskCanceled`, `TaskRejected`, `not_found`, a `TimeoutError` after `timeoutMs`, or the signal's reason.
   *
   * Throws `TaskDiverged` if the task is parked, now or while this waits, because its handler took a
   * different path than its recorded history. The task continues only after somebody acts; ask for the result
   * again once it was resumed. In a handler of this runtime it throws `inside_handler`, because the handler
   * would hold the slot that the task may need: use `ctx.call` or a child's `result()` there. Source:
   * `docs/semantics.md 4.11, 6.4`.
   */
  result<Output>(task: Receipt<Output> | TaskId<Output>, options?: WaitOptions): Promise<Output>
  result(taskId: string, options?: WaitOptions): Promise<unknown>

  /**
   * Cancels a task and its children. When this resolves, the task's state is `canceled`, and its handler is
   * aborted. Returns false for a final or unknown task. Source: Track AA, Scheduling Rules;
   * `docs/semantics.md 5`.
   */
  cancel(task: Receipt | string, options?: CancelOptions): Promise<boolean>

  /**
   * Cancels every open task that the filter selects, and their children, a few hundred per commit. Tasks
   * submitted after the call began are left alone. `expect` guards against a filter that selects more or less
   * than you think: if the number of selected tasks differs, nothing is canceled and `refused` is true.
   * `expect: 0` only counts. A crash in between leaves some tasks canceled; call again. Throws
   * `invalid_argument` for a filter that selects everything, unless `expect` is given. Source:
   * `docs/semantics.md 5.8`.
   */
  cancelMany(filter: CancelFilter, options?: CancelManyOptions): Promise<CanceledMany>

  /**
   * Deletes the tasks that `config.retention` no longer keeps, oldest first, some hundred per commit, and folds the old entries of clients' ledgers, if
   * `config.retention.ledger` has an age; resolves once none is left. Processes with workers do so by themselves every `retention.everyMs`. `dryRun` only counts, and counts no
   * child whose parent is still there. Children go after their parent. Throws `invalid_argument` without `config.retention`, the signal's reason, and `store_*`.
   * Source: `docs/semantics.md 6.6` and `11.8`; `docs/retention.md`.
   */
  prune(options?: PruneOptions): Promise<Pruned>

  /**
   * Sends a signal to a task, for `ctx.waitForSignal`. The signal is kept until the task waits for it, and
   * then wakes the task. Resolves once the signal is committed; any process on the store may send. Every call
   * that resolves is a separate signal, even with the same name and value.
   *
   * `name` has 1 to 255 characters; the value is encoded like an input, at most `maxPayloadBytes`. Throws
   * `not_found` for an unknown task, and `invalid_argument` for a task that has ended (its state is in
   * `details.state`); neither stores anything. Throws `invalid_argument` for an invalid name,
   * `StepNotSerializable`, `PayloadTooLarge`, `limit_exceeded` if the task has `maxSignals` that it has not
   * taken, and `store_*`. Where this process knows the task's type and that declares `signals`, it throws
   * `invalid_argument` for a name that is not declared and for a value that does not fit; a receipt of such a
   * task types both. Source: `docs/semantics.md 12.4`.
   */
  signal<X extends Exchange = Exchange, const Name extends SignalNames<X> = SignalNames<X>>(
    task: Receipt<unknown, X> | TaskId<unknown, X>,
    name: Name,
    ...value: SignalValue<SignalInput<X, Name>>
  ): Promise<SignalReceipt>

  /**
   * Submits a failed, canceled or parked task again as a new task. The new task keeps the completed steps,
   * the finished waits and the feedback of reviewers; steps may use all their tries again, and the old task
   * stays as it is. A wait that made the old task fail (it timed out, or its request was rejected) is waited
   * for again. Like {@link submit} it may be refused by a limit. Throws `not_found`, `invalid_argument` for a
   * task in another state, and `store_corrupt` for a history that was edited. Source: `docs/semantics.md 1.2,
   * 6.3`.
   */
  retry<Output, X extends Exchange>(
    task: Receipt<Output, X> | TaskId<Output, X>,
    options?: RetryOptions,
  ): Promise<Receipt<Output, X>>
  retry(taskId: string, options?: RetryOptions): Promise<Receipt>

  /**
   * Retries every failed task that the filter selects, or the tasks of a list, as {@link retry} does: oldest first, a hundred per commit. `states` of the filter may
   * name `canceled`, too. Children are left out, because the retry of their parent starts those again that failed; `children: true`, or a `parent` in the filter, includes them.
   *
   * A task is retried once, whoever asks, so the same call again after a crash goes on with the rest; `again: true` starts another retry of those that were
   * retried before. When there is no room for more, the call ends with `full`, and the rest stays as it was. `expect` guards against a filter that selects more or less
   * than you think: if the number of selected tasks differs, nothing is retried and `refused` is true. `expect: 0` only counts. Tasks that fail after the call began
   * are left alone. Throws `invalid_argument` for a filter that selects everything, unless `expect` is given. Source: `docs/semantics.md 6.3`.
   */
  retryMany(
    tasks: RetryFilter | readonly (Receipt | string)[],
    options?: RetryManyOptions,
  ): Promise<RetriedMany>

  /**
   * Submits a task again as a new task. The new task keeps what was recorded before `fromStep` (everything,
   * if `fromStep` is absent), with other results for the steps in `edits`. The old task may be in any state
   * and stays as it is. Like {@link submit} it may be refused by a limit. Throws `not_found`;
   * `invalid_argument` for a step that has not completed, or an edit of a step whose result a decided race or
   * `all` replaces; `idempotency_conflict` for the key of another fork; `store_corrupt` for a history that
   * was edited; `StepNotSerializable` and `PayloadTooLarge`. Source: `docs/semantics.md 6.3`.
   */
  fork<Output, X extends Exchange>(
    task: Receipt<Output, X> | TaskId<Output, X>,
    options?: ForkOptions,
  ): Promise<Receipt<Output, X>>
  fork(taskId: string, options?: ForkOptions): Promise<Receipt>

  /**
   * Queues a task again that is parked because its handler took a different path than its recorded history
   * (`waitingFor: 'divergence'`). Call it once the deployed code fits. The task keeps its attempt and skips
   * the queue limits; waits that ended meanwhile count. If code and history still differ, the task is parked
   * again. Throws `not_found`, and `invalid_argument` with the state for a task that is not parked. Source:
   * `docs/semantics.md 6.4`.
   */
  resume(task: Receipt | string): Promise<void>

  /**
   * Tasks, newest first. The spelling `cancelled` is accepted. While the page has a `cursor` there may be
   * more: pass it to the next call. A page with large inputs and outputs may hold fewer than `limit` tasks.
   */
  list(filter?: ListFilter): Promise<{ readonly tasks: readonly TaskStatus[]; readonly cursor?: number }>

  /**
   * How many tasks the filter selects; its `limit` is not used. The whole store is looked through, in pages,
   * so a count of many tasks takes a while and is not of one instant.
   */
  count(filter?: Omit<ListFilter, 'values' | 'limit' | 'cursor'>): Promise<number>

  /**
   * The events of a task that are stored now, after `after` and in order: {@link events} without the wait for
   * more. While the page has a `cursor` there may be more: pass it as `after` to the next call. Throws
   * `not_found`.
   */
  history(
    task: Receipt | string,
    page?: StoredPage,
  ): Promise<{ readonly events: readonly RuntimeEvent[]; readonly cursor?: number }>

  /**
   * The values that the task has emitted so far, in pages: {@link output} without the wait for more. Throws `not_found`,
   * and `schema_mismatch` as {@link output} does.
   */
  emitted<X extends Exchange = Exchange>(
    task: Receipt<unknown, X> | TaskId<unknown, X>,
    page?: OutputPage,
  ): Promise<{ readonly items: readonly OutputItem<ChunkOf<X>>[]; readonly cursor?: number }>

  /**
   * The recorded steps of a task with their results, in the order of their records, in pages. While the page has a `cursor` there
   * may be more, even after a short one. Empty for an unknown task.
   */
  steps(
    task: Receipt | string,
    page?: StoredPage,
  ): Promise<{ readonly steps: readonly StoredStep[]; readonly cursor?: number }>

  /** The newest checkpoint of a task, which `ctx.checkpoint` saved. Undefined without one. */
  checkpoint(task: Receipt | string): Promise<StoredCheckpoint | undefined>

  /**
   * The events of a task after `after`: first its history, then live events, without a gap. Ends after the
   * final event. Throws `not_found`.
   */
  events(task: Receipt | string, options?: FollowOptions): AsyncIterable<RuntimeEvent>

  /** The events of a pipeline and how far its stages have come, for readers outside of it: `docs/pipelines.md`. */
  pipeline(task: Receipt | string): Pipeline

  /** The pipelines of the store and how far their stages have come, newest first. While the page has a `cursor` there are more. */
  pipelines(
    page?: PipelinePage,
  ): Promise<{ readonly pipelines: readonly PipelineView[]; readonly cursor?: number }>

  /**
   * The values that the task emits, in the same way. After a failover, `attempt.restarted` comes first. Where
   * this process knows the task's type and that declares `emits`, each value is what the schema returns; one
   * that does not fit throws `schema_mismatch`, which names its `seq`, unless `check` is false. Source:
   * `docs/semantics.md 9`.
   */
  output<X extends Exchange = Exchange>(
    task: Receipt<unknown, X> | TaskId<unknown, X>,
    options?: OutputOptions,
  ): AsyncIterable<OutputItem<ChunkOf<X>>>

  /** How many tasks are in each state, and what the store holds. */
  stats(): Promise<StoreStats>
  /**
   * Why a task is in its state, what it waits for, and when it is likely to start. Undefined for an unknown
   * task. Source: `docs/explain.md`.
   */
  explain(task: Receipt | string): Promise<Explanation | undefined>
  /**
   * Why tasks wait: for each reason, how many queued or waiting tasks there are, and the oldest. Source:
   * `docs/explain.md`.
   */
  explainQueue(): Promise<WaitHistogram>
  /**
   * How many tasks started, ended and ran in the past, and how long tasks waited for a start, step by step: from the newest 10,000 runs that the
   * store holds, and before those from the samples that {@link keepSeries} keeps. Where samples are counted a step is a minute at least, and for a
   * window of more than a day an hour. Source: `docs/operating.md`.
   */
  series(filter?: SeriesFilter): Promise<Series>
  /**
   * Keeps a sample of each minute for a day, and of each hour for 30 days, in the store: what was queued, ran, started and ended, and how long
   * tasks waited, by lane and for the busiest 50 task types. It goes on until it is disposed of. A server does this for the store that it serves.
   * Source: `docs/operating.md`.
   */
  keepSeries(): Disposable
  /**
   * Deletes what the rules of retention in force no longer keep, every `retention.everyMs`, until it is disposed of; does nothing where there are none. A process
   * with workers does this by itself, and a server does it for the store that it serves, whose workers may all be remote. Source: `docs/retention.md`.
   */
  keepRetention(): Disposable
  /** The registered workers, of every process on the store. */
  workers(): Promise<readonly WorkerStatus[]>
  /**
   * Drains a worker of any process on the store: it ends its tasks, keeps its place and is given no more, until {@link undrainWorker} or the end of its
   * process. Returns the number of registered workers of that id, 0 if there is none. Source: `docs/semantics.md 8.10`.
   */
  drainWorker(workerId: string): Promise<number>
  /** Takes {@link drainWorker} back. A worker whose own process drains it stays so. Returns the number of registered workers of that id. */
  undrainWorker(workerId: string): Promise<number>
  /**
   * Starts no task of these types and lanes any more, in any process on the store, until {@link resumeQueue}. Tasks that run go on, and tasks are accepted.
   * Returns how many of the types and lanes were not paused before. `stats` lists what is paused. Source: `docs/semantics.md 3.10`.
   */
  pauseQueue(what: QueueSelection): Promise<number>
  /** Starts tasks of these types and lanes again. Returns how many of them were paused. */
  resumeQueue(what: QueueSelection): Promise<number>
  /** The leases of a task, live and ended, in the order of their starts: all, or the last `limit`. */
  leases(
    task: Receipt | string,
    options?: { readonly limit?: number | undefined },
  ): Promise<readonly ExecutionLease[]>
  /**
   * The pressure, resistance, scar and circuit of every route that the store knows. Source:
   * `docs/semantics.md 10.3`.
   */
  routes(): Promise<readonly RouteRecord[]>
  /** The swarms of the store. */
  swarms(): Promise<readonly SwarmRecord[]>

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
   * Ends the calls of this client: it accepts no more submissions, answers those that reached the store, and
   * rejects everybody who waits for a result or an event with `store_closed`. Tasks go on in the processes
   * that run them. A store that this client opened is closed.
   */
  close(): Promise<void>
}

/** The result of sending a signal. */
export interface SignalReceipt {
  /** The signal is stored for the task, or has woken it. A signal that is not stored is an error. */
  readonly delivered: true
  /** The task's state at that time. */
  readonly state: TaskState
  /** Whether a wait of the task for this name was open. False: the signal is kept until the task waits for it, which may be never. */
  readonly awaited: boolean
}

export interface CancelOptions {
  /** Stored with the task, and passed to its handler. */
  readonly reason?: string | undefined
}

export interface RetryOptions {
  /** An id of your own for the new task. */
  readonly taskId?: string | undefined
  /** A second call with the same key returns the first call's task. */
  readonly idempotencyKey?: string | undefined
  /** The budget of the new task. By default it gets the old task's budget, unused. */
  readonly budget?: BudgetOptions | undefined
}

export interface ForkOptions extends RetryOptions {
  /**
   * The first step, or other recorded call, that runs again; calls before it keep their results. By default
   * all recorded calls keep theirs.
   */
  readonly fromStep?: string | undefined
  /**
   * Other results for the steps, races and alls that are kept, by key. Results of waits, approvals and
   * children cannot be edited.
   */
  readonly edits?: Readonly<Record<string, unknown>> | undefined
}

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined
  /** A finite number of ms, 0 or more. */
  readonly timeoutMs?: number | undefined
}

export interface FollowOptions {
  /** The `seq` of the last item that you already have; 0 by default. */
  readonly after?: number | undefined
  /** False: ends with the last item that is stored now, whether or not the task has ended. True by default. */
  readonly live?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** How to follow a task's output. */
export interface OutputOptions extends FollowOptions, OutputCheck {}

/** Whether the values are held against the schema that the task type declares. */
export interface OutputCheck {
  /** False: the values as they are stored, whether or not they fit the schema of `emits`. True by default. */
  readonly check?: boolean | undefined
}

/** The value of a signal, which may be left out where its schema accepts undefined. */
export type SignalValue<Value> = undefined extends Value ? [value?: Value] : [value: Value]

/** A page of a task's output. */
export interface OutputPage extends StoredPage, OutputCheck {}

/** A page of a task's events, output or steps. */
export interface StoredPage {
  /** The `seq` of the last item that you already have; 0 by default. */
  readonly after?: number | undefined
  /** 1 to 1000, 100 by default. */
  readonly limit?: number | undefined
}

/** The newest checkpoint of a task, with its data. */
export interface StoredCheckpoint extends Omit<CheckpointRecord, 'data'> {
  readonly data: unknown
}

/** A recorded step with its result. */
export interface StoredStep extends Omit<StepRecord, 'result'> {
  readonly result: unknown
}

export interface ListFilter extends Omit<TaskFilter, 'states'> {
  readonly states?: readonly (TaskState | 'cancelled')[] | undefined
}

/** Task types and lanes of the queue: one at least. */
export interface QueueSelection {
  readonly types?: readonly string[] | undefined
  readonly lanes?: readonly Lane[] | undefined
}

/** A filter of open tasks: tasks that have not ended. */
export interface CancelFilter extends Omit<ListFilter, 'states' | 'values' | 'limit' | 'cursor'> {
  /** `queued`, `running` and `waiting` by default. */
  readonly states?: readonly ('queued' | 'running' | 'waiting')[] | undefined
}

export interface CancelManyOptions extends CancelOptions {
  /** The number of tasks that you expect the filter to select. */
  readonly expect?: number | undefined
}

/** A filter of tasks that did not complete. */
export interface RetryFilter extends Omit<ListFilter, 'states' | 'values' | 'limit' | 'cursor'> {
  /** `failed` by default. */
  readonly states?: readonly ('failed' | 'canceled')[] | undefined
}

export interface RetryManyOptions {
  /** The number of tasks that you expect the filter to select. */
  readonly expect?: number | undefined
  /** Whether the filter selects children, too, each of which becomes a task without a parent. False by default, and true for the children of one `parent`. */
  readonly children?: boolean | undefined
  /** Whether tasks that were retried before are retried once more. False by default. */
  readonly again?: boolean | undefined
}

export interface RetriedMany {
  /** The number of tasks that the filter selected, or that the list names. */
  readonly found: number
  /** The number of tasks that this call submitted again. */
  readonly retried: number
  /** The number of tasks that had been retried before, and were left alone. */
  readonly before: number
  /** The number of retries that were refused, by a circuit for example. */
  readonly rejected: number
  /** The number of tasks that cannot be retried: a pipeline, a task that its caller ran, one in another state, one whose history was edited, an unknown one. */
  readonly skipped: number
  /** Why the call ended before the last task: there was no room for more. */
  readonly full?: { readonly reason: RejectionReason; readonly message: string }
  /** True if `found` is not the expected number, so nothing was retried. */
  readonly refused: boolean
}

export interface PruneOptions {
  /** Nothing is deleted; the answer says what would be. False by default. */
  readonly dryRun?: boolean | undefined
  /** Ends it between two commits. */
  readonly signal?: AbortSignal | undefined
}

/** The number of deleted tasks, by their final state, and of entries of ledgers that were folded. */
export interface Pruned {
  readonly completed: number
  readonly failed: number
  readonly canceled: number
  /** The entries of clients' ledgers that went into the opening entries of their clients. */
  readonly folded: number
  /** True if nothing was deleted or folded, only counted. */
  readonly dryRun: boolean
}

export interface CanceledMany {
  /** The number of tasks that the filter selected. */
  readonly found: number
  /** The number of tasks that this call canceled; the others ended meanwhile. */
  readonly canceled: number
  /** True if `found` is not the expected number, so nothing was canceled. */
  readonly refused: boolean
}

export type OutputItem<Chunk = unknown> =
  | {
      readonly type: 'chunk'
      readonly seq: number
      readonly attempt: number
      readonly at: number
      readonly data: Chunk
    }
  /** The values that follow were emitted by a later attempt, which began from the start. */
  | {
      readonly type: 'attempt.restarted'
      readonly attempt: number
      /** The `seq` to go on from: handed to `after`, it gives what follows, as the `seq` of a chunk does. */
      readonly seq: number
    }

/** One submission per task type, each with its own input type. */
export type ItemsOf<Tasks extends readonly (TaskType | string)[]> = {
  readonly [K in keyof Tasks]: {
    readonly task: Tasks[K]
    readonly input: Tasks[K] extends TaskType<string, infer Input> ? Input : unknown
    readonly options?: SubmitOptions | undefined
  }
}

/** One receipt per task type. */
export type ReceiptsOf<Tasks extends readonly (TaskType | string)[]> = {
  readonly [K in keyof Tasks]: Tasks[K] extends TaskType<string, infer _, infer Output, infer X>
    ? Receipt<Output, X>
    : Receipt
}
