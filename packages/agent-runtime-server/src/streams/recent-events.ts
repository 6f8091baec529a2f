import type { RuntimeEvent } from '@ku0/agent-runtime'
import type { Timer } from '@ku0/agent-runtime-core'
import type { Served } from '../options.ts'
import type { Surroundings } from '../system.ts'

/** An event of any task, with its number among those that this server has heard. */
export interface Heard {
  readonly number: number
  readonly event: RuntimeEvent
}

/**
 * The newest events of all tasks. It listens while somebody reads, and for a minute after, so that a reader that comes back misses
 * nothing. A number is worth something in one listening only, so ids name that, too.
 */
export class RecentEvents {
  readonly #runtime: Served
  readonly #environment: Surroundings
  readonly #max: number
  #era = ''
  #next = 1
  #kept: Heard[] = []
  #readers = 0
  #listening: Disposable | undefined
  #leaving: Timer | undefined
  readonly #waiting = new Set<() => void>()

  constructor(runtime: Served, environment: Surroundings, max: number) {
    this.#runtime = runtime
    this.#environment = environment
    this.#max = max
  }

  /** Begins to listen, until what is returned is disposed, and a while longer. */
  listen(): Disposable {
    this.#readers += 1
    this.#leaving?.cancel()
    this.#leaving = undefined
    if (this.#listening === undefined) {
      this.#era = this.#environment.ids.uuid().slice(0, 8)
      this.#next = 1
      this.#kept = []
      this.#listening = this.#runtime.on('*', (event) => this.#hear(event))
    }
    let reads = true
    const leave = () => {
      if (!reads) return
      reads = false
      this.#readers -= 1
      if (this.#readers === 0) this.#leaving = this.#environment.timers.after(LINGER_MS, () => this.close())
    }
    return { [Symbol.dispose]: leave }
  }

  close(): void {
    this.#leaving?.cancel()
    this.#listening?.[Symbol.dispose]()
    this.#listening = undefined
    this.#kept = []
  }

  /** The id of an event's number. */
  idOf(number: number): string {
    return `${this.#era}-${number}`
  }

  /** The number that an id of this listening has; undefined for another one. */
  numberOf(id: string): number | undefined {
    const [era, number] = id.split('-')
    return era === this.#era && Number(number) < this.#next ? Number(number) : undefined
  }

  /** The newest number so far. */
  get last(): number {
    return this.#next - 1
  }

  /** The events that are kept after a number, and whether some between are gone. */
  after(number: number): { readonly events: readonly Heard[]; readonly missed: boolean } {
    const first = this.#next - this.#kept.length
    const skipped = Math.max(0, number + 1 - first)
    return { events: this.#kept.slice(skipped), missed: number + 1 < first }
  }

  /** Resolves with the next event, or when the signal is aborted. */
  async more(signal: AbortSignal): Promise<void> {
    const woken = Promise.withResolvers<void>()
    this.#waiting.add(woken.resolve)
    signal.addEventListener('abort', () => woken.resolve(), { once: true })
    if (signal.aborted) woken.resolve()
    await woken.promise
    this.#waiting.delete(woken.resolve)
  }

  #hear(event: RuntimeEvent): void {
    this.#kept.push({ number: this.#next, event })
    this.#next += 1
    // In pieces, so that an event does not move all that are kept.
    if (this.#kept.length >= 2 * this.#max) this.#kept = this.#kept.slice(-this.#max)
    for (const wake of this.#waiting) wake()
  }
}

const LINGER_MS = 60_000
