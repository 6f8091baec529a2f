import { describe, expect, test } from 'vitest'
import { decayedScar, scarFadesInMs, scarOf } from '../../src/route/scar.ts'

describe('scars', () => {
  test.each([
    [10, 0],
    [11, 0.498],
    [100, 5],
    [5, 0],
  ])('C11 LIGHT work of %d ms leaves %d', (actualMs, size) => {
    expect(scarOf({ as: 'slow', actualMs, baselineMs: 10 }, 5)).toBeCloseTo(size, 3)
  })

  test('C9 granted 30 minutes, stops at 33: 0.5', () => {
    const minute = 60_000
    expect(scarOf({ as: 'overrun', overrunMs: 3 * minute, grantedMs: 30 * minute }, 5)).toBeCloseTo(0.5, 12)
  })

  test('C12 an hour is within EXTREME, a millisecond more is not', () => {
    const left = (ranMs: number) =>
      scarOf({ as: 'overrun', overrunMs: ranMs - 3_600_000, grantedMs: 3_600_000 }, 5)
    expect(left(3_600_000)).toBe(0)
    expect(left(3_600_001)).toBeGreaterThan(0)
  })

  test('C8 a holder that lives and never sent a required heartbeat leaves enough to open the circuit', () => {
    expect(scarOf({ as: 'silent' }, 5)).toBe(1)
  })

  test('10.3 a scar of 5 is 1.839 after 10 s', () => {
    expect(decayedScar(5, 10_000)).toBeCloseTo(1.839, 3)
    expect(decayedScar(5, -1)).toBe(5)
  })

  test('10.3 the time that it takes to fade is the time after which it is below', () => {
    const ms = scarFadesInMs(5, 1)
    expect(decayedScar(5, ms)).toBeLessThan(1)
    expect(decayedScar(5, ms - 2)).toBeGreaterThanOrEqual(1)
    expect(scarFadesInMs(0.99, 1)).toBe(0)
  })
  test.each([
    [1, 1],
    [4, 2],
    [0.9, 0.3],
  ])(
    '10.3 a scar of %d is below %d when it has faded for so long, and was not 2 ms before',
    (scar, limit) => {
      const ms = scarFadesInMs(scar, limit)
      expect(ms).toBeGreaterThan(0)
      expect(decayedScar(scar, ms)).toBeLessThan(limit)
      expect(decayedScar(scar, ms - 2)).toBeGreaterThanOrEqual(limit)
    },
  )

  test('C9 a lease that was granted no time leaves none, however long it went on', () => {
    expect(scarOf({ as: 'overrun', overrunMs: 5, grantedMs: 0 }, 5)).toBe(0)
    expect(scarOf({ as: 'overrun', overrunMs: 1, grantedMs: 1 }, 5)).toBe(5)
    expect(scarOf({ as: 'overrun', overrunMs: -1, grantedMs: 1 }, 5)).toBe(0)
  })
})
