import type { ConfigurationRecord } from '../config/in-force.ts'
import type { QueuePause } from '../queue/port.ts'
import type { QuotaState } from '../quota/state.ts'
import type { PerState } from '../retention/row.ts'
import type { Lane } from '../task/lane.ts'

/** Counters of a store. `depth` counts promoted queued tasks. Source: `docs/semantics.md 2.2`. */
export interface StoreStats {
  readonly depth: Readonly<Record<Lane, number>>
  readonly delayed: number
  readonly running: number
  readonly waiting: number
  readonly totals: Totals
  /** Tasks that retention has deleted, by their final state; `totals` counts them, too. Source: `docs/semantics.md 6.6`. */
  readonly deleted: PerState
  /** The quotas for which something was counted. */
  readonly quotas: readonly QuotaState[]
  /** The task types and lanes that are paused. Source: `docs/semantics.md 3.10`. */
  readonly paused: readonly QueuePause[]
  /** The settings that living processes state, those in force first; absent if none names any. Source: `docs/semantics.md 8.12`. */
  readonly configurations?: readonly ConfigurationRecord[]
  /** Writes refused because their lease was no longer live, in this process. */
  readonly staleWrites: number
  readonly commits: number
  /** Flushes that failed as a whole and were repeated operation by operation, in this process. */
  readonly repeatedFlushes: number
}

/** Sums since the store was made. */
export interface Totals {
  readonly submitted: number
  readonly rejected: number
  readonly completed: number
  readonly failed: number
  readonly canceled: number
  readonly requeued: number
  readonly expired: number
  readonly preempted: number
}
