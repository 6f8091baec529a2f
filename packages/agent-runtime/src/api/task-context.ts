import type {
  ApprovalTimeout,
  ChildPolicy,
  Lane,
  OversightMode,
  RejectionPolicy,
  Usage,
} from '@ku0/agent-runtime-core'
import type { ApprovalNames, ApprovalOf, Emitted, Exchange, SignalNames, SignalOf } from './exchange.ts'
import type {
  EventToPublish,
  PipelineEventOf,
  PipelineEvent,
  PublishOptions,
  ReceiveOptions,
} from './pipelines.ts'
import type { Schemas } from './exchange.ts'
import type { Storable } from './storable.ts'
import type { SubmitOptions } from './submissions.ts'
import type { TaskId } from './receipts.ts'
import type { TaskType } from './task-type.ts'
import type { Heartbeat } from './profiles.ts'
import type { RateLimitRule } from './rate-limit-rule.ts'
import type { TaskFailure } from './recovery.ts'
import type { RetrySetting } from './retry-setting.ts'

/**
 * The calls of a handler on its runtime. Its methods write on behalf of the task's lease. Once the lease is gone
 * (canceled, lost, timed out, given back), each of them throws the reason, and nothing more is stored. In a
 * pass that has yielded, or ended at its waits, their promises never settle. `X` are the schemas that the task
 * type declares for signals, approvals and emits; a function that takes any context needs none. Source:
 * `docs/semantics.md 4.4, 5, 7`.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- the context of every task type is assignable to one of which nothing is known.
export interface TaskContext<X extends Exchange = any> {
  readonly taskId: string
  readonly type: string
  /** The n-th try, from 1. It rises when a lease expires or an error is retried, and at no other time. */
  readonly attempt: number
  /**
   * Rises by one with every claim of the task. Outside systems can refuse a token that is lower than one they
   * have seen.
   */
  readonly fencingToken: number
  /**
   * How the try before this one failed, or what a reviewer rejected; undefined for a task that has not failed. It is the same in every
   * pass of an attempt, unless a rejection or a crash comes, so that a prompt may depend on it. Source: `docs/semantics.md 14.3`.
   */
  readonly failure: TaskFailure | undefined
  readonly lane: Lane
  /** The model of its submission, or the one that it has fallen back to. */
  readonly model: string | undefined
  readonly tools: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  /**
   * How much a person is to look at its work: the mode of the task type, or the one that it was submitted with if that has more control. Under
   * `supervised` ask for every intermediate result. Source: `docs/semantics.md 12.5`.
   */
  readonly oversight: OversightMode
  /**
   * The schedule that submitted the task, and the time that the run is for, epoch ms; a run that was
   * triggered by hand has no time.
   */
  readonly schedule: string | undefined
  readonly scheduledFor: number | undefined
  /** The data of the last `ctx.checkpoint` of an earlier pass; undefined when there is none. */
  readonly restored: unknown
  /**
   * Aborts when the handler has to stop; its `reason` says why. Pass it to everything that takes a signal.
   */
  readonly signal: AbortSignal
  /** Writes to the runtime's log, with the task's id and attempt. */
  readonly log: TaskLog

  /**
   * Runs `fn` once in the life of the task, and stores its result before the promise resolves. When the
   * handler runs again, `ctx.step` returns the stored result and does not call `fn`. The key names the step:
   * 1 to 255 characters, used once per pass. Errors are not stored. The returned value is always the decoded
   * stored copy.
   *
   * After a crash between the end of `fn` and its commit, `fn` runs again with the same
   * `step.idempotencyKey`.
   *
   * With `retry` a function that throws is tried again, and the last error is thrown. The task waits between
   * the tries as in {@link sleep}: a long wait holds no slot, and the tries are remembered through crashes.
   *
   * Steps cannot contain other steps or waits: a call that needs a key throws `inside_step` if it is made
   * inside `fn`.
   *
   * Await every call before the handler returns. If a call has failed by then and nobody has looked at its
   * promise with `await`, `then`, `catch` or `Promise.all`, the attempt fails with that error. If a step
   * still runs and nobody has looked at its promise, the attempt fails with `step_outside_handler`. A call
   * that somebody looked at, for example with `Promise.race`, is dropped, and a warning is logged. The
   * promise itself never counts as unhandled, but promises made from it do: you have to handle
   * `ctx.step(...).then(f)`. The same holds for `sleep`, `waitForSignal`, `spawn`, `call`, `race`, `all` and
   * `exec`, and for calls of a branch until the branch returns. Only a wait may be left open, and a command
   * that still runs is stopped.
   *
   * Throws {@link DuplicateStepKey}, {@link StepNotSerializable}, {@link PayloadTooLarge}, whatever `fn`
   * throws, and the signal's reason. Once the task has to yield or to wait, nothing is thrown: the promise
   * never settles. Source: `docs/semantics.md 7.1-7.5, 7.7`.
   */
  step<T>(key: string, fn: ((step: StepHandle) => T | PromiseLike<T>) & Storable<T>): Promise<T>
  step<T, Stored = T>(
    key: string,
    options: StepOptions & ToStorable<T, Stored>,
    fn: ((step: StepHandle) => T | PromiseLike<T>) & Storable<Stored>,
  ): Promise<Stored>

  /**
   * The time, epoch ms, recorded under the key as the result of a {@link step}: later passes get the same. In a test it is the time of the test.
   * Throws {@link DuplicateStepKey}, and the signal's reason. Source: `docs/semantics.md 7.8`.
   */
  now(key: string): Promise<number>

  /** A random number in [0, 1), recorded as {@link now} records the time. In a test it follows from the test's seed. Not for secrets. */
  random(key: string): Promise<number>

  /** A random UUID in lower case, recorded as {@link now} records the time. In a test it follows from the test's seed. */
  uuid(key: string): Promise<string>

  /**
   * Waits `ms` from the call on, 0 to 1e15, across crashes, restarts and times when no process runs. A timer
   * that became due meanwhile fires once. The key names the wait and is one of the step keys of the pass.
   * When only waits are left, the pass ends: the handler's signal aborts, the promises that it awaits never
   * settle, its slot is free, and a later pass continues after the wait. The pass first finishes running
   * steps, `emit`, `checkpoint` and `heartbeat`; other work does not keep a pass alive.
   *
   * Throws {@link DuplicateStepKey}, `invalid_argument`, `limit_exceeded` above `maxWaits` open waits, and
   * the signal's reason. Source: `docs/semantics.md 12.3`.
   */
  sleep(key: string, ms: number): Promise<void>

  /**
   * Waits until a moment, a `Date` or epoch ms by the store's clock. A moment that has passed fires at once.
   * Otherwise as {@link sleep}.
   */
  sleepUntil(key: string, when: Date | number): Promise<void>

  /**
   * Waits for a signal, sent with `runtime.signal`, and returns its value. Waits as {@link sleep} does. A
   * signal that arrives early is kept until it is waited for; the oldest is taken first, and each is taken
   * once. With `signals` in the task type, the value is what the signal's schema returns; a stored value that
   * does not fit throws `schema_mismatch`, in later passes too. Without them `T` is not checked: it is the type
   * that you expect the sender to send.
   *
   * Throws {@link TimeoutError} after `timeoutMs`, in later passes too, unless a signal came in time,
   * `invalid_argument` for a signal that `signals` does not name, and what `sleep` throws. Source:
   * `docs/semantics.md 12.4`.
   */
  waitForSignal<T = unknown, Name extends SignalNames<X> = SignalNames<X>>(
    key: string,
    options: SignalWaitOptions & { readonly signal: Name },
  ): Promise<SignalOf<X, Name, T>>
  waitForSignal<T = unknown, Name extends SignalNames<X> = SignalNames<X>>(
    key: Name,
    options?: SignalWaitOptions & { readonly signal?: undefined },
  ): Promise<SignalOf<X, Name, T>>

  /**
   * Runs branches side by side. The first that settles decides, and the decision is stored under the key:
   * later passes return the same winner and run no branch. If the first branch rejects, the race rejects too;
   * that is not stored. Each branch gets its own context, and must use that instead of `ctx`.
   *
   * The losers are closed in the commit of the decision: their signals abort, their waits are dropped, their
   * children are canceled, the result of a step that still runs is not recorded, and their contexts refuse
   * further calls. Steps that were already recorded stay recorded. The pass waits as in {@link sleep}: work
   * of a branch outside of steps does not keep it alive.
   *
   * With `timeoutMs` the race has that long, from the call on, across crashes and restarts, like a {@link
   * sleep}; a branch that settled in time wins. When the time is over, all branches are closed like losers
   * and the race throws a {@link TimeoutError}. Later passes throw it too, and start nothing in the branches
   * that is not recorded. The timer is one of the task's `maxWaits`.
   *
   * Throws {@link DuplicateStepKey}, {@link StepNotSerializable}, {@link PayloadTooLarge},
   * `invalid_argument`, {@link TimeoutError}, what the branch threw, and the signal's reason. Source:
   * `docs/semantics.md 12.3, 12.4`.
   */
  race<B extends Branches<X>>(key: string, branches: B, options?: BranchesOptions): Promise<RaceResult<B>>

  /**
   * Runs branches side by side and returns the result of each by name. The results are stored under the key:
   * later passes run no branch. If a branch rejects, its error is thrown and the other branches are closed,
   * as a {@link race} closes its losers. With `timeoutMs` all branches have that long together, else a {@link
   * TimeoutError} is thrown, as in a race. Source: `docs/semantics.md 12.3, 12.4`.
   */
  all<B extends Branches<X>>(key: string, branches: B, options?: BranchesOptions): Promise<AllResults<B>>

  /**
   * Shows `artifact` (encoded like a result) to a human and waits, as {@link sleep} does, for a verdict from
   * `runtime.approvals`. The key names the request and is one of the step keys of the pass. An approval is
   * stored: later passes return it at once.
   *
   * `mode`: `supervised` and `autonomous_escalation` (for handlers that call this only when in doubt) always
   * ask. `spot_check` asks in 30 % of the cases, by a draw that is recorded, and lets the others through
   * (`asked: false`).
   *
   * A rejection sends the task back to its last approval: the steps recorded since then are void and run
   * again, with the reviewers' words in {@link feedback} and another idempotency key; timers and signals that
   * have ended stay ended. After `maxRetries` (3) rejections since the last approval, the next rejection
   * fails the task with `not_approved`. With `onReject: 'throw'` the call throws {@link ApprovalRejected}
   * instead, and no step is void.
   *
   * With `approvals` in the task type, the approval's value is what the schema of the key returns; a stored value
   * that does not fit throws `schema_mismatch`, in later passes too, and a key that `approvals` does not name
   * throws `invalid_argument`. Without them `T` is not checked.
   *
   * After `timeoutMs` it throws a {@link TimeoutError}, or does what `onTimeout` says. Also throws what
   * `sleep` throws, {@link StepNotSerializable} and {@link PayloadTooLarge}. Source: `docs/semantics.md
   * 12.1-12.3`.
   */
  requestApproval<T = unknown, Name extends ApprovalNames<X> = ApprovalNames<X>>(
    key: Name,
    artifact: unknown,
    options?: ApprovalOptions,
  ): Promise<Approval<ApprovalOf<X, Name, T>>>

  /**
   * The reviewers' feedback since the last approval, oldest first. A step that runs again should take it into
   * account.
   */
  readonly feedback: readonly Feedback[]

  /**
   * Whether to use the new code of a change: true for a task that first reaches this place with the changed
   * code, false for a task whose history already goes beyond it. The answer stays the same in every pass.
   * True is recorded under the id, 1 to 255 characters, and takes a place among the calls, like a step.
   * Within a pass the same id always gets the same answer. Call it with the handler's own ctx: in a branch of
   * a race or all it throws `invalid_argument`.
   *
   *     if (await ctx.patched('check first')) await ctx.step('check', check)
   *
   * Source: `docs/semantics.md 6.4`, `docs/changing-code.md`.
   */
  patched(id: string): Promise<boolean>

  /**
   * Says that the task is ready: children of its supervisor that come `after` it as `ready` may start. It is recorded, and stays so when the task
   * starts again. Said again, or by a task without a supervisor, it changes nothing. Throws the signal's reason. Source: `docs/supervision.md`,
   * `docs/semantics.md 14.2`.
   */
  ready(): Promise<void>

  /**
   * Submits a task as a child of this one, once in the life of the task: in a later pass the key stands for
   * the same child, and nothing is submitted. Resolves once the child is committed. The child runs like any
   * task, on any process of the store, by default in this task's lane. As in `runtime.submit`, this process
   * must define its type. When this task ends, in whatever way, its open children and their children are
   * canceled in the same commit; with `onParentEnd: 'abandon'` a child goes on.
   *
   * While the queue is full, the call waits for room, see {@link SpawnOptions.whenFull}. Throws {@link
   * DuplicateStepKey}, `TaskRejected` if the submission is refused for another reason (the key may then be
   * used again), `already_exists`, `limit_exceeded` above `maxChildren` open children, `invalid_argument`,
   * {@link StepNotSerializable}, {@link PayloadTooLarge}, and the signal's reason. Source: `docs/semantics.md
   * 5.5`.
   */
  spawn(key: string, task: string, input: unknown, options?: SpawnOptions): Promise<ChildTask>
  spawn<Input, Output>(
    key: string,
    task: TaskType<string, Input, Output>,
    input: NoInfer<Input>,
    options?: SpawnOptions,
  ): Promise<ChildTask<Output>>

  /** {@link spawn}, followed by the child's {@link ChildTask.result}. */
  call(key: string, task: string, input: unknown, options?: SpawnOptions): Promise<unknown>
  call<Input, Output>(
    key: string,
    task: TaskType<string, Input, Output>,
    input: NoInfer<Input>,
    options?: SpawnOptions,
  ): Promise<Output>

  /**
   * Calls `hook` with the reason if the pass ends in any way but completion: canceled, timed out, over budget, failed, lease lost,
   * waiting, yielded, shutdown. So it is called at every wait and between the tries of a step, too, and the next pass registers its hooks
   * again. It is not called for a task that is canceled while it waits, because no pass runs then. To undo what steps have done, see
   * `docs/cookbook.md`. Each hook runs once, in reverse order of registration, after the signal has
   * aborted and the commands of {@link exec} have ended. Each has `cleanupTimeoutMs` from its own start.
   * Errors of hooks are logged. Returns a function that removes the hook. Source: `docs/semantics.md 5.1`.
   */
  onCleanup(hook: CleanupHook): () => void

  /**
   * Reports progress. The lease is renewed without it. `progress` is stored with the lease for people to see.
   * For a task with a profile this is the heartbeat that the profile may require, and the usage (`computeUs`,
   * `memoryBytes`) counts against its limits: above a hard limit the signal aborts with `budget_exceeded`,
   * and this throws that error. Source: `docs/semantics.md 10.5`.
   */
  heartbeat(report?: Heartbeat): Promise<void>

  /**
   * Adds to what the task has used (`status.used`). The charge is stored with the result of the step that
   * made it, with that step's failure, or, if the step produced neither, with what ended it, so each run
   * counts once. A charge outside of steps is stored when the pass ends the attempt; if the pass ends at a
   * wait instead, the charge is dropped, because a later pass runs that code again. Several calls add up.
   *
   * Throws `invalid_argument`, and `step_outside_handler` in a step that has ended. Source:
   * `docs/semantics.md 11.5`.
   */
  charge(usage: Usage): void

  /**
   * Appends a value to the task's output stream; resolves when it is stored. Values that an earlier pass of
   * the attempt stored are not stored again. A failed emit does not fail the task: if nobody awaited it, it
   * is logged. With `emits` in the task type, a value that does not fit throws `invalid_argument` and is not
   * stored. Source: `docs/semantics.md 9`.
   */
  emit<T extends Emitted<X>>(chunk: T & Storable<T>): Promise<void>

  /**
   * Publishes an event of a type, in a stage of a pipeline; resolves when it is stored. A stage that runs again finds what it has
   * published by its values, and publishes nothing twice. While a later stage has `maxUnread` events of the type to receive, the call
   * waits without a slot. Events of a `key` are received in the order in which they were published, also by a stage with partitions. Throws `unknown_stage`, `unauthorized_publish`, `invalid_argument` for data that does not fit the schema of the
   * type, {@link StepNotSerializable}, {@link PayloadTooLarge}, and the signal's reason. Source: `docs/semantics.md 13.2`.
   */
  publish<T>(type: string, data: T & Storable<T>, options?: PublishOptions<T>): Promise<void>

  /**
   * The same for many events, in order: up to 500 of them are one commit. With an object of schemas instead of the name of a type, the events may be
   * of several types: each has its `type`, its `data`, and a `key` if it needs one. Its data is checked with that schema, too.
   */
  publishAll<S extends Schemas>(types: S, events: readonly EventToPublish<S>[]): Promise<void>
  publishAll<T>(
    type: string,
    events: readonly (T & Storable<T>)[],
    options?: PublishOptions<T>,
  ): Promise<void>

  /**
   * The next events of some types, in the order of their sequences, in a stage of a pipeline. Each event comes once in the life of the stage, and
   * again in a later pass. While there are none, the call waits without a slot. An empty list is the end: every stage that publishes one of the
   * types has completed. With an object of schemas instead of a list of names, each event is read with the schema of its type, and has the type of that. Throws
   * `unknown_stage`, `invalid_argument` for a type that the stage does not subscribe to, `schema_mismatch`, and the signal's reason. Source:
   * `docs/semantics.md 13.2`.
   */
  receive<Data = unknown>(
    types: readonly string[],
    options?: ReceiveOptions,
  ): Promise<readonly PipelineEvent<string, Data>[]>
  receive<S extends Schemas>(types: S, options?: ReceiveOptions): Promise<readonly PipelineEventOf<S>[]>

  /**
   * Stores a snapshot that the next pass finds in `ctx.restored`. It is only a cache: use a step for what
   * must not be lost.
   */
  checkpoint<T>(data: T & Storable<T>): Promise<void>

  /**
   * Runs a command in its own process group and waits for it. The group dies with the task: on abort it gets
   * TERM, and KILL after `killGraceMs`. Processes that the command leaves in its group when it exits are
   * killed at once. A non-zero exit code is returned, not thrown; if a command cannot be started, the
   * system's error (`ENOENT`) is thrown. Source: `docs/semantics.md 5.1`, `docs/reliability.md` T18.
   */
  exec(command: string, args?: readonly string[], options?: ExecOptions): Promise<ExecResult>

  /** The `step.idempotencyKey` of the step with this key. Source: `docs/semantics.md 4.6`. */
  idempotencyKey(stepKey: string, input?: unknown): string
}

