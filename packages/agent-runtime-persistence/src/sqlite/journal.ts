import type { EventRow } from '@ku0/agent-runtime-core/transition'
import { journalRow } from '../engine/journal-row.ts'
import type { Statements } from './statements.ts'
import { insertInto } from './put.ts'

/** A stretch of one task's events: `[task, first seq, last seq]`. */
export type Touched = readonly [task: number, first: number, last: number]

/** One row a commit: which events it added, and a chain over all of them. */
export function prepareJournal(db: Statements) {
  const insert = db.prepare(insertInto('journal'))
  const after = db.prepare<[number, number], { number: number; touched: string }>(
    'SELECT number, touched FROM journal WHERE number > ? ORDER BY number LIMIT ? + 0',
  )
  return {
    append(number: number, previous: Uint8Array, at: number, events: readonly EventRow[]): Uint8Array {
      const { touched, hash } = journalRow(number, previous, at, events)
      insert.run(number, at, touched, hash)
      return hash
    },
    /** The commits after a number, each with the events it added. */
    after: (number: number, limit: number): { number: number; touched: readonly Touched[] }[] =>
      after
        .all(number, limit)
        .map((row) => ({ number: row.number, touched: JSON.parse(row.touched) as Touched[] })),
  }
}
