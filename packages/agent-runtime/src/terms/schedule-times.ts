import type { ScheduleTiming } from '@ku0/agent-runtime-core'
import { Cron } from 'croner'

/**
 * The first time of a timing after `at`, epoch ms; null if there is none. The cron expression has been
 * checked.
 */
export function firstAfter(timing: ScheduleTiming, at: number): number | null {
  if ('cron' in timing) return cronOf(timing).nextRun(new Date(at))?.getTime() ?? null
  const { everyMs, anchorAt } = timing
  return anchorAt + Math.max(1, Math.floor((at - anchorAt) / everyMs) + 1) * everyMs
}

/**
 * The times from `first`, which is a time of the timing, to `now`: at least the newest `most` of them, oldest
 * first, and how many there are. For a cron expression, more than {@link MAX_COUNTED} are counted as {@link
 * MAX_COUNTED}.
 */
export function timesUntil(
  timing: ScheduleTiming,
  first: number,
  now: number,
  most: number,
): { readonly due: readonly number[]; readonly count: number } {
  if ('everyMs' in timing) {
    // The stored time counts, even if it is not at a multiple of the interval.
    const others = Math.max(0, Math.floor((now - first) / timing.everyMs))
    const listed = Math.min(others, most)
    const due = Array.from({ length: listed }, (_, n) => first + (others - listed + n + 1) * timing.everyMs)
    return { due: listed === others ? [first, ...due] : due, count: others + 1 }
  }
  const due = [first]
  for (let at = firstAfter(timing, first); at !== null && at <= now; at = firstAfter(timing, at)) {
    if (due.length === MAX_COUNTED) return { due: newest(timing, now, most), count: due.length + most }
    due.push(at)
  }
  return { due, count: due.length }
}

/** The problem with a cron expression, for people. Undefined for a valid one. */
export function problemOfCron(cron: string): string | undefined {
  if (!/^@[a-z]+$/.test(cron) && ![5, 6].includes(cron.trim().split(/\s+/).length))
    return 'it must have five or six fields'
  try {
    cronOf({ cron, timeZone: 'UTC' })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error)
  }
}

/** Whether this machine knows a time zone by this name. */
export function isTimeZone(name: unknown): name is string {
  if (typeof name !== 'string' || name === '') return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name }).format(0)
    return true
  } catch {
    return false
  }
}

/** The most times of one catch-up that are examined one by one: 40 ms of work. */
const MAX_COUNTED = 1_000

/** Paused, so it only computes times and arms no timer. */
function cronOf({ cron, timeZone }: { readonly cron: string; readonly timeZone: string }): Cron {
  return new Cron(cron, { timezone: timeZone, paused: true })
}

function newest(
  timing: { readonly cron: string; readonly timeZone: string },
  now: number,
  most: number,
): number[] {
  // The given time itself does not count as a time before it.
  const after = new Date((Math.floor(now / 1_000) + 1) * 1_000)
  return cronOf(timing)
    .previousRuns(most, after)
    .map((time) => time.getTime())
    .toReversed()
}
