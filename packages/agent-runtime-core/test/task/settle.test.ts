import { describe, expect, test } from 'vitest'
import { type BudgetSum, noUse } from '../../src/budget/budget.ts'
import { RETRY_KEY } from '../../src/history/replay.ts'
import type { Write } from '../../src/store/port.ts'
import type { Settlement } from '../../src/task/settlement.ts'
import { CALLER } from '../../src/lease/caller.ts'
import { type BudgetRow, type LeaseRow, noTotals, type TaskRow, type WaitRow } from '../../src/transition.ts'
import { expire, failHeld, release, settle } from '../../src/task/settle.ts'
import { signal } from '../../src/wait/signal.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import {
  childRow,
  config,
  counting,
  family,
  ids,
  lease,
  limited,
  now,
  probing,
  quota,
  type Rows,
  task,
  workingSet,
} from '../transition/rows.ts'

const leaseId = ids.lease(lease.id)
const error = '{"message":"no","name":"Error"}'
const completed: Settlement = { as: 'completed', output: '{"a":1}' }
const failed: Settlement = { as: 'failed', kind: 'error', error }
const retry: Settlement = { as: 'retry', error, delayMs: 0 }
const rateLimited: Settlement = { as: 'rate_limited', error, delayMs: 30 }

const running = (rows: Rows = {}, settings = config) =>
  workingSet({ tasks: [task], leases: [lease], ...rows }, settings)
const end = (ws: WorkingSet, settlement: Settlement, it: Partial<Write<'settle'>> = {}) =>
  settle(ws, { kind: 'settle', leaseId, settlement, ...it })
const told = (ws: WorkingSet) => ws.events.map(({ task: of, type }) => [of, type])
const said = (ws: WorkingSet) => {
  const [event] = ws.events
  return [event?.type, event?.data, event?.also]
}
const tokens = (count: number) => ({ tokens: count, money: 0, cost: 0 })

const budgetOf = (owner: number, limits: BudgetSum, changes: Partial<BudgetRow> = {}): BudgetRow => ({
  task: owner,
  above: null,
  limits,
  soft: {},
  used: noUse,
  own: noUse,
  startedAt: null,
  dueAt: null,
  asked: null,
  asks: 0,
  ...changes,
})

