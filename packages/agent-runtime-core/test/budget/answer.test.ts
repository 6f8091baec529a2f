import { describe, expect, test } from 'vitest'
import { noUse } from '../../src/budget/budget.ts'
import type { Write } from '../../src/store/port.ts'
import { answerBudget, beginBudgets, parkForBudget, promoteBudgets } from '../../src/budget/answer.ts'
import type { BudgetRow, TaskRow } from '../../src/transition.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import {
  budget,
  budgetsIn,
  ids,
  lease,
  limited,
  now,
  quota,
  type Rows,
  task,
  workingSet,
} from '../transition/rows.ts'

const drawing: TaskRow = { ...task, budget: 7 }
const above: TaskRow = { ...task, id: 5, lease: null, budget: 5 }
const running = (budgets: readonly BudgetRow[], rows: Rows = {}) =>
  workingSet({ tasks: [drawing, above], leases: [lease], budgets: budgetsIn(...budgets), ...rows })
const told = (ws: WorkingSet) => ws.events.map(({ task: of, type, data }) => [of, type, data])
const errorIn = (ws: WorkingSet) =>
  (JSON.parse(ws.events.at(-1)?.data ?? '') as { error: { message: string; details: object } }).error
const asked = { field: 'tokens', at: now.at - 100, by: 7 } as const

describe('a budget whose wall time has reached a line (docs/semantics.md 11.5)', () => {
  const timed = (changes: Partial<BudgetRow> = {}) =>
    budget({
      limits: { wallMs: 2_000 },
      soft: { wallMs: 1_000 },
      startedAt: now.at - 1_500,
      dueAt: now.at - 500,
      ...changes,
    })

  test('asks at the soft one, and is due again at the hard one', () => {
    const ws = running([timed()])
    promoteBudgets(ws, [timed()])
    expect(told(ws)).toEqual([
      [7, 'budget.asked', `{"by":"${ids.task(7)}","field":"wallMs","line":1000,"used":1500}`],
    ])
    expect(ws.budget(7)).toStrictEqual(
      timed({ asked: { field: 'wallMs', at: now.at, by: 7 }, asks: 1, dueAt: now.at + 500 }),
    )
  })

  test.each([2_000, 2_100])('ends its tree at the hard one, after %d of 2000 ms', (ms) => {
    const row = timed({ startedAt: now.at - ms })
    const ws = running([row])
    promoteBudgets(ws, [row])
    expect(ws.task(7)).toMatchObject({ state: 'failed' })
    expect(errorIn(ws)).toMatchObject({
      message: `the budget of task ${ids.task(7)} is out of time: ${ms} of 2000 wallMs`,
      details: { field: 'wallMs', limit: 2_000, used: ms, stopped: false },
    })
    expect(ws.budget(7)).toStrictEqual({ ...row, dueAt: null })
  })

  test.each<readonly [string, Partial<BudgetRow>]>([
    ['has not begun', { startedAt: null }],
    ['is not due any more', { dueAt: null }],
  ])('does nothing where it %s', (_, changes) => {
    const ws = running([timed(changes)])
    promoteBudgets(ws, [timed()])
    expect([ws.events, ws.budgets.changed.size]).toEqual([[], 0])
  })

  test('is due no more once its task is over', () => {
    const ws = running([timed({ startedAt: now.at - 9_000 })], { tasks: [{ ...drawing, state: 'canceled' }] })
    promoteBudgets(ws, [timed()])
    expect([ws.events, ws.budget(7).dueAt]).toEqual([[], null])
  })
})

test('claimed tasks whose budget asks are to be given back; the time of each begins', () => {
  const ws = running([budget({ above: 5, limits: { wallMs: 10 } }), budget({ task: 5, asked })])
  expect(beginBudgets(ws, [drawing, { ...task, id: 8 }, above])).toEqual(new Set([7, 5]))
  expect([ws.budget(7).startedAt, ws.budget(7).dueAt]).toEqual([now.at, now.at + 10])
  const quiet = running([budget({ above: 5 }), budget({ task: 5 })])
  expect(beginBudgets(quiet, [drawing])).toEqual(new Set())
})