/** The argument of a step's function. */
export interface StepHandle {
  /** As {@link TaskContext.charge}, for this step. */
  charge(usage: Usage): void
  /**
   * Aborts when the handler or branch has to stop, or the step's own `timeoutMs` is over. Each try has its
   * own signal.
   */
  readonly signal: AbortSignal
  /**
   * The same for every run of this step, whatever the attempt or try: pass it to systems that recognise a
   * repeated call by it.
   */
  readonly idempotencyKey: string
}

export interface StepOptions {
  /**
   * The value that the step depends on. Its hash is stored with the result; if the input differs later, the task is
   * parked (`docs/semantics.md 6.4`).
   */
  readonly input?: unknown
  /**
   * The time limit of a try. After it, the try's signal aborts and it fails with a `TimeoutError`, whether or
   * not `fn` stops.
   */
  readonly timeoutMs?: number | undefined
  /**
   * The number of tries, those of earlier passes included, and the waits between them; by default there is
   * one try. If the task itself is tried again, by its own `retry` or as a fork, the step has all tries
   * again. A `NonRetryableError`, thrown or among the causes, and an error with `retryable: false` end the
   * tries. Source: `docs/semantics.md 7.7`.
   */
  readonly retry?: RetrySetting | undefined
  /**
   * The decision if an earlier pass started the step and its end was not recorded, because of a crash or a
   * timeout, so that its effect may have happened. `retry` (default) runs it again, with the same
   * `idempotencyKey`. `verify` calls `verify` first. `ask` asks a human (`runtime.approvals`): an approval
   * with a `value` makes that the step's result, one without runs the step again, and a rejection fails the
   * step. `fail` throws {@link StepInDoubt}. All but `retry` cost a commit before the function runs. Source:
   * `docs/semantics.md 7.6`.
   */
  readonly inDoubt?: InDoubtPolicy | undefined
  /**
   * Whether an error is a provider's refusal for now, and what it limits. Without it a 429 that says when to come back is one, and a 503
   * or 529 with `retry-after`. That of the task type by default. Source: `docs/quotas.md`.
   */
  readonly rateLimited?: RateLimitRule | undefined
  /**
   * For `inDoubt: 'verify'`: checks whether the effect happened. If it throws, that counts as a try of the
   * step.
   */
  readonly verify?:
    | ((step: StepHandle) => InDoubtAnswer<unknown> | PromiseLike<InDoubtAnswer<unknown>>)
    | undefined
}

