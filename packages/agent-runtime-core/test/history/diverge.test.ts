import { describe, expect, test } from 'vitest'
import { noUse } from '../../src/budget/budget.ts'
import type { Divergence } from '../../src/history/divergence-schema.ts'
import { CALLER } from '../../src/lease/caller.ts'
import { diverge, resume } from '../../src/history/diverge.ts'
import { noTotals, type SignalRow, type TaskRow, type WaitRow } from '../../src/transition.ts'
import {
  config,
  counting,
  ids,
  lease,
  limited,
  now,
  quota,
  type Rows,
  task,
  workingSet,
} from '../transition/rows.ts'

const leaseId = ids.lease(lease.id)
const charged = { tokens: 7, money: 0, cost: 0 }
const divergence: Divergence = { position: 1, kind: 'unexpected_step', key: 'b', expected: 'a', actual: 'b' }
const running = (rows: Rows = {}, settings = config) =>
  workingSet({ tasks: [task], leases: [lease], ...rows }, settings)
const park = (ws: ReturnType<typeof running>, more: { readonly charged?: typeof charged } = {}) =>
  diverge(ws, { kind: 'diverge', leaseId, divergence, ...more })
const text = '"divergence":{"actual":"b","expected":"a","key":"b","kind":"unexpected_step","position":1}'

describe('a task whose code and history differ (docs/semantics.md 6.4)', () => {
  test('is parked: its lease has ended, its slot is free, and it is due at no time', () => {
    const ws = running({ ...limited, tasks: [{ ...task, dueAt: 1 }] })
    expect(park(ws)).toBe('ok')
    expect(ws.events.map(({ type, data, also }) => [type, data, also])).toEqual([
      [
        'task.waiting',
        `{${text},"leaseId":"${leaseId}","reason":"divergence","waits":[]}`,
        ['lease.released', 'task.parked'],
      ],
    ])
    expect(ws.task(7)).toMatchObject({
      state: 'waiting',
      lease: null,
      waitReason: 'divergence',
      dueAt: null,
      attempt: 1,
      account: null,
    })
    expect(ws.lease(3)).toStrictEqual({
      ...lease,
      state: 'completed',
      endReason: 'waiting',
      endSeq: 3,
      endedAt: now.leaseAt,
    })
    expect(ws.quota(quota.key)).toStrictEqual({ ...quota, running: 0 })
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 4, waiting: 1 })
  })

  test('the charges of its pass count: in its quota beyond the estimate, and for itself (2.8, 11.5)', () => {
    const ws = running(limited, counting)
    park(ws, { charged })
    expect(ws.events[0]?.data).toBe(
      `{"charged":{"cost":0,"money":0,"tokens":7},${text},"leaseId":"${leaseId}","reason":"divergence","waits":[]}`,
    )
    expect(ws.quota(quota.key)).toStrictEqual({ ...quota, running: 0, windowTokens: 17 })
    expect(ws.task(7)?.account?.used).toStrictEqual(charged)
  })

  test.each([
    [5, 'waiting'],
    [6, 'failed'],
  ])(
    '%i tokens of its budget of 12 were used before, and its pass used 7: it is %s (11.5)',
    (used, state) => {
      const ws = running({
        tasks: [{ ...task, budget: 7 }],
        budgets: new Map([
          [
            7,
            {
              task: 7,
              above: null,
              limits: { tokens: 12 },
              soft: {},
              used: { ...noUse, tokens: used },
              own: noUse,
              startedAt: null,
              dueAt: null,
              asked: null,
              asks: 0,
            },
          ],
        ]),
      })
      park(ws, { charged })
      expect([ws.budget(7).used.tokens, ws.task(7)?.state]).toEqual([used + 7, state])
    },
  )

  test.each([
    ['whose lease is not live', { leases: [{ ...lease, expiresAt: now.leaseAt }] }],
    ['that its caller runs (10.1)', { leases: [{ ...lease, worker: CALLER }] }],
  ])('one %s is not parked', (_, rows) => {
    const ws = running(rows)
    expect(park(ws)).toBe('stale')
    expect([ws.events, [...ws.tasks.changed], ws.staleWrites]).toEqual([[], [], 1])
  })
})

describe('a parked task that is resumed (docs/semantics.md 6.4)', () => {
  const parked: TaskRow = { ...task, state: 'waiting', lease: null, waitReason: 'divergence', waits: 2 }
  const wait: WaitRow = {
    task: 7,
    key: 'nap',
    position: 1,
    kind: 'timer',
    name: null,
    dueAt: now.at - 1,
    terms: null,
  }
  const unread: SignalRow = {
    task: 7,
    seq: 1,
    name: 'mail',
    at: now.at,
    value: '1',
    blob: null,
    outcome: 'received',
  }
  const goOn = (ws: ReturnType<typeof workingSet>, taskId = ids.task(7)) =>
    resume(ws, { kind: 'resume', taskId })

  test('is queued, past its limits, with what it waits for and what came meanwhile', () => {
    const ws = workingSet({
      ...limited,
      tasks: [parked],
      waits: new Map([[7, [wait]]]),
      signals: new Map([[7, [unread]]]),
    })
    expect(goOn(ws)).toStrictEqual({ resumed: true, state: 'queued' })
    expect(ws.events.map(({ type, data }) => [type, data])).toEqual([
      ['task.resumed', '{"reason":"divergence"}'],
    ])
    expect(ws.task(7)).toMatchObject({
      state: 'queued',
      waitReason: null,
      dueAt: null,
      queuedAt: now.at,
      attempt: 1,
      waits: 2,
    })
    expect([ws.waitsOf(task), ws.signalsOf(task)]).toEqual([[wait], [unread]])
    expect(ws.quota(quota.key)).toStrictEqual({ ...quota, queued: 3 })
    expect(ws.stream(1)).toMatchObject({ depth: 4, delayed: 3 })
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 5, waiting: -1 })
  })

  test.each<[string, Partial<TaskRow>, string, object]>([
    ['waits for something else', { waitReason: 'timer' }, ids.task(7), { state: 'waiting' }],
    ['runs', { state: 'running', waitReason: null }, ids.task(7), { state: 'running' }],
    ['is not there', {}, ids.task(8), {}],
    ['has no id of ours', {}, 'nobody', {}],
  ])('one that %s stays as it is', (_, changes, taskId, more) => {
    const ws = workingSet({ tasks: [{ ...parked, ...changes }] })
    expect(goOn(ws, taskId)).toStrictEqual({ resumed: false, ...more })
    expect([ws.events, [...ws.tasks.changed]]).toEqual([[], []])
  })
})
