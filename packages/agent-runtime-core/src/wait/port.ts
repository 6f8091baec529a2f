import type { UsageSum } from '../budget/usage.ts'
import type { TaskState } from '../task/states.ts'
import type { WaitRequest } from './wait.ts'
import type { WaitRecord } from './schema.ts'

/** Writes about waits and signals. */
export interface WaitWrites {
  /**
   * The waits of a pass. Open waits of the task, earlier passes included, that are due or have their
   * signal are resolved at once and returned. If none is and the pass does not `stay`, its lease ends and the
   * task waits, without a slot, until the first of them ends. A pass that stays has running steps; its waits
   * are open from now on, and it asks again. Source: `docs/semantics.md 12.3, 12.4`.
   */
  suspend: {
    fields: {
      readonly leaseId: string
      readonly waits: readonly WaitRequest[]
      readonly stay: boolean
      /** Usage of step runs without a result; it counts if this ends the lease. */
      readonly charged?: UsageSum
    }
    outcome:
      | { readonly fenced: 'ok'; readonly suspended: boolean; readonly resolved: readonly WaitRecord[] }
      | { readonly fenced: 'stale' }
  }
  /** Keeps a signal for the task, or wakes it. Final and unknown tasks take none. Source: `docs/semantics.md 12.4`. */
  signal: {
    fields: { readonly taskId: string; readonly name: string; readonly value: string }
    outcome: {
      readonly delivered: boolean
      readonly state?: TaskState
      /** For a delivered signal: whether a wait for its name was open. */
      readonly awaited?: boolean
      readonly full?: boolean
    }
  }
}
