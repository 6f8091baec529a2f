import { createHash } from 'node:crypto'
import { CHAIN_START, chainText } from '@ku0/agent-runtime-core'
import type Database from 'better-sqlite3'
import { changed, type EventRow } from './spoiled-store.ts'

/** Changes an event, and every hash after it to fit. */
export function forge(db: Database.Database, { task, seq, data }: EventRow): void {
  db.prepare('UPDATE event SET data = ? WHERE task = ? AND seq = ?').run(changed(data), task, seq)
  rechain(db, task)
}

/** Makes every hash of a task one of its events as they are. */
export function rechain(db: Database.Database, task: number): void {
  let hash: Buffer = Buffer.from(CHAIN_START)
  const events = db.prepare<[number], EventRow>('SELECT * FROM event WHERE task = ? ORDER BY seq').all(task)
  for (const event of events) {
    hash = createHash('sha256')
      .update(hash)
      .update(chainText(task, event.seq, event.type, event.at, event.data))
      .digest()
    db.prepare('UPDATE event SET hash = ? WHERE task = ? AND seq = ?').run(hash, task, event.seq)
  }
  db.prepare('UPDATE task SET tail = ? WHERE id = ?').run(hash, task)
}

/** Makes the journal one of the events as they are. */
export function forgeJournal(db: Database.Database): void {
  let tail: Buffer = Buffer.alloc(32)
  const rows = db
    .prepare<[], { number: number; at: number; touched: string }>('SELECT * FROM journal ORDER BY number')
    .all()
  for (const { number, at, touched } of rows) {
    const digest = createHash('sha256').update(tail).update(`ku0.journal.1\n${number}\n${at}\n`)
    for (const [task = 0, first = 0, last = 0] of JSON.parse(touched) as number[][])
      for (const hash of db
        .prepare<[number, number, number], Buffer>(
          'SELECT hash FROM event WHERE task = ? AND seq BETWEEN ? AND ? ORDER BY seq',
        )
        .pluck()
        .all(task, first, last))
        digest.update(hash)
    tail = digest.digest()
    db.prepare('UPDATE journal SET hash = ? WHERE number = ?').run(tail, number)
  }
}
