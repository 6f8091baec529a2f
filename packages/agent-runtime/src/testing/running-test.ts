import {
  invalid,
  isFinal,
  isReadable,
  show,
  type StoredEvent,
  type TaskState,
  taskStates,
} from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { VirtualClock } from '@ku0/agent-runtime-core/testing'
import { taskIdOf } from '../terms/arguments.ts'
import type { SubmitOptions } from '../api/submissions.ts'
import { noTask } from '../client/result.ts'
import type { Receipt } from '../api/receipts.ts'
import type { Runtime } from '../api/runtime.ts'
import type { TaskDefinition } from '../api/task-definition.ts'
import type { TaskStatus } from '../api/status.ts'
import { type DataFolder, inMemory, onDisk } from './data-folder.ts'
import { DueTimes } from './due-times.ts'
import { readHistory } from './history.ts'
import type { TaskHistory } from './task-history.ts'
import { StepLedger } from './step-ledger.ts'
import { type RecordedHistory, recordHistory } from './recorded-history.ts'
import { Stillness } from './stillness.ts'
import { type Shared, TestProcess } from './test-process.ts'
import {
  ProcessCrashed,
  type TaskLike,
  TaskStuck,
  type TestRuntime,
  type TestRuntimeOptions,
} from './test-runtime.ts'
import { assertTestOptions } from './test-options.ts'
import { VirtualTime } from './virtual-time.ts'

/**
 * Opens a {@link TestRuntime}.
 *
 *     await using test = await createTestRuntime({ tasks: [agent] })
 *     assert.deepEqual(await test.run(agent, { topic: 'rain' }), { words: 3 })
 *
 * Throws a `ConfigError` as `createRuntime` does, and `invalid_argument` for options of its own.
 */
export function createTestRuntime(options: TestRuntimeOptions): Promise<TestRuntime> {
  return RunningTest.start(options)
}

/** A running test: its processes, one after the other, and its time. */
export class RunningTest implements TestRuntime {
  readonly ledger: StepLedger
  /** The ids of the records of refused children. */
  readonly refusedChildren = new Set<string>()
  readonly #shared: Shared
  readonly #data: DataFolder
  readonly #time: VirtualTime
  /** Whether a crash is followed by a restart automatically. */
  readonly #goesOn: boolean
  #process: TestProcess
  #number = 1
  #commits = 0
  #crashAt: number | undefined
  #restarting: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined

  static async start(options: TestRuntimeOptions, goesOn = false): Promise<RunningTest> {
    assertTestOptions(options)
    const { now, patienceMs = 50, crashes = false, crashAfterCommit } = options
    const { leaseTtlMs, heartbeatIntervalMs } = parseExecutionConfig(options.config).config
    const clock = new VirtualClock(now instanceof Date ? now.getTime() : now)
    const data = crashes || crashAfterCommit !== undefined ? onDisk() : inMemory()
    const due = new DueTimes()
    const ledger = new StepLedger()
    let test: RunningTest | undefined
    const heard = (events: readonly StoredEvent[]) => {
      for (const event of events) {
        due.hear(event)
        ledger.hear(event)
      }
    }
    const shared: Shared = {
      options,
      clock,
      ledger,
      heard,
      committed: () => test?.committed(),
      refusedChild: (taskId) => test?.refusedChildren.add(taskId),
    }
    const time = new VirtualTime(clock, due, { patienceMs, leaseTtlMs, heartbeatIntervalMs })
    try {
      const process = await TestProcess.start(shared, data.url, 1)
      test = new RunningTest({ shared, data, time, goesOn, process })
      return test
    } catch (error) {
      data.remove()
      throw error
    }
  }

  private constructor(parts: {
    readonly shared: Shared
    readonly data: DataFolder
    readonly time: VirtualTime
    readonly goesOn: boolean
    readonly process: TestProcess
  }) {
    this.#shared = parts.shared
    this.ledger = parts.shared.ledger
    this.#data = parts.data
    this.#time = parts.time
    this.#goesOn = parts.goesOn
    this.#process = parts.process
    this.#crashAt = parts.shared.options.crashAfterCommit
  }

  get runtime(): Runtime {
    this.#assertAlive()
    return this.#process.runtime
  }

