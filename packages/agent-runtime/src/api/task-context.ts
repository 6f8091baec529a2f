import type {
  ApprovalTimeout,
  ChildPolicy,
  Lane,
  OversightMode,
  RejectionPolicy,
  Usage,
} from '@ku0/agent-runtime-core'
import type { SubmitOptions } from './submissions.ts'
import type { TaskId } from './receipts.ts'
import type { TaskType } from './task-type.ts'
import type { Heartbeat } from './profiles.ts'
import type { RateLimitRule } from './rate-limit-rule.ts'
import type { RetrySetting } from './retry-setting.ts'

/**
 * What a handler gets to work with. Its methods write on behalf of the task's lease: once the lease is gone (canceled, lost,
 * timed out, given back) each of them throws the reason, and nothing more is stored; in a pass that has yielded, or ended at its waits,
 * none of them settles. Source: `docs/semantics.md 4.4, 5, 7`.
 */
export interface TaskContext {
  readonly taskId: string
  readonly type: string
  /** The n-th try, from 1. It rises when a lease expires and when an error is retried, on nothing else. */
  readonly attempt: number
  /** Rises by one with every claim of the task: tools refuse a token lower than one they have seen. */
  readonly fencingToken: number
  readonly lane: Lane
  readonly model: string | undefined
  readonly tools: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  /** The schedule that submitted it, and the time, epoch ms, that it is the run for; what was triggered by hand is for none. */
  readonly schedule: string | undefined
  readonly scheduledFor: number | undefined
  /** The data of the last `ctx.checkpoint` of an earlier pass; undefined when there is none. */
  readonly restored: unknown
  /** Aborts when the handler has to stop; its `reason` says why. Hand it to whatever takes a signal. */
  readonly signal: AbortSignal
  /** Writes to the runtime's log, with the task's id and attempt. */
  readonly log: TaskLog

  /**
   * Runs `fn` once in the life of the task and stores what it returns before the promise resolves; in a later pass the stored
   * copy answers and `fn` does not run. The key names the step: 1 to 255 characters, used once per pass. Errors are not
   * stored. What is returned is always the decoded stored copy.
   *
   * A crash between the end of `fn` and its commit makes it run again, with the same `step.idempotencyKey`.
   *
   * With `retry` a function that throws is tried again; the last error is thrown. The waits between tries are the task's, as in
   * {@link sleep}: a long one holds no slot, and what was tried is remembered through crashes.
   *
   * Steps do not contain one another, nor waits: what needs a key throws `inside_step` when it is called from inside `fn`.
   *
   * Await every call before the handler returns. One that has failed by then, and that nobody has looked at with `await`,
   * `then`, `catch` or `Promise.all`, fails the attempt with its error; a step that still runs and that nobody has looked at fails
   * it with `step_outside_handler`. One that was looked at, by `Promise.race` for instance, is dropped, and a warning logged.
   * The promise itself never counts as unhandled, but what is made of it does: `ctx.step(...).then(f)` is yours to handle.
   * The same goes for `sleep`, `waitForSignal`, `spawn`, `call`, `race`, `all` and `exec`, and for what a branch calls until that returns; only a
   * wait may be left open, and a command that still runs is stopped.
   *
   * Throws {@link DuplicateStepKey}, {@link StepNotSerializable}, {@link PayloadTooLarge}, whatever `fn` throws, and the
   * signal's reason. Once the task is to yield or to wait nothing is thrown: the promise never settles.
   * Source: `docs/semantics.md 7.1-7.5, 7.7`.
   */
  step<T>(key: string, fn: (step: StepHandle) => T | PromiseLike<T>): Promise<T>
  step<T>(key: string, options: StepOptions, fn: (step: StepHandle) => T | PromiseLike<T>): Promise<T>

