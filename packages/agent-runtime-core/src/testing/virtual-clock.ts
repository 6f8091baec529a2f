import { assertDelay, type Clock, type Timer, type Timers } from '../config/environment.ts'
import { RuntimeError } from '../error/errors.ts'

/**
 * Time that stands still until a test moves it, and the timers on it. Timers run while it is moved, in the
 * order of their time, those of one time in the order in which they were armed; each sees its own time. Work that a timer starts asynchronously runs only when the test awaits: to let it run in between, go from one
 * `nextAt` to the next.
 */
export class VirtualClock implements Clock, Timers {
  /** Added to the wall clock only, ms: set it to make the wall clock jump. */
  skew = 0
  readonly #startAt: number
  #elapsed = 0
  /** By time, then by order of arming. */
  #timers: readonly ArmedTimer[] = []

  /** `startAt` is what the wall clock shows at first, epoch ms. */
  constructor(startAt: number = Date.UTC(2026, 0, 1)) {
    this.#startAt = startAt
  }

  now(): number {
    return this.#startAt + this.#elapsed + this.skew
  }

  monotonic(): number {
    return this.#elapsed
  }

  after(delayMs: number, run: () => void): Timer {
    assertDelay(delayMs)
    const timer = { dueAt: this.#elapsed + delayMs, run }
    const place = this.#timers.findLastIndex(({ dueAt }) => dueAt <= timer.dueAt) + 1
    this.#timers = this.#timers.toSpliced(place, 0, timer)
    return { cancel: () => this.#remove(timer) }
  }

  /** How many timers are armed. */
  get pending(): number {
    return this.#timers.length
  }

  /** When the next timer runs, epoch ms without skew; undefined if none is armed. */
  get nextAt(): number | undefined {
    const [next] = this.#timers
    return next === undefined ? undefined : this.#startAt + next.dueAt
  }

  /**
   * Moves time on by `ms`, 0 or more, and runs what is due by then. A timer that throws ends the move at its
   * time.
   */
  advanceBy(ms: number): void {
    assertDelay(ms)
    const target = this.#elapsed + ms
    this.#move(target, ({ dueAt }) => dueAt <= target)
  }

  /** Moves time on to `at`, epoch ms without skew. Throws `invalid_argument` for a time that has passed. */
  advanceTo(at: number): void {
    const ms = at - this.#startAt - this.#elapsed
    if (ms < 0) throw new RuntimeError('invalid_argument', `time cannot go back: ${at} has passed`)
    // Compared as epoch ms, whose fractions are coarse: a timer whose `nextAt` was asked for does run then.
    this.#move(this.#elapsed + ms, ({ dueAt }) => this.#startAt + dueAt <= at)
  }

  /** The same time and timers for a process whose wall clock is wrong by `skew` ms. */
  withSkew(skew: number): Clock & Timers {
    return {
      now: () => this.now() + skew,
      monotonic: () => this.monotonic(),
      after: (delayMs, run) => this.after(delayMs, run),
    }
  }

  #move(target: number, isDue: (timer: ArmedTimer) => boolean): void {
    for (let [next] = this.#timers; next !== undefined && isDue(next); [next] = this.#timers) {
      this.#elapsed = next.dueAt
      this.#remove(next)
      next.run()
    }
    this.#elapsed = Math.max(this.#elapsed, target)
  }

  #remove(timer: ArmedTimer): void {
    this.#timers = this.#timers.filter((other) => other !== timer)
  }
}

interface ArmedTimer {
  readonly dueAt: number
  readonly run: () => void
}
