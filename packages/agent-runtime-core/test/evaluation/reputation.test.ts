import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  effectiveWeight,
  explorationShare,
  ignoresReputation,
  nextReputation,
  reputationAlpha,
} from '../../src/evaluation/reputation.ts'

const score = fc.double({ min: 0, max: 1, noNaN: true })
/** The reputations that scores lead to, one after another. */
function reputationsOf(scores: readonly number[], alpha?: number): number[] {
  const found: number[] = []
  for (const composite of scores) found.push(nextReputation(found.at(-1), composite, alpha))
  return found
}

describe('reputation (docs/semantics.md 15.3)', () => {
  test('15.3 it is a moving average that begins with the first score', () => {
    const found = reputationsOf([0.8, 0.9, 0.7, 1, 0.6])
    const expected = [0.8, 0.83, 0.791, 0.8537, 0.77759]
    for (const [index, reputation] of expected.entries()) expect(found[index]).toBeCloseTo(reputation, 12)
  })

  test('15.3 it converges: |R_T - s*| <= (1-alpha)^(T-1) |R_1 - s*| + sup |s_k - s*|', () => {
    const alphas = fc.double({ min: 0.01, max: 0.99, noNaN: true })
    fc.assert(
      fc.property(
        fc.array(score, { minLength: 1, maxLength: 60 }),
        score,
        alphas,
        (scores, target, alpha) => {
          const found = reputationsOf(scores, alpha)
          const furthest = Math.max(...scores.map((composite) => Math.abs(composite - target)))
          for (const [index, reputation] of found.entries()) {
            const remembered = (1 - alpha) ** index * Math.abs((found[0] ?? 0) - target)
            expect(Math.abs(reputation - target)).toBeLessThanOrEqual(remembered + furthest + 1e-12)
          }
        },
      ),
    )
  })

  test('15.3 with steady scores after the first, what the first left behind fades as (1-alpha)^(T-1)', () => {
    fc.assert(
      fc.property(score, score, fc.integer({ min: 1, max: 60 }), (first, steady, rounds) => {
        const last = reputationsOf([first, ...Array.from({ length: rounds }, () => steady)]).at(-1) ?? 0
        const left = (1 - reputationAlpha) ** rounds * (first - steady)
        expect(last - steady).toBeCloseTo(left, 12)
      }),
    )
  })

  test('15.3 it lies between the lowest and the highest score, and stays where all are the same', () => {
    fc.assert(
      fc.property(fc.array(score, { minLength: 1 }), (scores) => {
        const last = reputationsOf(scores).at(-1) ?? -1
        expect(last).toBeGreaterThanOrEqual(Math.min(...scores) - 1e-15)
        expect(last).toBeLessThanOrEqual(Math.max(...scores) + 1e-15)
        expect(new Set(reputationsOf(scores.map(() => scores[0] ?? 0))).size).toBe(1)
      }),
    )
  })
})

describe('reputation in the schedule (docs/semantics.md 11.6)', () => {
  test('11.6 beta 0.5, reputation 0.86405: weight 1.432025, increment 0.69831', () => {
    const weight = effectiveWeight(1, 0.5, 0.86405)
    expect(weight).toBeCloseTo(1.432025, 12)
    const increment = (1 * 1000) / (1000 * weight)
    expect(increment).toBeCloseTo(0.69831, 5)
  })

  test('11.6 the reputation is clamped to 0.05 to 1, so that nobody is starved', () => {
    expect(effectiveWeight(4, 0.5, 0)).toBe(effectiveWeight(4, 0.5, 0.05))
    expect(effectiveWeight(4, 0.5, 0.05)).toBeCloseTo(4.1, 12)
    expect(effectiveWeight(4, 0.5, 1)).toBe(6)
    expect(effectiveWeight(4, 0.5, 7)).toBe(6)
  })

  test('11.6 with beta 0, or without an evaluation, it is the weight itself', () => {
    fc.assert(
      fc.property(score, (reputation) => {
        expect(effectiveWeight(4, 0, reputation)).toBe(4)
        expect(effectiveWeight(4, reputation, undefined)).toBe(4)
      }),
    )
  })

  test('11.6 a better reputation never weighs less', () => {
    fc.assert(
      fc.property(score, score, fc.double({ min: 0, max: 100, noNaN: true }), (a, b, beta) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)]
        expect(effectiveWeight(1, beta, high)).toBeGreaterThanOrEqual(effectiveWeight(1, beta, low))
      }),
    )
  })

  test('11.6 a share of dispatches ignores it: 0.05 unless said otherwise', () => {
    expect(explorationShare).toBe(0.05)
    expect([0, 0.0499, 0.05, 0.9].map((draw) => ignoresReputation(draw))).toEqual([true, true, false, false])
    expect([0, 0.5].map((draw) => ignoresReputation(draw, 0))).toEqual([false, false])
    expect([0, 0.999].map((draw) => ignoresReputation(draw, 1))).toEqual([true, true])
    const draws = Array.from({ length: 10_000 }, (_, index) => index / 10_000)
    expect(draws.filter((draw) => ignoresReputation(draw))).toHaveLength(500)
  })
})
