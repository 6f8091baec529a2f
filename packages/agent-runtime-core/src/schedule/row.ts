import type { ScheduleDefinition } from './schedule.ts'

/** A schedule and what became of it. Source: `docs/schedules.md`. */
export interface ScheduleRow {
  readonly name: string
  readonly definition: ScheduleDefinition
  readonly paused: boolean
  readonly createdAt: number
  readonly changedAt: number
  /** Null when there is no further time. */
  readonly nextAt: number | null
  readonly lastAt: number | null
  readonly lastDueAt: number | null
  readonly lastTask: number | null
  readonly runs: number
  readonly rejected: number
  readonly missed: number
  readonly skipped: number
}