describe('the holder of a live lease ends its attempt (docs/semantics.md 1.1)', () => {
  test('as completed: task, lease, counters and quotas in one commit', () => {
    const ws = running(limited)
    expect(end(ws, completed)).toBe('ok')
    expect(said(ws)).toEqual([
      'task.completed',
      `{"durationMs":9000,"leaseId":"${leaseId}","output":{"a":1}}`,
      ['lease.released'],
    ])
    expect(ws.task(7)).toMatchObject({ state: 'completed', lease: null, finishedAt: now.at, attempt: 1 })
    expect(ws.lease(3)).toStrictEqual({
      ...lease,
      state: 'completed',
      endReason: 'completed',
      endSeq: 3,
      endedAt: now.leaseAt,
    })
    expect(ws.quota(quota.key)).toStrictEqual({ ...quota, running: 0 })
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 4, completed: 1 })
  })

  test.each([
    ['waits that its error tells', { waits: ['a', 'b'] }, ',"waits":["a","b"]'],
    ['no waits', {}, ''],
  ])('as failed, with %s', (_, more, text) => {
    const ws = running()
    end(ws, { ...failed, ...more })
    expect(said(ws)).toEqual([
      'task.failed',
      `{"durationMs":9000,"error":${error},"kind":"error","leaseId":"${leaseId}"${text}}`,
      ['lease.released'],
    ])
    expect(ws.lease(3)).toMatchObject({ state: 'failed', endReason: 'failed', endSeq: 3 })
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 4, failed: 1 })
  })

  test.each([
    ['where it began, when the clock was set back', now.at + 1, 0],
    ['one ms later', now.at - 1, 1],
    ['and nobody knows when it began', null, 0],
  ])('%s: how long it took is never below 0', (_, startedAt, durationMs) => {
    const ws = running({ tasks: [{ ...task, startedAt }] })
    end(ws, completed)
    expect(JSON.parse(ws.events[0]?.data ?? '{}')).toMatchObject({ durationMs })
  })

  test.each([
    [0, null, '', [4, 3]],
    [1, now.at + 1, `"dueAt":${now.at + 1},`, [3, 4]],
    [20, now.at + 20, `"dueAt":${now.at + 20},`, [3, 4]],
  ])('as a retry after %i ms: it counts as an attempt, and is due then', (delayMs, dueAt, text, counts) => {
    const ws = running(limited)
    expect(end(ws, { ...retry, delayMs })).toBe('ok')
    expect(said(ws)).toEqual([
      'task.requeued',
      `{"attempt":2,${text}"error":${error},"leaseId":"${leaseId}","reason":"retry"}`,
      ['lease.released'],
    ])
    expect(ws.task(7)).toMatchObject({
      state: 'queued',
      attempt: 2,
      crashes: 0,
      lease: null,
      dueAt,
      queuedAt: dueAt ?? now.at,
    })
    const row = ws.stream(1)
    expect([row.depth, row.delayed]).toEqual(counts)
    expect(ws.lease(3)).toMatchObject({ state: 'failed', endReason: 'retry', endSeq: 3 })
    expect(ws.quota(quota.key)).toStrictEqual({ ...quota, running: 0, queued: 3 })
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 4, requeued: 1 })
  })

  test('a retry gives its steps all their tries again, and leaves its other waits open (7.7)', () => {
    const wait: WaitRow = {
      task: 7,
      key: 'nap',
      position: 1,
      kind: 'timer',
      name: null,
      dueAt: now.at,
      terms: null,
    }
    const open = [wait, { ...wait, key: `${RETRY_KEY}1/s` }, { ...wait, key: `${RETRY_KEY}2/t` }]
    const ws = running({ tasks: [{ ...task, waits: 3 }], waits: new Map([[7, open]]) })
    end(ws, retry)
    expect(ws.waitsOf(task)).toEqual([wait])
    expect(ws.task(7)).toMatchObject({ state: 'queued', waits: 1 })
    const limits = running({ tasks: [{ ...task, waits: 3 }], waits: new Map([[7, open]]) })
    end(limits, rateLimited)
    expect(limits.waitsOf(task)).toEqual(open)
  })

  test('as refused by a provider: the same attempt, when it said so, and nothing of its keys before (2.8)', () => {
    const ws = running({ ...limited, tasks: [{ ...task, attempt: 3, crashes: 1 }] })
    end(ws, rateLimited, { backOff: { keys: [quota.key], retryAfterMs: 30.2 } })
    expect(said(ws)).toEqual([
      'task.requeued',
      `{"attempt":3,"backOff":{"keys":["model:big"],"until":50031},"dueAt":50030,"error":${error},"leaseId":"${leaseId}","reason":"rate_limited"}`,
      ['lease.released'],
    ])
    expect(ws.task(7)).toMatchObject({ attempt: 3, crashes: 1, dueAt: 50_030, queuedAt: 50_030 })
    expect(ws.lease(3)).toMatchObject({ state: 'failed', endReason: 'rate_limited' })
    expect(ws.quota(quota.key).blockedUntil).toBe(50_031)
  })

  test.each<[string, { breach?: 'deadline' | 'hard' }, readonly unknown[] | undefined]>([
    ['nothing that it hears of', {}, undefined],
    ['a deadline that was passed: it is unhealthy', { breach: 'deadline' }, ['closed', null, true]],
    ['a hard limit that was broken: it is open', { breach: 'hard' }, ['open', now.leaseAt, true]],
  ])('a failure is, for its route, %s (10.3)', (_, how, standing) => {
    const ws = running()
    end(ws, { ...failed, ...how })
    const row = ws.circuit('work')
    expect(row && [row.state, row.openedAt, row.unhealthy]).toEqual(standing)
  })
})

