import type { LeaseEndReason } from './lease.ts'
import type { LeaseState } from '../task/states.ts'

/** A lease, live or ended. Its id is the store-wide dispatch number. */
export interface LeaseRow {
  readonly id: number
  readonly task: number
  readonly worker: number
  readonly process: number
  readonly attempt: number
  readonly fence: number
  readonly state: LeaseState
  readonly acquiredAt: number
  readonly expiresAt: number
  readonly lastHeartbeatAt: number
  readonly endedAt: number | null
  readonly endReason: LeaseEndReason | null
  /** The seq of the event that ended it. */
  readonly endSeq: number | null
  readonly yieldAskedAt: number | null
  readonly abortAcknowledgedAt: number | null
  readonly abortGraceExpiredAt: number | null
  readonly progress: string | null
  /** When the progress was reported; null before the first report. */
  readonly progressAt: number | null
}