  /**
   * Waits `ms` from the call on, 0 to 1e15: across crashes, restarts and times in which nothing runs; what became due meanwhile
   * fires once. The key names the wait and is one of the step keys of the pass. When nothing but waits is left to do the pass
   * ends: the handler's signal aborts, what it awaits never settles, its slot is free, and a later pass goes on behind the wait.
   * Steps that run are waited for first, and so are `emit`, `checkpoint` and `heartbeat`; other work is not, it does not keep a
   * pass alive.
   *
   * Throws {@link DuplicateStepKey}, `invalid_argument`, `limit_exceeded` above `maxWaits` open waits, the signal's reason.
   * Source: `docs/semantics.md 12.3`.
   */
  sleep(key: string, ms: number): Promise<void>

  /** The same until a moment, a `Date` or epoch ms by the store's clock; one that has passed fires at once. */
  sleepUntil(key: string, when: Date | number): Promise<void>

  /**
   * Waits for a signal, sent with `runtime.signal`, and gives the value that came with it. Waits as {@link sleep} does. A signal
   * that came before is kept until it is waited for, the oldest first; each is taken once. `T` is what the sender is trusted
   * to send.
   *
   * Throws {@link TimeoutError} when `timeoutMs` is over, in later passes too; a signal in time beats it. Besides what `sleep`
   * throws. Source: `docs/semantics.md 12.4`.
   */
  waitForSignal<T = unknown>(key: string, options?: SignalWaitOptions): Promise<T>

  /**
   * Runs branches side by side; the first that settles decides, and the decision is stored under the key: later passes get the
   * same winner and run no branch. When it rejected, so does the race; that is not stored. A branch gets a context of its own
   * and calls that, not `ctx`.
   *
   * A branch that lost is closed: its signal aborts, its waits are dropped and its children canceled in the commit of the decision, a step of it that
   * still runs is aborted and what it returns is not recorded, and its context refuses further calls. A step that was
   * recorded by then stays so. What a pass waits for is as in {@link sleep}: work of a branch outside steps does not keep it alive.
   *
   * With `timeoutMs` the race has that long, from the call on, across crashes and restarts, as a {@link sleep} has; a branch that
   * settled in time beats it. When it is over all branches are closed like losers and the race throws a {@link TimeoutError}, in later
   * passes too: those begin nothing in its branches that is not recorded. The timer is one of the task's `maxWaits`.
   *
   * Throws {@link DuplicateStepKey}, {@link StepNotSerializable}, {@link PayloadTooLarge}, `invalid_argument`, {@link TimeoutError}, what
   * the branch threw, the signal's reason. Source: `docs/semantics.md 12.3, 12.4`.
   */
  race<B extends Branches>(key: string, branches: B, options?: BranchesOptions): Promise<RaceResult<B>>

  /**
   * Runs branches side by side and gives what each returned, by name, stored under the key: later passes run no branch. The first
   * that rejects is thrown, and closes the others as a {@link race} closes those that lost. With `timeoutMs` all of them have that long
   * together, or it throws a {@link TimeoutError}, as a race does. Source: `docs/semantics.md 12.3, 12.4`.
   */
  all<B extends Branches>(key: string, branches: B, options?: BranchesOptions): Promise<AllResults<B>>

  /**
   * Puts `artifact` (encoded like a result) before a human and waits, as {@link sleep} does, until `runtime.approvals` has a verdict.
   * The key names the request and is one of the step keys of the pass. An approval is stored: later passes have it at once.
   *
   * `mode`: `supervised` and `autonomous_escalation` (where the handler calls this when it is in doubt) always ask;
   * `spot_check` asks in 30 % of the cases, by a draw that is recorded, and lets the others through (`asked: false`).
   *
   * A rejection sends the task back to its last approval: the steps recorded since are void and run again, with what the
   * reviewers said in {@link feedback} and another idempotency key; timers and signals that were over stay so. When it was rejected
   * `maxRetries` (3) times since the last approval, the next rejection fails the task with `not_approved`. With `onReject:
   * 'throw'` the call throws {@link ApprovalRejected} instead, and nothing is void.
   *
   * Throws a {@link TimeoutError} when `timeoutMs` is over, or what `onTimeout` says happens. Besides what `sleep` throws,
   * {@link StepNotSerializable} and {@link PayloadTooLarge}. Source: `docs/semantics.md 12.1-12.3`.
   */
  requestApproval<T = unknown>(
    key: string,
    artifact: unknown,
    options?: ApprovalOptions,
  ): Promise<Approval<T>>

