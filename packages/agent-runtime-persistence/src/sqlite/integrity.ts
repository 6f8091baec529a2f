import { CHAIN_START, chainText, type EventType, type HistoryFault } from '@ku0/agent-runtime-core'
import {
  blobReference,
  type PlainEvent,
  type Surroundings,
  type TaskRow,
} from '@ku0/agent-runtime-core/transition'
import type { Queries } from '../views/queries.ts'
import type { Load } from './load.ts'

interface IntegrityContext {
  readonly db: Queries
  readonly load: Load
  readonly hashes: Hashes
}

/** How the store hashes. */
export type Hashes = Pick<Surroundings, 'chain' | 'sha256Hex'>

/**
 * Checks that a task's events are those that were written: no gap, every hash the one of its chain, every blob the one that its event
 * names, and the last hash that of the task's row. One pass, event by event; the first fault is told. Who needs the events too is shown
 * each as it is read, and is spared a pass of its own. Source: `docs/semantics.md 6.2`.
 */
export function prepareIntegrity({
  db,
  load,
  hashes: { chain, sha256Hex },
}: IntegrityContext): (row: TaskRow, show?: (event: PlainEvent) => void) => HistoryFault | undefined {
  const events = db
    .prepare<[number], EventRow>(
      'SELECT seq, type, at, data, blob, hash FROM event WHERE task = ? ORDER BY seq',
    )
    .raw()

  return function faultOf(row, show): HistoryFault | undefined {
    let hash = CHAIN_START
    let last = 0
    // One by one they are a third slower, and all at once may be too much.
    const found = row.seq <= maxAtOnce ? events.all(row.id) : events.iterate(row.id)
    for (const [seq, type, at, data, blob, stored] of found) {
      last += 1
      if (last > row.seq) return { seq, expected: 'no event', actual: brief(stored) }
      if (seq !== last) return { seq: last, expected: 'an event', actual: 'no event' }
      hash = chain(hash, chainText(row.id, seq, type, at, data))
      if (!isSame(hash, stored)) return { seq, expected: brief(stored), actual: brief(hash) }
      const fault = blob === null ? faultWithoutBlob(data) : faultOfBlob(blob, data)
      if (fault !== undefined) return { seq, ...fault }
      show?.({ seq, type, at, data, blob })
    }
    if (last < row.seq) return { seq: last + 1, expected: 'an event', actual: 'no event' }
    return isSame(hash, row.tail) ? undefined : { seq: last, expected: brief(row.tail), actual: brief(hash) }
  }

  /** The chain does not hold which blob an event names, but its data does. A value of a user's that merely looks so has no blob. */
  function faultWithoutBlob(data: string): Omit<HistoryFault, 'seq'> | undefined {
    if (!data.includes('{"$blob":"')) return undefined
    for (const [, blob = '', size] of data.matchAll(REFERENCE))
      if (load.blob(blob)?.length === Number(size))
        return { expected: `blob ${blob.slice(0, BRIEF)}`, actual: 'no name of a blob' }
    return undefined
  }

  /** The chain holds the hash of a value that was moved to a blob, not the value. */
  function faultOfBlob(blob: string, data: string): Omit<HistoryFault, 'seq'> | undefined {
    const text = load.blob(blob)
    if (text === undefined) return { expected: `blob ${blob.slice(0, BRIEF)}`, actual: 'no blob' }
    const actual = sha256Hex(text)
    if (actual === blob && data.includes(blobReference(blob, text.length))) return undefined
    return { expected: `blob ${blob.slice(0, BRIEF)}`, actual: `blob ${actual.slice(0, BRIEF)}` }
  }
}

type EventRow = [seq: number, type: EventType, at: number, data: string, blob: string | null, hash: Buffer]

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0
}

function brief(hash: Uint8Array): string {
  return `hash ${Buffer.from(hash).toString('hex').slice(0, BRIEF)}`
}

/** Events that are read at once. */
const maxAtOnce = 100

/** What {@link blobReference} makes. */
const REFERENCE = /\{"\$blob":"([0-9a-f]{64})","size":(\d+)\}/g

/** Digits of a hash that a person compares. */
const BRIEF = 12
