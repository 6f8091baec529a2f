import {
  assertFields,
  assertIsOptions,
  type Clock,
  decideScaling,
  describeError,
  problemsIn,
  RuntimeError,
  show,
  type Timer,
  type Timers,
  type WorkerDrain,
  withoutUndefined,
} from '@ku0/agent-runtime-core'
import type { LogLine } from '../api/logger.ts'
import type { Pool, PoolChange, PoolLimits, PoolSettings, PoolStats } from '../api/pool.ts'
import type { Crew, Death } from './crew.ts'
import { limitProblems, limitRules } from './limits.ts'

export interface ScalingPoolDeps {
  readonly crew: Crew
  readonly limits: PoolLimits
  /** Queued tasks that are due and that the crew runs; it need not count beyond `enough`. */
  readonly depth: (enough: number) => Promise<number>
  readonly clock: Clock
  readonly timers: Timers
  readonly log: LogLine
  /** The limits were changed. */
  readonly resized?: () => void
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
  /** No worker starts before this, on the monotonic clock: the last ones died quickly. */
  #notBefore = 0

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
        members.map(({ workerId, draining, drainAsked, inFlight, currentTask, tally }) => [
          workerId,
          {
            status: draining || drainAsked ? 'draining' : inFlight > 0 ? 'processing' : 'idle',
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
    this.#notBefore = 0
    this.#deps.resized?.()
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

  /** Starts one more worker; rejects with what keeps it from starting. */
  async start(why: string): Promise<void> {
    const workerId = await this.#deps.crew.start()
    this.#tell({ type: 'worker.started', workerId, size: this.size, why })
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

  /** Reports that all workers leave, and that they have left once `stop` has stopped them. */
  async stopping<Report>(stop: () => Promise<Report>): Promise<Report> {
    const workerIds = this.#deps.crew.members().map(({ workerId }) => workerId)
    for (const workerId of workerIds)
      this.#tell({ type: 'worker.draining', workerId, size: 0, why: 'the pool stops' })
    const report = await stop()
    for (const workerId of workerIds) this.#tell({ type: 'worker.stopped', workerId, size: 0 })
    return report
  }

  /** A worker ended by itself: another one starts when it may, or none does. */
  died({ workerId, how, next }: Death): void {
    this.#tell({ type: 'worker.died', workerId, size: this.size, how })
    if (next === 'give_up') {
      this.#gaveUp = true
      this.#tell({ type: 'pool.gave_up', size: this.size, how })
      return
    }
    this.#notBefore = this.#deps.clock.monotonic() + next.afterMs
    if (this.#isOpen && this.size < this.#limits.min) this.#next()
  }

  /** A worker was drained from outside, or that was taken back. It keeps its place. Source: `docs/semantics.md 8.10`. */
  drained({ workerId, draining }: WorkerDrain): void {
    const { size } = this
    if (draining) this.#tell({ type: 'worker.draining', workerId, size, why: 'asked from outside' })
    else this.#tell({ type: 'worker.undrained', workerId, size })
  }

  #tell(change: PoolChange): void {
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
    const { size } = this
    if (min === max && (size === min || this.#gaveUp)) return
    const untilStart = this.#notBefore - this.#deps.clock.monotonic()
    this.#soon(size < min && untilStart > 0 ? Math.min(untilStart, everyMs) : everyMs)
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
      if (scaling.do === 'grow' && this.#mayStart())
        for (let left = scaling.count; left > 0 && this.#isOpen; left--) await this.start(scaling.why)
    } catch (error) {
      log('warn', 'a pass of the pool failed; the next one tries again', { error: describeError(error) })
    }
  }

  #mayStart(): boolean {
    return !this.#gaveUp && this.#deps.clock.monotonic() >= this.#notBefore
  }

  async #drain(workerId: string, why: string): Promise<void> {
    const { crew, log } = this.#deps
    try {
      const drained = crew.drain(workerId)
      this.#tell({ type: 'worker.draining', workerId, size: this.size, why })
      await drained
      this.#tell({ type: 'worker.stopped', workerId, size: this.size })
    } catch (error) {
      log('warn', 'a worker could not be drained', { workerId, error: describeError(error) })
    }
  }
}
