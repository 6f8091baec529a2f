import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  agedRank,
  decideSettlement,
  decideStart,
  MAX_INCREMENT,
  settledIncrement,
  shareIncrement,
  tierWeights,
} from '../../src/share/fairness.ts'
import { MICRO } from '../../src/budget/usage.ts'

const increment = (cost: number, credits: number, tier: keyof typeof tierWeights) =>
  shareIncrement(cost * MICRO, credits * MICRO, tierWeights[tier]) / MICRO

describe('fair shares', () => {
  test.each([
    [1, 1000, 'contracted', 0.25],
    [1, 1000, 'marketplace', 1],
    [1, 500, 'marketplace', 2],
    [1, 2000, 'marketplace', 0.5],
    [10, 500, 'contracted', 5],
    [5, 250, 'marketplace', 20],
    [1, 0, 'marketplace', 1000],
    [1, 0.5, 'contracted', 250],
  ] as const)('11.1 cost %d, credits %d, %s: %d', (cost, credits, tier, expected) => {
    expect(increment(cost, credits, tier)).toBe(expected)
  })

  test('11.1 nothing is so cheap that its client goes first for ever', () => {
    expect(increment(0.0005, 4_000_000, 'marketplace')).toBe(0.000001)
    expect(increment(0, 1_000, 'marketplace')).toBe(0.000001)
    expect(increment(1, 1_000_000_000, 'contracted')).toBe(0.000001)
  })

  test('11.3 a client begins beside those that are active, never below where it was', () => {
    expect(decideStart(3, 10, 'floor')).toBe(10)
    expect(decideStart(12, 10, 'floor')).toBe(12)
    expect(decideStart(3, undefined, 'floor')).toBe(3)
    expect(decideStart(3, 10, 'zero')).toBe(3)
  })

  test('11.5 a refund never goes below where the client began, and a surcharge is added whole', () => {
    const at = (time: number, charged: number, settled: number) =>
      decideSettlement({ time, floor: 100, charged, settled })
    expect(at(150, 10, 4)).toBe(144)
    expect(at(102, 10, 4)).toBe(100)
    expect(at(90, 10, 4)).toBe(90)
    expect(at(150, 10, 25)).toBe(165)
  })

  test('11.5 the cost counts at the rate of the start, and where its charge cannot tell that at the present one', () => {
    const settled = (charged: number, now = 7) =>
      settledIncrement({ charged, estimate: 2 * MICRO, cost: 5 * MICRO, now })
    expect(settled(1_000)).toBe(2_500)
    expect(settled(999)).toBe(7)
    expect(settled(0)).toBe(7)
    expect(settled(MAX_INCREMENT)).toBe(7)
    expect(settled(MAX_INCREMENT - 1)).toBe(MAX_INCREMENT)
  })

  test('C5 waiting lifts by one lane for each whole period', () => {
    expect([0, 999, 1_000, 1_999, 2_000, 5_000].map((waited) => agedRank(2, waited, 1_000))).toEqual([
      2, 2, 1, 1, 0, -3,
    ])
    expect(agedRank(0, -5, 1_000)).toBe(0)
  })

  test('twice the credits, half the increment; whole numbers always', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e4 }), fc.integer({ min: 1, max: 1e6 }), (cost, credits) => {
        const one = shareIncrement(cost * MICRO, credits * MICRO, 1)
        const two = shareIncrement(cost * MICRO, 2 * credits * MICRO, 1)
        expect(Number.isSafeInteger(one)).toBe(true)
        expect(Math.abs(one - 2 * two)).toBeLessThanOrEqual(1)
      }),
    )
  })
})
