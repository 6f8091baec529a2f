import type { LogRange, OutputChunk } from '@ku0/agent-runtime-core'

/** An event as a stage reads it. */
export type ReadEvent = Pick<OutputChunk, 'seq' | 'at' | 'data'>

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

  find(task: string, receipt: string, ranges: readonly LogRange[]): readonly ReadEvent[] | undefined {
    const kept = this.#tasks.get(task)
    if (kept === undefined) return undefined
    this.#tasks.delete(task)
    this.#tasks.set(task, kept)
    const found = kept.receipts.get(receipt)
    return found !== undefined && found.ends.length === countOf(ranges) && found.first === ranges[0]?.[0]
      ? spread(found, ranges)
      : undefined
  }

  /** If there is no room, tasks that asked longest ago are forgotten. The task's own first events stay, because every pass begins with them. */
  keep(task: string, receipt: string, chunks: readonly ReadEvent[]): void {
    const size = chunks.reduce((sum, { data }) => sum + data.length + BESIDE, BESIDE_RECEIPT)
    if (size > this.#most) return
    for (const [other] of this.#tasks) {
      if (this.#size + size <= this.#most) break
      if (other !== task) this.drop(other)
    }
    if (this.#size + size > this.#most) return
    const kept = this.#tasks.get(task) ?? { receipts: new Map<string, Folded>(), size: 0 }
    this.#tasks.set(task, kept)
    kept.receipts.set(receipt, fold(chunks))
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
  readonly receipts: Map<string, Folded>
  size: number
}

/**
 * The events of a receipt as one text, outside of the heap. As objects, each with a text of its own, 100 000 events took 24 MB of it, and V8 lets the
 * heap of a process grow to several times what lives in it.
 */
interface Folded {
  /** The sequence of the first event. */
  readonly first: number
  readonly text: Buffer
  readonly encoding: 'latin1' | 'utf16le'
  /** Where the data of each event ends in the text. */
  readonly ends: Uint32Array
  /** When they were published: those of one publication at the same time. */
  readonly times: readonly { readonly at: number; readonly until: number }[]
}

function fold(events: readonly ReadEvent[]): Folded {
  const ends = new Uint32Array(events.length)
  const times: { at: number; until: number }[] = []
  let end = 0
  for (const [index, { at, data }] of events.entries()) {
    end += data.length
    ends[index] = end
    const last = times.at(-1)
    if (last?.at === at) last.until = index + 1
    else times.push({ at, until: index + 1 })
  }
  const text = events.map(({ data }) => data).join('')
  // Both give every text back as it was, half of a pair of surrogates too.
  const encoding = wide.test(text) ? 'utf16le' : 'latin1'
  return { first: events[0]?.seq ?? 0, text: Buffer.from(text, encoding), encoding, ends, times }
}

function spread(
  { text: bytes, encoding, ends, times }: Folded,
  ranges: readonly LogRange[],
): readonly ReadEvent[] {
  const text = bytes.toString(encoding)
  const events: ReadEvent[] = []
  let from = 0
  let time = 0
  for (const [first, count] of ranges)
    for (let seq = first; seq < first + count; seq += 1) {
      const index = events.length
      if (times[time]?.until === index) time += 1
      const to = ends[index] ?? from
      events.push({ seq, at: times[time]?.at ?? 0, data: text.slice(from, to) })
      from = to
    }
  return events
}

/** How many events there are in some stretches. */
export function countOf(ranges: readonly LogRange[]): number {
  return ranges.reduce((sum, [, count]) => sum + count, 0)
}

const stores = new WeakMap<object, Received>()
const MOST = 16 * 1_048_576
const wide = /[\u0100-\uffff]/
/** An event takes so many characters beside its data, and a receipt beside its events. */
const BESIDE = 4
const BESIDE_RECEIPT = 400
