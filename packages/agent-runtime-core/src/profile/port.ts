import type { ScarCause } from '../route/scar.ts'
import type { ResourcesLeft, UsageSample } from './profile.ts'
import type { ProfileTerms } from './schema.ts'

/** Writes about work under a profile. */
export interface ProfileWrites {
  /**
   * A heartbeat of a holder, or a measurement (`heartbeat: false`), under the terms that its lease is held to. A hard limit that it is
   * above ends the lease in the same commit. Source: `docs/semantics.md 10.5-10.7`.
   */
  report: {
    fields: {
      readonly leaseId: string
      readonly terms: ProfileTerms
      readonly sample: UsageSample
      readonly heartbeat: boolean
      /** The progress that is stored with the lease, in the codec's form. */
      readonly progress?: string
      /** The progress, if it is a share of the work, 0 to 1. */
      readonly share?: number
    }
    outcome:
      | ({
          readonly fenced: 'ok'
          readonly verdict: 'within' | 'soft' | 'hard'
          readonly pressure: number
          /** The limit that was exceeded, set the first time. */
          readonly message?: string
        } & ResourcesLeft)
      | { readonly fenced: 'stale' }
  }
  /** Work behind a lease, live or ended, went wrong; the size of the scar. Source: `docs/semantics.md` C8, C9. */
  scar: { fields: { readonly leaseId: string; readonly cause: ScarCause }; outcome: number }
}