/** How the result of a step becomes one that can be stored. */
export interface ToStorable<T, Stored> {
  /**
   * Makes of what the function returned what is stored, and what the step gives in every pass: `(response) => response.text`. It runs once,
   * after the function, with what it returned; what it throws fails the try. Source: `docs/semantics.md 7.4`.
   */
  readonly toStorable?: ((result: T) => Stored | PromiseLike<Stored>) | undefined
}

/** The treatment of a step that is in doubt. */
export type InDoubtPolicy = 'retry' | 'verify' | 'ask' | 'fail'

/** Whether a step that is in doubt took effect. */
export type InDoubtAnswer<T> =
  | { readonly done: true; readonly result: T }
  /** The step runs again. */
  | { readonly done: false }

export interface SignalWaitOptions {
  /** The signal's name, 1 to 255 characters; the key when absent. */
  readonly signal?: string | undefined
  /** How long to wait, from the call on, 0 to 1e15 ms; for ever if absent. */
  readonly timeoutMs?: number | undefined
}

/** Options of a request for approval. */
export interface ApprovalOptions {
  /** By default the mode of the task type (`oversight`), or `autonomous_escalation` if it names none. */
  readonly mode?: OversightMode | undefined
  /** Number of rejections since the last approval after which the task may try again; 3 by default. */
  readonly maxRetries?: number | undefined
  /** How long to wait, from the call on, 0 to 1e15 ms; for ever if absent. */
  readonly timeoutMs?: number | undefined
  /**
   * `rerun` (the default) runs again what followed the last approval; `throw` throws {@link
   * ApprovalRejected}.
   */
  readonly onReject?: RejectionPolicy | undefined
  /**
   * The decision when nobody answers within `timeoutMs`: `throw` (default) throws, `approve` and `reject` act
   * as if a reviewer had said so, and `fail` fails the task. Refused without `timeoutMs`.
   */
  readonly onTimeout?: ApprovalTimeout | undefined
}

