import { assertDelay, type Clock, Heap, MAX_ARMED_MS, type Timer, type Timers } from '@ku0/agent-runtime-core'

/**
 * A point in time at which a function is called, unless it is canceled first. Canceling twice has no effect.
 */
export interface Deadline {
  cancel(): void
}

/**
 * The deadlines of a runtime (timeouts, graces) behind one timer, which is armed for the earliest. A task
 * with a timeout costs two moves in a small heap, and no timer of its own. Deadlines that are due together
 * run in the order in which they were added. A deadline that is added by such a call runs in a later turn,
 * however soon it is due, after everything that followed from that call.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #heap = new Heap(isBefore)
  #added = 0
  #cancelled = 0
  #armed: { readonly timer: Timer; readonly at: number } | undefined

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock
    this.#timers = timers
  }

  /** Number of deadlines that were neither called nor canceled. */
  get size(): number {
    return this.#heap.size - this.#cancelled
  }

  /** Calls `run` once, no earlier than `delayMs` from now. Throws `invalid_argument` for an invalid delay. */
  after(delayMs: number, run: () => void): Deadline {
    assertDelay(delayMs)
    const entry: Entry = { at: this.#clock.monotonic() + delayMs, order: this.#added++, run }
    this.#heap.add(entry)
    this.#arm()
    return { cancel: () => this.#cancel(entry) }
  }

  /** Cancels all of them. */
  close(): void {
    for (const entry of this.#heap.takeAll()) entry.run = undefined
    this.#cancelled = 0
    this.#arm()
  }

  #cancel(entry: Entry): void {
    if (entry.run === undefined) return
    entry.run = undefined
    this.#cancelled += 1
    if (this.size === 0) this.close()
    else if (this.#cancelled > MIN_SWEPT && this.#cancelled > this.size) this.#sweep()
  }

  /** Keeps the heap within twice the number of live entries. */
  #sweep(): void {
    const live = this.#heap.takeAll().filter(({ run }) => run !== undefined)
    this.#cancelled = 0
    for (const entry of live) this.#heap.add(entry)
  }

  #arm(): void {
    const at = this.#heap.first?.at
    if (this.#armed !== undefined) {
      if (at !== undefined && this.#armed.at <= at) return
      this.#armed.timer.cancel()
      this.#armed = undefined
    }
    if (at === undefined) return
    const delayMs = Math.min(Math.max(0, at - this.#clock.monotonic()), MAX_ARMED_MS)
    this.#armed = { timer: this.#timers.after(delayMs, () => this.#fire()), at }
  }

  #fire(): void {
    this.#armed = undefined
    const now = this.#clock.monotonic()
    const added = this.#added
    const isDue = (entry: Entry | undefined) => entry !== undefined && entry.at <= now && entry.order < added
    for (let next = this.#heap.first; next !== undefined && isDue(next); next = this.#heap.first) {
      this.#heap.removeFirst()
      const { run } = next
      next.run = undefined
      if (run === undefined) this.#cancelled -= 1
      else run()
    }
    this.#arm()
  }
}

interface Entry {
  readonly at: number
  readonly order: number
  /** Undefined after the call or the cancellation. */
  run: (() => void) | undefined
}

const MIN_SWEPT = 64

function isBefore(a: Entry, b: Entry): boolean {
  return a.at !== b.at ? a.at < b.at : a.order < b.order
}