test.each<[string, (ws: WorkingSet) => void, readonly unknown[] | undefined]>([
  ['that completed has healed it', (ws) => end(ws, completed), undefined],
  ['that failed opens it anew', (ws) => end(ws, failed), ['open', now.leaseAt]],
  [
    'that the runtime has failed opens it anew',
    (ws) => failHeld(ws, { task, lease }, 'timeout', error),
    ['open', now.leaseAt],
  ],
  ['that goes back to the queue stays it', (ws) => end(ws, retry), ['half_open', 1]],
])('the probe of a route %s (docs/semantics.md 10.3)', (_, how, standing) => {
  const ws = running(probing)
  how(ws)
  const row = ws.circuit('work')
  expect(row && [row.state, row.openedAt]).toEqual(standing)
})

describe("a caller's lease (docs/semantics.md 10.1)", () => {
  const called: Rows = { leases: [{ ...lease, worker: CALLER }] }

  test.each([retry, rateLimited])('its task cannot go back to the queue: $as is stale', (settlement) => {
    const ws = running(called)
    expect(end(ws, settlement)).toBe('stale')
    expect([ws.staleWrites, ws.events, [...ws.tasks.changed]]).toEqual([1, [], []])
  })

  test.each([completed, failed])('it ends as $as', (settlement) => {
    const ws = running(called)
    expect(end(ws, settlement)).toBe('ok')
    expect(ws.task(7)?.state).toBe(settlement.as)
    expect(ws.staleWrites).toBe(0)
  })
})

describe('the same settlement again (docs/semantics.md 4.4)', () => {
  const others: Record<string, Settlement> = {
    'another output': { ...completed, output: '{"a":2}' },
    'another end': { as: 'failed', kind: 'error', error: '{"a":1}' },
  }

  test.each([completed, failed, retry, rateLimited])(
    '$as gets the first answer, and writes nothing',
    (it) => {
      const ws = running()
      end(ws, it)
      const { length } = ws.events
      expect(end(ws, it)).toBe('ok')
      expect([ws.events.length, ws.staleWrites]).toEqual([length, 0])
    },
  )

  test.each(Object.entries(others))('%s of a lease that has ended is stale', (_, other) => {
    const ws = running()
    end(ws, completed)
    expect(end(ws, other)).toBe('stale')
    expect([ws.events.length, ws.staleWrites]).toEqual([1, 1])
  })

  test('an error of another kind, or another error, is another settlement', () => {
    const ws = running()
    end(ws, failed)
    expect(end(ws, { ...failed, kind: 'timeout' })).toBe('stale')
    expect(end(ws, { ...failed, error: '{}' })).toBe('stale')
    expect(end(ws, failed)).toBe('ok')
  })

  test('a failure with the error of a retry is another settlement', () => {
    const ws = running()
    end(ws, retry)
    expect(end(ws, { ...failed, error: retry.error })).toBe('stale')
  })

  test('a stale holder learns the event that ended its own lease, not another of this flush', () => {
    const ws = running({
      tasks: [task, { ...task, id: 8, lease: 4 }],
      leases: [lease, { ...lease, id: 4, task: 8 }],
    })
    // The same seq of another task, and an earlier one of its own.
    end(ws, { as: 'completed', output: '8' }, { leaseId: ids.lease(4) })
    end(ws, completed)
    expect(end(ws, completed)).toBe('ok')
    expect(end(ws, { as: 'completed', output: '8' })).toBe('stale')
    const after = running()
    signal(after, { kind: 'signal', taskId: ids.task(7), name: 'mail', value: '1' })
    end(after, completed)
    expect(end(after, completed)).toBe('ok')
  })

  const past: LeaseRow = { ...lease, state: 'completed', endReason: 'completed', endSeq: 3, endedAt: 1 }
  const over = (events: Record<string, string>, row: LeaseRow = past) =>
    workingSet({
      tasks: [{ ...task, state: 'completed', lease: null, seq: 3 }],
      leases: [row],
      events: new Map(Object.entries(events)),
    })

  test('a stale holder learns it from a committed event', () => {
    const ws = over({ '7:3': '{"output":{"a":1}}', '7:2': '{"output":2}' })
    expect(end(ws, completed)).toBe('ok')
    expect(end(ws, { as: 'completed', output: '2' })).toBe('stale')
  })

  test('where nothing tells, it is stale', () => {
    expect(end(over({}), completed)).toBe('stale')
    expect(end(over({ '7:3': '{"output":{"a":1}}' }), completed, { leaseId: ids.lease(9) })).toBe('stale')
    expect(end(over({ '7:3': '{"output":{"a":1}}' }), completed, { leaseId: 'nobody' })).toBe('stale')
  })

  test('a value that was moved out of its event is the same by its hash', () => {
    const large = (letter: string) => JSON.stringify(letter.repeat(config.maxInlineBytes))
    const ws = running()
    end(ws, { as: 'completed', output: large('a') })
    expect(end(ws, { as: 'completed', output: large('a') })).toBe('ok')
    expect(end(ws, { as: 'completed', output: large('b') })).toBe('stale')
  })
})

