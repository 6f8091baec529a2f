import type { ExecutionConfigInput, TaskState } from '@ku0/agent-runtime-core'
import type { RuntimeLogger } from '../api/logger.ts'
import type { WorkerOptions } from '../options.ts'
import type { EvaluationSettings } from '../api/evaluations.ts'
import type { SubmitOptions } from '../api/submissions.ts'
import type { Receipt, TaskId } from '../api/receipts.ts'
import type { Runtime } from '../api/runtime.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { TaskStatus } from '../api/status.ts'
import type { TaskHistory } from './history.ts'
import type { RecordedHistory } from './recorded-history.ts'

/** What `createTestRuntime` takes. */
export interface TestRuntimeOptions {
  readonly tasks: readonly TaskDefinition[]
  /** As in `createRuntime`. */
  readonly config?: ExecutionConfigInput | undefined
  /** As in `createRuntime`: one worker by default, 0 for none. */
  readonly workers?: number | WorkerOptions | undefined
  /** Ids and chance follow from it: the same seed and script give the same history, and the same spot checks whatever crashes. `'test'` by default. */
  readonly seed?: number | string | undefined
  /** The time at the beginning; the first of January 2026, UTC, by default. */
  readonly now?: Date | number | undefined
  /** Whether the process may be crashed later: then the store is a temporary file, not in memory. False by default. */
  readonly crashes?: boolean | undefined
  /** Crashes the process right after its n-th commit, from 1, as {@link TestRuntime.crashAfter} does. Implies `crashes`. */
  readonly crashAfterCommit?: number | undefined
  /**
   * How long, in ms of real time, time stands still for a step's function or a command that does real work. Then it moves on to what is
   * due, so that a function that never returns meets its timeout; while nothing is due it stands still in any case. 50 by default.
   */
  readonly patienceMs?: number | undefined
  /** As in `createRuntime`: weights of domains of your own, and what counts as drift. */
  readonly evaluation?: EvaluationSettings | undefined
  /** As in `createRuntime`, but off by default: code that counts what its handlers do counts it twice. */
  readonly strict?: boolean | undefined
  /** Gets the runtime's log lines; none by default. */
  readonly logger?: RuntimeLogger | undefined
}

/** A task, by what its submission gave or by its id. */
export type TaskLike<Output = unknown> = Receipt<Output> | TaskId<Output>

/**
 * A real runtime on a real SQLite store, on time that stands still until a method here moves it. It moves from one thing that is
 * due to the next, in their order; whatever needs no time is run to its end in between. `await using` stops it and removes its files.
 */
export interface TestRuntime extends AsyncDisposable {
  /**
   * The whole runtime of the process that runs now. What it was asked and had not answered when it crashed is answered by the
   * process after it. Throws {@link ProcessCrashed} between a crash and {@link restart}.
   */
  readonly runtime: Runtime
  /** The time, epoch ms. */
  readonly now: number
  /** Commits so far that added an event or output, those of every process. The renewal of a lease is none. */
  readonly commits: number

  /** Submits a task and moves time until it has its {@link result}. */
  run<Input, Output>(
    task: TaskDefinition<string, Input, Output>,
    input: NoInfer<Input>,
    options?: SubmitOptions,
  ): Promise<Output>
  run(task: string, input: unknown, options?: SubmitOptions): Promise<unknown>

  /**
   * Moves time until a task has its result, past sleeps, back-offs and timeouts. Throws what `runtime.result` throws;
   * {@link TaskStuck} when nothing that is due can bring the task on, such as a signal that nobody has sent;
   * {@link ProcessCrashed} when the process crashes meanwhile.
   */
  result<Output>(task: Receipt<Output> | TaskId<Output>): Promise<Output>
  result(taskId: string): Promise<unknown>

  /**
   * Moves time until a task is in a state, or is as `holds` says, and gives its status. It is looked at whenever all that needs no time
   * has run: a state that passes at once may be missed. Throws {@link TaskStuck} when it never comes to that, `not_found`,
   * {@link ProcessCrashed}.
   */
  until(task: TaskLike, state: TaskState | ((status: TaskStatus) => boolean)): Promise<TaskStatus>

  /**
   * Moves time on by so many ms, 0 or more, or to a date; between a crash and {@link restart} it passes while nothing runs. Throws
   * `invalid_argument` for a time that has passed, {@link ProcessCrashed} when the process crashes meanwhile.
   */
  advance(by: number | Date): Promise<void>

  /** Lets everything run that needs no time. */
  settle(): Promise<void>

  /** What has happened to a task. Throws `not_found`. */
  history(task: TaskLike): Promise<TaskHistory>

  /** The same as plain JSON, to be kept in a file and given to `replayHistory` later. Throws `not_found`, `store_corrupt` for a history that was edited. */
  record(task: TaskLike): Promise<RecordedHistory>

  /**
   * Crashes the process: what is committed stays, and nothing else. From now on it writes and hears nothing: its handlers stop at
   * their next call of `ctx`, and a step's function that is under way is left to itself. Throws `invalid_argument`
   * unless `crashes` was set.
   */
  crash(): void

  /** The same, right after the n-th commit from now, from 1: that commit is made, and no handler hears of it. */
  crashAfter(commits: number): void

  /**
   * Starts the next process on the same data, which takes over the tasks of the one that crashed. That takes a second of virtual
   * time. Throws `invalid_argument` when the process has not crashed.
   */
  restart(): Promise<void>
}

/** Thrown by what needs a process that runs. */
export class ProcessCrashed extends Error {
  static {
    this.prototype.name = 'ProcessCrashed'
  }

  /** The commit that was the last. */
  readonly commits: number

  constructor(commits: number) {
    super(`the process has crashed after commit ${commits}: go on with \`await test.restart()\``)
    this.commits = commits
  }
}

/** Thrown when time cannot bring a task to where the test wants it. The message ends with the task's history. */
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
