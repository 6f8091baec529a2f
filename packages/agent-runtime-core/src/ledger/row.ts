import type { EntryKind } from './entry.ts'

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
