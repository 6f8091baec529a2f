import type { UsageSum } from '../budget/usage.ts'
import type { ExecutionLease } from './schema.ts'
import type { ResourcesLeft } from '../profile/profile.ts'
import type { ProfileTerms } from '../profile/schema.ts'
import type { Receipt, Submission } from '../submit/submission.ts'

/** Writes about leases. */
export interface LeaseWrites {
  /**
   * The handler behind an ended lease has stopped, or has not within the grace; `killed`: it was ended with its thread or process. Source:
   * `docs/semantics.md` C3, 5.4.
   */
  abortSettled: {
    fields: {
      readonly leaseId: string
      readonly how: 'acknowledged' | 'leaked' | 'killed'
      readonly afterMs: number
      /** Usage that was not recorded before the lease ended. */
      readonly charged?: UsageSum
    }
    outcome: boolean
  }
  /** A task that its caller runs, under a live lease, in one commit. Source: `docs/semantics.md 10.1`. */
  startLease: {
    fields: { readonly submission: Submission & { readonly profile: ProfileTerms } }
    outcome:
      | {
          readonly as: 'started'
          readonly taskId: string
          readonly leaseId: string
          readonly sequence: number
          /** By the lease clock. */
          readonly acquiredAt: number
          /** For an agent of a swarm. */
          readonly left?: ResourcesLeft
        }
      | { readonly as: 'refused'; readonly receipt: Receipt }
  }
}

/** Reads about leases. */
export interface LeaseReads {
  /** In the order of their starts: all, or the last `limit`. */
  leases: {
    fields: { readonly taskId: string; readonly limit?: number }
    answer: readonly ExecutionLease[]
  }
}
