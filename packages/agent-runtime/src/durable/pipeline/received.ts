import type { LogRange, OutputChunk } from '@ku0/agent-runtime-core'

/**
 * The events that stages of this process have received, as they are stored. A stage that goes on after a wait goes through its handler from the
 * beginning, and finds here what it has read before. It is a copy of what the store has, within bounds: what is not here is read again.
 */
export class Received {
  readonly #most: number
  /** By task, the one that asked last at the end; then by the key of the receipt. */
  readonly #tasks = new Map<string, Kept>()
  #size = 0

  /** `most`: characters of the events that are kept. */
  constructor(most = MOST) {
    this.#most = most
  }

  /** The one of a store. */
  static of(store: object): Received {
    let received = stores.get(store)
    if (received === undefined) stores.set(store, (received = new Received()))
    return received
  }

  /** The characters that are kept now. */
  get size(): number {
    return this.#size
  }

  find(task: string, receipt: string, ranges: readonly LogRange[]): readonly OutputChunk[] | undefined {
    const kept = this.#tasks.get(task)
    if (kept === undefined) return undefined
    this.#tasks.delete(task)
    this.#tasks.set(task, kept)
    const found = kept.receipts.get(receipt)
    return found !== undefined && found.length === countOf(ranges) && found[0]?.seq === ranges[0]?.[0]
      ? found
      : undefined
  }

  /** If there is no room, tasks that asked longest ago are forgotten. The task's own first events stay, because every pass begins with them. */
  keep(task: string, receipt: string, chunks: readonly OutputChunk[]): void {
    const size = chunks.reduce((sum, { data }) => sum + data.length + BESIDE, 0)
    if (size > this.#most) return
    for (const [other] of this.#tasks) {
      if (this.#size + size <= this.#most) break
      if (other !== task) this.drop(other)
    }
    if (this.#size + size > this.#most) return
    const kept = this.#tasks.get(task) ?? { receipts: new Map<string, readonly OutputChunk[]>(), size: 0 }
    this.#tasks.set(task, kept)
    kept.receipts.set(receipt, chunks)
    kept.size += size
    this.#size += size
  }

  /** The task has ended. */
  drop(task: string): void {
    this.#size -= this.#tasks.get(task)?.size ?? 0
    this.#tasks.delete(task)
  }
}

interface Kept {
  readonly receipts: Map<string, readonly OutputChunk[]>
  size: number
}

/** How many events there are in some stretches. */
export function countOf(ranges: readonly LogRange[]): number {
  return ranges.reduce((sum, [, count]) => sum + count, 0)
}

const stores = new WeakMap<object, Received>()
const MOST = 16 * 1_048_576
/** An event takes so many characters beside its data. */
const BESIDE = 100
