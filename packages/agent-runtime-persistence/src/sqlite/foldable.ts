import type {
  FoldableLedger,
  FoldablePart,
  FoldableWanted,
  FoldedRow,
} from '@ku0/agent-runtime-core/transition'
import type { Queries } from '../views/queries.ts'
import type { LedgerPages } from './ledger.ts'

/** Reads the oldest entries of ledgers, with all that has to be known before they are folded. Source: `docs/semantics.md 11.8`. */
export function prepareFoldable(db: Queries, pages: LedgerPages): (wanted: FoldableWanted) => FoldablePart {
  // The entries of a ledger have no gap, so the oldest that was not folded has the next number.
  const oldest = db.prepare<[string, number], OldestRow>(
    `SELECT client.name AS client, folded.entries AS entries, folded.hash AS hash, ledger.at AS at, coalesce(task.state, 6) AS state
       FROM client LEFT JOIN folded ON folded.client = client.name
       JOIN ledger ON ledger.client = client.name AND ledger.seq = coalesce(folded.entries, 0) + 1
       LEFT JOIN task ON ledger.kind = 2 AND task.id = ledger.task
       WHERE client.name >= ? ORDER BY client.name LIMIT ? + 0`,
  )
  // The first that is too young ends what is read.
  const young = db
    .prepare<[string, number, number, number], number>(
      'SELECT seq FROM ledger WHERE client = ? AND seq > ? AND seq <= ? AND at > ? ORDER BY seq LIMIT 1',
    )
    .pluck()
  const open = db
    .prepare<[string, number, number], number>(
      `SELECT ledger.seq FROM ledger JOIN task ON task.id = ledger.task
       WHERE ledger.client = ? AND ledger.seq > ? AND ledger.seq <= ? AND ledger.kind = 2 AND task.state < 3
       ORDER BY ledger.seq LIMIT 1`,
    )
    .pluck()

  return ({ place, client: first = '', seq, until, entries: most, clients }) => {
    const looked = oldest.all(first, clients)
    const isBehind = (client: string) => client !== first || seq !== undefined || place === BEGIN
    const due = looked.filter(({ client, at, state }) => isBehind(client) && at <= until && state >= FINAL)
    const from = (row: OldestRow) => Math.max(row.entries ?? 1, row.client === first ? (seq ?? 1) : 1) - 1
    db.ahead(due.slice(0, AHEAD), (row) => ledgerOf(row, from(row), most, until))
    const ledgers: FoldableLedger[] = []
    let left = most
    let last: string | undefined
    for (const row of due) {
      if (left === 0) break
      const ledger = ledgerOf(row, from(row), left, until)
      left -= ledger.rows.length
      last = row.client
      ledgers.push(ledger)
    }
    // Not all that were due were read, or there are more clients than were looked at.
    const isMore = ledgers.length < due.length
    const end = isMore ? last : looked.length === clients ? looked.at(-1)?.client : undefined
    return { place, ledgers, next: end === undefined ? undefined : { client: end } }
  }

  function ledgerOf(row: OldestRow, from: number, limit: number, until: number): FoldableLedger {
    const { client, entries, hash } = row
    const to = young.get(client, from, from + limit, until) ?? from + limit + 1
    const rows = pages.page(client, from, to - 1 - from)
    const folded: FoldedRow | undefined =
      entries === null || hash === null ? undefined : { client, entries, hash }
    return { client, folded, rows, isMore: rows.length === limit, open: open.get(client, from, to - 1) }
  }
}

interface OldestRow {
  readonly client: string
  readonly entries: number | null
  readonly hash: string | null
  readonly at: number
  /** Of the task that it reserves credits for, if it does. */
  readonly state: number
}

/** The name of the place where a pass begins. */
const BEGIN = '[null,null]'
/** The states of tasks that are over begin with it. */
const FINAL = 3
/** Ledgers that are asked for at once, where the database is far away. */
const AHEAD = 20
