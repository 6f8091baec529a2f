import { expect, test } from 'vitest'
import { patienceMs, turnMs } from '../../src/postgres/turn.ts'

test('a turn takes 400 ms at the most, and 200 ms where little is written', () => {
  expect([0, 1].map((others) => turnMs(others, true))).toEqual([400, 400])
  expect([0, 1].map((others) => turnMs(others, false))).toEqual([200, 200])
})

test('the turns of all processes take 1 600 ms at the most, and 400 ms where little is written', () => {
  for (const others of [3, 7, 99]) {
    expect(turnMs(others, true) * (others + 1)).toBeCloseTo(1_600)
    expect(turnMs(others, false) * (others + 1)).toBeCloseTo(400)
  }
})

test('a turn is waited for as long as some rounds of all processes take, for five seconds at the least and thirty at the most', () => {
  expect([0, 1, 33].map(patienceMs)).toEqual([5_000, 5_000, 5_000])
  expect([40, 100].map(patienceMs)).toEqual([6_000, 15_000])
  expect([200, 1_000].map(patienceMs)).toEqual([30_000, 30_000])
})
