import type { StoreSeal, StoreVerification } from '@ku0/agent-runtime-core'

/** A commit up to which a store was verified. */
export type Seal = StoreSeal

/** The result of a verification. */
export type Verification = StoreVerification

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
