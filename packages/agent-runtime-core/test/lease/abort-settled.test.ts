import { describe, expect, test } from 'vitest'
import { noUse } from '../../src/budget/budget.ts'
import { abortSettled } from '../../src/lease/abort-settled.ts'
import type { BudgetRow, LeaseRow, TaskRow } from '../../src/transition.ts'
import { ids, lease, now, type Rows, task, workingSet } from '../transition/rows.ts'

const leaseId = ids.lease(lease.id)
const canceled: TaskRow = { ...task, state: 'canceled', lease: null, budget: 7 }
const over: LeaseRow = { ...lease, state: 'canceled', endReason: 'canceled', endSeq: 2, endedAt: 9_500 }
const budget: BudgetRow = {
  task: 7,
  above: null,
  limits: { tokens: 10 },
  soft: {},
  used: noUse,
  own: noUse,
  startedAt: null,
  dueAt: null,
  asked: null,
  asks: 0,
}
const charged = { tokens: 4, money: 0, cost: 0 }
const stopped = (
  how: 'acknowledged' | 'leaked' | 'killed',
  row: LeaseRow = over,
  rows: Rows = {},
  used?: typeof charged,
) => {
  const ws = workingSet({ tasks: [canceled], leases: [row], budgets: new Map([[7, budget]]), ...rows })
  const it = { kind: 'abortSettled', leaseId, how, afterMs: 30_000.4 } as const
  return { ws, first: abortSettled(ws, used === undefined ? it : { ...it, charged: used }) }
}

describe('the handler of a lease that ended from outside (docs/semantics.md 5.4)', () => {
  test('has stopped: that is kept once, and is no event', () => {
    const { ws, first } = stopped('acknowledged')
    expect([first, ws.events]).toEqual([true, []])
    expect(ws.lease(3)).toStrictEqual({ ...over, abortAcknowledgedAt: now.leaseAt })
    expect(stopped('acknowledged', { ...over, abortAcknowledgedAt: 1 }).first).toBe(false)
  })

  test('a handler that has outlived its grace is recorded once, and reported', () => {
    const { ws, first } = stopped('leaked')
    expect(first).toBe(true)
    expect(ws.events.map(({ type, data }) => [type, data])).toEqual([
      ['task.leaked', `{"afterMs":30000,"leaseId":"${leaseId}"}`],
    ])
    expect(ws.lease(3)).toStrictEqual({ ...over, abortGraceExpiredAt: now.leaseAt })
    expect(stopped('leaked', { ...over, abortGraceExpiredAt: 1 }).first).toBe(false)
  })

  test('a handler that has outlived its grace and was killed is reported, and has stopped, also after it was reported as leaked', () => {
    const { ws, first } = stopped('killed')
    expect(first).toBe(true)
    expect(ws.events.map(({ type, data }) => [type, data])).toEqual([
      ['task.killed', `{"afterMs":30000,"leaseId":"${leaseId}"}`],
    ])
    const { leaseAt } = now
    expect(ws.lease(3)).toStrictEqual({ ...over, abortGraceExpiredAt: leaseAt, abortAcknowledgedAt: leaseAt })
    const late = stopped('killed', { ...over, abortGraceExpiredAt: 1 })
    expect(late.ws.lease(3)).toMatchObject({ abortGraceExpiredAt: 1, abortAcknowledgedAt: leaseAt })
    expect(stopped('killed', { ...over, abortAcknowledgedAt: 1 }).first).toBe(false)
  })

  test('may stop after its grace, and does not outlive that once it has stopped', () => {
    const late = stopped('acknowledged', { ...over, abortGraceExpiredAt: 1 })
    expect(late.first).toBe(true)
    expect(late.ws.lease(3)).toMatchObject({ abortGraceExpiredAt: 1, abortAcknowledgedAt: now.leaseAt })
    const stops = stopped('leaked', { ...over, abortAcknowledgedAt: 1 })
    expect([stops.first, stops.ws.events, [...stops.ws.leases.changed]]).toEqual([false, [], []])
  })

  test.each(['acknowledged', 'leaked', 'killed'] as const)(
    'a handler of a lease that lives, or that does not exist: %s is nothing',
    (how) => {
      expect(stopped(how, lease).first).toBe(false)
      expect(stopped(how, over, { leases: [] }).first).toBe(false)
      const ws = workingSet({})
      expect(abortSettled(ws, { kind: 'abortSettled', leaseId: 'nobody', how, afterMs: 1 })).toBe(false)
    },
  )

  test('a handler whose task is gone is recorded without a report', () => {
    const { ws, first } = stopped('leaked', over, { tasks: [] }, charged)
    expect([first, ws.events]).toEqual([true, []])
    expect(ws.lease(3)?.abortGraceExpiredAt).toBe(now.leaseAt)
  })

  test.each([
    ['acknowledged', ['task.charged']],
    ['leaked', ['task.leaked', 'task.charged']],
    ['killed', ['task.killed', 'task.charged']],
  ] as const)('%s: what it used up counts, although its lease is over (11.5)', (how, types) => {
    const { ws } = stopped(how, over, {}, charged)
    expect(ws.events.map(({ type }) => type)).toEqual(types)
    expect(ws.events.at(-1)?.data).toBe(`{"charged":{"cost":0,"money":0,"tokens":4},"leaseId":"${leaseId}"}`)
    expect(ws.task(7)).toMatchObject({ state: 'canceled', account: { used: charged } })
    expect(ws.budget(7).used.tokens).toBe(4)
  })
})
