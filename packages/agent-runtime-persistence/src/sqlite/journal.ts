import { createHash } from 'node:crypto'
import type { EventRow } from '@ku0/agent-runtime-core/transition'
import type { Statements } from './statements.ts'

/** A stretch of one task's events: `[task, first seq, last seq]`. */
export type Touched = readonly [task: number, first: number, last: number]

/**
 * One row a commit: which events it added, and a chain over all of them. Layout of the hashed bytes:
 * previous hash, then `ku0.journal.1\n<number>\n<at>\n`, then the hashes of the events in order.
 */
export function prepareJournal(db: Statements) {
  const insert = db.prepare('INSERT INTO journal VALUES (?, ?, ?, ?)')
  const after = db.prepare<[number, number], { number: number; touched: string }>(
    'SELECT number, touched FROM journal WHERE number > ? ORDER BY number LIMIT ? + 0',
  )
  return {
    append(number: number, previous: Uint8Array, at: number, events: readonly EventRow[]): Uint8Array {
      const hash = createHash('sha256').update(previous).update(`ku0.journal.1\n${number}\n${at}\n`)
      const hashes = Buffer.allocUnsafe(events.length * 32)
      for (const [index, event] of events.entries()) hashes.set(event.hash, index * 32)
      const tail = hash.update(hashes).digest()
      insert.run(number, at, touchedText(events), tail)
      return tail
    },
    /** The commits after a number, each with the events it added. */
    after: (number: number, limit: number): { number: number; touched: readonly Touched[] }[] =>
      after
        .all(number, limit)
        .map((row) => ({ number: row.number, touched: JSON.parse(row.touched) as Touched[] })),
  }
}

function touchedText(events: readonly EventRow[]): string {
  let text = '['
  let task = 0
  let first = 0
  let last = 0
  for (const event of events) {
    if (event.task === task && event.seq === last + 1) {
      last = event.seq
      continue
    }
    if (task !== 0) text += `${text.length > 1 ? ',' : ''}[${task},${first},${last}]`
    task = event.task
    first = last = event.seq
  }
  if (task !== 0) text += `${text.length > 1 ? ',' : ''}[${task},${first},${last}]`
  return `${text}]`
}
