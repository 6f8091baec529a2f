import type { ClientTier } from './client.ts'
import type { Amounts } from './dominant.ts'

/** A client, by name. Credits, times and costs in millionths. Source: `docs/semantics.md 11`. */
export interface ClientRow {
  readonly id: number
  readonly name: string
  readonly credits: number
  readonly tier: ClientTier
  readonly time: number
  /** Where it began when it last became active. */
  readonly floor: number
  readonly spent: number
  /** Credits that started tasks hold, and how many entries its ledger has had. Source: `docs/semantics.md 11.8`. */
  readonly reserved: number
  readonly entries: number
  /** The task that it lacks credits for, when that asked for them, and how many it needs. Source: `docs/semantics.md 11.9`. */
  readonly asks: { readonly task: number; readonly at: number; readonly cost: number } | null
  /**
   * Promoted queued tasks, and running tasks. These and the following fields are derived from other rows, not
   * stored.
   */
  readonly queued: number
  readonly running: number
  /** The amounts that its running tasks hold, where dominant shares order clients. */
  readonly holds?: Amounts
  /** The quotas that could hold back all of its queued tasks; the clock of this pool last set its time. */
  readonly pool: string
  readonly seen: number
  /** A quota of its own lets none of its tasks start, as far as the last round knows. */
  readonly stalled: boolean
}
