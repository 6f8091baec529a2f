import { HOUR_MS, lanes, MINUTE_MS, type Lane, type Sample, sampleAges } from '@ku0/agent-runtime-core'
import { listed, type RowOf } from './columns.ts'
import { storedList } from './stored.ts'
import type { Queries } from '../views/queries.ts'

/** A flush deletes so many old samples at the most, more than it writes. */
export const MAX_DELETED = 1_000

/** A sample as a row of its table. */
export function sampleRow(it: Sample): readonly (string | number | null)[] {
  return [
    it.stepMs,
    it.at,
    it.type,
    lanes.indexOf(it.lane),
    it.queued ?? null,
    it.running,
    it.started,
    it.completed,
    it.failed,
    JSON.stringify(it.waits),
  ]
}

/** The steps of which samples were given, with the time up to which those of the same length are too old. */
export function outdated(samples: readonly Sample[]): readonly (readonly [stepMs: number, upTo: number])[] {
  return [MINUTE_MS, HOUR_MS].flatMap((stepMs) => {
    const last = Math.max(...samples.map((it) => (it.stepMs === stepMs ? it.at : -Infinity)))
    return last === -Infinity ? [] : [[stepMs, last - (sampleAges.get(stepMs) ?? 0)] as const]
  })
}

/** Answers what is asked of samples. */
export function prepareSampleReads(db: Queries) {
  const some = db
    .prepare<[number, string, number, number, number], RowOf<'sample'>>(
      `SELECT ${listed('sample')} FROM sample WHERE step_ms = ? AND type = ? AND at > ? AND at <= ? ORDER BY at DESC, lane_rank LIMIT ? + 0`,
    )
    .raw()
  const all = db
    .prepare<[number, number, number, number], RowOf<'sample'>>(
      `SELECT ${listed('sample')} FROM sample WHERE step_ms = ? AND at > ? AND at <= ? ORDER BY at DESC, type, lane_rank LIMIT ? + 0`,
    )
    .raw()
  const last = db.prepare<[number], number | null>('SELECT max(at) FROM sample WHERE step_ms = ?').pluck()
  return {
    /** Without a type those of all types. */
    some: (stepMs: number, from: number, to: number, type?: string): readonly Sample[] =>
      (type === undefined
        ? all.all(stepMs, from, to, MAX_READ)
        : some.all(stepMs, type, from, to, MAX_READ)
      ).map(sampleOf),
    last: (stepMs: number): number | undefined => last.get(stepMs) ?? undefined,
  }
}

/** The samples of a type that one question looks at: three lanes for each minute of a day. */
const MAX_READ = 4_320

function sampleOf([
  stepMs,
  at,
  type,
  laneRank,
  queued,
  running,
  started,
  completed,
  failed,
  waits,
]: RowOf<'sample'>): Sample {
  return {
    stepMs,
    at,
    type,
    lane: lanes[laneRank] as Lane,
    ...(queued === null ? {} : { queued }),
    running,
    started,
    completed,
    failed,
    waits: storedList<number>(waits, 'sample.waits'),
  }
}
