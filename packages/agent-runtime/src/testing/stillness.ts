import { realMs } from './system.ts'
import type { TestProcess } from './test-process.ts'

/**
 * How long nothing has happened in a process that is running something: code that never returns must not hold
 * a test for ever.
 */
export class Stillness {
  readonly #untimedMs: number
  #activity = -1
  #since = 0

  /** `patienceMs` is how long the test wants to wait for real work. */
  constructor(patienceMs = 0) {
    this.#untimedMs = Math.max(UNTIMED_MS, patienceMs)
  }

  /** False if nothing has happened for so long that nothing will. */
  isBearable({ life, timers }: TestProcess): boolean {
    if (life.activity !== this.#activity) {
      this.#activity = life.activity
      this.#since = realMs()
    }
    const limitMs = Number.isFinite(timers.nextInMs) ? Math.max(TIMED_MS, this.#untimedMs) : this.#untimedMs
    return realMs() - this.#since < limitMs
  }
}

/** In real time, if no deadline is ahead: only something outside could make progress. */
const UNTIMED_MS = 3_000
/** In real time, if a deadline is still ahead. */
const TIMED_MS = 20_000
