/** What a store lacks of what was acknowledged, as the anchor beside it tells, or its log. Source: `docs/reliability.md` T6. */
export interface DataLoss {
  /**
   * `lost_tail`: the journal ends before the anchor. `other_history`: it has other commits than the anchor tells of. `other_store`: the
   * database is missing, empty or another store's. `damaged_log`: committed transactions stand behind a damaged place of the log.
   */
  readonly kind: 'lost_tail' | 'other_history' | 'other_store' | 'damaged_log'
  /**
   * The journal's number of the last commit that the anchor tells of. With `damaged_log` a guess: the last good commit, and one for each transaction
   * behind the damage.
   */
  readonly anchored: number
  /** The last commit that is there and that nothing speaks against; 0 for none. */
  readonly lastGood: number
  /** When that was made, epoch ms; null where there is none. */
  readonly lastGoodAt: number | null
}

/** A loss that somebody has decided to live with. */
export interface AcceptedLoss extends DataLoss {
  /** Epoch ms. */
  readonly acceptedAt: number
}
