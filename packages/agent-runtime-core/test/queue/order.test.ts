import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Heap } from '../../src/queue/heap.ts'
import { comesBefore, type Head } from '../../src/queue/order.ts'
import { type Lane, laneRank } from '../../src/task/lane.ts'

const head = (lane: Lane, sequence: number): Head => ({
  stream: sequence,
  laneRank: laneRank[lane],
  sequence,
})
/** All heads in the order in which they would be taken. */
function drain(heads: readonly Head[]): number[] {
  const left = new Heap(comesBefore)
  for (const it of heads) left.add(it)
  const order: number[] = []
  for (let next = left.first; next !== undefined; next = left.first) {
    order.push(next.sequence)
    left.removeFirst()
  }
  return order
}

/** Heads with sequences of their own, in any order. */
const someHeads = fc
  .uniqueArray(fc.integer({ min: 1, max: 10_000 }), { maxLength: 30 })
  .chain((sequences) =>
    fc.tuple(
      ...sequences.map((sequence) =>
        fc.constantFrom<Lane>('interactive', 'normal', 'batch').map((lane) => head(lane, sequence)),
      ),
    ),
  )

describe('order (docs/semantics.md 3.3, 3.5)', () => {
  test('3.3 batch, normal, interactive submitted: interactive, normal, batch run', () => {
    expect(drain([head('batch', 1), head('normal', 2), head('interactive', 3)])).toEqual([3, 2, 1])
  })

  test('3.3 inside a lane it is first in, first out by sequence', () => {
    expect(drain([head('normal', 12), head('normal', 9), head('normal', 10), head('normal', 100)])).toEqual([
      9, 10, 12, 100,
    ])
  })

  test('3.5 a requeued task keeps its sequence and so its place', () => {
    expect(drain([head('normal', 2), head('normal', 3), head('normal', 1)])).toEqual([1, 2, 3])
  })

  test('I12 the choice does not depend on the order of the input', () => {
    fc.assert(
      fc.property(
        someHeads.chain((heads) =>
          fc.tuple(fc.constant(heads), fc.shuffledSubarray(heads, { minLength: heads.length })),
        ),
        ([heads, shuffled]) => {
          expect(drain(shuffled)).toEqual(drain(heads))
        },
      ),
    )
  })

  test('I12 it is a strict order: lanes first, then sequences, and nothing comes before itself', () => {
    fc.assert(
      fc.property(someHeads, (heads) => {
        const taken = drain(heads).map((sequence) => heads.find((it) => it.sequence === sequence) as Head)
        for (const [index, later] of taken.slice(1).entries()) {
          const earlier = taken[index] as Head
          expect(comesBefore(earlier, later)).toBe(true)
          expect(comesBefore(later, earlier)).toBe(false)
          expect(earlier.laneRank).toBeLessThanOrEqual(later.laneRank)
          expect(earlier.laneRank < later.laneRank || earlier.sequence < later.sequence).toBe(true)
        }
        for (const it of heads) expect(comesBefore(it, it)).toBe(false)
      }),
    )
  })
})
