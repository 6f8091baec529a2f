import {
  lanes,
  leaseStates,
  MAX_SERIES_RUNS,
  seriesOf,
  taskStates,
  type Lane,
  type Series,
  type SeriesFilter,
  type SeriesRun,
} from '@ku0/agent-runtime-core'
import type { ReadContext } from './read-context.ts'

type Columns = [
  type: string,
  laneRank: number,
  acquiredAt: number,
  endedAt: number | null,
  leaseState: number,
  isLast: number,
  taskState: number,
  queuedAt: number,
  startedAt: number | null,
]

/** Reads the newest runs by their dispatch numbers, so that the cost does not grow with the store. */
export function prepareSeries({ db, now }: ReadContext): (filter: SeriesFilter) => Series {
  const recent = db
    .prepare<[number], Columns>(
      `SELECT stream.type, stream.lane_rank, run.acquired_at, run.ended_at, run.state, CASE WHEN task.fence = run.fence THEN 1 ELSE 0 END, task.state, task.queued_at, task.started_at
       FROM (SELECT task, fence, state, acquired_at, ended_at FROM lease ORDER BY id DESC LIMIT ? + 0) AS run
       JOIN task ON task.id = run.task JOIN stream ON stream.id = task.stream`,
    )
    .raw()

  return (filter) => {
    const { at, leaseAt } = now()
    // Leases have a clock of their own.
    const ahead = at - leaseAt
    const runs = recent.all(MAX_SERIES_RUNS).map((columns): SeriesRun => {
      const [type, laneRank, acquiredAt, endedAt, leaseState, isLast, taskState, queuedAt, startedAt] =
        columns
      const isKnown = isLast === 1 && startedAt !== null && startedAt >= queuedAt
      return {
        type,
        lane: lanes[laneRank] as Lane,
        startedAt: acquiredAt + ahead,
        endedAt: endedAt === null ? null : endedAt + ahead,
        leaseState: leaseStates[leaseState] as SeriesRun['leaseState'],
        taskState: isLast === 1 ? taskStates[taskState] : undefined,
        waitMs: isKnown ? startedAt - queuedAt : undefined,
      }
    })
    return seriesOf(runs, filter, at)
  }
}