/** A recorded approval. */
export interface Approval<T = unknown> {
  /** False if a spot check let it through without asking. */
  readonly asked: boolean
  /** The name that the reviewer gave; `timeout` if nobody answered. */
  readonly by?: string
  readonly feedback?: string
  /** The value that the reviewer passed, such as a corrected artifact. */
  readonly value?: T
}

/** A rejection, as the handler sees it. */
export interface Feedback {
  /** The key of the request that was rejected. */
  readonly key: string
  readonly at: number
  readonly by?: string
  readonly feedback?: string
  readonly value?: unknown
}

/**
 * Options of a child, besides its input. The task type supplies what is left out; the default lane is the
 * parent's.
 */
export interface SpawnOptions extends Omit<
  SubmitOptions,
  'idempotencyKey' | 'client' | 'agreement' | 'onReject'
> {
  /** The treatment of the child if this task ends first: `cancel` by default. */
  readonly onParentEnd?: ChildPolicy | undefined
  /**
   * The behaviour while the store accepts no more tasks (`queue_full`, `backpressure`, `quota_exceeded`). `wait`
   * (default) waits for room, durably and without a slot, in order with the other calls. It tries again when
   * a child has ended, and after 100 ms, then twice as long each time, at most 30 s. `throw` throws a
   * `TaskRejected`.
   */
  readonly whenFull?: 'wait' | 'throw' | undefined
}

