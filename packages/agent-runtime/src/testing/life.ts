import type { Clock, Timer, Timers } from '@ku0/agent-runtime-core'

/** The life of one process of a test: whether it is alive, and whether it is active. */
export class Life {
  dead = false
  /** Rises with every activity. */
  activity = 0
  /** Number of step functions that are running. */
  busy = 0

  stir(): void {
    this.activity += 1
  }
}

/**
 * Timers that die with their process. Timers without a delay run one per turn, so that what one of them
 * starts runs before the next one.
 */
export class MortalTimers implements Timers {
  readonly #clock: Clock & Timers
  readonly #life: Life
  readonly #armed = new Set<{ readonly dueAt: number; readonly timer: Timer }>()
  readonly #immediate = new Set<{ readonly run: () => void }>()

  constructor(clock: Clock & Timers, life: Life) {
    this.#clock = clock
    this.#life = life
  }

  after(delayMs: number, run: () => void): Timer {
    if (this.#life.dead) return { cancel() {} }
    if (delayMs === 0) {
      const immediate = { run }
      this.#immediate.add(immediate)
      return { cancel: () => void this.#immediate.delete(immediate) }
    }
    const timer = this.#clock.after(delayMs, () => {
      this.#armed.delete(armed)
      run()
    })
    const armed = { dueAt: this.#clock.monotonic() + delayMs, timer }
    this.#armed.add(armed)
    const cancel = () => {
      this.#armed.delete(armed)
      timer.cancel()
    }
    return { cancel }
  }

  /** How long until the next one, in ms. */
  get nextInMs(): number {
    if (this.#immediate.size > 0) return 0
    const next = Math.min(...[...this.#armed].map(({ dueAt }) => dueAt))
    return next - this.#clock.monotonic()
  }

  /** Runs the first timer without a delay. Returns false if there is none. */
  runImmediate(): boolean {
    const [first] = this.#immediate
    if (first === undefined) return false
    this.#immediate.delete(first)
    first.run()
    return true
  }

  cancelAll(): void {
    this.#immediate.clear()
    for (const { timer } of this.#armed) timer.cancel()
    this.#armed.clear()
  }
}