  /** What the rejections since the last approval said, oldest first: what a step that runs again should heed. */
  readonly feedback: readonly Feedback[]

  /**
   * Whether the code behind a change is to be used: true for a task that comes to this place with the changed code, false for one whose
   * history goes beyond it already. The answer stays the same in every pass; true is recorded under the id, 1 to 255 characters, and takes
   * a place among the calls, as a step does. Asked again in the same pass the id has the same answer. It is the handler's to ask: a
   * branch of a race or all is refused (`invalid_argument`).
   *
   *     if (await ctx.patched('check first')) await ctx.step('check', check)
   *
   * Source: `docs/semantics.md 6.4`, `docs/changing-code.md`.
   */
  patched(id: string): Promise<boolean>

  /**
   * Submits a task as a child of this one, once in the life of the task: in a later pass the key stands for the same child, and
   * nothing is submitted. Resolves when that is committed. The child runs like any task, on any process of the store, in this
   * task's lane unless told otherwise; as in `runtime.submit`, its type is one that this process defines. When this task ends, in whatever
   * way, the children that have not ended are canceled in the same commit, and their children: `onParentEnd: 'abandon'` lets one go on.
   *
   * While the queue is full it waits for room, see {@link SpawnOptions.whenFull}. Throws {@link DuplicateStepKey}, `TaskRejected` when the
   * submission is refused for another reason (the key may be used again then), `already_exists`,
   * `limit_exceeded` above `maxChildren` open ones, `invalid_argument`, {@link StepNotSerializable}, {@link PayloadTooLarge}, the
   * signal's reason. Source: `docs/semantics.md 5.5`.
   */
  spawn<Input, Output>(
    key: string,
    task: TaskType<string, Input, Output>,
    input: NoInfer<Input>,
    options?: SpawnOptions,
  ): Promise<ChildTask<Output>>
  spawn(key: string, task: string, input: unknown, options?: SpawnOptions): Promise<ChildTask>

  /** {@link spawn}, and then the child's {@link ChildTask.result}. */
  call<Input, Output>(
    key: string,
    task: TaskType<string, Input, Output>,
    input: NoInfer<Input>,
    options?: SpawnOptions,
  ): Promise<Output>
  call(key: string, task: string, input: unknown, options?: SpawnOptions): Promise<unknown>

  /**
   * Calls `hook` when the pass ends in any way but completion: canceled, timed out, failed, lease lost, waiting, yielded, shutdown.
   * Hooks run once each, in reverse order of registration, after the signal has aborted and the commands of {@link exec} are over; each
   * has `cleanupTimeoutMs`, which begins with it. Their errors are logged. Returns a function that takes the hook back. Source: `docs/semantics.md 5.1`.
   */
  onCleanup(hook: CleanupHook): () => void

  /**
   * Says that the handler is getting on. The lease is renewed without it. `progress` is kept with the lease for people to see. Of a task
   * with a profile this is the heartbeat that the profile may require, and what is used (`computeUs`, `memoryBytes`) counts against its
   * limits: above a hard one the signal aborts with `budget_exceeded`, which is what this throws then. Source: `docs/semantics.md 10.5`.
   */
  heartbeat(report?: Heartbeat): Promise<void>

  /**
   * Says what the work has used up: it is added to what the task has used (`status.used`), and is stored with the result of the step
   * it was called in (or with that step's failure; or, where the step came to nothing, with what ended it), so that it counts once for every run. Called outside of steps
   * it is stored when the pass ends the attempt, and what a pass charged that went into a wait is forgotten: a later one runs that code
   * again. Several calls add up.
   *
   * Throws `invalid_argument`, and `step_outside_handler` in a step that has ended. Source: `docs/semantics.md 11.5`.
   */
  charge(usage: Usage): void

  /**
   * Appends a value to the task's output stream; resolves when it is stored. What an earlier pass of the attempt has stored is not
   * stored again. A chunk fails no task: one that nobody awaited and that fails is a line of the log.
   * Source: `docs/semantics.md 9`.
   */
  emit(chunk: unknown): Promise<void>

