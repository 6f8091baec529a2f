import { expect, test } from 'vitest'
import { turnMs } from '../../src/postgres/turn.ts'

test('a turn takes 200 ms at the most', () => {
  expect([0, 1].map(turnMs)).toEqual([200, 200])
})

test('the turns of all processes take 400 ms at the most', () => {
  for (const others of [2, 7, 99]) expect(turnMs(others) * (others + 1)).toBeCloseTo(400)
})
