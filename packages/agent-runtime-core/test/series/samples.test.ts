import { describe, expect, test } from 'vitest'
import { mergedSeries } from '../../src/series/merged.ts'
import {
  HOUR_MS,
  MAX_SAMPLED,
  MINUTE_MS,
  rolledUp,
  type Sample,
  samplesOf,
  WAIT_CLASSES,
  waitBelow,
  waitBound,
} from '../../src/series/sample.ts'
import { MAX_SERIES_RUNS, type SeriesRun } from '../../src/store/series.ts'

const base = 100 * HOUR_MS

/** A run that began and ended so many seconds after the base. */
function run(from: number, to: number | null, more: Partial<SeriesRun> = {}): SeriesRun {
  return {
    type: 'x',
    lane: 'normal',
    startedAt: base + from * 1_000,
    endedAt: to === null ? null : base + to * 1_000,
    leaseState: to === null ? 'running' : 'completed',
    taskState: to === null ? 'running' : 'completed',
    waitMs: 100,
    ...more,
  }
}
const failed = { leaseState: 'failed', taskState: 'failed' } as const
const minute = (number: number) => ({ at: base + number * MINUTE_MS, stepMs: MINUTE_MS })
const shortOf = ({ type, lane, queued, running, started, completed, failed: bad }: Sample) =>
  `${type}/${lane} q${queued ?? '?'} r${running} ${started}/${completed}/${bad}`

