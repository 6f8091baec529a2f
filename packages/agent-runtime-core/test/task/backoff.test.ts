import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideBackoff, defaultBackoff } from '../../src/task/backoff.ts'

describe('back-off', () => {
  test('doubles from one second and stays at one minute', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8, 1_000].map((retry) => decideBackoff(defaultBackoff, retry, 0))
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
  })

  test('takes up to the share of the jitter off', () => {
    expect(decideBackoff(defaultBackoff, 1, 0.5)).toBe(900)
    expect(decideBackoff(defaultBackoff, 7, 0.999_999)).toBe(48_000)
  })

  test('is a whole number of ms between nothing and maxMs, however often it is tried', () => {
    const backoffs = fc.record({
      initialMs: fc.integer({ min: 0, max: 1e9 }),
      factor: fc.double({ min: 1, max: 100, noNaN: true }),
      maxMs: fc.integer({ min: 0, max: 1e9 }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(backoffs, fc.integer({ min: 1, max: 1e6 }), random, (backoff, retry, chance) => {
        const wait = decideBackoff(backoff, retry, chance)
        expect(Number.isInteger(wait)).toBe(true)
        expect(wait).toBeGreaterThanOrEqual(0)
        expect(wait).toBeLessThanOrEqual(backoff.maxMs)
      }),
    )
  })
})
