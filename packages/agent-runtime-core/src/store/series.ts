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
  /** How long the tasks that started in this step had been due: below `half` for one half, below `most` for 95 %, below `nearly` for 99 %. */
  readonly wait?: { readonly half: number; readonly most: number; readonly nearly: number }
}

/** How many tasks a worker ran. */
export interface SeriesWorker {
  readonly workerId: string
  /** At the end of each step of the series; null where its runs are not looked at. */
  readonly running: readonly (number | null)[]
}

/** How many tasks ran in the past, step by step, from the runs that the store holds. Source: `docs/decisions/0047-series-from-leases.md`. */
export interface Series {
  readonly stepMs: number
  /** The newest step last. The first begins later than the window where the window has more runs than are looked at. */
  readonly points: readonly SeriesPoint[]
  /** The workers that ran the most at once, at most five. */
  readonly workers: readonly SeriesWorker[]
}

/** A run as a series counts it: a lease, with what its task says. Times are the wall clock's. */
export interface SeriesRun {
  readonly type: string
  readonly lane: Lane
  /** Absent for a task that its caller runs. */
  readonly workerId?: string | undefined
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
/** A series has so many workers. */
const MAX_SERIES_WORKERS = 5
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
  const indexOf = (at: number) => Math.min(count, Math.ceil((at - first) / stepMs)) - 1
  const stepAt = (at: number) => steps[indexOf(at)]
  let running = 0
  const byWorker = new Map<string, number[]>()

  for (const run of runs) {
    const { type, lane, workerId, startedAt, endedAt, leaseState, taskState, waitMs } = run
    if (filter.type !== undefined && type !== filter.type) continue
    if (filter.lane !== undefined && lane !== filter.lane) continue
    if (workerId !== undefined) {
      const begin = Math.max(0, indexOf(startedAt))
      const over = endedAt === null ? count : indexOf(Math.max(startedAt, endedAt))
      // It ran at the end of a step.
      if (over > begin) {
        const changes = byWorker.get(workerId) ?? Array.from({ length: count + 1 }, () => 0)
        byWorker.set(workerId, changes)
        changes[begin] = (changes[begin] ?? 0) + 1
        changes[over] = (changes[over] ?? 0) - 1
      }
    }
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
    return {
      at: first + (index + 1) * stepMs,
      ...counts,
      running,
      ...waitOf((part) => below(sorted, part)),
    }
  })
  return { stepMs, points, workers: busiest(byWorker) }
}

/** The waits of a step by parts of those that started in it. */
export function waitOf(waitBelow: (part: number) => number | undefined): Pick<SeriesPoint, 'wait'> {
  const [half, most, nearly] = [waitBelow(0.5), waitBelow(0.95), waitBelow(0.99)]
  return half === undefined || most === undefined || nearly === undefined
    ? {}
    : { wait: { half, most, nearly } }
}

/** The workers that ran the most at once, from how their numbers changed in each step. */
function busiest(byWorker: ReadonlyMap<string, readonly number[]>): readonly SeriesWorker[] {
  return [...byWorker]
    .map(([workerId, changes]) => {
      let now = 0
      const running = changes.slice(0, -1).map((change) => (now += change))
      return { workerId, running, most: Math.max(...running) }
    })
    .toSorted((a, b) => b.most - a.most || (a.workerId < b.workerId ? -1 : 1))
    .slice(0, MAX_SERIES_WORKERS)
    .map(({ workerId, running }) => ({ workerId, running }))
}

function below(sorted: readonly number[], part: number): number | undefined {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]
}
