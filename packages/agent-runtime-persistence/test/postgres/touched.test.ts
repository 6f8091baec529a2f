import { expect, test } from 'vitest'
import type { Head } from '../../src/postgres/processes/head.ts'
import { touchedTasks } from '../../src/postgres/processes/touched.ts'

const head = (version: number, number: number, untold = 0): Head => ({
  version,
  number,
  hash: Buffer.alloc(32),
  untold,
})

const rows = [
  [8, '[[3,1,2],[4,2,2]]'],
  [9, '[]'],
  [10, '[[3,3,3]]'],
]

test('the tasks that commits touched are those of their events', () => {
  expect(touchedTasks(rows, head(20, 7), head(25, 10))).toEqual(new Set([3, 4]))
  expect(touchedTasks([], head(20, 7), head(21, 7))).toEqual(new Set())
})

test('the touched tasks are unknown if a commit is missing: it was pruned, or there are too many', () => {
  expect(touchedTasks(rows.slice(1), head(20, 7), head(25, 10))).toBeUndefined()
  expect(touchedTasks(rows, head(20, 7), head(25, 11))).toBeUndefined()
})

test('the touched tasks are unknown if a commit changed rows that its events do not name, until all have been read again', () => {
  expect(touchedTasks(rows, head(20, 7), head(25, 10, 21))).toBeUndefined()
  expect(touchedTasks(rows, head(21, 7), head(25, 10, 21))).toEqual(new Set([3, 4]))
})
