import type { CatchUp } from './schedule.ts'

/** The times of a schedule that have come and were not dealt with yet. */
export interface CatchUpCase {
  readonly catchUp: CatchUp
  /** Oldest first; at least the newest `maxCatchUp` of them. Epoch ms. */
  readonly due: readonly number[]
  /** How many there are in all. */
  readonly count: number
  readonly now: number
  readonly graceMs: number
  readonly maxCatchUp: number
}

/** Which times are run, and how many are not. */
export interface CaughtUp {
  readonly runs: readonly number[]
  readonly missed: number
}

/**
 * Which of the times that passed are run: with `all` each of the newest `maxCatchUp`, with `one` the newest,
 * with `skip` the newest unless it is more than `graceMs` late. A single time within its grace always runs.
 * Source: `docs/schedules.md`.
 */
export function decideCatchUp({ catchUp, due, count, now, graceMs, maxCatchUp }: CatchUpCase): CaughtUp {
  const runs = due.slice(-(catchUp === 'all' ? maxCatchUp : 1))
  const kept = catchUp === 'skip' ? runs.filter((at) => now - at <= graceMs) : runs
  return { runs: kept, missed: count - kept.length }
}
