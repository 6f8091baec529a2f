import type { RetentionConfig } from '../retention/schema.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import type { EntryRow, FoldableLedger, FoldedRow, LedgerPlace } from './row.ts'

/** Entries that one commit folds at the most, and clients that it looks at. */
const FOLD_ENTRIES = 1_000
const FOLD_CLIENTS = 500

/** The number and the hash of entries that were folded. */
type Fold = Pick<FoldedRow, 'entries' | 'hash'>

const noFold: Fold = { entries: 0, hash: '0'.repeat(64) }

/** The name of a place in a pass over the ledgers. */
function foldPlace({ client, seq }: Partial<LedgerPlace>): string {
  return JSON.stringify([client ?? null, seq ?? null])
}

/** The note of an opening entry that stands for entries before it. */
function foldNote({ entries, hash }: Fold): string {
  return `folded:${entries}:${hash}`
}

/**
 * Whether an entry is the one that stands for all entries that were folded: it has their number and hash, and changed the credits from
 * nothing to their sums.
 */
export function isFold(row: EntryRow, folded: Fold): boolean {
  const { kind, seq, amount, held, credits, reserved, note } = row
  const isOpening = kind === 'opening' && seq === folded.entries && note === foldNote(folded)
  return isOpening && amount === credits && held === reserved
}

/** The text that is hashed of an entry that is folded, behind the hash up to it. Source: `docs/semantics.md 11.8`. */
function foldText(row: EntryRow): string {
  const { client, seq, at, kind, amount, held, credits, reserved, task, key, note } = row
  return `ku0.ledger.1\n${JSON.stringify([client, seq, at, kind, amount, held, credits, reserved, task, key, note])}`
}

/**
 * The entries that may be folded, from the first given on. It ends before an entry that the rules keep, before one that reserves credits for a task that
 * is not over, and before one that does not follow from those before it: `verify` has to find that one. `after`: the entry with this
 * number was looked at already. Source: `docs/semantics.md 11.8`.
 */
function decideFold(
  { rows, folded, open = Number.POSITIVE_INFINITY }: Pick<FoldableLedger, 'rows' | 'folded' | 'open'>,
  { ledger: rule, keysMs }: Pick<RetentionConfig, 'ledger' | 'keysMs'>,
  now: number,
  after?: number,
): readonly EntryRow[] {
  if (rule === 'forever') return []
  const taken: EntryRow[] = []
  for (const row of rows) {
    const isKept = row.at + rule.ageMs > now || (row.key !== null && row.at + keysMs > now)
    const mayGo = row.seq < open && !isKept && follows(row, taken.at(-1))
    if (!mayGo && !(taken.length === 0 && isBase(row, folded, after))) break
    taken.push(row)
  }
  return taken
}

/** It is there already: the entry that stands for those before it, or in a dry run the last that was counted. */
function isBase(row: EntryRow, folded: FoldedRow | undefined, after: number | undefined): boolean {
  return folded !== undefined && folded.entries === row.seq ? isFold(row, folded) : row.seq === after
}

function follows({ seq, amount, held, credits, reserved }: EntryRow, before: EntryRow | undefined): boolean {
  return (
    seq === (before?.seq ?? 0) + 1 &&
    credits === (before?.credits ?? 0) + amount &&
    reserved === (before?.reserved ?? 0) + held
  )
}

export function foldLedgerNeeds(needs: Needs, it: Write<'foldLedger'>): void {
  const place = foldPlace(it)
  if (needs.base.foldable.has(place)) return
  const { kind: _, dryRun: __, ...from } = it
  needs.want('foldable', place, { place, ...from, entries: FOLD_ENTRIES, clients: FOLD_CLIENTS })
}

/** Source: `docs/semantics.md 11.8`. */
export function foldLedger(ws: WorkingSet, it: Omit<Write<'foldLedger'>, 'kind'>): OutcomeOf<'foldLedger'> {
  const rules = ws.config.retention
  const part = ws.base.foldable.get(foldPlace(it))
  if (rules === undefined || part === undefined) return { folded: 0 }
  let count = 0
  let { next } = part
  for (const ledger of part.ledgers) {
    const { client, rows, folded, isMore } = ledger
    if (ws.closedLedgers.has(client)) continue
    const after = client === it.client ? it.seq : undefined
    const taken = decideFold(ledger, rules, ws.now.at, after)
    // One entry would take the place of one.
    if (taken.length < 2) continue
    const [first, last] = [taken[0], taken.at(-1)] as [EntryRow, EntryRow]
    const fresh = isBase(first, folded, after) ? taken.slice(1) : taken
    count += fresh.length
    if (isMore && taken.length === rows.length) next = { client, seq: last.seq }
    if (it.dryRun === true) continue
    const hash = hashOf(ws, folded ?? noFold, fresh)
    ws.foldLedger(openingOf(last, hash), { client, entries: last.seq, hash })
  }
  return { folded: count, ...(next === undefined ? {} : { next }) }
}

function hashOf({ around }: WorkingSet, { hash: before }: Fold, rows: readonly EntryRow[]): string {
  let hash: Uint8Array = bytesOf(before)
  for (const row of rows) hash = around.chain(hash, foldText(row))
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The entry that stands for others: it has their sums, which are those after the last of them. */
function openingOf({ client, seq, at, credits, reserved }: EntryRow, hash: string): EntryRow {
  const sums = { amount: credits, held: reserved, credits, reserved }
  const note = foldNote({ entries: seq, hash })
  return { client, seq, at, kind: 'opening', ...sums, task: null, key: null, note }
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16))
}
