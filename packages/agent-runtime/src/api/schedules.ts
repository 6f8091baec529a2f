import type {
  BudgetOptions,
  CatchUp,
  Overlap,
  ScheduledRun,
  ScheduleRecord,
  ScheduleTiming,
} from '@ku0/agent-runtime-core'
import type { SubmitOptions } from './submissions.ts'
import type { Receipt } from './receipts.ts'
import type { TaskType } from './task-type.ts'

/**
 * The schedules of the store: each submits a task at its times, once for each time, whichever processes run and crash. Calls that are
 * given something outside what they document throw `invalid_argument`. Source: `docs/schedules.md`.
 */
export interface Schedules {
  /**
   * Creates a schedule or changes it; a program may put its schedules at every start. Its next time and its pause stay unless its timing
   * changes. The input is checked with the task's schema when the task is defined here. `name` has 1 to 255 characters.
   *
   * Throws `invalid_argument` for a cron expression or a time zone that is none, `invalid_payload`, `PayloadTooLarge`,
   * `StepNotSerializable`, `limit_exceeded` when there are `maxSchedules`, `store_*`.
   */
  put<Input, Output>(
    name: string,
    timing: Timing,
    task: TaskType<string, Input, Output>,
    input: NoInfer<Input>,
    options?: ScheduleOptions,
  ): Promise<ScheduleStatus>
  put(
    name: string,
    timing: Timing,
    task: string,
    input: unknown,
    options?: ScheduleOptions,
  ): Promise<ScheduleStatus>
  /** All of them, by name. */
  list(): Promise<readonly ScheduleStatus[]>
  /** Undefined if there is none of this name. */
  get(name: string): Promise<ScheduleStatus | undefined>
  /** False if there is none of this name. Tasks that it submitted stay. */
  remove(name: string): Promise<boolean>
  /** Nothing runs until {@link resume}. Throws `not_found`. */
  pause(name: string): Promise<ScheduleStatus>
  /** Goes on at the next time from now; those that passed meanwhile are not run. Throws `not_found`. */
  resume(name: string): Promise<ScheduleStatus>
  /**
   * Submits one run now, whatever the pause and the last run; the next time stays. Like `submit` it may be refused by a limit. Throws
   * `not_found`.
   */
  trigger(name: string): Promise<Receipt>
}

/** When a schedule is due. */
export type Timing = CronTiming | IntervalTiming

/** By the clocks of a time zone. */
export interface CronTiming {
  /** Five fields (minute, hour, day of month, month, day of week), six with seconds first, or `@daily` and its like. */
  readonly cron: string
  /** An IANA name such as `Europe/Paris`; `UTC` by default. */
  readonly timeZone?: string | undefined
  readonly everyMs?: undefined
}

/** Every so many ms, counted from when it was put: no drift. */
export interface IntervalTiming {
  /** A whole number of ms, from a second to a year. */
  readonly everyMs: number
  readonly cron?: undefined
  readonly timeZone?: undefined
}

/** What a schedule may say besides its times, its task and its input. */
export interface ScheduleOptions extends Pick<
  SubmitOptions,
  'lane' | 'client' | 'model' | 'tools' | 'labels' | 'timeoutMs' | 'tokens' | 'cost' | 'budget'
> {
  /**
   * Which of the times that came while no process ran are run: `one` (the default) run for all of them, `all` (the newest
   * `maxCatchUp`), or `skip`: none that is more than `graceMs` late.
   */
  readonly catchUp?: CatchUp | undefined
  /** How late a time is still on time for `skip`, ms; 60 000 by default. */
  readonly graceMs?: number | undefined
  /** `allow` by default; `skip` leaves a time out while the last run is not over. */
  readonly overlap?: Overlap | undefined
}

/** A schedule as it stands. Times are epoch ms. */
export interface ScheduleStatus
  extends Omit<ScheduleRecord, 'run' | 'timing' | 'nextAt'>, Omit<ScheduledRun, 'type' | 'input' | 'budget'> {
  /** When it is due next; absent while it is paused, and when there is no further time. */
  readonly nextAt?: number
  readonly budget?: BudgetOptions
  readonly timing: ScheduleTiming
  /** The type of the task that it submits. */
  readonly task: string
  readonly input: unknown
}
