import type { StoreFault } from './faults.ts'

/** A commit up to which a store was verified. Keep it apart from the store: whoever can change both can make them agree. */
export interface Seal {
  readonly storeId: string
  readonly commit: number
  /** The journal's hash of the commit, 64 hex digits. */
  readonly hash: string
}

/** The result of a verification. */
export interface Verification {
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
  readonly seal: Seal | null
}

/** Options of `verifyStore`. */
export interface VerifyOptions {
  /** How many faults are described in full: 1 to 10 000, 100 by default. */
  readonly maxFaults?: number
  /**
   * The seal of an earlier verification: only the commits after it are read, with all tasks that they touched, and the counters. So it costs what is
   * new. It does not look at pages, nor at what no commit has touched since.
   */
  readonly since?: Seal
  /** Ends it early: it rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Called after each slice with what was looked at so far. */
  readonly onProgress?: (progress: VerifyProgress) => void
  /**
   * Whether it works in a thread of its own; false by default. Some slices take seconds where the store has many GB, and a process that answers others
   * does not stand still meanwhile.
   */
  readonly thread?: boolean
}

/** How far a verification is. */
export interface VerifyProgress {
  readonly tasks: number
  readonly events: number
}