describe('samples of a minute', () => {
  test('count what started and ended in it, and what ran at its end, by type and lane and for all types', () => {
    const runs = [run(-5, 10), run(20, 30, failed), run(40, null), run(50, 70, { type: 'y', lane: 'batch' })]
    const depths = [{ type: 'x', lane: 'normal', queued: 4 }] as const
    expect(samplesOf(runs, depths, minute(1)).map(shortOf)).toEqual([
      '/normal q4 r1 2/1/1',
      '/batch q0 r1 1/0/0',
      'x/normal q4 r1 2/1/1',
      'y/batch q0 r1 1/0/0',
    ])
    expect(samplesOf(runs, undefined, minute(2)).map(shortOf)).toEqual([
      '/normal q? r1 0/0/0',
      '/batch q? r0 0/1/0',
      'x/normal q? r1 0/0/0',
      'y/batch q? r0 0/1/0',
    ])
  })

  test('an end at the border belongs to the minute that it ends, and a minute without anything is known to be such', () => {
    expect(samplesOf([run(0, 60)], undefined, minute(1)).map(shortOf)).toEqual([
      '/normal q? r0 0/1/0',
      'x/normal q? r0 0/1/0',
    ])
    expect(samplesOf([], [], minute(1)).map(shortOf)).toEqual(['/normal q0 r0 0/0/0'])
  })

  test('a run that begins at the border runs, one that went back to the queue ended neither way, and one long past says nothing of its type', () => {
    const border = samplesOf([run(60, null)], undefined, minute(1))
    expect(border.map(shortOf)).toEqual(['/normal q? r1 1/0/0', 'x/normal q? r1 1/0/0'])
    const back = [
      run(1, 2, { leaseState: 'failed', taskState: 'queued' }),
      // Its last run ended it; this one was put back before.
      run(3, 4, { leaseState: 'failed', taskState: 'completed' }),
      run(5, 6, { leaseState: 'completed', taskState: 'failed' }),
    ]
    expect(samplesOf(back, undefined, minute(1)).map(shortOf)).toEqual([
      '/normal q? r0 3/0/0',
      'x/normal q? r0 3/0/0',
    ])
    expect(samplesOf([run(-500, -400)], undefined, minute(1)).map(shortOf)).toEqual(['/normal q? r0 0/0/0'])
  })

  test('all types together have what is queued of each, and a wait that is not known is counted in no class', () => {
    const depths = [
      { type: 'x', lane: 'normal', queued: 4 },
      { type: 'y', lane: 'normal', queued: 3 },
    ] as const
    const runs = [run(1, null, { waitMs: undefined }), run(2, null)]
    const samples = samplesOf(runs, depths, minute(1))
    expect(samples.map(shortOf)).toEqual([
      '/normal q7 r2 2/0/0',
      'x/normal q4 r2 2/0/0',
      'y/normal q3 r0 0/0/0',
    ])
    expect(samples[0]?.waits.reduce((sum, count) => sum + count, 0)).toBe(1)
    expect(Object.keys(samples[0]?.waits ?? [])).not.toContain('NaN')
  })

  test('types that are as busy come by name, and the lanes of one type in their order', () => {
    const runs = [
      run(1, null, { type: 'b', lane: 'batch' }),
      run(1, null, { type: 'b', lane: 'interactive' }),
      run(1, null, { type: 'a', lane: 'batch' }),
    ]
    const types = samplesOf(runs, undefined, minute(1)).filter(({ type }) => type !== '')
    expect(types.map(({ type, lane }) => `${type}/${lane}`)).toEqual(['a/batch', 'b/interactive', 'b/batch'])
  })

  test('are those of the busiest types at the most, and all of them count together', () => {
    const runs = Array.from({ length: 80 }, (_, at) => run(1 + (at % 50), null, { type: `t${at % 60}` }))
    const samples = samplesOf(runs, undefined, minute(1))
    expect(samples).toHaveLength(MAX_SAMPLED + 1)
    expect(samples[0]).toMatchObject({ type: '', started: 80 })
    // Those of which there are two come first.
    expect(samples.slice(1, 20).map(({ running }) => running)).toEqual(Array.from({ length: 19 }, () => 2))
  })

  test('waits of up to 1 ms are the first class, and each bound is in its own', () => {
    const waitsOf = (waitMs: number) => samplesOf([run(1, null, { waitMs })], undefined, minute(1))[0]?.waits
    for (const waitMs of [0, 0.5, 1]) expect(waitsOf(waitMs)).toStrictEqual([1])
    expect(waitsOf(1.2)).toStrictEqual([0, 1])
    for (const at of [2, 4, 10]) {
      expect(waitsOf(waitBound(at))).toHaveLength(at + 1)
      expect(waitsOf(waitBound(at) + 1)?.length).toBeGreaterThan(at + 1)
    }
    expect([waitBound(0), waitBound(2), waitBound(4)]).toEqual([1, 2, 4])
  })

  test('a wait is known to half an octave', () => {
    const [ever] = samplesOf([run(1, null, { waitMs: 1e15 })], undefined, minute(1))
    expect(ever?.waits).toHaveLength(WAIT_CLASSES)
    for (const waitMs of [0, 1, 2, 3, 99, 1_000, 86_400_000]) {
      const [all] = samplesOf([run(1, null, { waitMs })], undefined, minute(1))
      const bound = waitBelow(all?.waits ?? [], 0.5) ?? 0
      expect(bound).toBeGreaterThanOrEqual(waitMs)
      expect(bound).toBeLessThanOrEqual(Math.max(1, waitMs * Math.SQRT2 * 1.001))
    }
    expect(waitBelow([], 0.5)).toBeUndefined()
    expect([waitBelow([9, 0, 1], 0.5), waitBelow([9, 0, 1], 0.95)]).toEqual([waitBound(0), waitBound(2)])
    // More than the part lies below the bound.
    expect([waitBelow([1, 1], 0.5), waitBelow([1, 1], 1)]).toEqual([waitBound(1), waitBound(1)])
  })

  test('an hour adds up what was counted, and has the most of what stood', () => {
    const minutes = [1, 2, 61].flatMap((number) =>
      samplesOf(
        [run(number * 60 - 5, null)],
        [{ type: 'x', lane: 'normal', queued: number }],
        minute(number),
      ),
    )
    const hour = rolledUp(minutes, { at: base + HOUR_MS, stepMs: HOUR_MS })
    expect(hour.map(shortOf)).toEqual(['/normal q2 r1 2/0/0', 'x/normal q2 r1 2/0/0'])
    expect(hour[0]?.waits.reduce((sum, count) => sum + count, 0)).toBe(2)
  })

  test('an hour has its last minute and not the one before its first, and knows no depth where nobody looked', () => {
    const minutes = [0, 60].flatMap((number) =>
      samplesOf([run(number * 60 - 5, null)], undefined, minute(number)),
    )
    const hour = rolledUp(minutes, { at: base + HOUR_MS, stepMs: HOUR_MS })
    expect(hour.map(shortOf)).toEqual(['/normal q? r1 1/0/0', 'x/normal q? r1 1/0/0'])
    const looked = samplesOf([], [{ type: 'x', lane: 'normal', queued: 5 }], minute(1))
    const some = rolledUp([...looked, ...minutes], { at: base + HOUR_MS, stepMs: HOUR_MS })
    expect(some[0]?.queued).toBe(5)
  })
})

