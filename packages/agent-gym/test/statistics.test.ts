import { expect, it } from 'vitest'
import { jainIndex, medianDeviation, medianOf, spreadOf } from '../src/measure/statistics.ts'

it('gives quantiles between neighbours, and nothing of nothing', () => {
  const values = Array.from({ length: 101 }, (_, i) => 100 - i)
  expect(spreadOf(values)).toEqual({ count: 101, min: 0, p50: 50, p95: 95, p99: 99, max: 100, mean: 50 })
  expect(spreadOf([1, 2])).toMatchObject({ p50: 1.5 })
  expect(spreadOf([])).toBeNull()
})

it('keeps what never happened infinite', () => {
  expect(spreadOf([1, Infinity, Infinity])).toMatchObject({ min: 1, p50: Infinity, max: Infinity })
})

it('measures fairness', () => {
  expect(jainIndex([5, 5, 5, 5])).toBe(1)
  expect(jainIndex([1, 0, 0, 0])).toBe(0.25)
  expect(jainIndex([])).toBeNull()
  expect(jainIndex([0, 0])).toBeNull()
})

it('measures how far repeated runs lie apart', () => {
  expect(medianOf([3, 1, 2])).toBe(2)
  expect(medianOf([])).toBeNull()
  expect(medianDeviation([10, 12, 17])).toBe(2)
  expect(medianDeviation([])).toBe(0)
})
