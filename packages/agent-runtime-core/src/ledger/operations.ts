import type { Operations } from '../transition/operation.ts'
import type { LedgerEntry } from './entry.ts'
import { purchase, purchaseNeeds } from './purchase.ts'

/** Writes about the credits of clients. */
export interface LedgerWrites {
  /** Adds credits to a client's, more than 0 and at most 1e9; once for each `key`. Source: `docs/semantics.md 11.8`. */
  purchaseCredits: {
    fields: { readonly name: string; readonly amount: number; readonly key?: string; readonly note?: string }
    outcome:
      | { readonly as: 'purchased'; readonly entry: LedgerEntry; readonly deduplicated: boolean }
      /** The key is that of a purchase of another amount. */
      | { readonly as: 'conflict'; readonly entry: LedgerEntry }
      /** There are `maxClients` already. */
      | { readonly as: 'full' }
      /** It would have more than 1e9 credits. */
      | { readonly as: 'too_many'; readonly credits: number }
  }
}

/** Reads about the credits of clients. */
export interface LedgerReads {
  /** The entries of a client's ledger after a number, the oldest first; 1 to 1000, 100 by default. */
  ledger: {
    fields: { readonly name: string; readonly after?: number; readonly limit?: number }
    answer: readonly LedgerEntry[]
  }
}

export const ledgerOperations: Operations<LedgerWrites> = {
  purchaseCredits: { rank: 3, needs: purchaseNeeds, fold: purchase },
}
