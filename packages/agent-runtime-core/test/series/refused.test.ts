import { expect, test } from 'vitest'
import { type RefusedSubmission, withRefused } from '../../src/series/refused.ts'
import type { SeriesPoint } from '../../src/store/series.ts'

const point = (at: number): SeriesPoint => ({ at, started: 0, completed: 0, failed: 0, running: 0 })
const refusal = (at: number, more: Partial<RefusedSubmission> = {}): RefusedSubmission => ({
  at,
  reason: 'queue_full',
  type: 'x',
  lane: 'normal',
  ...more,
})
const counted = (
  ends: readonly number[],
  refusals: readonly RefusedSubmission[],
  { filter = {}, reach = -Infinity }: { filter?: object; reach?: number } = {},
) =>
  withRefused({ stepMs: 10, points: ends.map(point), workers: [] }, refusals, filter, reach).points.map(
    ({ refused }) => refused,
  )

test('a refusal is counted in the step that it ends or lies in, in any order, by its reason', () => {
  const some = [refusal(20), refusal(11), refusal(10), refusal(0), refusal(15, { reason: 'backpressure' })]
  expect(counted([10, 20], some)).toEqual([{ queue_full: 1 }, { queue_full: 2, backpressure: 1 }])
})

test('refusals between steps that are not known are left out, and so are those after the last', () => {
  expect(counted([10, 40], [refusal(20), refusal(31), refusal(41)])).toEqual([{}, { queue_full: 1 }])
})

test('a newest step that is not over begins where the one before it ends', () => {
  expect(counted([10, 13], [refusal(9), refusal(12)])).toEqual([{ queue_full: 1 }, { queue_full: 1 }])
})

test('refusals of another type or lane are left out', () => {
  const some = [refusal(1, { type: 'y' }), refusal(2, { lane: 'batch' }), refusal(3)]
  expect(counted([10], some, { filter: { type: 'x' } })).toEqual([{ queue_full: 2 }])
  expect(counted([10], some, { filter: { lane: 'batch' } })).toEqual([{ queue_full: 1 }])
})

test('a step before the oldest record is not known, and that in which the records begin counts some at least', () => {
  const some = [refusal(15), refusal(20), refusal(25)]
  expect(counted([10, 20, 30], some, { reach: 15 })).toEqual([
    undefined,
    { queue_full: 2 },
    { queue_full: 1 },
  ])
  expect(counted([10, 20, 30], some.slice(1), { reach: 20 })).toEqual([
    undefined,
    { queue_full: 1 },
    { queue_full: 1 },
  ])
})