describe('the charges of a settlement (docs/semantics.md 2.8, 11.5)', () => {
  const drawing: TaskRow = { ...task, budget: 7 }
  const own = (limits: BudgetSum, used = 0): Rows => ({
    tasks: [drawing],
    budgets: new Map([[7, budgetOf(7, limits, { used: { ...noUse, tokens: used } })]]),
  })

  test('counts in the windows of its quotas, beyond its estimate, and is recorded', () => {
    const ws = running({ ...limited, tasks: [{ ...task, tokens: 3 }] }, counting)
    end(ws, retry, { charged: tokens(8) })
    expect(ws.quota(quota.key)).toMatchObject({ windowTokens: 15 })
    expect(ws.task(7)?.account?.used).toStrictEqual(tokens(8))
    expect(ws.events[0]?.data).toContain('"charged":{"cost":0,"money":0,"tokens":8},')
  })

  test('all that is allowed may be used; what was to be returned by one that crosses its own line is kept', () => {
    const ws = running(own({ tokens: 10 }, 5))
    end(ws, completed, { charged: tokens(5) })
    expect(ws.task(7)?.state).toBe('completed')

    const crossing = running(own({ tokens: 10 }, 5))
    end(crossing, completed, { charged: tokens(6) })
    expect(told(crossing)).toEqual([[7, 'task.failed']])
    expect(JSON.parse(crossing.events[0]?.data ?? '{}')).toMatchObject({
      kind: 'budget_exceeded',
      error: { code: 'budget_exceeded', details: { field: 'tokens', limit: 10, used: 11, output: { a: 1 } } },
    })
  })

  test('a retry that crosses its own line is none', () => {
    const ws = running(own({ tokens: 1 }))
    end(ws, retry, { charged: tokens(2) })
    const data = JSON.parse(ws.events[0]?.data ?? '{}') as { error: { details: object } }
    expect(data).toMatchObject({ kind: 'budget_exceeded' })
    expect(data.error.details).not.toHaveProperty('output')
  })

  test('a task that fails of its own accord keeps its own error, whatever line it crosses', () => {
    const ws = running(own({ tokens: 1 }))
    end(ws, failed, { charged: tokens(2) })
    expect(JSON.parse(ws.events[0]?.data ?? '{}')).toMatchObject({ kind: 'error', error: { message: 'no' } })
    expect(ws.budget(7).used.tokens).toBe(2)
  })

  test.each([
    ['while something is left, ends as it says', 9, 'error'],
    ['when nothing is, ends as at the hard line, its error as the cause', 10, 'budget_exceeded'],
  ])('a task that fails because its budget is used up, %s', (_, used, kind) => {
    const ws = running(own({ tokens: 10 }, used))
    end(ws, { ...failed, spent: true, waits: ['w'] })
    expect(JSON.parse(ws.events[0]?.data ?? '{}')).toMatchObject({
      kind,
      waits: ['w'],
      error: kind === 'error' ? { message: 'no' } : { cause: { message: 'no' } },
    })
    const silent = running(own({ tokens: 10 }, used))
    end(silent, failed)
    expect(JSON.parse(silent.events[0]?.data ?? '{}')).toMatchObject({ kind: 'error' })
  })

  test('a line above it that it crosses ends the task of that budget; its own end stays', () => {
    const parent: TaskRow = {
      ...task,
      id: 6,
      state: 'waiting',
      lease: null,
      waitReason: 'children',
      budget: 6,
    }
    const ws = running({
      tasks: [parent, { ...task, parent: 6, budget: 6 }],
      budgets: new Map([[6, budgetOf(6, { tokens: 1 })]]),
      ...family(childRow(6, 7)),
    })
    end(ws, completed, { charged: tokens(2) })
    expect(told(ws)).toEqual([
      [7, 'task.completed'],
      [6, 'child.ended'],
      [6, 'task.failed'],
    ])
    expect(ws.task(6)?.state).toBe('failed')
  })
})

