import { expect, test } from 'vitest'
import { noUse } from '../../src/budget/budget.ts'
import type { TaskRow } from '../../src/transition.ts'
import { spend } from '../../src/budget/spend.ts'
import { budget, budgetsIn, lease, task, workingSet } from '../transition/rows.ts'

const drawing: TaskRow = { ...task, budget: 7 }
const spending = (charged?: { tokens: number; money: number; cost: number }) => {
  const ws = workingSet({
    tasks: [drawing],
    leases: [lease],
    budgets: budgetsIn(budget({ limits: { tokens: 10 }, used: { ...noUse, tokens: 3 } })),
  })
  spend(ws, drawing, charged)
  return ws
}
const tokens = (amount: number) => ({ tokens: amount, money: 2, cost: 1 })

test('the usage of a pass goes to its budgets, and is no step (docs/semantics.md 11.5)', () => {
  const ws = spending(tokens(7))
  expect(ws.budget(7)).toMatchObject({
    used: { tokens: 10, money: 2, cost: 1, steps: 0 },
    own: { tokens: 7, money: 2, cost: 1, steps: 0 },
  })
  expect([ws.events, ws.task(7)?.state]).toEqual([[], 'running'])
})

test('a line that it crosses ends the task', () => {
  const ws = spending(tokens(8))
  expect(ws.events.map(({ task: of, type }) => [of, type])).toEqual([[7, 'task.failed']])
  expect(ws.task(7)?.state).toBe('failed')
})

test('where nothing is said to have been used, nothing is written', () => {
  const ws = spending()
  expect([ws.budgets.changed.size, ws.events]).toEqual([0, []])
})
