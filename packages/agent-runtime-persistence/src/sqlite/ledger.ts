import { entryKinds, type EntryKind, type LedgerEntry, type Read } from '@ku0/agent-runtime-core'
import { type EntryRow, ledgerEntryOf, type WorkingSet } from '@ku0/agent-runtime-core/transition'
import type { Queries } from '../views/queries.ts'
import { listed, type RowOf } from './columns.ts'
import type { Statements } from './statements.ts'
import type { StoredTables } from './stored-tables.ts'

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
  return {
    byKey: (client: string, key: string): EntryRow | undefined => {
      const row = byKey.get(client, key)
      return row === undefined ? undefined : entryOf(row)
    },
    /** Those after a number, the oldest first. */
    page: (client: string, after: number, limit: number): readonly EntryRow[] =>
      page.all(client, after, limit).map(entryOf),
  }
}

/** Writes the new entries of ledgers; those of a client that was removed go with it. */
export function prepareLedgerApply(db: Statements) {
  const insert = db.prepare('INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const close = db.prepare('DELETE FROM ledger WHERE client = ?')
  return ({ ledger, closedLedgers }: WorkingSet): void => {
    for (const name of closedLedgers) close.run(name)
    for (const row of ledger)
      insert.run(
        row.client,
        row.seq,
        row.at,
        entryKinds.indexOf(row.kind),
        row.amount,
        row.held,
        row.credits,
        row.reserved,
        row.task,
        row.key,
        row.note,
      )
  }
}

/** Answers what is asked of ledgers. */
export function prepareLedgerReads({ load, ids }: StoredTables) {
  const nameOf = (task: number) => load.task(task)?.explicitId ?? null
  return ({ name, after = 0, limit = 100 }: Read<'ledger'>): readonly LedgerEntry[] =>
    load.ledger
      .page(name, after, Math.min(1000, Math.max(1, limit)))
      .map((row) => ledgerEntryOf(row, ids, nameOf))
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