test('a task that yields while a budget asks waits for the answer, without its slot and its quotas', () => {
  const ws = running([budget({ above: 5 }), budget({ task: 5, asked })], {
    ...limited,
    tasks: [drawing, { ...above, explicitId: 'the "top"' }],
  })
  parkForBudget(ws, { task: drawing, lease }, ws.budget(5), { tokens: 2, money: 0, cost: 0 })
  expect(ws.events.map(({ type, data, also }) => [type, data, also])).toEqual([
    [
      'task.waiting',
      `{"budget":"the \\"top\\"","charged":{"cost":0,"money":0,"tokens":2},"leaseId":"${ids.lease(3)}","reason":"budget","waits":[]}`,
      ['lease.released'],
    ],
  ])
  expect(ws.task(7)).toMatchObject({ state: 'waiting', lease: null, waitReason: 'budget', dueAt: null })
  expect(ws.lease(3)).toMatchObject({ state: 'completed', endReason: 'waiting', endSeq: 3 })
  expect(ws.quota(quota.key)).toMatchObject({ running: quota.running - 1, queued: quota.queued })
  expect([ws.totals.running, ws.totals.waiting]).toEqual([4, 1])
})

describe('the answer to a budget that asks', () => {
  const parked = (id: number, changes: Partial<TaskRow> = {}): TaskRow => ({
    ...drawing,
    id,
    state: 'waiting',
    lease: null,
    waitReason: 'budget',
    ...changes,
  })
  const answer = (ws: WorkingSet, it: Write<'answerBudget'>['answer'], taskId = ids.task(7)) =>
    answerBudget(ws, { kind: 'answerBudget', taskId, answer: it })
  const go = (raise: object = {}) => ({ as: 'continue', raise }) as const
  const stop = { as: 'stop' } as const

  test('is none where there is no such task, no budget, or none that asks', () => {
    expect(answer(running([]), stop, 'nobody')).toEqual({ as: 'unknown_task' })
    expect(answer(running([]), stop, ids.task(99))).toEqual({ as: 'unknown_task' })
    expect(answer(workingSet({ tasks: [task] }), stop)).toEqual({ as: 'no_budget' })
    const never = running([budget({ above: 5 }), budget({ task: 5 })])
    expect(answer(never, stop)).toEqual({ as: 'not_asked', asked: false })
    const before = running([budget({ above: 5 }), budget({ task: 5, asks: 1 })])
    expect(answer(before, stop)).toEqual({ as: 'not_asked', asked: true })
    expect(before.events).toEqual([])
  })

  test('an answer goes to the nearest budget that asks, and is reported with the task of that', () => {
    const rows = [budget({ above: 5, asks: 1 }), budget({ task: 5, asked, asks: 1 })]
    const ws = running(rows)
    expect(answer(ws, go())).toEqual({ as: 'answered', taskId: ids.task(5), resumed: 0 })
    expect(told(ws)).toEqual([[5, 'budget.continued', '{"raised":{}}']])
    expect(ws.budget(5).asked).toBeNull()
  })

  test('raises limits and lines; a line that is not above what is used asks no more', () => {
    const row = budget({
      limits: { tokens: 10, steps: 5, wallMs: 900 },
      soft: { tokens: 8, steps: 4, wallMs: 500 },
      used: { ...noUse, tokens: 8, steps: 2 },
      startedAt: now.at - 500,
      asked,
      asks: 1,
    })
    const ws = running([row])
    expect(answer(ws, go({ tokens: 5 }))).toMatchObject({ as: 'answered' })
    expect(ws.budget(7)).toStrictEqual({
      ...row,
      limits: { tokens: 15, steps: 5, wallMs: 900 },
      soft: { tokens: 13, steps: 4 },
      asked: null,
      dueAt: now.at + 400,
    })
    expect(told(ws)).toEqual([[7, 'budget.continued', '{"raised":{"tokens":5}}']])
    const later = running([{ ...row, startedAt: now.at - 499 }])
    answer(later, go())
    expect(later.budget(7).soft).toEqual({ steps: 4, wallMs: 500 })
    const unbegun = running([{ ...row, startedAt: null }])
    answer(unbegun, go())
    expect(unbegun.budget(7).soft).toEqual({ steps: 4, wallMs: 500 })
  })

  test('cannot raise what has no limit, nor beyond what is left above', () => {
    const top = budget({ task: 5, limits: { tokens: 100, wallMs: 1_000 }, startedAt: now.at - 700 })
    const row = budget({
      above: 5,
      limits: { tokens: 10, wallMs: 500 },
      used: { ...noUse, tokens: 4 },
      startedAt: now.at - 200,
      asked,
    })
    const ws = running([row, { ...top, used: { ...noUse, tokens: 60 } }])
    expect(answer(ws, go({ steps: 1 }))).toEqual({ as: 'unlimited', field: 'steps' })
    expect(answer(ws, go({ tokens: 35 }))).toEqual({
      as: 'over_budget',
      field: 'tokens',
      left: 40,
      above: ids.task(5),
      limit: 45,
      unused: 41,
    })
    expect(answer(ws, go({ wallMs: 1 }))).toEqual({
      as: 'over_budget',
      field: 'wallMs',
      left: 300,
      above: ids.task(5),
      limit: 501,
      unused: 301,
    })
    expect([ws.events, ws.budgets.changed.size]).toEqual([[], 0])
    expect(answer(ws, go({ tokens: 34 }))).toMatchObject({ as: 'answered' })
  })

  test('sends on what is parked for it, or for one below it, in their order; what another budget keeps stays', () => {
    const other = budget({ task: 20, asked })
    const ws = running([budget({ asked }), budget({ task: 12, above: 7 }), other], {
      ...limited,
      tasks: [
        drawing,
        parked(11),
        parked(12, { budget: 12 }),
        parked(13, { budget: 20 }),
        parked(14, { waitReason: 'timer' }),
      ],
      parked: new Map([[7, [12, 11]]]),
      totals: { ...workingSet({}).totals, waiting: 4 },
    })
    // Of this flush, too.
    ws.tasks.put(9, parked(9))
    ws.tasks.put(13, parked(13, { budget: 20 }))
    ws.tasks.put(14, parked(14, { waitReason: 'timer' }))
    expect(answer(ws, go())).toEqual({ as: 'answered', taskId: ids.task(7), resumed: 3 })
    expect(told(ws).slice(1)).toEqual([9, 11, 12].map((id) => [id, 'task.resumed', '{"reason":"budget"}']))
    expect([9, 11, 12, 13, 14].map((id) => ws.taskNow({ id }).state)).toEqual([
      'queued',
      'queued',
      'queued',
      'waiting',
      'waiting',
    ])
    expect(ws.task(9)).toMatchObject({ waitReason: null, dueAt: null, queuedAt: now.at, attempt: 1 })
    expect(ws.quota(quota.key).queued).toBe(quota.queued + 3)
    expect([ws.totals.waiting, ws.depth]).toEqual([1, 6])
  })

  test('an answer of stop ends its task and the tasks that outlived it: as of the moment when it asked', () => {
    const wall = { field: 'wallMs', at: now.at - 100, by: 7 } as const
    const row = budget({ limits: { wallMs: 900 }, startedAt: now.at - 700, asked: wall, asks: 1 })
    const ws = running([row], { tasks: [drawing, parked(11)], parked: new Map([[7, [11]]]) })
    expect(answer(ws, stop)).toEqual({ as: 'answered', taskId: ids.task(7), resumed: 0 })
    expect([7, 11].map((id) => ws.task(id)?.state)).toEqual(['failed', 'failed'])
    expect(errorIn(ws).message).toBe(
      `the budget of task ${ids.task(7)} was stopped at its soft line (600 of 900 wallMs)`,
    )
    expect(ws.budget(7)).toMatchObject({ asked: null })
    const unbegun = running([{ ...row, startedAt: null }])
    answer(unbegun, stop)
    expect(errorIn(unbegun).message).toContain('was stopped at its soft line (0 of 900 wallMs)')
    const tokens = running([budget({ limits: { tokens: 9 }, used: { ...noUse, tokens: 5 }, asked })])
    answer(tokens, stop)
    expect(errorIn(tokens).message).toContain('was stopped at its soft line (5 of 9 tokens)')
  })

  test('is for what outlived its task, too, as long as that is parked', () => {
    const over: TaskRow = { ...drawing, state: 'completed', lease: null }
    const none = running([budget({ asked, asks: 1 })], { tasks: [over] })
    expect(answer(none, go())).toEqual({ as: 'not_asked', asked: true })
    const ws = running([budget({ asked, asks: 1 })], {
      tasks: [over, parked(11)],
      parked: new Map([[7, [11]]]),
    })
    expect(answer(ws, go(), ids.task(11))).toEqual({ as: 'answered', taskId: ids.task(7), resumed: 1 })
    expect(told(ws)).toEqual([[11, 'task.resumed', '{"reason":"budget"}']])
  })
})
