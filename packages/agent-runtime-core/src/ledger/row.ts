import type { EntryKind } from './entry-kinds.ts'

/** An entry of a client's ledger. Amounts in millionths. Source: `docs/semantics.md 11.8`. */
export interface EntryRow {
  readonly client: string
  /** From 1, without a gap. */
  readonly seq: number
  readonly at: number
  readonly kind: EntryKind
  /** The change of the client's credits, and of what its tasks hold of them. */
  readonly amount: number
  readonly held: number
  /** Both after the entry. */
  readonly credits: number
  readonly reserved: number
  readonly task: number | null
  readonly key: string | null
  readonly note: string | null
}

/** How far the ledger of a client was folded, beside its opening entry: by it `verify` knows that entry again. Source: `docs/semantics.md 11.8`. */
export interface FoldedRow {
  readonly client: string
  /** The number of entries that were folded, which is the number of the last of them. */
  readonly entries: number
  /** sha256 over all of them, in hex. */
  readonly hash: string
}

/** Where a pass over the ledgers goes on: behind all entries of a client, or behind one of them. */
export interface LedgerPlace {
  readonly client: string
  readonly seq?: number
}

/** The oldest entries of some ledgers, as far as a fold may reach. */
export interface FoldablePart {
  /** The name of the place where it begins; see `foldPlace`. */
  readonly place: string
  readonly ledgers: readonly FoldableLedger[]
  /** Where the next part begins; undefined if there is none. */
  readonly next: LedgerPlace | undefined
}

export interface FoldableLedger {
  readonly client: string
  /** How far it was folded before. */
  readonly folded: FoldedRow | undefined
  /** From its first entry on, or from the one at which the pass goes on. */
  readonly rows: readonly EntryRow[]
  /** There are entries behind these. */
  readonly isMore: boolean
  /** The number of the first of them that reserves credits for a task that is not over. */
  readonly open: number | undefined
}
