import type { LedgerEntry } from './entry.ts'
import type { LedgerPlace } from './row.ts'

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
  /**
   * Folds the oldest entries of the next ledgers, as far as the rules of the configuration no longer keep them, into one opening entry for each
   * client, in one commit of bounded size. A pass begins without a place and goes on with `next` of the answer until there is none. `until`: ledgers whose
   * oldest entry is younger are not looked at. `dryRun`: nothing is folded, the answer is the same. Source: `docs/semantics.md 11.8`.
   */
  foldLedger: {
    fields: Partial<LedgerPlace> & { readonly until: number; readonly dryRun?: boolean }
    outcome: { readonly folded: number; readonly next?: LedgerPlace }
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
