import { expect, test } from 'vitest'
import { patienceMs, turnMs } from '../../src/postgres/processes/turn.ts'

const leaseTtlMs = 30_000

test('a turn takes 400 ms at the most, and 200 ms where little is written', () => {
  expect([0, 1].map((others) => turnMs(others, true, leaseTtlMs))).toEqual([400, 400])
  expect([0, 1].map((others) => turnMs(others, false, leaseTtlMs))).toEqual([200, 200])
})

test('the turns of all processes take 800 ms at the most, and 400 ms where little is written', () => {
  expect([3, 7, 15].map((others) => turnMs(others, true, leaseTtlMs))).toEqual([200, 100, 50])
  for (const others of [3, 7, 99]) {
    expect(turnMs(others, true, leaseTtlMs) * (others + 1)).toBeCloseTo(800)
    expect(turnMs(others, false, leaseTtlMs) * (others + 1)).toBeCloseTo(400)
  }
})

test('the turns of all processes take a quarter of the time of a lease at the most', () => {
  for (const others of [1, 7, 99]) {
    expect(turnMs(others, true, 2_000) * (others + 1)).toBeCloseTo(500)
    expect(turnMs(others, false, 1_000) * (others + 1)).toBeCloseTo(250)
  }
})

test('a turn is waited for as long as some rounds of all processes take, for five seconds at the least and thirty at the most', () => {
  expect([0, 1, 33].map(patienceMs)).toEqual([5_000, 5_000, 5_000])
  expect([40, 100].map(patienceMs)).toEqual([6_000, 15_000])
  expect([200, 1_000].map(patienceMs)).toEqual([30_000, 30_000])
})
