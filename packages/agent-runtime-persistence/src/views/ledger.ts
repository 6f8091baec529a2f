import { type LedgerEntry, type Read } from '@ku0/agent-runtime-core'
import { ledgerEntryOf } from '@ku0/agent-runtime-core/transition'
import type { StoredTables } from '../sqlite/stored-tables.ts'

/** Answers what is asked of ledgers. */
export function prepareLedgerReads({ load, ids }: StoredTables) {
  const nameOf = (task: number) => load.task(task)?.explicitId ?? null
  return ({ name, after = 0, limit = 100 }: Read<'ledger'>): readonly LedgerEntry[] =>
    load.ledger
      .page(name, after, Math.min(1000, Math.max(1, limit)))
      .map((row) => ledgerEntryOf(row, ids, nameOf))
}