describe('a task that its holder gives back (docs/semantics.md 1.1, 3.6, 5.6)', () => {
  test.each([
    ['yielded', ['lease.released', 'task.preempted'], 1],
    ['drained', ['lease.released'], 0],
  ] as const)(
    '%s: the same attempt, at once; its lease is canceled for that reason',
    (reason, also, preempted) => {
      const ws = running({ ...limited, tasks: [{ ...task, attempt: 2, crashes: 1 }] }, counting)
      expect(release(ws, { leaseId, reason, charged: tokens(4) })).toBe('ok')
      expect(said(ws)).toEqual([
        'task.requeued',
        `{"attempt":2,"charged":{"cost":0,"money":0,"tokens":4},"leaseId":"${leaseId}","reason":"${reason}"}`,
        also,
      ])
      expect(ws.task(7)).toMatchObject({
        state: 'queued',
        attempt: 2,
        crashes: 1,
        dueAt: null,
        queuedAt: now.at,
      })
      expect(ws.lease(3)).toMatchObject({ state: 'canceled', endReason: reason, endSeq: 3 })
      expect(ws.quota(quota.key)).toStrictEqual({ ...quota, running: 0, queued: 3, windowTokens: 14 })
      expect(ws.totals).toStrictEqual({ ...noTotals, running: 4, requeued: 1, preempted })
    },
  )

  test("nobody gives back a caller's lease, nor one that has ended", () => {
    const ws = running({ leases: [{ ...lease, worker: CALLER }] })
    expect(release(ws, { leaseId, reason: 'drained' })).toBe('stale')
    expect([ws.staleWrites, ws.events]).toEqual([1, []])
  })

  test.each([
    ['yielded', 'waiting', 'task.waiting'],
    ['drained', 'queued', 'task.requeued'],
  ] as const)('%s while a budget that it draws on asks: it is %s (11.5)', (reason, state, type) => {
    const asks = budgetOf(7, { tokens: 10 }, { asked: { field: 'tokens', at: 1, by: 7 }, asks: 1 })
    const ws = running({ tasks: [{ ...task, budget: 7 }], budgets: new Map([[7, asks]]) })
    release(ws, { leaseId, reason, charged: tokens(4) })
    expect(told(ws)).toEqual([[7, type]])
    expect(ws.task(7)?.state).toBe(state)
    expect(ws.budget(7).used.tokens).toBe(4)
  })
})