/** A child that was spawned. */
export interface ChildTask<Output = unknown> {
  readonly taskId: TaskId<Output>
  /**
   * Waits, without a slot, until the child has ended, and returns its output. The result is stored, and the
   * same in every later pass. It may be called several times. Throws `TaskFailed` with the error that the
   * child failed with, `TaskCanceled`, and a {@link TimeoutError} after `timeoutMs`: then the child goes on,
   * and can be waited for again.
   */
  result(options?: ChildWaitOptions): Promise<Output>
  /** Cancels the child and its children. Returns false if it has already ended. */
  cancel(reason?: string): Promise<boolean>
}

export interface ChildWaitOptions {
  /** How long to wait for the child, from the call on, 0 to 1e15 ms; for ever if absent. */
  readonly timeoutMs?: number | undefined
}

/**
 * Functions that run side by side, by name. Each gets its own context, whose signal aborts when the branch is
 * closed.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- as in TaskContext.
export type Branches<X extends Exchange = any> = Readonly<Record<string, (ctx: TaskContext<X>) => unknown>>

/** How long branches may take. */
export interface BranchesOptions {
  /** The time limit of all branches together, from the call on, 0 to 1e15 ms; none if absent. */
  readonly timeoutMs?: number | undefined
}

/** Which branch won, and what it returned: a union with `winner` as its discriminant. */
export type RaceResult<B extends Branches> = {
  [N in keyof B & string]: { readonly winner: N; readonly value: Awaited<ReturnType<B[N]>> }
}[keyof B & string]

