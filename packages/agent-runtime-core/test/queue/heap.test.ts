import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Heap } from '../../src/queue/heap.ts'
import { comesBefore, type Head } from '../../src/queue/order.ts'

test('3.3 the first of all heads is the one that comes before every other, whatever is added and removed', () => {
  const rank = fc.integer({ min: 0, max: 2 })
  fc.assert(
    fc.property(fc.array(fc.option(rank, { freq: 3 })), (moves) => {
      const heads = new Heap<Head>(comesBefore)
      const left: Head[] = []
      for (const [at, laneRank] of moves.entries()) {
        if (laneRank === null) {
          heads.removeFirst()
          left.shift()
        } else {
          const head = { stream: at, laneRank, sequence: (at * 7) % 11 === 0 ? -at : at }
          heads.add(head)
          left.push(head)
          left.sort((a, b) => (comesBefore(a, b) ? -1 : 1))
        }
        expect(heads.first).toBe(left[0])
      }
    }),
  )
})

test('all are taken out at once, and then none is left', () => {
  const numbers = new Heap<number>((a, b) => a < b)
  for (const number of [3, 1, 2]) numbers.add(number)
  expect(numbers.size).toBe(3)
  expect(numbers.takeAll().toSorted((a, b) => a - b)).toEqual([1, 2, 3])
  expect([numbers.size, numbers.first]).toEqual([0, undefined])
})
