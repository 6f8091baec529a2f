/** What a store lacks of what was acknowledged, as the anchor beside it tells. Source: `docs/reliability.md` T6. */
export interface DataLoss {
  /**
   * `lost_tail`: the journal ends before the anchor. `other_history`: it has other commits than the anchor tells of. `other_store`: the
   * database is missing, empty or another store's.
   */
  readonly kind: 'lost_tail' | 'other_history' | 'other_store'
  /** The journal's number of the last commit that the anchor tells of. */
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
