import type { Timer, Timers } from '@ku0/agent-runtime-core'
import type { SimulatedClock } from './clock.ts'

/**
 * One event loop of a simulated process. While it is stopped, by a signal or by a handler that computes, what is due waits, and runs
 * in its order afterwards; when it is dead, nothing runs.
 */
export class Loop implements Timers {
  /** When it last ran something, or went on, ms since the beginning. */
  aliveAt = 0
  readonly #clock: SimulatedClock
  readonly #entered: () => void
  readonly #armed = new Set<Timer>()
  #missed: (() => void)[] = []
  #stops = 0
  #dead = false

  /** `entered` is called before whatever runs in it. */
  constructor(clock: SimulatedClock, entered: () => void = () => {}) {
    this.#clock = clock
    this.#entered = entered
    this.aliveAt = clock.elapsed
  }

  /** Ms since the beginning. */
  get now(): number {
    return this.#clock.elapsed
  }

  get isStopped(): boolean {
    return this.#stops > 0
  }

  /** Timers that are armed. */
  get pending(): number {
    return this.#armed.size
  }

  after(delayMs: number, run: () => void): Timer {
    let canceled = false
    const timer = this.#clock.after(delayMs, () => {
      this.#armed.delete(armed)
      this.enter(() => {
        if (!canceled) run()
      })
    })
    const armed: Timer = {
      cancel: () => {
        canceled = true
        this.#armed.delete(armed)
        timer.cancel()
      },
    }
    this.#armed.add(armed)
    return armed
  }

  /** Runs something in this loop: at once, or when it goes on. */
  enter(run: () => void): void {
    if (this.#dead) return
    if (this.#stops > 0) {
      this.#missed.push(run)
      return
    }
    this.aliveAt = this.#clock.elapsed
    this.#entered()
    run()
  }

  /** Stops may overlap: it goes on when the last of them is over. */
  stop(): void {
    this.#stops += 1
  }

  go(): void {
    if (this.#stops === 0) return
    this.#stops -= 1
    if (this.#stops > 0) return
    this.aliveAt = this.#clock.elapsed
    for (const run of this.#missed.splice(0)) this.#clock.after(0, () => this.enter(run))
  }

  die(): void {
    this.#dead = true
    this.#missed = []
    for (const timer of this.#armed) timer.cancel()
  }
}
