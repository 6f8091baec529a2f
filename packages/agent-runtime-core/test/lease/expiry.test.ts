import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideExpiry, expiryOrder, isExpired } from '../../src/lease/expiry.ts'

describe('expiry (docs/semantics.md 3.5, 4.1, 4.2, C7, C17)', () => {
  test.each([
    [29_999, false],
    [30_000, true],
    [30_001, true],
  ])('4.2 a lease of 30 000 ms at %i ms: expired %s', (now, expired) => {
    expect(isExpired(30_000, now)).toBe(expired)
  })

  test('4.2 expired if and only if expiresAt <= now', () => {
    const time = fc.integer({ min: 0, max: 2 ** 45 })
    fc.assert(
      fc.property(time, fc.integer({ min: -3, max: 3 }), (expiresAt, off) => {
        expect(isExpired(expiresAt, expiresAt + off)).toBe(off >= 0)
      }),
    )
  })

  test('C7 the task goes back with attempt + 1', () => {
    expect(decideExpiry({ attempt: 1, crashes: 0 }, 5)).toEqual({ to: 'queued', attempt: 2, crashes: 1 })
    expect(decideExpiry({ attempt: 7, crashes: 3 }, 5)).toEqual({ to: 'queued', attempt: 8, crashes: 4 })
  })

  test('C17 the fifth crash is the last', () => {
    expect(decideExpiry({ attempt: 5, crashes: 4 }, 5)).toEqual({ to: 'failed', crashes: 5 })
  })

  test('C17 retries are no crashes: attempt 9 with one crash goes back', () => {
    expect(decideExpiry({ attempt: 9, crashes: 1 }, 5)).toEqual({ to: 'queued', attempt: 10, crashes: 2 })
  })

  test('C17 with maxCrashes 1 the first crash fails the task', () => {
    expect(decideExpiry({ attempt: 1, crashes: 0 }, 1)).toEqual({ to: 'failed', crashes: 1 })
  })

  test('C17 from the first lease on a task survives maxCrashes - 1 crashes, whatever the limit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), (maxCrashes) => {
        let task = { attempt: 1, crashes: 0 }
        let survived = 0
        for (;;) {
          const verdict = decideExpiry(task, maxCrashes)
          expect(verdict.crashes).toBe(task.crashes + 1)
          if (verdict.to === 'failed') break
          expect(verdict.attempt).toBe(task.attempt + 1)
          task = { attempt: verdict.attempt, crashes: verdict.crashes }
          survived += 1
        }
        expect(survived).toBe(maxCrashes - 1)
      }),
    )
  })

  test('3.5 leases that expire together go by expiresAt, then by lease', () => {
    const leases = [
      { expiresAt: 20, id: 1 },
      { expiresAt: 10, id: 9 },
      { expiresAt: 10, id: 10 },
      { expiresAt: 10, id: 2 },
    ]
    expect(leases.toSorted(expiryOrder).map(({ id }) => id)).toEqual([2, 9, 10, 1])
  })

  test('3.5 that order does not depend on the order of the input', () => {
    const lease = fc.record({
      expiresAt: fc.integer({ min: 0, max: 5 }),
      id: fc.integer({ min: 1, max: 99 }),
    })
    fc.assert(
      fc.property(
        fc
          .uniqueArray(lease, { selector: (it) => it.id, maxLength: 12 })
          .chain((leases) =>
            fc.tuple(fc.constant(leases), fc.shuffledSubarray(leases, { minLength: leases.length })),
          ),
        ([leases, shuffled]) => {
          expect(shuffled.toSorted(expiryOrder)).toEqual(leases.toSorted(expiryOrder))
        },
      ),
    )
  })
})
