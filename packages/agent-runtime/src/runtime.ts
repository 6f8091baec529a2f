import type {
  BudgetOptions,
  EventsMatching,
  ExecutionLease,
  Explanation,
  StoreInfo,
  StoreStats,
  SwarmRecord,
  TaskFilter,
  TaskState,
  WaitHistogram,
  WorkerStatus,
  WorkTelemetry,
} from '@ku0/agent-runtime-core'
import type { LeakedHandler, SubmitOptions } from './execution/index.ts'
import type { Approvals } from './approvals.ts'
import type { Budgets } from './budgets.ts'
import type { Graph, GraphNodes, GraphOutput } from './graph/graph.ts'
import type { Receipt, TaskId } from './receipts.ts'
import type { ReplayOptions } from './replay/replay-task.ts'
import type { ReplayReport } from './replay/report.ts'
import type { RuntimeEvent } from './runtime-event.ts'
import type { Clients } from './clients.ts'
import type { Evaluations } from './evaluations.ts'
import type { Schedules } from './schedules.ts'
import type { TaskDefinition } from './task-definition.ts'
import type { LeaseObserver } from './workload/lease-observer.ts'
import type { ProfileSetting } from './workload/profile-setting.ts'
import type { RouteOptions, RouteStatus, RouteVerdict } from './workload/routes.ts'
import type { Swarm, SwarmOptions } from './workload/swarm.ts'
import type { StartTaskOptions, TaskLease } from './workload/task-lease.ts'
import type { TaskStatus } from './task-status.ts'

/**
 * A runtime: the way in for tasks, and the workers of this process that run them. Every process on a store has one; none is
 * special. `await using` stops it at the end of the block. A call about a task takes its receipt or its id. A call that is given
 * something outside what it documents throws `invalid_argument`, saying what is allowed. Source: `docs/ARCHITECTURE.md`.
 */
export interface Runtime extends AsyncDisposable {
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
   * `already_exists`, `store_*`, and `shutdown` once {@link stop} was called; what was handed to the store before that is
   * answered. Source: Track AA, AA1; `docs/semantics.md 2`.
   */
  submit<Input, Output>(
    task: TaskDefinition<string, Input, Output>,
    input: NoInfer<Input>,
    options?: SubmitOptions,
  ): Promise<Receipt<Output>>
  submit(task: string, input: unknown, options?: SubmitOptions): Promise<Receipt>

