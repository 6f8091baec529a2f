import type { StoreFault } from './faults.ts'

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
}
