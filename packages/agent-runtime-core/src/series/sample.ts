import { type Lane, lanes } from '../task/lane.ts'
import type { SeriesRun } from '../store/series.ts'

/** How a lane stood at the end of a step, and what its tasks did in it. Source: `docs/decisions/0052-samples.md`. */
export interface Sample {
  /** How long the step is: {@link MINUTE_MS} or {@link HOUR_MS}. */
  readonly stepMs: number
  /** When the step ends: a multiple of its length. */
  readonly at: number
  /** The task type; `''` for all types together. */
  readonly type: string
  readonly lane: Lane
  /** How many tasks were queued at the end; of an hour the most. Absent if nobody looked at the time. */
  readonly queued?: number | undefined
  /** How many ran at the end; of an hour the most. */
  readonly running: number
  readonly started: number
  readonly completed: number
  readonly failed: number
  /** How long those that started had waited: how many, by {@link waitBound}. */
  readonly waits: readonly number[]
}

/** How many tasks of a type are queued in a lane. */
export interface Depth {
  readonly type: string
  readonly lane: Lane
  readonly queued: number
}

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
/** Samples of a minute are kept for a day, those of an hour for 30 days. */
export const sampleAges: ReadonlyMap<number, number> = new Map([
  [MINUTE_MS, 24 * HOUR_MS],
  [HOUR_MS, 30 * 24 * HOUR_MS],
])
/** A step has samples of so many types and lanes at the most, the busiest, beside those of all types together. */
export const MAX_SAMPLED = 50
/** Waits are counted in so many classes; the last has no upper bound. */
export const WAIT_CLASSES = 64

/** The upper bound of a class of waits in ms: each is half an octave wide. */
export function waitBound(at: number): number {
  return at === 0 ? 1 : 2 ** (at / 2)
}

function classOf(waitMs: number): number {
  return waitMs <= 1 ? 0 : Math.min(WAIT_CLASSES - 1, Math.ceil(2 * Math.log2(waitMs)))
}

/** The wait below which a part of those in classes lay, as their bound; undefined without any. */
export function waitBelow(waits: readonly number[], part: number): number | undefined {
  const all = waits.reduce((sum, count) => sum + count, 0)
  if (all === 0) return undefined
  let seen = 0
  const at = waits.findIndex((count) => (seen += count) > part * all)
  return waitBound(at < 0 ? waits.length - 1 : at)
}

/** The samples of one step. `depths`: what is queued at its end, if somebody looks now. */
export function samplesOf(
  runs: readonly SeriesRun[],
  depths: readonly Depth[] | undefined,
  { at, stepMs }: Pick<Sample, 'at' | 'stepMs'>,
): readonly Sample[] {
  const counts = new Map<string, Counted>()
  const of = (type: string, lane: Lane) => {
    const key = `${lane} ${type}`
    const known = counts.get(key) ?? { ...emptySample(type, lane, at, stepMs), waits: [] }
    counts.set(key, known)
    return known
  }
  const isIn = (time: number) => time > at - stepMs && time <= at
  // A step in which nothing happened is known to be such.
  of('', 'normal')
  for (const { type, lane, startedAt, endedAt, leaseState, taskState, waitMs } of runs)
    for (const counted of [of('', lane), of(type, lane)]) {
      if (isIn(startedAt)) {
        counted.started += 1
        if (waitMs !== undefined) addWait(counted.waits, waitMs)
      }
      if (startedAt <= at && (endedAt === null || endedAt > at)) counted.running += 1
      if (endedAt === null || !isIn(endedAt)) continue
      if (leaseState === 'completed' && taskState === 'completed') counted.completed += 1
      if (leaseState === 'failed' && taskState === 'failed') counted.failed += 1
    }
  if (depths !== undefined) {
    for (const { type, lane, queued } of depths)
      for (const counted of [of('', lane), of(type, lane)]) counted.queued = (counted.queued ?? 0) + queued
    for (const counted of counts.values()) counted.queued ??= 0
  }
  return bounded([...counts.values()])
}

/** Samples of shorter steps as those of one longer step: what was counted is added up, what stood is the most. */
export function rolledUp(
  samples: readonly Sample[],
  { at, stepMs }: Pick<Sample, 'at' | 'stepMs'>,
): readonly Sample[] {
  const sums = new Map<string, Counted>()
  for (const sample of samples) {
    if (sample.at <= at - stepMs || sample.at > at) continue
    const key = `${sample.lane} ${sample.type}`
    const sum = sums.get(key) ?? { ...emptySample(sample.type, sample.lane, at, stepMs), waits: [] }
    sums.set(key, sum)
    if (sample.queued !== undefined) sum.queued = Math.max(sum.queued ?? 0, sample.queued)
    sum.running = Math.max(sum.running, sample.running)
    sum.started += sample.started
    sum.completed += sample.completed
    sum.failed += sample.failed
    addWaits(sum.waits, sample.waits)
  }
  return bounded([...sums.values()])
}

/** Adds one list of classes to another. */
export function addWaits(to: number[], more: readonly number[]): void {
  while (to.length < more.length) to.push(0)
  for (const [at, count] of more.entries()) to[at] = (to[at] ?? 0) + count
}

type Counted = { -readonly [Key in keyof Sample]: Sample[Key] } & { waits: number[] }

function emptySample(type: string, lane: Lane, at: number, stepMs: number): Omit<Sample, 'waits'> {
  return { stepMs, at, type, lane, running: 0, started: 0, completed: 0, failed: 0 }
}

function addWait(waits: number[], waitMs: number): void {
  const at = classOf(waitMs)
  while (waits.length <= at) waits.push(0)
  waits[at] = (waits[at] ?? 0) + 1
}

/** All types together, and the busiest of the types; what nothing happened to says nothing. */
function bounded(samples: readonly Sample[]): readonly Sample[] {
  const busy = ({ queued = 0, running, started, completed, failed }: Sample) =>
    queued + running + started + completed + failed
  const rank = (sample: Sample) => [-busy(sample), sample.type, lanes.indexOf(sample.lane)] as const
  const types = samples
    .filter((sample) => sample.type !== '' && busy(sample) > 0)
    .toSorted((a, b) => {
      const [busyA, typeA, laneA] = rank(a)
      const [busyB, typeB, laneB] = rank(b)
      return busyA - busyB || (typeA < typeB ? -1 : typeA > typeB ? 1 : laneA - laneB)
    })
  return [...samples.filter(({ type }) => type === ''), ...types.slice(0, MAX_SAMPLED)]
}
