import {
  assertFields,
  assertIsOptions,
  decideScaling,
  describeError,
  problemsIn,
  RuntimeError,
  show,
  type Timer,
  type Timers,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { LogLine } from '../api/logger.ts'
import type { Pool, PoolChange, PoolLimits, PoolSettings, PoolStats } from '../api/pool.ts'
import type { Crew } from './crew.ts'
import { limitProblems, limitRules } from './limits.ts'

export interface ScalingPoolDeps {
  readonly crew: Crew
  readonly limits: PoolLimits
  /** Queued tasks that are due and that the crew runs; it need not count beyond `enough`. */
  readonly depth: (enough: number) => Promise<number>
  readonly timers: Timers
  readonly log: LogLine
}

/** Passes over the queue and the workers, as `decideScaling` says. Source: `docs/semantics.md 8.1-8.3`. */
export class ScalingPool {
  /** What a program sees of it. */
  readonly face: Pool
  readonly #deps: ScalingPoolDeps
  readonly #listeners = new Set<(change: PoolChange) => void>()
  #limits: PoolLimits
  #timer: Timer | undefined
  #isOpen = false
  #pass: Promise<void> | undefined
  #gaveUp = false

  constructor(deps: ScalingPoolDeps) {
    this.#deps = deps
    this.#limits = deps.limits
    const limits = () => this.#limits
    this.face = {
      get limits() {
        return limits()
      },
      stats: () => this.stats(),
      resize: (given) => this.resize(given),
      drain: (workerId) => this.drain(workerId),
      on: (listener) => this.on(listener),
    }
  }

  /** Whether it starts no more workers until the limits change. */
  get gaveUp(): boolean {
    return this.#gaveUp
  }

  get size(): number {
    return this.#deps.crew.members().filter(({ draining }) => !draining).length
  }

  stats(): PoolStats {
    const { crew } = this.#deps
    const members = crew.members()
    const working = members.filter(({ inFlight }) => inFlight > 0).length
    return {
      totalWorkers: members.length,
      idleWorkers: members.length - working,
      processingWorkers: working,
      totalCompleted: crew.totals.completed,
      totalFailed: crew.totals.failed,
      workers: Object.fromEntries(
        members.map(({ workerId, draining, inFlight, currentTask, tally }) => [
          workerId,
          {
            status: draining ? 'draining' : inFlight > 0 ? 'processing' : 'idle',
            currentTask,
            inFlight,
            ...tally,
          },
        ]),
      ),
    }
  }

  resize(given: PoolSettings): void {
    assertIsOptions('pool.resize', given, limitRules)
    const limits = { ...this.#limits, ...withoutUndefined(given) }
    const path = 'pool.resize option '
    const problems = problemsIn(given, limitRules, { path })
    assertFields(problems.length > 0 ? problems : limitProblems(limits, path))
    this.#limits = limits
    this.#gaveUp = false
    if (this.#isOpen) this.#soon(0)
  }

  async drain(workerId: string): Promise<boolean> {
    const { crew } = this.#deps
    if (!crew.members().some((member) => member.workerId === workerId)) return false
    await this.#drain(workerId, 'asked for')
    if (this.#isOpen) this.#soon(0)
    return true
  }

  on(listener: (change: PoolChange) => void): Disposable {
    if (typeof listener !== 'function')
      throw new RuntimeError('invalid_argument', `pool.on takes a function; given ${show(listener)}`)
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) }
  }

  /** Its workers have started: from now on it makes passes. */
  open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#next()
  }

  /** It changes nothing more. Resolves when a pass that is under way has ended. */
  async close(): Promise<void> {
    this.#isOpen = false
    this.#timer?.cancel()
    await this.#pass
  }

  /** A worker is missing: look again after so many ms, if no pass comes before. */
  lookAfter(ms: number): void {
    if (this.#isOpen && ms < this.#limits.everyMs) this.#soon(ms)
  }

  /** Reports a change that the crew saw. */
  tell(change: PoolChange): void {
    if (change.type === 'pool.gave_up') this.#gaveUp = true
    const { log } = this.#deps
    const { type, ...fields } = change
    if (type === 'pool.gave_up')
      log('error', 'the pool starts no more workers: they died again and again', fields)
    else if (type === 'worker.died') log('warn', 'a worker of the pool died', fields)
    else log('info', `pool: ${type}`, fields)
    for (const listener of this.#listeners) {
      try {
        listener(change)
      } catch (error) {
        log('error', 'a listener of the pool failed', { error: describeError(error) })
      }
    }
  }

  /** A pool whose size is fixed, and right, needs no passes: nothing wakes the process for it. */
  #next(): void {
    const { min, max, everyMs } = this.#limits
    if (min < max || this.size !== min) this.#soon(everyMs)
  }

  #soon(ms: number): void {
    this.#timer?.cancel()
    this.#timer = this.#deps.timers.after(ms, () => {
      this.#pass ??= this.#look().finally(() => {
        this.#pass = undefined
        if (this.#isOpen) this.#next()
      })
    })
  }

  async #look(): Promise<void> {
    const { crew, log } = this.#deps
    try {
      const limits = this.#limits
      // Without room to grow or a worker too many the queue need not be read.
      const depth = limits.min < limits.max ? await this.#deps.depth(limits.growAt) : 0
      const scaling = decideScaling({ depth, members: crew.members(), limits })
      if (scaling.do === 'shrink') void this.#drain(scaling.workerId, scaling.why)
      if (scaling.do === 'grow' && !this.#gaveUp)
        for (let left = scaling.count; left > 0 && this.#isOpen; left--) await this.#start(scaling.why)
    } catch (error) {
      log('warn', 'a pass of the pool failed; the next one tries again', { error: describeError(error) })
    }
  }

  async #start(why: string): Promise<void> {
    const workerId = await this.#deps.crew.start()
    this.tell({ type: 'worker.started', workerId, size: this.size, why })
  }

  async #drain(workerId: string, why: string): Promise<void> {
    const { crew, log } = this.#deps
    try {
      const drained = crew.drain(workerId)
      this.tell({ type: 'worker.draining', workerId, size: this.size, why })
      await drained
      this.tell({ type: 'worker.stopped', workerId, size: this.size })
    } catch (error) {
      log('warn', 'a worker could not be drained', { workerId, error: describeError(error) })
    }
  }
}
