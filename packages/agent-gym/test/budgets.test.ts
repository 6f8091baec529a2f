import { expect, test } from 'vitest'
import { measure } from '../src/measure/measures.ts'
import type { TaskFact } from '../src/measure/measurements.ts'
import { completedTask, goodRun, history, measured, taskId, taskWith } from './builders.ts'

/** Task 1 called 2, and that called 3; a budget asked. */
const tree: readonly TaskFact[] = [
  taskWith(1, history(['task.queued', 0, {}], ['budget.asked', 5, {}], ['budget.continued', 6, {}]), {
    state: 'failed',
    tokens: 100,
    partial: [1, 2],
  }),
  taskWith(
    2,
    history(['task.waiting', 5, { reason: 'budget' }], ['task.waiting', 8, { reason: 'children' }]),
    {
      state: 'completed',
      n: null,
      group: 'reader',
      parent: taskId(1),
      tokens: 20,
    },
  ),
  taskWith(3, [], { state: 'canceled', n: null, group: 'search', parent: taskId(2), tokens: 3 }),
]
const run = goodRun(0, { tasks: tree })
const value = (name: string, about = {}, of = run) => measure(name, measured(of), about).value

test('sums up what a task and all below it charged', () => {
  expect(value('tokensCharged', { group: 'files' })).toBe(123)
  expect(value('tokensCharged', { group: 'reader' })).toBe(23)
  expect(value('tokensCharged')).toBe(123)
})

test('counts what was asked, who was parked and what was handed over', () => {
  expect(value('budgetsAsked')).toBe(1)
  expect(value('budgetsContinued', { group: 'reader' })).toBe(0)
  expect(value('waits', { reason: 'budget', group: 'reader' })).toBe(1)
  expect(value('waits')).toBe(2)
  expect(value('partialResults', { group: 'files' })).toBe(2)
})

test('finds a child that was left, and one that nobody called', () => {
  const left = goodRun(1, {
    tasks: [completedTask(1), taskWith(2, [], { state: 'waiting', n: null, parent: taskId(1) })],
  })
  expect(value('lost', {}, left)).toBe(1)
  expect(value('invented', {}, left)).toBe(0)
  const stray = goodRun(1, {
    tasks: [completedTask(1), taskWith(2, [], { state: 'completed', n: null, parent: 'nobody' })],
  })
  expect(value('invented', {}, stray)).toBe(1)
})
