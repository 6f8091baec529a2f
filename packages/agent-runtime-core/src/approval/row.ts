/** Where a task stands with its reviewers. */
export interface VerdictsRow {
  /** The seq of the last approval; 0 when there was none. */
  readonly approvedSeq: number
  /** Rejections since. */
  readonly rejections: number
}
