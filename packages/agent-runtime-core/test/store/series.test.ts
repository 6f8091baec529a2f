import { describe, expect, test } from 'vitest'
import { seriesOf } from '../../src/store/series.ts'
import { MAX_SERIES_RUNS, type SeriesRun } from '../../src/index.ts'

const NOW = 1_000_000

function run(startedAt: number, endedAt: number | null, more: Partial<SeriesRun> = {}): SeriesRun {
  const leaseState = endedAt === null ? 'running' : 'completed'
  return {
    type: 'work',
    lane: 'normal',
    startedAt,
    endedAt,
    leaseState,
    taskState: leaseState,
    waitMs: undefined,
    ...more,
  }
}

describe('a series', () => {
  test('counts a start and an end in the step in which they were, and what runs between', () => {
    const { stepMs, points } = seriesOf(
      [
        run(NOW - 5_000, NOW - 500),
        run(NOW - 2_500, null),
        run(NOW - 1_500, NOW - 1_200, { leaseState: 'failed', taskState: 'failed' }),
      ],
      { windowMs: 3_000, stepMs: 1_000 },
      NOW,
    )
    expect(stepMs).toBe(1_000)
    expect(points).toEqual([
      { at: NOW - 2_000, started: 1, completed: 0, failed: 0, running: 2 },
      { at: NOW - 1_000, started: 1, completed: 0, failed: 1, running: 2 },
      { at: NOW, started: 0, completed: 1, failed: 0, running: 1 },
    ])
  })

  test('gives the moment between two steps to the earlier one', () => {
    const { points } = seriesOf([run(NOW - 2_000, NOW - 1_000)], { windowMs: 3_000, stepMs: 1_000 }, NOW)
    expect(points.map(({ started, completed, running }) => [started, completed, running])).toEqual([
      [1, 0, 1],
      [0, 1, 0],
      [0, 0, 0],
    ])
  })

  test('counts no attempt that is repeated as a failure, and no pass before a wait as an end', () => {
    const runs = [
      run(NOW - 900, NOW - 800, { leaseState: 'failed', taskState: undefined }),
      run(NOW - 700, NOW - 600, { leaseState: 'failed', taskState: 'queued' }),
      run(NOW - 500, NOW - 400, { leaseState: 'completed', taskState: 'waiting' }),
    ]
    const { points } = seriesOf(runs, { windowMs: 1_000, stepMs: 1_000 }, NOW)
    expect(points).toEqual([{ at: NOW, started: 3, completed: 0, failed: 0, running: 0 }])
  })

  test('says below what half of the waits lie, and nearly all', () => {
    const runs = Array.from({ length: 100 }, (_, index) => run(NOW - 100, null, { waitMs: 99 - index }))
    const { points } = seriesOf(runs, { windowMs: 1_000, stepMs: 1_000 }, NOW)
    expect(points[0]?.wait).toEqual({ half: 50, most: 95, nearly: 99 })
  })

  test('says how many tasks each of the busiest workers ran at the end of each step', () => {
    const of = (workerId: string) => ({ workerId })
    const { workers } = seriesOf(
      [
        run(NOW - 9_000, NOW - 2_500, of('a')),
        run(NOW - 2_500, NOW - 1_000, of('a')),
        run(NOW - 1_500, null, of('b')),
        run(NOW - 1_400, null, of('b')),
        run(NOW - 300, NOW - 200, of('short')),
        run(NOW - 9_000, null),
      ],
      { windowMs: 3_000, stepMs: 1_000 },
      NOW,
    )
    expect(workers).toEqual([
      { workerId: 'b', running: [0, 2, 2] },
      { workerId: 'a', running: [1, 0, 0] },
    ])
    const many = Array.from({ length: 9 }, (_, at) => run(NOW - 500, null, of(`w${at}`)))
    expect(seriesOf(many, {}, NOW).workers.map(({ workerId }) => workerId)).toEqual([
      'w0',
      'w1',
      'w2',
      'w3',
      'w4',
    ])
    expect(seriesOf(many, { type: 'other' }, NOW).workers).toEqual([])
  })

  test('is of one type and one lane, if somebody asks for these', () => {
    const runs = [
      run(NOW - 1, NOW),
      run(NOW - 1, NOW, { type: 'other' }),
      run(NOW - 1, NOW, { lane: 'batch' }),
    ]
    const started = (filter: object) =>
      seriesOf(runs, { windowMs: 1_000, stepMs: 1_000, ...filter }, NOW).points[0]?.started
    expect([{}, { type: 'work' }, { lane: 'normal' }, { type: 'other', lane: 'batch' }].map(started)).toEqual(
      [3, 2, 2, 0],
    )
  })

  test('reaches back an hour by minutes, and never has more than 1,000 steps', () => {
    expect(seriesOf([], {}, NOW * 10).points).toHaveLength(60)
    const long = seriesOf([], { windowMs: 86_400_000, stepMs: 1 }, NOW)
    expect([long.points.length, long.stepMs]).toEqual([1_000, 86_400])
  })

  test('begins behind the oldest run that was looked at, where there may be older ones', () => {
    const runs = Array.from({ length: MAX_SERIES_RUNS }, () => run(NOW - 2_500, null))
    const filter = { windowMs: 60_000, stepMs: 1_000 }
    expect(seriesOf(runs, filter, NOW).points).toHaveLength(2)
    expect(seriesOf(runs.slice(1), filter, NOW).points).toHaveLength(60)
  })
})
