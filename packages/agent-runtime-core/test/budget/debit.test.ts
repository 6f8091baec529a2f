import { describe, expect, test } from 'vitest'
import { type BudgetSum, noUse } from '../../src/budget/budget.ts'
import {
  askingOf,
  beginBudget,
  budgetsOf,
  cutToLeft,
  debit,
  excessOf,
  exhausted,
  spentOf,
  timed,
} from '../../src/budget/debit.ts'
import type { TaskRow } from '../../src/transition.ts'
import { budget, budgetsIn, ids, lease, now, type Rows, task, workingSet } from '../transition/rows.ts'

const drawing: TaskRow = { ...task, budget: 7 }
const above: TaskRow = { ...task, id: 5, lease: null, budget: 5 }
const running = (rows: Rows = {}) => workingSet({ tasks: [drawing, above], leases: [lease], ...rows })
const spent = (tokens: number) => ({ tokens, money: 0, cost: 0 })
const second = now.at - 1_000

describe('the budgets that a task draws on (docs/semantics.md 11.5)', () => {
  test('are its own and those above it, the nearest first', () => {
    const ws = running({ budgets: budgetsIn(budget({ above: 5 }), budget({ task: 5 })) })
    expect(budgetsOf(ws, drawing).map((row) => row.task)).toEqual([7, 5])
    expect(budgetsOf(ws, { budget: 5 }).map((row) => row.task)).toEqual([5])
    expect(budgetsOf(ws, { budget: null })).toEqual([])
  })

  test('the nearest that asks is the one that is to be answered', () => {
    const asked = { field: 'tokens', at: 1, by: 7 } as const
    const ws = running({ budgets: budgetsIn(budget({ above: 5 }), budget({ task: 5, asked })) })
    expect(askingOf(ws, drawing)?.task).toBe(5)
    expect(askingOf(ws, task)).toBeUndefined()
  })
})

describe('wall time', () => {
  test('runs from the first start of the task that it was given to, and of no other', () => {
    const ws = running({ budgets: budgetsIn(budget({ limits: { wallMs: 1_000 } })) })
    beginBudget(ws, { ...task, id: 8, budget: 7 })
    expect(ws.budgets.changed.size).toBe(0)
    beginBudget(ws, drawing)
    expect(ws.budget(7)).toMatchObject({ startedAt: now.at, dueAt: now.at + 1_000 })
  })

  test('the time is not begun again by a later start', () => {
    const ws = running({ budgets: budgetsIn(budget({ limits: { wallMs: 1_000 }, startedAt: second })) })
    beginBudget(ws, drawing)
    expect(ws.budgets.changed.size).toBe(0)
  })

  test.each<readonly [string, BudgetSum, BudgetSum, boolean, number | null]>([
    ['the soft line, where it is nearer', { wallMs: 900 }, { wallMs: 300 }, false, 10_300],
    ['the hard line once the soft one has asked', { wallMs: 900 }, { wallMs: 300 }, true, 10_900],
    ['the soft line alone', {}, { wallMs: 300 }, false, 10_300],
    ['none', { tokens: 5 }, { tokens: 3 }, false, null],
  ])('is due at %s', (_, limits, soft, hasAsked, dueAt) => {
    const asked = hasAsked ? ({ field: 'wallMs', at: 1, by: 7 } as const) : null
    expect(timed(budget({ limits, soft, asked, startedAt: 10_000 })).dueAt).toBe(dueAt)
    expect(timed(budget({ limits, soft, asked })).dueAt).toBeNull()
  })
})

