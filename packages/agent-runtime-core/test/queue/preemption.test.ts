import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decidePreemption, type Preemptible } from '../../src/queue/preemption.ts'
import { type Lane, laneRank } from '../../src/task/lane.ts'

const lease = (id: number, lane: Lane, asked = false): Preemptible => ({
  id,
  laneRank: laneRank[lane],
  dispatch: id,
  asked,
})
const asks = (waiting: number, leases: readonly Preemptible[]) =>
  decidePreemption(waiting, leases).map(({ id }) => id)

const someLeases = fc.uniqueArray(
  fc.record({
    id: fc.integer({ min: 1, max: 100 }),
    laneRank: fc.integer({ min: 0, max: 2 }),
    asked: fc.boolean(),
  }),
  { selector: (it) => it.id, maxLength: 12 },
)

describe('preemption (docs/semantics.md 3.6)', () => {
  test('3.6 the youngest lease of the lowest lane is asked to yield', () => {
    expect(asks(1, [lease(1, 'batch'), lease(2, 'batch'), lease(3, 'normal')])).toEqual([2])
  })

  test('3.6 a normal one is asked when no batch one runs', () => {
    expect(asks(1, [lease(1, 'normal'), lease(2, 'normal'), lease(3, 'interactive')])).toEqual([2])
  })

  test('3.6 an interactive one never is', () => {
    expect(asks(3, [lease(1, 'interactive'), lease(2, 'interactive')])).toEqual([])
  })

  test('3.6 one for each interactive task that waits, lowest lane first, youngest first', () => {
    const leases = [lease(1, 'batch'), lease(2, 'normal'), lease(3, 'batch'), lease(4, 'normal')]
    expect(asks(3, leases)).toEqual([3, 1, 4])
    expect(asks(9, leases)).toEqual([3, 1, 4, 2])
  })

  test('3.6 a worker that was asked already counts, and is not asked again', () => {
    expect(asks(1, [lease(1, 'batch'), lease(2, 'batch', true)])).toEqual([])
    expect(asks(2, [lease(1, 'batch'), lease(2, 'batch', true)])).toEqual([1])
  })

  test('3.6 nobody waits, nobody is asked', () => {
    expect(asks(0, [lease(1, 'batch')])).toEqual([])
  })

  test('3.7 the choice does not depend on the order of the leases', () => {
    fc.assert(
      fc.property(
        fc.nat(6),
        someLeases.chain((leases) =>
          fc.tuple(fc.constant(leases), fc.shuffledSubarray(leases, { minLength: leases.length })),
        ),
        (waiting, [leases, shuffled]) => {
          const withDispatch = (list: typeof leases) => list.map((it) => ({ ...it, dispatch: it.id }))
          expect(asks(waiting, withDispatch(shuffled))).toEqual(asks(waiting, withDispatch(leases)))
        },
      ),
    )
  })

  test('3.6 no more are out asked than wait, and the input is left as it was', () => {
    fc.assert(
      fc.property(fc.nat(6), someLeases, (waiting, list) => {
        const leases = Object.freeze(list.map((it) => Object.freeze({ ...it, dispatch: it.id })))
        const chosen = decidePreemption(waiting, leases)
        const out = leases.filter((it) => it.asked && it.laneRank > 0).length
        const open = leases.filter((it) => !it.asked && it.laneRank > 0).length
        expect(chosen).toHaveLength(Math.min(open, Math.max(0, waiting - out)))
        expect(chosen.every((it) => it.laneRank > 0 && !it.asked)).toBe(true)
      }),
    )
  })
})
