import type { Codec, PayloadCodec } from '../api/codecs.ts'
import type { ExecutionConfigInput, TaskState } from '@ku0/agent-runtime-core'
import type { RuntimeLogger } from '../api/logger.ts'
import type { WorkerOptions } from '../options.ts'
import type { EvaluationSettings } from '../api/evaluations.ts'
import type { SubmitOptions } from '../api/submissions.ts'
import type { Receipt, TaskId } from '../api/receipts.ts'
import type { Runtime } from '../api/runtime.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { TaskStatus } from '../api/status.ts'
import type { TaskHistory } from './task-history.ts'
import type { RecordedHistory } from './recorded-history.ts'

/** Options of `createTestRuntime`. */
export interface TestRuntimeOptions {
  readonly tasks: readonly TaskDefinition[]
  /** As in `createRuntime`. */
  readonly config?: ExecutionConfigInput | undefined
  /** As in `createRuntime`: one worker by default, 0 for none. */
  readonly workers?: number | WorkerOptions | undefined
  /**
   * Ids and chance depend on it: the same seed and script give the same history, and the same spot checks
   * however often the process crashes. `'test'` by default.
   */
  readonly seed?: number | string | undefined
  /** The time at the start; 1 January 2026, UTC, by default. */
  readonly now?: Date | number | undefined
  /**
   * Whether the process can be crashed: then the store is a temporary file, not in memory. False by default.
   */
  readonly crashes?: boolean | undefined
  /** Crashes the process right after its n-th commit, from 1, as {@link TestRuntime.crashAfter} does. Implies `crashes`. */
  readonly crashAfterCommit?: number | undefined
  /**
   * How long, in ms of real time, virtual time stands still for a step's function or a command that does real
   * work. After that, time moves on to what is due, so that a function that never returns reaches its
   * timeout. While nothing is due, time stands still anyway. 50 by default.
   */
  readonly patienceMs?: number | undefined
  /** As in `createRuntime`: weights of your own domains, and what counts as drift. */
  readonly evaluation?: EvaluationSettings | undefined
  /** As in `createRuntime`, but off by default: code that counts what its handlers do counts it twice. */
  readonly strict?: boolean | undefined
  /** As in `createRuntime`. */
  readonly codecs?: readonly Codec[] | undefined
  /** As in `createRuntime`. */
  readonly payloadCodec?: PayloadCodec | undefined
  /** Gets the runtime's log lines; none by default. */
  readonly logger?: RuntimeLogger | undefined
}

/** A task, by its receipt or its id. */
export type TaskLike<Output = unknown> = Receipt<Output> | TaskId<Output>

/**
 * A real runtime on a real SQLite store, with virtual time that stands still until a method of this object
 * moves it. Time moves from one due moment to the next, in order; work that needs no time runs to its end in
 * between. `await using` stops the runtime and removes its files.
 */
export interface TestRuntime extends AsyncDisposable {
  /**
   * The runtime of the process that runs now. Calls that were open when it crashed are answered by the next
   * process. Throws {@link ProcessCrashed} between a crash and {@link restart}.
   */
  readonly runtime: Runtime
  /** The time, epoch ms. */
  readonly now: number
  /**
   * Number of commits so far that added an event or output, of all processes. A renewal of a lease does not
   * count.
   */
  readonly commits: number

  /** Submits a task and moves time until it has its {@link result}. */
  run<Input, Output>(
    task: TaskDefinition<string, Input, Output>,
    input: NoInfer<Input>,
    options?: SubmitOptions,
  ): Promise<Output>
  run(task: string, input: unknown, options?: SubmitOptions): Promise<unknown>

  /**
   * Moves time until a task has its result, past sleeps, back-offs and timeouts. Throws what `runtime.result`
   * throws; {@link TaskStuck} if nothing that is due can move the task on, such as a signal that nobody has
   * sent; {@link ProcessCrashed} if the process crashes meanwhile.
   */
  result<Output>(task: Receipt<Output> | TaskId<Output>): Promise<Output>
  result(taskId: string): Promise<unknown>

  /**
   * Moves time until a task is in a state, or `holds` returns true, and returns its status. The status is
   * checked after all work that needs no time has run, so a state that lasts no time may be missed. Throws
   * {@link TaskStuck} if that state is never reached, `not_found`, and {@link ProcessCrashed}.
   */
  until(task: TaskLike, state: TaskState | ((status: TaskStatus) => boolean)): Promise<TaskStatus>

  /**
   * Moves time forward by ms, 0 or more, or to a date. Between a crash and {@link restart}, time passes while
   * nothing runs. Throws `invalid_argument` for a time that has passed, and {@link ProcessCrashed} if the
   * process crashes meanwhile.
   */
  advance(by: number | Date): Promise<void>

  /** Runs everything that needs no time. */
  settle(): Promise<void>

  /** The history of a task. Throws `not_found`. */
  history(task: TaskLike): Promise<TaskHistory>

  /**
   * The history as plain JSON, to keep in a file and pass to `replayHistory` later. Throws `not_found`, and
   * `store_corrupt` for a history that was changed.
   */
  record(task: TaskLike): Promise<RecordedHistory>

  /**
   * Crashes the process: only what is committed stays. From now on the process writes and receives nothing: its
   * handlers stop at their next call of `ctx`, and a step function that is running is left to itself. Throws
   * `invalid_argument` unless `crashes` was set.
   */
  crash(): void

  /**
   * Crashes the process right after the n-th commit from now, from 1: that commit is made, and no handler
   * learns of it.
   */
  crashAfter(commits: number): void

  /**
   * Starts the next process on the same data, which takes over the tasks of the one that crashed. The
   * takeover takes a second of virtual time. Throws `invalid_argument` if the process has not crashed.
   */
  restart(): Promise<void>
}

/** Thrown by calls that need a running process. */
export class ProcessCrashed extends Error {
  static {
    this.prototype.name = 'ProcessCrashed'
  }

  /** The number of the last commit. */
  readonly commits: number

  constructor(commits: number) {
    super(`the process crashed after commit ${commits}: continue with \`await test.restart()\``)
    this.commits = commits
  }
}

/**
 * Thrown if time cannot bring a task to the state that the test waits for. The message ends with the task's
 * history.
 */
export class TaskStuck extends Error {
  static {
    this.prototype.name = 'TaskStuck'
  }

  readonly taskId: string
  readonly history: TaskHistory

  constructor(why: string, history: TaskHistory) {
    super(`task ${history.taskId} (${history.type}) ${why}\n\n${history.toString()}`)
    this.taskId = history.taskId
    this.history = history
  }
}
