import type { ScheduleDefinition, ScheduleRecord, ScheduleTiming } from './schedule.ts'
import type { Receipt } from '../submit/submission.ts'

/** Which schedules to read: by name, in its order, after one; or those that are not paused and due by a time, the earliest first. */
export interface ScheduleFilter {
  readonly name?: string
  readonly after?: string
  readonly dueBy?: number
  /** 1 to 1000, 100 by default. */
  readonly limit?: number
}

/** Writes about schedules. */
export interface ScheduleWrites {
  /** `nextAt` is the first time of its timing; null if there is none. Source: `docs/schedules.md`. */
  putSchedule: {
    fields: {
      readonly name: string
      readonly definition: ScheduleDefinition
      readonly nextAt: number | null
    }
    outcome:
      | {
          readonly as: 'put'
          readonly change: 'created' | 'replaced' | 'unchanged'
          readonly schedule: ScheduleRecord
        }
      /** There are `maxSchedules` already. */
      | { readonly as: 'full' }
  }
  pauseSchedule: { fields: { readonly name: string }; outcome: ScheduleRecord | undefined }
  /** `changed`: its timing is not the one that `nextAt` was computed from. */
  resumeSchedule: {
    fields: { readonly name: string; readonly timing: ScheduleTiming; readonly nextAt: number | null }
    outcome:
      | { readonly as: 'resumed'; readonly schedule: ScheduleRecord }
      | { readonly as: 'unknown' }
      | { readonly as: 'changed' }
  }
  removeSchedule: { fields: { readonly name: string }; outcome: boolean }
  /**
   * A compare-and-set: if the schedule is due at `dueAt` still and has this timing, `runs` are submitted, in order, and it is due
   * at `nextAt` next. The store never evaluates a timing. Source: `docs/schedules.md`.
   */
  fireSchedule: {
    fields: {
      readonly name: string
      readonly timing: ScheduleTiming
      readonly dueAt: number
      readonly runs: readonly number[]
      /** Times that are left out. */
      readonly missed: number
      readonly nextAt: number | null
    }
    outcome: { readonly fired: boolean; readonly receipts: readonly Receipt[] }
  }
  /** Undefined: there is no such schedule. A key binds the run as that of a submission does. */
  triggerSchedule: {
    fields: { readonly name: string; readonly idempotencyKey?: string | undefined }
    outcome: Receipt | undefined
  }
}

/** Reads about schedules. */
export interface ScheduleReads {
  schedules: { fields: { readonly filter: ScheduleFilter }; answer: readonly ScheduleRecord[] }
}