/** The result of each branch. */
export type AllResults<B extends Branches> = { readonly [N in keyof B & string]: Awaited<ReturnType<B[N]>> }

/** Why a clean-up hook is called. */
export type CleanupReason =
  | 'canceled'
  | 'timeout'
  | 'budget_exceeded'
  | 'failed'
  | 'lost'
  | 'waiting'
  | 'yielded'
  | 'shutdown'
export type CleanupHook = (reason: CleanupReason) => void | PromiseLike<void>

export interface TaskLog {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}

export interface ExecOptions {
  readonly cwd?: string | undefined
  /** The whole environment of the command; `process.env` when absent. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** The text that the command reads on its standard input, which is then closed. */
  readonly input?: string | Uint8Array | undefined
  /** The time limit; after it the group is stopped and a `TimeoutError` is thrown. */
  readonly timeoutMs?: number | undefined
  /** Time between TERM and KILL; the configuration's `killGraceMs` if absent. */
  readonly killGraceMs?: number | undefined
  /**
   * The most bytes of standard output and of standard error, each; 1 MiB if absent. More throws
   * `limit_exceeded`.
   */
  readonly maxBufferBytes?: number | undefined
  /** `pipe` (default) collects both streams; `inherit` passes them to this process's own; `ignore` drops them. */
  readonly stdio?: 'pipe' | 'inherit' | 'ignore' | undefined
  /** A further signal that stops the command, such as a step's. */
  readonly signal?: AbortSignal | undefined
}

/** How a command ended. Streams that were not collected are empty. */
export interface ExecResult {
  readonly pid: number
  /** Its exit code; null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}