describe('the usage of a task', () => {
  test('goes to each budget that it draws on; its own part only to its own', () => {
    const ws = running({ budgets: budgetsIn(budget({ above: 5 }), budget({ task: 5 })) })
    expect(debit(ws, drawing, spent(3), 1)).toEqual([])
    const used = { ...noUse, tokens: 3, steps: 1 }
    expect(ws.budget(7)).toStrictEqual(budget({ above: 5, used, own: used }))
    expect(ws.budget(5)).toStrictEqual(budget({ task: 5, used }))
    expect([ws.events, ws.notices]).toEqual([[], []])
  })

  test('crosses hard lines, the nearest first; a line that is reached is not crossed', () => {
    const limits = { tokens: 10 }
    const budgets = budgetsIn(budget({ above: 5, limits }), budget({ task: 5, limits: { tokens: 9 } }))
    const at = (tokens: number) =>
      debit(running({ budgets }), drawing, spent(tokens), 0).map((it) => [it.budget.task, it.field, it.used])
    expect(at(9)).toEqual([])
    expect(at(10)).toEqual([[5, 'tokens', 10]])
    expect(at(11)).toEqual([
      [7, 'tokens', 11],
      [5, 'tokens', 11],
    ])
  })

  test('a charge makes a budget ask where it passes a soft line: once, with its line, and the holder has to give way', () => {
    const ws = running({
      tasks: [{ ...drawing, explicitId: 'its "own"' }, above],
      budgets: budgetsIn(budget({ above: 5 }), budget({ task: 5, soft: { tokens: 4, wallMs: 1 } })),
    })
    debit(ws, ws.taskNow(drawing), spent(3), 0)
    expect(ws.events).toEqual([])
    debit(ws, ws.taskNow(drawing), spent(1), 0)
    expect(ws.events.map(({ task: of, type, data }) => [of, type, data])).toEqual([
      [5, 'budget.asked', '{"by":"its \\"own\\"","field":"tokens","line":4,"used":4}'],
    ])
    expect(ws.budget(5)).toMatchObject({ asked: { field: 'tokens', at: now.at, by: 7 }, asks: 1 })
    expect(ws.notices).toEqual([{ leaseId: ids.lease(3), taskId: 'its "own"', verdict: 'yield' }])
    debit(ws, ws.taskNow(drawing), spent(1), 0)
    expect([ws.events.length, ws.budget(5).asks]).toEqual([1, 1])
  })

  test('makes nobody ask whose task is over', () => {
    const ws = running({
      tasks: [drawing, { ...above, state: 'completed' }],
      budgets: budgetsIn(budget({ above: 5 }), budget({ task: 5, soft: { tokens: 4 } })),
    })
    debit(ws, drawing, spent(4), 0)
    expect([ws.events, ws.budget(5).asked, ws.notices]).toEqual([[], null, []])
  })
})

describe('the rest', () => {
  const time = (startedAt: number | null, wallMs = 1_000) =>
    running({ budgets: budgetsIn(budget({ limits: { wallMs }, startedAt })) })
  const excess = (ws: ReturnType<typeof running>, amounts: BudgetSum) =>
    excessOf(ws, budgetsOf(ws, drawing), amounts)

  test('the rest of time is the part that has not passed since the first start', () => {
    expect(excess(time(now.at - 400), { wallMs: 600 })).toBeUndefined()
    expect(excess(time(now.at - 400), { wallMs: 601 })).toEqual({
      field: 'wallMs',
      left: 600,
      taskId: ids.task(7),
    })
    expect(excess(time(null), { wallMs: 1_000 })).toBeUndefined()
    expect(excess(time(null), { wallMs: 1_001 })).toMatchObject({ left: 1_000 })
    expect(excess(time(second - 500), { wallMs: 1 })).toMatchObject({ left: 0 })
  })

  test('the rest of the time of an ended task is without end, and that of its tokens stays as it was', () => {
    const over = running({
      tasks: [{ ...drawing, state: 'completed' }],
      budgets: budgetsIn(
        budget({
          limits: { wallMs: 1_000, tokens: 10 },
          startedAt: second,
          used: { ...noUse, tokens: 8 },
        }),
      ),
    })
    expect(excess(over, { wallMs: 5_000, tokens: 2 })).toBeUndefined()
    expect(excess(over, { tokens: 3 })).toEqual({ field: 'tokens', left: 2, taskId: ids.task(7) })
    expect(spentOf(over, drawing)).toBeUndefined()
  })

  test('is nothing, and says so, once time is over', () => {
    expect(exhausted(time(second + 1), drawing)).toBeUndefined()
    expect(exhausted(time(null), drawing)).toBeUndefined()
    expect(exhausted(time(second - 200), drawing)).toEqual({
      message: `the budget of task ${ids.task(7)} is used up: its limit of wallMs is 1000`,
      verdict: { by: 'budget', taskId: ids.task(7), field: 'wallMs', limit: 1_000, used: 1_200 },
    })
  })

  test('is nothing once all tokens are used, and names the nearest budget of which that is so', () => {
    const ws = running({
      budgets: budgetsIn(
        budget({ above: 5, limits: { tokens: 10 }, used: { ...noUse, tokens: 9 } }),
        budget({ task: 5, limits: { tokens: 9 }, used: { ...noUse, tokens: 9 } }),
      ),
    })
    expect(exhausted(ws, drawing)).toEqual({
      message: `the budget of task ${ids.task(5)} is used up: its limit of tokens is 9`,
      verdict: { by: 'budget', taskId: ids.task(5), field: 'tokens', limit: 9, used: 9 },
    })
  })

  test('is what the budget of a task type is cut to, its soft lines with it', () => {
    const ws = running({
      budgets: budgetsIn(budget({ limits: { tokens: 10 }, used: { ...noUse, tokens: 4 } })),
    })
    const terms = { limits: { tokens: 8, steps: 3 }, soft: { tokens: 7, money: 2 } }
    expect(cutToLeft(ws, budgetsOf(ws, drawing), terms)).toEqual({
      limits: { tokens: 6, steps: 3 },
      soft: { tokens: 6, money: 2 },
    })
  })
})
