import {
  HOUR_MS,
  type Depth,
  lanes,
  leaseStates,
  MAX_SERIES_RUNS,
  mergedSeries,
  MINUTE_MS,
  type NumberedRun,
  type Reads,
  sampleAges,
  taskStates,
  type RefusedSubmission,
  type RejectionReason,
  withRefused,
  type Lane,
  type Series,
  type SeriesFilter,
} from '@ku0/agent-runtime-core'
import { prepareSampleReads } from '../sqlite/samples.ts'
import { REFUSED_BY_INDEX } from '../sqlite/schema.ts'
import type { ReadContext } from './read-context.ts'

type Columns = [
  number: number,
  type: string,
  laneRank: number,
  acquiredAt: number,
  endedAt: number | null,
  leaseState: number,
  isLast: number,
  taskState: number,
  queuedAt: number,
  startedAt: number | null,
  workerId: string | null,
]

const RUN = 'SELECT id, task, worker, fence, state, acquired_at, ended_at FROM lease'

/** Reads runs by their dispatch numbers, so that the cost does not grow with the store, and samples of the time before. */
export function prepareSeries({ db, tables, now }: ReadContext) {
  const runsOf = <Given extends unknown[]>(which: string) =>
    db
      .prepare<Given, Columns>(
        `SELECT run.id, stream.type, stream.lane_rank, run.acquired_at, run.ended_at, run.state, CASE WHEN task.fence = run.fence THEN 1 ELSE 0 END, task.state, task.queued_at, task.started_at, worker.worker_id
       FROM (${which}) AS run
       JOIN task ON task.id = run.task JOIN stream ON stream.id = task.stream LEFT JOIN worker ON worker.id = run.worker`,
      )
      .raw()
  const recent = runsOf<[number, number]>(`${RUN} WHERE id < ? ORDER BY id DESC LIMIT ? + 0`)
  const following = runsOf<[number, number]>(`${RUN} WHERE id > ? ORDER BY id LIMIT ? + 0`)
  const one = runsOf<[number]>(`${RUN} WHERE id = ?`)
  const refused = db
    .prepare<[number, number], [at: number, reason: RejectionReason, type: string, lane: Lane]>(
      `SELECT refusal.submitted_at, event.data ->> '$.reason', event.data ->> '$.type', event.data ->> '$.lane'
       FROM (SELECT id, submitted_at FROM task WHERE ${REFUSED_BY_INDEX} ORDER BY id DESC LIMIT ? + 0) AS refusal
       JOIN event ON event.task = refusal.id AND event.seq = 1
       WHERE refusal.submitted_at > ?`,
    )
    .raw()
  const oldestRefused = db
    .prepare<[number], number>(
      `SELECT min(submitted_at) FROM (SELECT submitted_at FROM task WHERE ${REFUSED_BY_INDEX} ORDER BY id DESC LIMIT ? + 0) AS refusal`,
    )
    .pluck()
  const samples = prepareSampleReads(db)

  return { series, runs, samples: readSamples, lastSample: samples.last }

  function series(filter: SeriesFilter): Series {
    const { at } = now()
    const windowMs = Math.max(1, filter.windowMs ?? HOUR_MS)
    const stepMs = windowMs <= (sampleAges.get(MINUTE_MS) ?? 0) ? MINUTE_MS : HOUR_MS
    const of = (type: string) => samples.some(stepMs, at - windowMs - stepMs, at, type)
    const counted = mergedSeries(
      {
        runs: recent.all(Number.MAX_SAFE_INTEGER, MAX_SERIES_RUNS).map(prepareRun()),
        isPruned: Object.values(tables.load.retired()).some((count) => count > 0),
        samples: [...of(''), ...(filter.type === undefined ? [] : of(filter.type))],
      },
      filter,
      at,
    )
    const since = at - windowMs - counted.stepMs
    return withRefused(counted, refusals(since), filter, refusalsReach())
  }

  function refusals(since: number): readonly RefusedSubmission[] {
    return refused
      .all(MAX_SERIES_RUNS, since)
      .map(([submittedAt, reason, type, lane]) => ({ at: submittedAt, reason, type, lane }))
  }

  /** Records of refusals are bounded: before the oldest, others may have been. */
  function refusalsReach(): number {
    const { rejected, rejectedPruned } = tables.load.totals()
    if (rejectedPruned === 0 && rejected <= MAX_SERIES_RUNS) return -Infinity
    return oldestRefused.get(MAX_SERIES_RUNS) ?? now().at
  }

  function runs({ after, before, these, limit }: Reads['runs']['fields']): Reads['runs']['answer'] {
    if (these !== undefined) db.ahead(these, (number) => one.get(number))
    const found: Columns[] =
      these !== undefined
        ? these.flatMap((number) => {
            const run = one.get(number)
            return run === undefined ? [] : [run]
          })
        : after === undefined
          ? recent.all(before ?? Number.MAX_SAFE_INTEGER, limit)
          : following.all(after, limit)
    return { runs: found.map(prepareRun()), depths: depths() }
  }

  function depths(): readonly Depth[] {
    const byKind = new Map<string, Depth>()
    for (const { type, laneRank, depth } of tables.load.streams()) {
      if (depth === 0) continue
      const lane = lanes[laneRank] as Lane
      const key = `${lane} ${type}`
      byKind.set(key, { type, lane, queued: (byKind.get(key)?.queued ?? 0) + depth })
    }
    return [...byKind.values()]
  }

  function readSamples({
    stepMs,
    from,
    to,
    type,
    lane,
  }: Reads['samples']['fields']): Reads['samples']['answer'] {
    return samples.some(stepMs, from, to, type).filter((it) => lane === undefined || it.lane === lane)
  }

  /** Leases have a clock of their own. */
  function prepareRun(): (columns: Columns) => NumberedRun {
    const { at, leaseAt } = now()
    const ahead = at - leaseAt
    return ([
      number,
      type,
      laneRank,
      acquiredAt,
      endedAt,
      leaseState,
      isLast,
      taskState,
      queuedAt,
      startedAt,
      workerId,
    ]) => {
      const isKnown = isLast === 1 && startedAt !== null && startedAt >= queuedAt
      return {
        number,
        type,
        lane: lanes[laneRank] as Lane,
        ...(workerId === null ? {} : { workerId }),
        startedAt: acquiredAt + ahead,
        endedAt: endedAt === null ? null : endedAt + ahead,
        leaseState: leaseStates[leaseState] as NumberedRun['leaseState'],
        taskState: isLast === 1 ? taskStates[taskState] : undefined,
        waitMs: isKnown ? startedAt - queuedAt : undefined,
      }
    }
  }
}