  /** Stores a snapshot that the next pass finds in `ctx.restored`. A cache: what must not be lost belongs into a step. */
  checkpoint(data: unknown): Promise<void>

  /**
   * Runs a command in its own process group and waits for it. The group dies with the task: on abort it gets TERM, and KILL
   * after `killGraceMs`; what the command left behind in its group when it exits is killed at once. A non-zero exit code
   * is an answer, not an error; a command that cannot be started throws what the system says (`ENOENT`). Source: `docs/semantics.md 5.1`, `docs/reliability.md` T18.
   */
  exec(command: string, args?: readonly string[], options?: ExecOptions): Promise<ExecResult>

  /** What `step.idempotencyKey` is in the step of this key. Source: `docs/semantics.md 4.6`. */
  idempotencyKey(stepKey: string, input?: unknown): string
}

/** What a step's function gets. */
export interface StepHandle {
  /** As {@link TaskContext.charge}, for this step. */
  charge(usage: Usage): void
  /** Aborts when the handler or branch has to stop, or the step's own `timeoutMs` is over. Each try has its own. */
  readonly signal: AbortSignal
  /** The same for every run of this step, whatever the attempt or try: hand it to tools that can tell a repeated call by it. */
  readonly idempotencyKey: string
}

export interface StepOptions {
  /** What the step depends on. Its hash is stored with the result; another input later parks the task (`docs/semantics.md 6.4`). */
  readonly input?: unknown
  /** The running time of a try; then its signal aborts and it fails with a `TimeoutError`, whether or not `fn` stops. */
  readonly timeoutMs?: number | undefined
  /**
   * Tries in all, those of earlier passes included, and the waits between them; by default there is one try. Where the task itself is
   * tried again, as another attempt by its own `retry` or as a fork, the step has all of them again. A `NonRetryableError`, thrown or among the causes, and an error with `retryable: false` end the tries. Source: `docs/semantics.md 7.7`.
   */
  readonly retry?: RetrySetting | undefined
  /**
   * What happens when an earlier pass started the step and its end was not recorded, by a crash or a timeout, so that its effect may have
   * happened: `retry` (default) runs it again, with the same `idempotencyKey`; `verify` asks `verify` first; `ask` puts it before a human
   * (`runtime.approvals`: approved with a `value`, that is the step's result, without one it runs again; rejected, it fails); `fail`
   * throws {@link StepInDoubt}. All but `retry` cost a commit before the function runs. Source: `docs/semantics.md 7.6`.
   */
  readonly inDoubt?: InDoubtPolicy | undefined
  /**
   * Whether an error is a provider's refusal for now, and what it limits. Without it a 429 that says when to come back is one, and a 503
   * or 529 with `retry-after`. That of the task type by default. Source: `docs/quotas.md`.
   */
  readonly rateLimited?: RateLimitRule | undefined
  /** For `inDoubt: 'verify'`: looks whether the effect happened. What it throws counts as a try of the step. */
  readonly verify?:
    | ((step: StepHandle) => InDoubtAnswer<unknown> | PromiseLike<InDoubtAnswer<unknown>>)
    | undefined
}

/** What becomes of a step that is in doubt. */
export type InDoubtPolicy = 'retry' | 'verify' | 'ask' | 'fail'

/** Whether a step that is in doubt took effect. */
export type InDoubtAnswer<T> =
  | { readonly done: true; readonly result: T }
  /** It is run again. */
  | { readonly done: false }

export interface SignalWaitOptions {
  /** The signal's name, 1 to 255 characters; the key when absent. */
  readonly signal?: string | undefined
  /** How long it is waited for from the call on, 0 to 1e15 ms; for ever when absent. */
  readonly timeoutMs?: number | undefined
}

