import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Lane } from '../../src/task/lane.ts'
import { type Candidate, decidePlacement, isEligible, runsType } from '../../src/queue/placement.ts'

const ttl = 30_000
const now = 1_000_000
const worker = (workerId: string, more: Partial<Candidate> = {}): Candidate => ({
  workerId,
  inFlight: 0,
  capacity: 4,
  lastSeenAt: now,
  draining: false,
  types: ['*'],
  ...more,
})
const chosen = (workers: readonly Candidate[], type = 'any', lane?: Lane) =>
  decidePlacement(workers, type, now, ttl, lane)?.workerId

/** How many of `tasks` each worker gets when the choice is made anew for every one. */
function share(workers: readonly Candidate[], tasks: number): Record<string, number> {
  const rows = workers.map((it) => ({ ...it }))
  const got: Record<string, number> = Object.fromEntries(rows.map((it) => [it.workerId, 0]))
  for (let task = 0; task < tasks; task++) {
    const best = decidePlacement(rows, 'any', now, ttl)
    if (best === undefined) break
    best.inFlight += 1
    got[best.workerId] = (got[best.workerId] ?? 0) + 1
  }
  return got
}

const someWorkers = fc.uniqueArray(
  fc.record({
    workerId: fc.constantFrom('a', 'B', 'b', 'Z', 'z', 'é', 'ä', '10', '9', 'w-1', 'w-10', 'w-2'),
    inFlight: fc.integer({ min: 0, max: 5 }),
    capacity: fc.integer({ min: 0, max: 5 }),
    lastSeenAt: fc.integer({ min: now - ttl - 2, max: now }),
    draining: fc.boolean(),
    types: fc.constantFrom<string[]>(['*'], ['any'], ['other'], ['other', 'any'], []),
  }),
  { selector: (it) => it.workerId, maxLength: 10 },
)

describe('placement (docs/semantics.md 3.1, 3.2)', () => {
  test('3.1 two idle workers of capacity 4 and four tasks give 2 + 2', () => {
    expect(share([worker('a'), worker('b')], 4)).toEqual({ a: 2, b: 2 })
  })

  test('3.1 nine tasks fill two workers of capacity 4 and leave one', () => {
    expect(share([worker('a'), worker('b')], 9)).toEqual({ a: 4, b: 4 })
  })

  test('3.1 least inFlight comes first', () => {
    const busy = worker('a', { inFlight: 2, lastSeenAt: now - 9_000 })
    expect(chosen([busy, worker('b', { inFlight: 1 }), worker('c', { inFlight: 3 })])).toBe('b')
  })

  test('3.1 then the one seen longest ago', () => {
    expect(
      chosen([worker('a'), worker('b', { lastSeenAt: now - 2 }), worker('c', { lastSeenAt: now - 1 })]),
    ).toBe('b')
  })

  test('3.1 then the workerId by code unit, never by locale', () => {
    expect(chosen([worker('a'), worker('B')])).toBe('B')
    expect(chosen([worker('w-2'), worker('w-10')])).toBe('w-10')
    expect(chosen([worker('ä'), worker('z')])).toBe('z')
  })

  test('3.2 a full worker takes none', () => {
    expect(chosen([worker('a', { inFlight: 4 })])).toBeUndefined()
    expect(chosen([worker('a', { inFlight: 3 })])).toBe('a')
    expect(chosen([worker('a', { capacity: 0 })])).toBeUndefined()
  })

  test('3.2 a draining worker takes none', () => {
    expect(chosen([worker('a', { draining: true })])).toBeUndefined()
  })

  test('3.2 a worker unseen for leaseTtlMs is stale: at 29 999 ms it takes one, at 30 000 none', () => {
    expect(chosen([worker('a', { lastSeenAt: now - 29_999 })])).toBe('a')
    expect(chosen([worker('a', { lastSeenAt: now - 30_000 })])).toBeUndefined()
  })

  test('8.5 a type that a worker does not list stays for others', () => {
    const picky = worker('a', { types: ['mail', 'report'] })
    expect(chosen([picky], 'mail')).toBe('a')
    expect(chosen([picky], 'index')).toBeUndefined()
    expect(chosen([picky, worker('b', { inFlight: 3 })], 'index')).toBe('b')
    expect(runsType([], 'mail')).toBe(false)
    expect(runsType(['*'], 'mail')).toBe(true)
  })

  test('8.5 a worker that names lanes leaves the others, one that names none takes all', () => {
    const quick = worker('a', { lanes: ['interactive', 'normal'] })
    expect(chosen([quick], 'any', 'normal')).toBe('a')
    expect(chosen([quick], 'any', 'batch')).toBeUndefined()
    expect(chosen([quick], 'any')).toBe('a')
    expect(chosen([quick, worker('b', { inFlight: 3 })], 'any', 'batch')).toBe('b')
    expect(chosen([worker('c', { lanes: ['batch'], types: ['mail'] })], 'any', 'batch')).toBeUndefined()
  })

  test('I12 the worker chosen is the least by (inFlight, lastSeenAt, workerId) of those eligible, in whatever order they stand', () => {
    fc.assert(
      fc.property(
        someWorkers.chain((workers) =>
          fc.tuple(fc.constant(workers), fc.shuffledSubarray(workers, { minLength: workers.length })),
        ),
        ([workers, shuffled]) => {
          const [least] = workers
            .filter((it) => isEligible(it, 'any', now, ttl))
            .toSorted(
              (a, b) =>
                a.inFlight - b.inFlight || a.lastSeenAt - b.lastSeenAt || (a.workerId < b.workerId ? -1 : 1),
            )
          expect(chosen(shuffled)).toBe(least?.workerId)
        },
      ),
    )
  })

  test('3.2 a task that nothing keeps from it is eligible, and no other one', () => {
    fc.assert(
      fc.property(someWorkers, (workers) => {
        for (const it of workers) {
          const runs = it.types.includes('*') || it.types.includes('any')
          const mayTake = it.inFlight < it.capacity && !it.draining && now - it.lastSeenAt < ttl && runs
          expect(isEligible(it, 'any', now, ttl)).toBe(mayTake)
        }
      }),
    )
  })

  test('I11 however many tasks come, nobody gets more than its capacity and nobody gets two before others get one', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 5 }),
        fc.nat(40),
        (count, capacity, tasks) => {
          const workers = Array.from({ length: count }, (_, index) => worker(`w${index}`, { capacity }))
          const got = Object.values(share(workers, tasks))
          expect(got.reduce((sum, n) => sum + n, 0)).toBe(Math.min(tasks, count * capacity))
          expect(Math.max(...got) - Math.min(...got)).toBeLessThanOrEqual(1)
        },
      ),
    )
  })
})