describe('a lease whose holder is gone (docs/semantics.md C7, C8, C17)', () => {
  test.each(['expired', 'owner_dead'] as const)('%s: the task goes back as one attempt more', (reason) => {
    const ws = running({ ...limited, tasks: [{ ...task, attempt: 2 }] })
    expire(ws, lease, reason)
    expect(said(ws)).toEqual([
      'task.requeued',
      `{"attempt":3,"leaseId":"${leaseId}","reason":"${reason}"}`,
      ['lease.expired'],
    ])
    expect(ws.task(7)).toMatchObject({ state: 'queued', attempt: 3, crashes: 1, dueAt: null })
    expect(ws.lease(3)).toMatchObject({ state: 'failed', endReason: reason, endSeq: 3 })
    expect(ws.notices).toStrictEqual([{ leaseId, taskId: ids.task(7), verdict: 'lost', reason }])
    expect(ws.quota(quota.key)).toStrictEqual({ ...quota, running: 0, queued: 3 })
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 4, requeued: 1, expired: 1 })
  })

  test.each([
    [config.maxCrashes - 2, 'queued'],
    [config.maxCrashes - 1, 'failed'],
  ])('after %i crashes before this one it is %s', (crashes, state) => {
    const ws = running({ tasks: [{ ...task, crashes }] })
    expire(ws, lease, 'expired')
    expect(ws.task(7)).toMatchObject({ state, crashes: crashes + 1 })
  })

  test('one that is poisoned says how often, and says nothing of its route (C9)', () => {
    const ws = running({
      tasks: [{ ...task, crashes: config.maxCrashes - 1 }],
      ...probing,
    })
    expire(ws, lease, 'owner_dead')
    const text = `the task lost its lease to crashes ${config.maxCrashes} times (maxCrashes ${config.maxCrashes})`
    expect(said(ws)).toEqual([
      'task.failed',
      `{"durationMs":9000,"error":{"code":"poisoned","message":"${text}","name":"RuntimeError"},"kind":"poisoned","leaseId":"${leaseId}"}`,
      ['lease.expired'],
    ])
    expect(ws.lease(3)).toMatchObject({ state: 'failed', endReason: 'owner_dead' })
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 4, failed: 1, expired: 1 })
    expect(ws.notices).toHaveLength(1)
    // The next one may find out.
    expect(ws.circuit('work')).toMatchObject({ state: 'open', openedAt: 1, probe: null })
  })

  test("a caller's is failed as lease_lost, and never run again", () => {
    const row = { ...lease, worker: CALLER }
    const ws = running({ leases: [row] })
    expire(ws, row, 'expired')
    expect(JSON.parse(ws.events[0]?.data ?? '{}')).toMatchObject({ kind: 'lease_lost' })
    expect(ws.task(7)).toMatchObject({ state: 'failed', crashes: 1, attempt: 1 })
    expect(ws.lease(3)).toMatchObject({ state: 'failed', endReason: 'expired' })
    expect(ws.notices).toMatchObject([{ verdict: 'lost', reason: 'expired' }])
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 4, failed: 1, expired: 1 })
  })

  test.each<[string, Rows, LeaseRow]>([
    ['has no task', { tasks: [] }, lease],
    ['has ended', {}, { ...lease, state: 'completed' }],
  ])('one that %s is a fault of ours, and says so', (_, rows, row) => {
    const ws = running(rows)
    expect(() => expire(ws, row, 'expired')).toThrow('lease 3 has no running task')
    expect([ws.events, ws.totals.expired]).toEqual([[], 0])
  })
})

test('a task that the runtime ends by a rule of its own fails, its lease with it (docs/semantics.md 1.1)', () => {
  const ws = running()
  failHeld(ws, { task, lease }, 'timeout', error)
  expect(said(ws)).toEqual([
    'task.failed',
    `{"durationMs":9000,"error":${error},"kind":"timeout","leaseId":"${leaseId}"}`,
    ['lease.released'],
  ])
  expect(ws.lease(3)).toMatchObject({ state: 'failed', endReason: 'failed', endSeq: 3 })
})
