import { assertDelay, type Timer } from '@ku0/agent-runtime-core'

/**
 * The time of a simulation: it stands still while something runs, and goes from one thing that is due to the next. Those that are due
 * at once run in the order in which they were armed.
 */
export class SimulatedClock {
  elapsed = 0
  #armed: Armed[] = []
  #count = 0

  after(delayMs: number, run: () => void): Timer {
    assertDelay(delayMs)
    const armed: Armed = { at: this.elapsed + delayMs, order: this.#count, run }
    this.#count += 1
    this.#push(armed)
    return {
      cancel: () => {
        armed.run = undefined
      },
    }
  }

  /** When the next one is due, ms since the beginning; infinity when nothing is. */
  get nextAt(): number {
    while (this.#armed[0] !== undefined && this.#armed[0].run === undefined) this.#pop()
    return this.#armed[0]?.at ?? Number.POSITIVE_INFINITY
  }

  /** Runs the next one. */
  step(): void {
    const at = this.nextAt
    const next = this.#pop()
    if (next?.run === undefined) return
    this.elapsed = Math.max(this.elapsed, at)
    const { run } = next
    next.run = undefined
    run()
  }

  #push(armed: Armed): void {
    const heap = this.#armed
    let place = heap.push(armed) - 1
    while (place > 0) {
      const above = (place - 1) >> 1
      if (!isBefore(armed, heap[above] as Armed)) break
      heap[place] = heap[above] as Armed
      place = above
    }
    heap[place] = armed
  }

  #pop(): Armed | undefined {
    const heap = this.#armed
    const first = heap[0]
    const last = heap.pop()
    if (last === undefined || last === first) return first
    let place = 0
    for (;;) {
      let below = place * 2 + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1] as Armed, heap[below] as Armed)) below += 1
      if (!isBefore(heap[below] as Armed, last)) break
      heap[place] = heap[below] as Armed
      place = below
    }
    heap[place] = last
    return first
  }
}

interface Armed {
  readonly at: number
  readonly order: number
  /** Undefined once it has run or was canceled. */
  run: (() => void) | undefined
}

function isBefore(a: Armed, b: Armed): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
