/**
 * Acknowledged commits that a store lacks, according to the anchor beside it or to its log;
 * on PostgreSQL, to a process that had seen them. Source: `docs/reliability.md` T6.
 */
export interface DataLoss {
  /**
   * `lost_tail`: the journal ends before the anchor. `other_history`: its commits differ from the one that
   * the anchor records. `other_store`: the database is missing, empty or another store. `damaged_log`:
   * committed transactions follow a damaged place of the log.
   */
  readonly kind: 'lost_tail' | 'other_history' | 'other_store' | 'damaged_log'
  /**
   * The journal's number of the last commit that the anchor records, or that the process had seen. With `damaged_log` it is a guess: the
   * last good commit, plus one for each transaction after the damage.
   */
  readonly anchored: number
  /** The last commit that is there and that nothing speaks against; 0 for none. */
  readonly lastGood: number
  /** When that commit was made, epoch ms; null if there is none. */
  readonly lastGoodAt: number | null
}

/** A loss that somebody has decided to live with. */
export interface AcceptedLoss extends DataLoss {
  /** Epoch ms. */
  readonly acceptedAt: number
}
