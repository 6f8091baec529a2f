import { assertDelay, type Clock, MAX_ARMED_MS, type Timer, type Timers } from '@ku0/agent-runtime-core'

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
  readonly #heap: Entry[] = []
  #added = 0
  #cancelled = 0
  #armed: { readonly timer: Timer; readonly at: number } | undefined

  constructor(clock: Clock, timers: Timers) {
    this.#clock = clock
    this.#timers = timers
  }

  /** Number of deadlines that were neither called nor canceled. */
  get size(): number {
    return this.#heap.length - this.#cancelled
  }

  /** Calls `run` once, no earlier than `delayMs` from now. Throws `invalid_argument` for an invalid delay. */
  after(delayMs: number, run: () => void): Deadline {
    assertDelay(delayMs)
    const entry: Entry = { at: this.#clock.monotonic() + delayMs, order: this.#added++, run }
    push(this.#heap, entry)
    this.#arm()
    return { cancel: () => this.#cancel(entry) }
  }

  /** Cancels all of them. */
  close(): void {
    for (const entry of this.#heap) entry.run = undefined
    this.#heap.length = 0
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
    const live = this.#heap.filter(({ run }) => run !== undefined)
    this.#heap.length = 0
    this.#cancelled = 0
    for (const entry of live) push(this.#heap, entry)
  }

  #arm(): void {
    const at = this.#heap[0]?.at
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
    for (let next = this.#heap[0]; next !== undefined && isDue(next); next = this.#heap[0]) {
      pop(this.#heap)
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

function push(heap: Entry[], entry: Entry): void {
  let index = heap.length
  while (index > 0) {
    const parent = (index - 1) >> 1
    const above = heap[parent] as Entry
    if (isBefore(above, entry)) break
    heap[index] = above
    index = parent
  }
  heap[index] = entry
}

function pop(heap: Entry[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let index = 0
  for (let child = 1; child < heap.length; child = 2 * index + 1) {
    const right = heap[child + 1]
    if (right !== undefined && isBefore(right, heap[child] as Entry)) child += 1
    const below = heap[child] as Entry
    if (isBefore(last, below)) break
    heap[index] = below
    index = child
  }
  heap[index] = last
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at !== b.at ? a.at < b.at : a.order < b.order
}
