import { entryKinds, type EntryKind } from '@ku0/agent-runtime-core'
import { type EntryRow, type FoldedRow, type WorkingSet } from '@ku0/agent-runtime-core/transition'
import type { Queries } from '../views/queries.ts'
import { listed, type RowOf } from './columns.ts'
import type { Statements } from './statements.ts'
import { insertInto, putInto } from './put.ts'

/** What a flush reads of ledgers, and what checks read. */
export function prepareLedgerLoad(db: Queries) {
  const all = listed('ledger')
  const byKey = db
    .prepare<[string, string], RowOf<'ledger'>>(`SELECT ${all} FROM ledger WHERE client = ? AND key = ?`)
    .raw()
  const page = db
    .prepare<[string, number, number], RowOf<'ledger'>>(
      `SELECT ${all} FROM ledger WHERE client = ? AND seq > ? ORDER BY seq LIMIT ? + 0`,
    )
    .raw()
  const folded = db.prepare<[string], FoldedRow>('SELECT client, entries, hash FROM folded WHERE client = ?')
  return {
    byKey: (client: string, key: string): EntryRow | undefined => {
      const row = byKey.get(client, key)
      return row === undefined ? undefined : entryOf(row)
    },
    /** Those after a number, the oldest first. */
    page: (client: string, after: number, limit: number): readonly EntryRow[] =>
      page.all(client, after, limit).map(entryOf),
    folded: (client: string): FoldedRow | undefined => folded.get(client),
  }
}

export type LedgerPages = ReturnType<typeof prepareLedgerLoad>

/** Writes the new entries of ledgers. Those that were folded give way to one, and those of a client that was removed go with it. */
export function prepareLedgerApply(db: Statements) {
  const insert = db.prepare(insertInto('ledger'))
  const close = db.prepare('DELETE FROM ledger WHERE client = ?')
  const forget = db.prepare('DELETE FROM folded WHERE client = ?')
  const removeFolded = db.prepare('DELETE FROM ledger WHERE client = ? AND seq <= ?')
  const putFolded = db.prepare(putInto('folded', ['client']))
  return ({ ledger, closedLedgers, folds }: WorkingSet): void => {
    for (const name of closedLedgers) {
      close.run(name)
      forget.run(name)
    }
    for (const { opening, folded } of folds.values()) {
      removeFolded.run(folded.client, folded.entries)
      putFolded.run(folded.client, folded.entries, folded.hash)
      insert.run(...valuesOf(opening))
    }
    for (const row of ledger) insert.run(...valuesOf(row))
  }
}

/** The values of a row, in the order of its columns. */
export function valuesOf(row: EntryRow) {
  const { client, seq, at, kind, amount, held, credits, reserved, task, key, note } = row
  return [
    client,
    seq,
    at,
    entryKinds.indexOf(kind),
    amount,
    held,
    credits,
    reserved,
    task,
    key,
    note,
  ] as const
}

function entryOf(row: RowOf<'ledger'>): EntryRow {
  const [client, seq, at, kind, amount, held, credits, reserved, task, key, note] = row
  return {
    client,
    seq,
    at,
    kind: entryKinds[kind] as EntryKind,
    amount,
    held,
    credits,
    reserved,
    task,
    key,
    note,
  }
}