/** How a human is asked. */
export interface ApprovalOptions {
  /** That of the task type (`oversight`) by default, which is `autonomous_escalation` where it names none. */
  readonly mode?: OversightMode | undefined
  /** Rejections since the last approval after which the task may try again; 3 by default. */
  readonly maxRetries?: number | undefined
  /** From the call on, 0 to 1e15 ms; for ever when absent. */
  readonly timeoutMs?: number | undefined
  /** Runs again what followed the last approval (`rerun`, the default), or throws {@link ApprovalRejected}. */
  readonly onReject?: RejectionPolicy | undefined
  /** For `timeoutMs`, without which it is refused. When nobody answers in time: `throw` (default), or as if a reviewer had said `approve` or `reject`; `fail` fails the task. */
  readonly onTimeout?: ApprovalTimeout | undefined
}

/** An approval as it was given. */
export interface Approval<T = unknown> {
  /** False when a spot check let it through. */
  readonly asked: boolean
  /** Who gave it, by their own word; `timeout` when nobody did. */
  readonly by?: string
  readonly feedback?: string
  /** What the reviewer handed over, a corrected artifact say. */
  readonly value?: T
}

/** A rejection as the work that follows it gets to see it. */
export interface Feedback {
  /** The key of the request that was rejected. */
  readonly key: string
  readonly at: number
  readonly by?: string
  readonly feedback?: string
  readonly value?: unknown
}

/** What a child is submitted with, besides its input. What it leaves out, its task type says; the lane is the parent's. */
export interface SpawnOptions extends Omit<SubmitOptions, 'idempotencyKey' | 'client'> {
  /** What becomes of the child when this task ends before it: `cancel` by default. */
  readonly onParentEnd?: ChildPolicy | undefined
  /**
   * What to do while the store takes no more (`queue_full`, `backpressure`, `quota_exceeded`): `wait` (default) for room, durably and without
   * a slot, in line with the other calls, trying again when a child has ended and after 100 ms, then twice as long each time, 30 s at most; or `throw` a `TaskRejected`.
   */
  readonly whenFull?: 'wait' | 'throw' | undefined
}

/** A child that was spawned. */
export interface ChildTask<Output = unknown> {
  readonly taskId: TaskId<Output>
  /**
   * Waits, without a slot, until the child has ended, and gives its output; the answer is stored, and the same in every later
   * pass. It may be called several times. Throws `TaskFailed` with the error that the child failed with, `TaskCanceled`, and a
   * {@link TimeoutError} when `timeoutMs` is over: the child goes on then, and can be waited for again.
   */
  result(options?: ChildWaitOptions): Promise<Output>
  /** Cancels the child, and what is below it. False when it is over already. */
  cancel(reason?: string): Promise<boolean>
}

export interface ChildWaitOptions {
  /** How long the child is waited for from the call on, 0 to 1e15 ms; for ever when absent. */
  readonly timeoutMs?: number | undefined
}

/** What runs side by side, by name. Each gets a context of its own, whose signal aborts when the branch is closed. */
export type Branches = Readonly<Record<string, (ctx: TaskContext) => unknown>>

/** How long branches may take. */
export interface BranchesOptions {
  /** The time for all of them together, from the call on, 0 to 1e15 ms; without end when absent. */
  readonly timeoutMs?: number | undefined
}

/** Which branch won, and what it returned: a union told apart by `winner`. */
export type RaceResult<B extends Branches> = {
  [N in keyof B & string]: { readonly winner: N; readonly value: Awaited<ReturnType<B[N]>> }
}[keyof B & string]

/** What each branch returned. */
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
  /** What the command reads on its standard input, which is then closed. */
  readonly input?: string | Uint8Array | undefined
  /** The running time allowed; then the group is stopped and a `TimeoutError` is thrown. */
  readonly timeoutMs?: number | undefined
  /** From TERM to KILL; the configuration's `killGraceMs` when absent. */
  readonly killGraceMs?: number | undefined
  /** The most bytes that standard output and standard error may have, each; 1 MiB when absent. More is `limit_exceeded`. */
  readonly maxBufferBytes?: number | undefined
  /** `pipe` (default) collects both streams; `inherit` passes them to this process's own; `ignore` drops them. */
  readonly stdio?: 'pipe' | 'inherit' | 'ignore' | undefined
  /** Stops the command besides the task's own signal: a step's. */
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
