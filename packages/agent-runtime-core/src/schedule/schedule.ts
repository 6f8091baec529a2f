import type { Submission } from '../submit/submission.ts'

/** The runs for times that passed while nothing ran: only one that is on time, the newest, or each. */
export const catchUps = ['skip', 'one', 'all'] as const
export type CatchUp = (typeof catchUps)[number]

/** Whether a run may start while the last one is not over. */
export const overlaps = ['allow', 'skip'] as const
export type Overlap = (typeof overlaps)[number]

/** When a schedule is due: by a cron expression as a zone's clocks show it, or every so many ms from an anchor on. */
export type ScheduleTiming =
  | { readonly cron: string; readonly timeZone: string }
  | { readonly everyMs: number; readonly anchorAt: number }

/** The submission of each run of a schedule. */
export type ScheduledRun = Pick<
  Submission,
  | 'type'
  | 'lane'
  | 'input'
  | 'client'
  | 'model'
  | 'tools'
  | 'labels'
  | 'timeoutMs'
  | 'tokens'
  | 'cost'
  | 'budget'
  | 'oversight'
  | 'outOfCredits'
>

/** The definition of a schedule. */
export interface ScheduleDefinition {
  readonly timing: ScheduleTiming
  readonly run: ScheduledRun
  readonly catchUp: CatchUp
  /** How late, in ms, a time still counts as on time. */
  readonly graceMs: number
  readonly overlap: Overlap
}

/** A schedule as it stands. Times are epoch ms by the store's clock.. */
export interface ScheduleRecord extends ScheduleDefinition {
  readonly name: string
  readonly paused: boolean
  readonly createdAt: number
  /** When its definition last changed. */
  readonly changedAt: number
  /** When it is due next; absent when there is no further time. While it is paused nothing runs then. */
  readonly nextAt?: number
  /** When something was last submitted; a submission that was rejected counts. */
  readonly lastAt?: number
  /** The time that the last run was for; what was triggered by hand is for none. */
  readonly lastDueAt?: number
  readonly lastTaskId?: string
  /** Runs that were accepted. */
  readonly runs: number
  /** Runs that admission refused. */
  readonly rejected: number
  /** Times that the catch-up policy left out. */
  readonly missed: number
  /** Times that were left out since the last run was not over. */
  readonly skipped: number
}

/** Whether two timings name the same times, wherever an interval is anchored. */
export function isSameTiming(a: ScheduleTiming, b: ScheduleTiming): boolean {
  if ('cron' in a) return 'cron' in b && a.cron === b.cron && a.timeZone === b.timeZone
  return 'everyMs' in b && a.everyMs === b.everyMs
}

/** The idempotency key of the run for a time: a time runs once, whatever happens.  */
export function runKeyOf(name: string, dueAt: number): string {
  return `schedule:${name}:${dueAt}`
}
