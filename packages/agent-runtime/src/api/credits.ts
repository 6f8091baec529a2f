import type { CreditBalance, LedgerEntry } from '@ku0/agent-runtime-core'

/** A purchase of credits. */
export interface PurchaseOptions {
  /** A purchase with a key that was used before is not made again, and its entry is returned: 1 to 255 characters. */
  readonly key?: string | undefined
  /** A note for people, which stands in the entry: 1 to 255 characters. */
  readonly note?: string | undefined
}

/** A page of a ledger. */
export interface EntriesPage {
  /** Entries with a higher number than this: 0 by default. */
  readonly after?: number | undefined
  /** At most so many: 1 to 1 000, 100 by default. */
  readonly limit?: number | undefined
}

/** A purchase, as it stands in the ledger. */
export interface Purchase {
  readonly entry: LedgerEntry
  /** Whether an earlier purchase with this key answered. */
  readonly deduplicated: boolean
}

/**
 * The credits of clients, entry by entry. With `shares: { ledger: true }` the start of a task reserves its estimate, and its end settles what it
 * cost. Each entry is written in the commit of what causes it. Source: `docs/credits.md`, `docs/semantics.md 11.8`.
 */
export interface Credits {
  /**
   * Adds credits to a client's: more than 0, at most 1e9, to the millionth. An unknown client is created. Throws `idempotency_conflict` if the key is
   * that of a purchase of another amount, `limit_exceeded` above `maxClients`, or if the client had more than 1e9 credits then.
   */
  purchase(client: string, amount: number, options?: PurchaseOptions): Promise<Purchase>
  /** The client's credits, free and reserved. Undefined for an unknown client. */
  balance(client: string): Promise<CreditBalance | undefined>
  /** The entries of a client's ledger, the oldest first. Empty for a client that has none. */
  entries(client: string, page?: EntriesPage): Promise<readonly LedgerEntry[]>
}
