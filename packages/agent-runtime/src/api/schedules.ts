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
 * The schedules of the store. Each submits a task at its times, exactly once per time, whichever processes
 * run and crash. A call throws `invalid_argument` for an argument it does not accept. Source:
 * `docs/schedules.md`.
 */
export interface Schedules {
  /**
   * Creates or changes a schedule; a program may call it at every start. The next time and the pause stay
   * unless the timing changes. The input is checked with the task's schema if the task is defined here.
   * `name` has 1 to 255 characters.
   *
   * Throws `invalid_argument` for an invalid cron expression or time zone, `invalid_payload`,
   * `PayloadTooLarge`, `StepNotSerializable`, `limit_exceeded` above `maxSchedules`, `store_*`.
   */
  put(
    name: string,
    timing: Timing,
    task: string,
    input: unknown,
    options?: ScheduleOptions,
  ): Promise<ScheduleStatus>
  put<Input, Output>(
    name: string,
    timing: Timing,
    task: TaskType<string, Input, Output>,
    input: NoInfer<Input>,
    options?: ScheduleOptions,
  ): Promise<ScheduleStatus>
  /** All schedules, by name. */
  list(): Promise<readonly ScheduleStatus[]>
  /** Undefined if no schedule has this name. */
  get(name: string): Promise<ScheduleStatus | undefined>
  /**
   * The next times of a schedule, epoch ms, the soonest first: `count` of them, 1 to 100, and fewer if there are no more; none while it is paused. Throws
   * `not_found`.
   */
  upcoming(name: string, count?: number): Promise<readonly number[]>
  /** Returns false if no schedule has this name. Tasks that it submitted stay. */
  remove(name: string): Promise<boolean>
  /** Stops the schedule until {@link resume}. Throws `not_found`. */
  pause(name: string): Promise<ScheduleStatus>
  /** Continues with the next time from now; times that passed meanwhile are not run. Throws `not_found`. */
  resume(name: string): Promise<ScheduleStatus>
  /**
   * Submits one run now, even if the schedule is paused or its last run has not ended; the next time stays.
   * Like `submit` it may be refused by a limit. A key that was used before runs nothing: the first receipt is returned with `deduplicated`. Throws
   * `not_found`, and `idempotency_conflict` for a key of another type or input.
   */
  trigger(name: string, options?: TriggerOptions): Promise<Receipt>
}

/** Options of {@link Schedules.trigger}. */
export interface TriggerOptions {
  /** 1 to 255 characters: makes repeated triggers one, as that of a submission does. */
  readonly idempotencyKey?: string | undefined
}

/** When a schedule runs. */
export type Timing = CronTiming | IntervalTiming

/** Times by the clock of a time zone. */
export interface CronTiming {
  /**
   * Five fields (minute, hour, day of month, month, day of week), six with seconds first, or a shortcut such
   * as `@daily`.
   */
  readonly cron: string
  /** An IANA name such as `Europe/Paris`; `UTC` by default. */
  readonly timeZone?: string | undefined
  readonly everyMs?: undefined
}

/** A fixed interval in ms, counted from when the schedule was put, without drift. */
export interface IntervalTiming {
  /** A whole number of ms, from a second to a year. */
  readonly everyMs: number
  readonly cron?: undefined
  readonly timeZone?: undefined
}

/** Options of a schedule besides its times, its task and its input. */
export interface ScheduleOptions extends Pick<
  SubmitOptions,
  'lane' | 'client' | 'model' | 'tools' | 'labels' | 'timeoutMs' | 'tokens' | 'cost' | 'budget' | 'agreement'
> {
  /**
   * The runs for times that passed while no process ran: `one` (the default) run for all of them, `all`
   * (the newest `maxCatchUp`), or `skip`: no run for a time that is more than `graceMs` late.
   */
  readonly catchUp?: CatchUp | undefined
  /** How late a time may be and still run with `skip`, in ms; 60 000 by default. */
  readonly graceMs?: number | undefined
  /** `allow` by default; `skip` leaves a time out while the last run has not ended. */
  readonly overlap?: Overlap | undefined
}

/** The current state of a schedule. Times are epoch ms. */
export interface ScheduleStatus
  extends Omit<ScheduleRecord, 'run' | 'timing' | 'nextAt'>, Omit<ScheduledRun, 'type' | 'input' | 'budget'> {
  /** When it runs next. Absent while it is paused, and when no further time exists. */
  readonly nextAt?: number
  readonly budget?: BudgetOptions
  readonly timing: ScheduleTiming
  /** The type of the task that it submits. */
  readonly task: string
  readonly input: unknown
}