  /**
   * Submits several tasks in one commit; receipts in the order of the items. Throws as {@link submit} does, naming the item, and
   * nothing is stored then; but a key or id that another task has is thrown after the commit, with all `receipts` in its `details`.
   */
  submitMany<Tasks extends readonly (TaskDefinition | string)[] | []>(
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
   */
  result<Output>(task: Receipt<Output> | TaskId<Output>, options?: WaitOptions): Promise<Output>
  result(taskId: string, options?: WaitOptions): Promise<unknown>

  /**
   * Cancels a task, and its children with it: its state is `canceled` when this resolves, its handler is told then. False for a final or unknown task.
   * Source: Track AA, Scheduling Rules; `docs/semantics.md 5`.
   */
  cancel(task: Receipt | string, options?: CancelOptions): Promise<boolean>

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
   * Puts back a task that is parked because its code and its history part (`waitingFor: 'divergence'`), once the code that runs it fits:
   * it is queued, past the limits, with the same attempt; what it waited for counts, if it came meanwhile. Where code and history part still
   * it is parked again. Throws `not_found`, and `invalid_argument`, naming its state, for a task that is not parked.
   * Source: `docs/semantics.md 6.4`.
   */
  resume(task: Receipt | string): Promise<void>

  /**
   * Goes through a task with the code of this process and answers its calls from its history alone: no function of a step, no command
   * and no write happens, whatever the task's state, also while another process runs it. What is the handler's own, outside of
   * `ctx`, does happen. What is found is an answer, not an error: see {@link ReplayReport}. The replay ends where the history does, at a
   * call that it has no answer for, or at the end of the handler. Throws `not_found`, and `invalid_argument` for a rejected task.
   * Source: `docs/semantics.md 6.3, 6.4`.
   */
  replay(task: Receipt | string, options: ReplayOptions): Promise<ReplayReport>

  /**
   * Tasks, newest first. `cancelled` is understood. As long as there is a `cursor` there may be more: hand it to the next call; a
   * page of large inputs and outputs may be short of `limit`.
   */
  list(filter?: ListFilter): Promise<{ readonly tasks: readonly TaskStatus[]; readonly cursor?: number }>

  /** The events of a task after `after`: history, then live without a gap; ends after the final event. Throws `not_found`. */
  events(task: Receipt | string, options?: FollowOptions): AsyncIterable<RuntimeEvent>

  /** What the task emits, in the same way. After a failover `attempt.restarted` comes first. Source: `docs/semantics.md 9`. */
  output(task: Receipt | string, options?: FollowOptions): AsyncIterable<OutputItem>

  stats(): Promise<RuntimeStats>
  /** Why a task is where it is, what it waits for, and when it is likely to start; undefined for an unknown task. Source: `docs/explain.md`. */
  explain(task: Receipt | string): Promise<Explanation | undefined>
  /** Why tasks wait, over all that are queued or waiting: by reason how many, and the oldest. Source: `docs/explain.md`. */
  explainQueue(): Promise<WaitHistogram>
  /** The registered workers, of every process on the store. */
  workers(): Promise<readonly WorkerStatus[]>
  /** The leases of a task, live and ended. */
  leases(task: Receipt | string): Promise<readonly ExecutionLease[]>
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

  /** How routes stand: pressure, resistance, scar, circuit. Those of which anything is known. Source: `docs/semantics.md 10.3`. */
  routes(): Promise<readonly RouteStatus[]>

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
  /** The swarms of the store. */
  swarms(): Promise<readonly SwarmRecord[]>

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

  /** Registers the workers. Needed after `createRuntime({ start: false })` only; calling it again does nothing. */
  start(): Promise<void>

  /**
   * Stops the workers. With `drain` (the default) running tasks have `graceMs` (`drainGraceMs`) to end; what still runs then,
   * or at once without it, is aborted and goes back to the queue with the same attempt. No submission is taken from the call on.
   * Called again meanwhile, it waits no longer, save half a second at most for the last writes. Every call resolves with the same
   * report. Source: `docs/semantics.md 5.6`.
   */
  stop(options?: StopOptions): Promise<StopReport>
}

/** What became of a signal. */
export interface SignalReceipt {
  /** It is kept for the task, or has woken it; a signal that is not is an error. */
  readonly delivered: true
  /** The task's state then. */
  readonly state: TaskState
}

export interface CancelOptions {
  /** Kept with the task, and told to its handler. */
  readonly reason?: string
}

export interface RetryOptions {
  /** An id of your own for the new task. */
  readonly taskId?: string
  /** A second call with the same key gets the first one's task. */
  readonly idempotencyKey?: string
  /** The budget of the new task; without one it begins with that of the old one, anew. */
  readonly budget?: BudgetOptions
}

export interface ForkOptions extends RetryOptions {
  /** The step, or other recorded call, that is the first to run again; those called before it keep their results. All do without one. */
  readonly fromStep?: string
  /** Other results for steps, races and alls that are kept, by key. What waits, approvals and children gave cannot be edited. */
  readonly edits?: Readonly<Record<string, unknown>>
}

export interface WaitOptions {
  readonly signal?: AbortSignal
  /** A finite number of ms, 0 or more. */
  readonly timeoutMs?: number
}

export interface FollowOptions {
  /** The `seq` of the last item that is known already; 0 by default. */
  readonly after?: number
  readonly signal?: AbortSignal
}

export interface StopOptions {
  /** True by default. */
  readonly drain?: boolean
  /** A finite number of ms, 0 or more; `drainGraceMs` by default. */
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
  /** How many {@link Runtime.leaked} lists. */
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
