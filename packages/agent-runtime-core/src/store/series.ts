import type { RejectionReason } from '../event/event.ts'
import type { Lane } from '../task/lane.ts'
import type { LeaseState, TaskState } from '../task/states.ts'

/** The part of the past that a series counts, and the tasks. */
export interface SeriesFilter {
  /** How far back it reaches. Default: an hour. */
  readonly windowMs?: number | undefined
  /** How long each of its steps is. Default: a minute. A step is longer where more than 1,000 of them would be needed. */
  readonly stepMs?: number | undefined
  readonly type?: string | undefined
  readonly lane?: Lane | undefined
}

/** One step of a series. */
export interface SeriesPoint {
  /** When the step ends. */
  readonly at: number
  readonly started: number
  readonly completed: number
  /** Tasks that failed permanently; an attempt that is repeated is not one. */
  readonly failed: number
  /** Submissions that were refused, by reason; absent where the records of refusals are deleted, and only some in the step in which they begin. */
  readonly refused?: Readonly<Partial<Record<RejectionReason, number>>>
  /** How many tasks ran when the step ended. */
  readonly running: number
  /** How many tasks were queued when the step ended, by lane; absent where nobody kept a sample in it. */
  readonly queued?: Readonly<Record<Lane, number>>
  /** How long the tasks that started in this step had been due: below `half` for one half, below `most` for 95 %. */
  readonly wait?: { readonly half: number; readonly most: number }
}

/** How many tasks ran in the past, step by step, from the runs that the store holds. Source: `docs/decisions/0047-series-from-leases.md`. */
export interface Series {
  readonly stepMs: number
  /** The newest step last. The first begins later than the window where the window has more runs than are looked at. */
  readonly points: readonly SeriesPoint[]
}

/** A run as a series counts it: a lease, with what its task says. Times are the wall clock's. */
export interface SeriesRun {
  readonly type: string
  readonly lane: Lane
  readonly startedAt: number
  readonly endedAt: number | null
  readonly leaseState: LeaseState
  /** The state of its task, if no later run of the task has begun. */
  readonly taskState: TaskState | undefined
  /** How long the task was due before this run; undefined if that is not known any more. */
  readonly waitMs: number | undefined
}

/** A series looks at so many runs, the newest. */
export const MAX_SERIES_RUNS = 10_000
/** A series has so many steps at the most. */
const MAX_STEPS = 1_000
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

/**
 * Counts runs by steps. `runs`: the newest, at most {@link MAX_SERIES_RUNS}, in any order. `reach`: the series begins there, where that is earlier than
 * the runs reach.
 */
export function seriesOf(
  runs: readonly SeriesRun[],
  filter: SeriesFilter,
  now: number,
  reach = Infinity,
): Series {
  const windowMs = Math.max(1, filter.windowMs ?? HOUR_MS)
  const stepMs = Math.max(1, filter.stepMs ?? MINUTE_MS, Math.ceil(windowMs / MAX_STEPS))
  // Before the oldest start that was looked at, others may have run.
  const isWhole = runs.length < MAX_SERIES_RUNS
  const known = isWhole ? -Infinity : runs.reduce((least, { startedAt }) => Math.min(least, startedAt), now)
  const from = Math.max(now - windowMs, Math.min(known, reach))
  // A step that is known in part only would look like a dip.
  const count = Math.max(1, (isWhole ? Math.ceil : Math.floor)((now - from) / stepMs))
  const first = now - count * stepMs
  const steps = Array.from({ length: count }, () => ({
    started: 0,
    completed: 0,
    failed: 0,
    change: 0,
    waits: [] as number[],
  }))
  const stepAt = (at: number) => steps[Math.min(count, Math.ceil((at - first) / stepMs)) - 1]
  let running = 0

  for (const run of runs) {
    const { type, lane, startedAt, endedAt, leaseState, taskState, waitMs } = run
    if (filter.type !== undefined && type !== filter.type) continue
    if (filter.lane !== undefined && lane !== filter.lane) continue
    const start = stepAt(startedAt)
    if (start === undefined) running += 1
    else {
      start.started += 1
      start.change += 1
      if (waitMs !== undefined) start.waits.push(waitMs)
    }
    if (endedAt === null) continue
    const end = stepAt(Math.max(startedAt, endedAt))
    if (end === undefined) {
      running -= 1
      continue
    }
    end.change -= 1
    if (leaseState === 'completed' && taskState === 'completed') end.completed += 1
    if (leaseState === 'failed' && taskState === 'failed') end.failed += 1
  }

  const points = steps.map(({ change, waits, ...counts }, index): SeriesPoint => {
    running += change
    const sorted = waits.toSorted((a, b) => a - b)
    const [half, most] = [below(sorted, 0.5), below(sorted, 0.95)]
    const wait = half === undefined || most === undefined ? {} : { wait: { half, most } }
    return { at: first + (index + 1) * stepMs, ...counts, running, ...wait }
  })
  return { stepMs, points }
}

function below(sorted: readonly number[], part: number): number | undefined {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]
}
