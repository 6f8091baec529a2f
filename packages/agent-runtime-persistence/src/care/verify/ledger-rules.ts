import { type EntryRow, type FoldedRow, isFold } from '@ku0/agent-runtime-core/transition'
import { prepareLedgerLoad } from '../../sqlite/ledger.ts'
import type { Db } from '../../sqlite/open.ts'
import { Statements } from '../../sqlite/statements.ts'
import type { Faults } from './faults.ts'

/**
 * The credits of a client, and what is reserved of them, are the sums of the entries of its ledger, one after the other. A ledger that was folded
 * begins with the opening entry that is known from the fold, and no other does. In slices of entries. Source: `docs/semantics.md 11.8`.
 */
export function* checkLedgers(db: Db, faults: Faults, slice: <T>(run: () => T) => T): Generator<void, void> {
  const next = db
    .prepare<[string], string>('SELECT name FROM client WHERE name > ? AND entries > 0 ORDER BY name LIMIT 1')
    .pluck()
  const first = db.prepare<[], number>("SELECT entries FROM client WHERE name = ''").pluck()
  const standing = db.prepare<[string], Standing>(
    'SELECT entries AS seq, credits, reserved FROM client WHERE name = ?',
  )
  const load = prepareLedgerLoad(new Statements(db))
  let name: string | undefined = (first.get() ?? 0) > 0 ? '' : next.get('')
  while (name !== undefined) {
    const client: string = name
    let last: Standing = { seq: 0, credits: 0, reserved: 0 }
    for (let more = true; more;) {
      more = slice(() => {
        const folded = load.folded(client)
        // It may be folded while it is read: what was read is in the opening entry then.
        if (folded !== undefined && folded.entries > last.seq) last = checkFold(client, folded)
        const rows = load.page(client, last.seq, entriesInSlice)
        for (const row of rows) last = checkEntry(row, last)
        if (rows.length === entriesInSlice) return true
        // As of the same moment as the last of them.
        const kept = standing.get(client)
        if (kept !== undefined) checkStanding(client, last, kept)
        return false
      })
      yield
    }
    name = next.get(client)
  }
  for (const table of ['ledger', 'folded']) {
    const stray = db
      .prepare<[], string>(
        `SELECT client FROM ${table} WHERE client NOT IN (SELECT name FROM client WHERE entries > 0) LIMIT 1`,
      )
      .pluck()
      .get()
    if (stray !== undefined) faults.add('row', `${table} of client ${stray}`, 'a client with entries', 'none')
  }

  /** The opening entry stands for all entries up to it, and is as the fold made it. */
  function checkFold(client: string, folded: FoldedRow): Standing {
    const { entries: seq } = folded
    const where = `client ${client}, entry ${seq}`
    const [opening] = load.page(client, 0, 1)
    if (opening?.seq !== seq)
      faults.add(
        'row',
        where,
        'the opening entry of a fold',
        opening === undefined ? 'none' : `entry ${opening.seq}`,
      )
    else if (!isFold(opening, folded))
      faults.add('row', where, `a fold of ${seq} entries, hash ${folded.hash}`, opening.note ?? opening.kind)
    return { seq, credits: opening?.credits ?? 0, reserved: opening?.reserved ?? 0 }
  }

  function checkEntry(row: EntryRow, before: Standing): Standing {
    const { client, seq, kind, amount, held, credits, reserved, note } = row
    const where = `client ${client}, entry ${seq}`
    faults.same(where, before.seq + 1, seq)
    // Nothing is before the first entry; one that stands for others is known from its fold.
    if (kind === 'opening' && (seq > 1 || note !== null))
      faults.add('row', where, 'no opening entry', note ?? kind)
    same(`${where}, credits`, before.credits + amount, credits)
    same(`${where}, reserved`, before.reserved + held, reserved)
    return { seq, credits, reserved }
  }

  function checkStanding(client: string, last: Standing, kept: Standing): void {
    faults.same(`client ${client}, entries`, last.seq, kept.seq)
    same(`client ${client}, credits`, last.credits, kept.credits)
    same(`client ${client}, reserved`, last.reserved, kept.reserved)
  }

  function same(where: string, counted: number, kept: number): void {
    if (counted !== kept) faults.add('sum', where, counted, kept)
  }
}

interface Standing {
  readonly seq: number
  readonly credits: number
  readonly reserved: number
}

const entriesInSlice = 1_000
