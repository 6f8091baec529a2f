/** One thing in a store that is not as it was written, or not what its events say. */
export interface StoreFault {
  /**
   * `file`: pages, indexes or tables. `anchor`: commits are missing. `journal`: a commit. `event`: a task's events. `row`: a row that its
   * events tell otherwise. `sum`: a counter.
   */
  readonly what: 'file' | 'anchor' | 'journal' | 'event' | 'row' | 'sum'
  /** `task 12, event 3`, `commit 7`, `task 12, lease 30`, `quota model:big`. */
  readonly where: string
  readonly expected: string
  readonly actual: string
}

/** A commit up to which a store was verified. Keep it apart from the store: whoever can change both can make them agree. */
export interface StoreSeal {
  readonly storeId: string
  readonly commit: number
  /** The journal's hash of the commit, 64 hex digits. */
  readonly hash: string
}

/** The result of a verification. */
export interface StoreVerification {
  /** Nothing is wrong. */
  readonly ok: boolean
  readonly storeId: string
  /** How much was looked at. */
  readonly tasks: number
  readonly events: number
  readonly commits: number
  /** The first `maxFaults` of them, and how many there are in all. */
  readonly faults: readonly StoreFault[]
  readonly faultCount: number
  /**
   * The last commit up to which the journal and every event that it names are as they were written: 0 and null for none, or where not all
   * could be read. Rows, which the events make, do not count.
   */
  readonly lastGood: { readonly commit: number; readonly at: number | null }
  /** The way to mend the store; null where there are no faults. */
  readonly remedy: string | null
  /** The commit that the anchor names; null where there is no anchor. */
  readonly anchored: number | null
  /** The commit of the seal after which it began; null if it read all. */
  readonly since: number | null
  /** The seal of the last commit that it looked at, for the next verification; null if something is wrong. */
  readonly seal: StoreSeal | null
}