  get now(): number {
    return Math.floor(this.#shared.clock.now())
  }

  get commits(): number {
    return this.#commits
  }

  async run(task: TaskDefinition | string, input: unknown, options?: SubmitOptions): Promise<never> {
    await this.#restarting
    return this.result(await this.runtime.submit(task as string, input, options))
  }

  async result(task: TaskLike): Promise<never> {
    const isRefused = isReadable(task) && task['accepted'] === false
    if (!isRefused) await this.until(task, ({ state }) => isFinal(state))
    return (await this.runtime.result(task as Receipt)) as never
  }

  async until(task: TaskLike, state: TaskState | ((status: TaskStatus) => boolean)): Promise<TaskStatus> {
    if (typeof state !== 'function' && !taskStates.includes(state))
      throw invalid(
        `until: a state (${taskStates.join(' | ')}) or a function of the status; given ${show(state)}`,
      )
    const holds = typeof state === 'function' ? state : (status: TaskStatus) => status.state === state
    const wanted = typeof state === 'function' ? 'in the state that until waits for' : `'${state}'`
    const stillness = new Stillness(this.#shared.options.patienceMs)
    for (;;) {
      await this.settle()
      const status = await this.#status(task)
      if (holds(status)) return status
      if (isFinal(status.state)) throw await this.#stuck(task, `is ${status.state}, and was never ${wanted}`)
      const goesOn =
        stillness.isBearable(this.#process) &&
        (await this.#time.step(this.#process, Number.POSITIVE_INFINITY))
      if (goesOn || this.#process.life.dead) continue
      const { summary = '' } = (await this.runtime.explain(task)) ?? {}
      throw await this.#stuck(task, `${summary}, and nothing that is due will change that`)
    }
  }

  async advance(by: number | Date): Promise<void> {
    const at = typeof by === 'number' ? this.#shared.clock.now() + by : timeOf(by)
    if (!(at >= this.now && at <= MAX_TIME))
      throw invalid(`advance: ms, 0 or more, or a date that has not passed; given ${show(by)}`)
    await this.#restarting
    if (this.#process.life.dead && !this.#goesOn) {
      this.#shared.clock.advanceTo(at)
      return
    }
    do {
      await this.settle()
      await this.#time.advanceTo(this.#process, at)
      // A process that died on the way left time where it was, and another one may have followed it.
    } while (this.#goesOn && (this.#process.life.dead || this.#shared.clock.now() < at))
    this.#assertAlive()
  }

  async settle(): Promise<void> {
    do {
      await this.#restarting
      this.#assertAlive()
      await this.#time.settle(this.#process)
    } while (this.#goesOn && this.#process.life.dead)
    this.#assertAlive()
  }

  async history(task: TaskLike): Promise<TaskHistory> {
    await this.#restarting
    this.#assertAlive()
    return readHistory(this.#process.store, taskIdOf('history', task), this.ledger)
  }

  async record(task: TaskLike): Promise<RecordedHistory> {
    await this.#restarting
    this.#assertAlive()
    return recordHistory(this.#process.store, taskIdOf('record', task))
  }

  crash(): void {
    this.#assertCrashable('crash')
    this.#crashAt = undefined
    this.#data.leaveBehind()
    const commits = this.#commits
    this.#process.die(this.#goesOn ? undefined : () => new ProcessCrashed(commits))
    if (this.#goesOn) queueMicrotask(() => void this.#goOn())
  }

  crashAfter(commits: number): void {
    this.#assertCrashable('crashAfter')
    if (!Number.isSafeInteger(commits) || commits < 1)
      throw invalid(`crashAfter: a whole number, 1 or more; given ${show(commits)}`)
    this.#crashAt = this.#commits + commits
  }

  restart(): Promise<void> {
    if (!this.#process.life.dead) throw invalid('restart: the process has not crashed')
    this.#restarting ??= this.#restart().finally(() => {
      this.#restarting = undefined
    })
    return this.#restarting
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.#restarting
      await this.#process.stop()
    } finally {
      this.#data.remove()
    }
  }

  /** Nobody awaits it: the next call throws its error. */
  async #goOn(): Promise<void> {
    try {
      await this.restart()
    } catch (error) {
      this.#failure = { error }
    }
  }

  async #restart(): Promise<void> {
    const dead = this.#process
    await dead.stop()
    this.#number += 1
    const next = await TestProcess.start(this.#shared, this.#data.url, this.#number)
    this.#process = next
    dead.store.succeed(next.store)
    await this.#time.advanceTo(next, this.#shared.clock.now() + TAKE_OVER_MS, 'every timer')
  }

  /** The live process has made a commit. */
  committed(): void {
    this.#commits += 1
    if (this.#commits === this.#crashAt) this.crash()
  }

  #assertAlive(): void {
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#process.life.dead && !this.#goesOn) throw new ProcessCrashed(this.#commits)
  }

  #assertCrashable(call: string): void {
    if (this.#process.life.dead) throw new ProcessCrashed(this.#commits)
    if (!this.#data.canCrash)
      throw invalid(
        `${call}: a store in memory is lost with its process; use createTestRuntime({ crashes: true })`,
      )
  }

  async #status(task: TaskLike): Promise<TaskStatus> {
    const status = await this.runtime.status(task)
    if (status === undefined) throw noTask(taskIdOf('until', task))
    return status
  }

  async #stuck(task: TaskLike, why: string): Promise<TaskStuck> {
    return new TaskStuck(why, await this.history(task))
  }
}

/** NaN for a value that is not a date, or cannot be read. */
function timeOf(date: unknown): number {
  try {
    return date instanceof Date ? date.getTime() : Number.NaN
  } catch {
    return Number.NaN
  }
}

/** A process looks for dead ones twice a second, and less eagerly while other processes are alive. */
const TAKE_OVER_MS = 1_000
/** The largest time that a Date can represent. */
const MAX_TIME = 8.64e15
