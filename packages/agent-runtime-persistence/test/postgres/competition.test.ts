import { expect, test } from 'vitest'
import { Competition } from '../../src/postgres/processes/competition.ts'

test('a process that has seen nobody is alone', () => {
  expect(new Competition().isOver(0)).toBe(true)
})

test('others that committed within the last 100 ms compete', () => {
  const competition = new Competition()
  competition.saw(1_000)
  competition.sawNone()
  expect([1_000, 1_100, 1_101].map((mono) => competition.isOver(mono))).toEqual([false, false, true])
})

test('however long a flush takes, others compete until a look under the lock has found none of their commits', () => {
  const competition = new Competition()
  competition.saw(1_000)
  expect(competition.isOver(60_000)).toBe(false)
  competition.sawNone()
  expect(competition.isOver(60_000)).toBe(true)
  competition.saw(60_000)
  expect(competition.isOver(120_000)).toBe(false)
})
