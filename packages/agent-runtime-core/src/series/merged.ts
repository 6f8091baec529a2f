import {
  MAX_SERIES_RUNS,
  type Series,
  type SeriesFilter,
  seriesOf,
  type SeriesPoint,
  type SeriesRun,
  waitOf,
} from '../store/series.ts'
import type { Lane } from '../task/lane.ts'
import { addWaits, MINUTE_MS, type Sample, waitBelow } from './sample.ts'

/** The past as a store knows it. */
export interface Past {
  /** The newest runs, at most {@link MAX_SERIES_RUNS}. */
  readonly runs: readonly SeriesRun[]
  /** Whether tasks were deleted, with their runs. */
  readonly isPruned: boolean
  /** Samples of all types together, and of the type that is asked for, in any order. */
  readonly samples: readonly Sample[]
}

/**
 * A series of runs where those reach, and of samples where they do not. Where samples are needed the steps are as long as theirs at least, and end with
 * theirs.
 */
export function mergedSeries({ runs, isPruned, samples }: Past, filter: SeriesFilter, now: number): Series {
  const windowMs = Math.max(1, filter.windowMs ?? 60 * MINUTE_MS)
  const own = samples.filter(
    ({ type, lane }) => type === (filter.type ?? '') && (filter.lane === undefined || lane === filter.lane),
  )
  const begin = now - windowMs
  const reached =
    runs.length < MAX_SERIES_RUNS
      ? -Infinity
      : runs.reduce((least, { startedAt }) => Math.min(least, startedAt), now)
  const first = Math.min(...samples.map(({ at, stepMs }) => at - stepMs))
  if (samples.length === 0 || (!isPruned && reached <= begin)) {
    const series = seriesOf(runs, filter, now)
    const depths = depthsOf(own, samples)
    return { ...series, points: series.points.map((point) => withDepth(point, series.stepMs, depths)) }
  }
  const sampleMs = Math.max(...samples.map(({ stepMs }) => stepMs))
  const wished = Math.max(filter.stepMs ?? MINUTE_MS, windowMs / MOST_STEPS)
  const stepMs = Math.max(1, Math.ceil(wished / sampleMs)) * sampleMs
  const end = Math.ceil(now / stepMs) * stepMs
  const aligned = { ...filter, stepMs, windowMs: end - Math.floor(begin / stepMs) * stepMs }
  const series = seriesOf(runs, aligned, end, first)
  const known = new Set(samples.filter(({ type }) => type === '').map(({ at }) => at))
  const depths = depthsOf(own, samples)
  const kept = series.points.flatMap((point, index) => {
    const from = point.at - stepMs
    const isCovered = Array.from({ length: stepMs / sampleMs }, (_, at) => from + (at + 1) * sampleMs).every(
      (at) => known.has(at),
    )
    const isPartly = from < reached
    // A step of which little is known would look like a dip.
    if (!isCovered && isPartly && !samples.some(({ at }) => at > from && at <= point.at)) return []
    const counted = isCovered || isPartly ? countsOf(own, from, point.at) : undefined
    const shown = withDepth({ ...point, ...counted, at: Math.min(point.at, now) }, stepMs, depths)
    return [{ point: shown, index, isPartly }]
  })
  return {
    stepMs,
    points: kept.map(({ point }) => point),
    workers: series.workers.map(({ workerId, running }) => ({
      workerId,
      running: kept.map(({ index, isPartly }) => (isPartly ? null : (running[index] ?? null))),
    })),
  }
}

/** The counts of samples in a step. */
function countsOf(samples: readonly Sample[], from: number, to: number): Omit<SeriesPoint, 'at'> {
  const inStep = samples.filter(({ at }) => at > from && at <= to)
  const last = Math.max(...inStep.map(({ at }) => at))
  const sum = (of: 'started' | 'completed' | 'failed') => inStep.reduce((all, sample) => all + sample[of], 0)
  const waits: number[] = []
  for (const sample of inStep) addWaits(waits, sample.waits)
  return {
    started: sum('started'),
    completed: sum('completed'),
    failed: sum('failed'),
    running: inStep.filter(({ at }) => at === last).reduce((all, { running }) => all + running, 0),
    ...waitOf((part) => waitBelow(waits, part)),
  }
}

/** The depth of each lane at the times at which somebody looked, the last time first: nothing of a type or lane that was not there. */
function depthsOf(own: readonly Sample[], all: readonly Sample[]): readonly DepthAt[] {
  const depths = new Map<number, DepthAt>()
  for (const { at, stepMs, queued } of all)
    if (queued !== undefined && !depths.has(at))
      depths.set(at, { at, stepMs, queued: { interactive: 0, normal: 0, batch: 0 } })
  for (const { at, lane, queued = 0 } of own) {
    const depth = depths.get(at)
    if (depth !== undefined) depth.queued[lane] += queued
  }
  return [...depths.values()].toSorted((a, b) => b.at - a.at)
}

interface DepthAt extends Pick<Sample, 'at' | 'stepMs'> {
  readonly queued: Record<Lane, number>
}

/** A step with what was queued at its last sample. */
function withDepth(point: SeriesPoint, stepMs: number, depths: readonly DepthAt[]): SeriesPoint {
  const last = depths.find(({ at }) => at <= point.at)
  return last === undefined || last.at <= point.at - Math.max(stepMs, last.stepMs)
    ? point
    : { ...point, queued: last.queued }
}

const MOST_STEPS = 1_000