describe('a series of runs and samples', () => {
  const window = { windowMs: 10 * MINUTE_MS, stepMs: MINUTE_MS }
  const now = base + 10 * MINUTE_MS + 30_000
  /** One run begins and ends in each minute. */
  const runs = Array.from({ length: 10 }, (_, at) => run(at * 60 + 5, at * 60 + 20))
  const samples = Array.from({ length: 10 }, (_, at) =>
    samplesOf(runs, [{ type: 'x', lane: 'batch', queued: at }], minute(at + 1)),
  ).flat()

  test('is that of the runs where they reach, with what was queued', () => {
    const series = mergedSeries({ runs, isPruned: false, samples }, window, now)
    expect(series.points).toHaveLength(10)
    expect(series.points.at(-1)).toMatchObject({ at: now, queued: { interactive: 0, normal: 0, batch: 9 } })
    expect(series.points.every(({ queued }) => queued !== undefined)).toBe(true)
    const without = mergedSeries({ runs, isPruned: false, samples: [] }, window, now)
    expect(without.points.map(({ started }) => started)).toEqual(series.points.map(({ started }) => started))
    expect(without.points[0]).not.toHaveProperty('queued')
  })

  test('does not say what was queued long after somebody looked', () => {
    const looked = samples.filter(({ at }) => at <= base + 3 * MINUTE_MS)
    const { points } = mergedSeries({ runs, isPruned: false, samples: looked }, window, now)
    const known = points.filter(({ queued }) => queued !== undefined).map(({ at }) => (at - now) / MINUTE_MS)
    expect(known).toEqual([-9, -8, -7])
    const { points: aligned } = mergedSeries(
      { runs, isPruned: false, samples: looked },
      window,
      base + 10 * MINUTE_MS,
    )
    expect(aligned.filter(({ queued }) => queued !== undefined)).toHaveLength(3)
    // Samples of an hour stand for their hour.
    const hourly = samplesOf(runs, [{ type: 'x', lane: 'batch', queued: 4 }], { at: base, stepMs: HOUR_MS })
    const later = mergedSeries({ runs, isPruned: false, samples: hourly }, window, now)
    expect(later.points.every(({ queued }) => queued?.batch === 4)).toBe(true)
  })

  test('has at most a thousand steps, an hour where nothing is asked for, and the running of its last minute', () => {
    const past = { runs: [], isPruned: true, samples }
    expect(mergedSeries(past, {}, now).points.length).toBeGreaterThan(9)
    const long = mergedSeries(past, { windowMs: 3_000 * MINUTE_MS, stepMs: MINUTE_MS }, now)
    expect(long.stepMs).toBe(3 * MINUTE_MS)
    const busy = [1, 2].flatMap((number) =>
      samplesOf([run(number * 60 - 5, null)], undefined, minute(number)),
    )
    const two = { windowMs: 2 * MINUTE_MS, stepMs: 2 * MINUTE_MS }
    const { points } = mergedSeries({ ...past, samples: busy }, two, base + 2 * MINUTE_MS)
    expect(points.at(-1)).toMatchObject({ started: 2, running: 1 })
    const ended = [1, 2].flatMap((number) => samplesOf([run(5, 90)], undefined, minute(number)))
    const last = mergedSeries({ ...past, samples: ended }, two, base + 2 * MINUTE_MS).points.at(-1)
    expect(last).toMatchObject({ started: 1, completed: 1, running: 0 })
  })

  test('is that of the samples before the oldest run that was looked at, and where runs were deleted', () => {
    const many = Array.from({ length: MAX_SERIES_RUNS }, () => run(9 * 60 + 5, 9 * 60 + 20))
    for (const past of [
      { runs: many, isPruned: false, samples },
      { runs: [], isPruned: true, samples },
    ]) {
      const { points, stepMs } = mergedSeries(past, window, now)
      expect(stepMs).toBe(MINUTE_MS)
      // The minutes of the samples, and the one that has begun.
      const counted = points.filter(({ at }) => at > base && at <= base + 9 * MINUTE_MS)
      expect(counted.map(({ started, completed }) => [started, completed])).toEqual(counted.map(() => [1, 1]))
      expect(counted).toHaveLength(9)
      // The step that has begun ends now.
      expect(points.at(-1)?.at).toBe(now)
      expect(counted.every(({ wait }) => wait !== undefined && wait.half >= 100 && wait.half < 142)).toBe(
        true,
      )
    }
  })

  test('says of the busiest workers what they ran where the runs reach, and nothing before', () => {
    const many = Array.from({ length: MAX_SERIES_RUNS }, (_, at) =>
      run(8 * 60 + 5, at < 7 ? null : 8 * 60 + 20, { workerId: at < 4 ? 'a' : 'b' }),
    )
    const { points, workers } = mergedSeries({ runs: many, isPruned: false, samples }, window, now)
    // The step in which the runs begin is known in part only.
    const ran = (number: number) => points.map(({ at }) => (at <= base + 9 * MINUTE_MS ? null : number))
    expect(workers).toEqual([
      { workerId: 'a', running: ran(4) },
      { workerId: 'b', running: ran(3) },
    ])
  })

  test('has the steps that the runs reach, also without a sample, and of those before them the ones with one', () => {
    const many = Array.from({ length: MAX_SERIES_RUNS }, () => run(5 * 60 + 5, 5 * 60 + 20))
    const early = samples.filter(({ at }) => at <= base + 3 * MINUTE_MS)
    const { points } = mergedSeries({ runs: many, isPruned: false, samples: early }, window, now)
    expect(points.map(({ at }) => (at - base) / MINUTE_MS)).toEqual([1, 2, 3, 7, 8, 9, 10, 10.5])
    expect(points.map(({ started }) => started)).toEqual([1, 1, 1, 0, 0, 0, 0, 0])
  })

  test('leaves out a step of which only the end is known', () => {
    // More runs than are looked at began in the last 20 seconds.
    const many = Array.from({ length: MAX_SERIES_RUNS }, () => run(10 * 60 + 10, 10 * 60 + 11))
    const { points } = mergedSeries({ runs: many, isPruned: false, samples }, window, now)
    expect(points.at(-1)?.at).toBe(base + 10 * MINUTE_MS)
    expect(points.every(({ started }) => started === 1)).toBe(true)
  })

  test('counts only the samples of its type or lane, if it is asked for one', () => {
    const past = { runs: [], isPruned: true, samples }
    const of = (filter: object) =>
      mergedSeries(past, { ...window, ...filter }, now).points.find(({ at }) => at === base + 5 * MINUTE_MS)
    expect(of({ type: 'x' })).toMatchObject({ started: 1, queued: { batch: 4 } })
    expect(of({ type: 'nothing' })).toMatchObject({ started: 0, queued: { batch: 0 } })
    expect(of({ lane: 'batch' })).toMatchObject({ started: 0, queued: { batch: 4, normal: 0 } })
    expect(of({ lane: 'normal' })).toMatchObject({ started: 1, queued: { batch: 0 } })
  })

  test('counts what is known of a step that lies before the runs in part, and has the steps of its longest samples', () => {
    const many = Array.from({ length: MAX_SERIES_RUNS }, () => run(9 * 60 + 5, 9 * 60 + 20))
    const holey = samples.filter(({ at }) => at !== base + 5 * MINUTE_MS)
    const two = { ...window, stepMs: 2 * MINUTE_MS }
    const { points } = mergedSeries({ runs: many, isPruned: false, samples: holey }, two, now)
    const startedBy = (number: number) => points.find(({ at }) => at === base + number * MINUTE_MS)?.started
    expect([startedBy(4), startedBy(6)]).toEqual([2, 1])
    const hour = samplesOf(runs, undefined, { at: base, stepMs: HOUR_MS })
    expect(
      mergedSeries({ runs: [], isPruned: true, samples: [...hour, ...samples] }, window, now).stepMs,
    ).toBe(HOUR_MS)
  })

  test('has longer steps where fewer are wished for, each of whole minutes', () => {
    const past = { runs: [], isPruned: true, samples }
    const { points, stepMs } = mergedSeries(past, { ...window, stepMs: 90_000 }, now)
    expect(stepMs).toBe(2 * MINUTE_MS)
    expect(points.reduce((sum, { started }) => sum + started, 0)).toBe(10)
  })
})
