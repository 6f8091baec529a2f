import { describe, expect, test } from 'vitest'
import { approvalName, type ApprovalTerms } from '../../src/approval/approval.ts'
import { noUse } from '../../src/budget/budget.ts'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import { branchLimitKey } from '../../src/history/replay.ts'
import type { Write } from '../../src/store/port.ts'
import { SUPERVISOR_NAME, supervisorEnds, supervisorKey } from '../../src/supervision/supervision.ts'
import { type BudgetRow, noTotals, type SignalRow, type TaskRow, type WaitRow } from '../../src/transition.ts'
import { suspend, wake } from '../../src/wait/suspend.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import { ids, lease, now, probing, quota, type Rows, stream, task, workingSet } from '../transition/rows.ts'

const leaseId = ids.lease(lease.id)
const wait = (key: string, changes: Partial<WaitRow> = {}): WaitRow => ({
  task: 7,
  key,
  position: 1,
  kind: 'timer',
  name: null,
  dueAt: now.at + 100,
  terms: null,
  ...changes,
})
const mail = (changes: Partial<WaitRow> = {}): WaitRow =>
  wait('mail', { kind: 'signal', name: 'mail', dueAt: null, ...changes })
const terms: ApprovalTerms = { asked: true, maxRetries: 3, onReject: 'rerun', onTimeout: 'throw', request: 1 }
const approval = (changes: Partial<WaitRow> = {}): WaitRow =>
  wait('ok', { kind: 'approval', name: approvalName('ok'), dueAt: null, terms, ...changes })
const signal = (name: string, changes: Partial<SignalRow> = {}): SignalRow => ({
  task: 7,
  seq: 2,
  name,
  at: now.at - 10,
  value: '"hi"',
  blob: null,
  outcome: 'received',
  ...changes,
})

/** Task 7 runs, with these open waits and unread signals. */
const running = (
  open: readonly WaitRow[],
  unread: readonly SignalRow[] = [],
  rows: Rows = {},
  config = parseExecutionConfig().config,
): WorkingSet =>
  workingSet(
    {
      tasks: [{ ...task, waits: open.length + unread.length }],
      leases: [lease],
      waits: new Map([[7, open]]),
      signals: new Map([[7, unread]]),
      ...rows,
    },
    config,
  )
const ask = (ws: WorkingSet, it: Partial<Write<'suspend'>> = {}) =>
  suspend(ws, { kind: 'suspend', leaseId, waits: [], stay: false, ...it })
const told = (ws: WorkingSet) => ws.events.map(({ type, data }) => [type, data])
const openKeys = (ws: WorkingSet) => ws.waitsOf(task).map(({ key }) => key)

describe('a pass that ends at its waits (docs/semantics.md 12.3)', () => {
  test('the task waits, the lease ends as completed, and the event names the first wait and when each is due', () => {
    const ws = running([])
    const outcome = ask(ws, {
      waits: [
        { key: 'z', position: 3, kind: 'timer', dueAt: now.at + 5 },
        { key: 'mail', position: 1, kind: 'signal', name: 'mail', delayMs: 8.5 },
        { key: 'a', position: 2, kind: 'timer', delayMs: 20 },
        { key: 'post', position: 4, kind: 'signal', name: 'post' },
      ],
    })
    expect(outcome).toStrictEqual({ fenced: 'ok', suspended: true, resolved: [] })
    expect(told(ws)).toEqual([
      [
        'task.waiting',
        `{"dueAt":{"a":50020,"mail":50009,"z":50005},"leaseId":"${leaseId}","reason":"signal","waits":[` +
          '{"key":"mail","kind":"signal","name":"mail","position":1},{"key":"a","kind":"timer","position":2},' +
          '{"key":"z","kind":"timer","position":3},{"key":"post","kind":"signal","name":"post","position":4}]}',
      ],
    ])
    expect(ws.events[0]?.also).toEqual(['lease.released'])
    expect(ws.task(7)).toMatchObject({
      state: 'waiting',
      lease: null,
      waitReason: 'signal',
      dueAt: now.at + 5,
      waits: 4,
      attempt: 1,
    })
    expect(ws.lease(3)).toMatchObject({
      state: 'completed',
      endReason: 'waiting',
      endSeq: 3,
      endedAt: now.leaseAt,
    })
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 4, waiting: 1 })
  })

  test('one that is never due says no time', () => {
    const ws = running([mail()])
    ask(ws)
    expect(told(ws)).toEqual([
      [
        'task.waiting',
        `{"leaseId":"${leaseId}","reason":"signal","waits":[{"key":"mail","kind":"signal","name":"mail","position":1}]}`,
      ],
    ])
    expect(ws.task(7)).toMatchObject({ dueAt: null })
  })

  test('a time limit says not what a task waits for, unless there is nothing else', () => {
    const limit = wait(branchLimitKey('r'))
    const both = running([limit, mail({ position: 2 })])
    ask(both)
    expect(both.task(7)?.waitReason).toBe('signal')
    const alone = running([limit])
    ask(alone)
    expect(alone.task(7)?.waitReason).toBe('timer')
  })

  test('a pass that waits for nothing, and of which nothing is open, is refused', () => {
    expect(() => ask(running([]))).toThrow('suspend: no wait was given, and the task has no open wait')
  })

  test('its slot in a quota is free, and what it charged beyond its estimate counts there (2.6, 2.8)', () => {
    const { config } = parseExecutionConfig({ quotaConfig: { models: { big: { tokensPerWindow: 100 } } } })
    const ws = running(
      [wait('nap')],
      [],
      { streams: [{ ...stream, quotaKeys: [quota.key] }], quotas: new Map([[quota.key, quota]]) },
      config,
    )
    ask(ws, { charged: { tokens: 7, money: 0, cost: 0 } })
    expect(ws.quota(quota.key)).toStrictEqual({ ...quota, running: 0, windowTokens: 17 })
    expect(ws.task(7)?.account?.used).toStrictEqual({ tokens: 7, money: 0, cost: 0 })
    expect(ws.events[0]?.data).toContain('{"charged":{"cost":0,"money":0,"tokens":7},')
  })

  test('its charge goes to the budget that it draws on, and a charge that crosses a line ends it (11.5)', () => {
    const budget: BudgetRow = {
      task: 7,
      above: null,
      limits: { tokens: 10 },
      soft: {},
      used: { ...noUse, tokens: 5 },
      own: noUse,
      startedAt: null,
      dueAt: null,
      asked: null,
      asks: 0,
    }
    const drawing = (tokens: number) => {
      const ws = running([wait('nap')], [], {
        tasks: [{ ...task, waits: 1, budget: 7 }],
        budgets: new Map([[7, budget]]),
      })
      ask(ws, { charged: { tokens, money: 0, cost: 0 } })
      return [ws.budget(7).used.tokens, ws.task(7)?.state]
    }
    expect(drawing(5)).toEqual([10, 'waiting'])
    expect(drawing(6)).toEqual([11, 'failed'])
  })

  test('waiting is as good as a success for its route (10.3)', () => {
    const ws = running([wait('nap')], [], probing)
    ask(ws)
    expect(ws.circuit('work')).toBeUndefined()
  })
})

describe('waits that are over already (docs/semantics.md 12.3, 12.4)', () => {
  test('are answered at once, in the order in which they ended, and the pass goes on', () => {
    const ws = running(
      [wait('late', { dueAt: now.at, position: 1 }), wait('early', { dueAt: now.at - 20, position: 4 })],
      [signal('mail')],
    )
    const outcome = ask(ws, {
      waits: [
        { key: 'mail', position: 2, kind: 'signal', name: 'mail' },
        { key: 'more', position: 3, kind: 'timer', delayMs: 1 },
      ],
    })
    expect(outcome).toStrictEqual({
      fenced: 'ok',
      suspended: false,
      resolved: [
        { key: 'early', kind: 'timer', position: 4, outcome: 'fired', seq: 4, at: now.at },
        { key: 'mail', kind: 'signal', position: 2, outcome: 'received', seq: 5, at: now.at, value: '"hi"' },
        { key: 'late', kind: 'timer', position: 1, outcome: 'fired', seq: 6, at: now.at },
      ],
    })
    expect(told(ws)).toEqual([
      ['wait.started', '{"dueAt":50001,"key":"more","kind":"timer","position":3}'],
      ['wait.resolved', '{"key":"early","kind":"timer","outcome":"fired","position":4}'],
      [
        'wait.resolved',
        '{"key":"mail","kind":"signal","name":"mail","outcome":"received","position":2,"value":"hi"}',
      ],
      ['wait.resolved', '{"key":"late","kind":"timer","outcome":"fired","position":1}'],
    ])
    expect(openKeys(ws)).toEqual(['more'])
    expect(ws.signalsOf(task)).toEqual([])
    expect(ws.task(7)).toMatchObject({ state: 'running', lease: 3, waits: 1 })
    expect(ws.lease(3)).toBe(lease)
  })

  test('at the same instant the lower position ended first, and of one position the time limit last', () => {
    const at = { dueAt: now.at - 1 }
    const ws = running([
      wait('c', { ...at, position: 3 }),
      wait(branchLimitKey('r'), { ...at, position: 2 }),
      wait('b', { ...at, position: 2 }),
      wait('a', { ...at, position: 1 }),
    ])
    expect(ask(ws)).toMatchObject({
      resolved: ['a', 'b', branchLimitKey('r'), 'c'].map((key) => ({ key })),
    })
  })

  test('a signal goes to the wait of the lowest position that is for it, the oldest first', () => {
    const ws = running(
      [mail({ key: 'second', position: 2 }), mail({ key: 'first', position: 1 })],
      [signal('post', { seq: 1 }), signal('mail', { value: '1' }), signal('mail', { seq: 5, value: '2' })],
    )
    expect(ask(ws)).toMatchObject({
      resolved: [
        { key: 'first', value: '1' },
        { key: 'second', value: '2' },
      ],
    })
    expect(ws.signalsOf(task).map(({ name }) => name)).toEqual(['post'])
  })

  test('a timer waits for its time, whatever signals there are', () => {
    const ws = running([wait('nap')], [signal('mail')])
    expect(ask(ws)).toMatchObject({ suspended: true })
    expect(ws.signalsOf(task)).toHaveLength(1)
  })

  test.each([
    ['before its patience ended', now.at - 11, 'received'],
    ['at the very ms in which it ended', now.at - 10, 'received'],
    ['one ms later', now.at - 9, 'timed_out'],
  ])('a signal that came %s', (_, at, outcome) => {
    const ws = running([mail({ dueAt: now.at - 10 })], [signal('mail', { at })])
    expect(ask(ws)).toMatchObject({ resolved: [{ key: 'mail', outcome }] })
    expect(ws.signalsOf(task)).toHaveLength(outcome === 'received' ? 0 : 1)
  })

  test.each([
    [now.at, false],
    [now.at + 1, true],
  ])('a wait that is due at %i, where it is 50000: the task waits is %s', (dueAt, suspended) => {
    expect(ask(running([wait('nap', { dueAt })]))).toMatchObject({ suspended })
  })

  test('an approval counts from the event in which its pass gets it (12.2)', () => {
    const approved = signal(approvalName('ok'), { value: '{"by":"ann"}', outcome: 'approved' })
    const ws = running([approval()], [approved], {
      verdicts: new Map([[7, { approvedSeq: 1, rejections: 2 }]]),
    })
    expect(ask(ws)).toMatchObject({ resolved: [{ outcome: 'approved', seq: 3, value: '{"by":"ann"}' }] })
    expect(ws.verdictsOf(task)).toStrictEqual({ approvedSeq: 3, rejections: 0 })
  })

  test('a rejection ends the pass, and is taken: it sends the task back once (12.2)', () => {
    const rejected = signal(approvalName('ok'), { value: '{"by":"ann"}', outcome: 'rejected' })
    const ws = running([approval(), wait('nap')], [rejected])
    expect(ask(ws, { stay: true })).toStrictEqual({ fenced: 'ok', suspended: true, resolved: [] })
    expect(ws.events.map(({ type }) => type)).toEqual(['task.waiting', 'task.resumed'])
    expect(ws.signalsOf(task)).toEqual([])
    expect(openKeys(ws)).toEqual(['nap'])
    expect(ws.task(7)).toMatchObject({ state: 'queued', waits: 1 })
    expect(ws.verdictsOf(task)).toStrictEqual({ approvedSeq: 0, rejections: 1 })
  })

  test('an approval that nobody gave in time fails the task, although a step of it is under way (12.2)', () => {
    const ws = running([approval({ dueAt: now.at, terms: { ...terms, onTimeout: 'fail' } })])
    expect(ask(ws, { stay: true })).toMatchObject({ suspended: true })
    expect(ws.events.map(({ type }) => type)).toEqual(['task.waiting', 'task.failed'])
    expect(ws.task(7)).toMatchObject({ state: 'failed' })
  })
})

describe('a pass of a supervisor without children (docs/semantics.md 14.1)', () => {
  test.each(supervisorEnds)('14.1 goes on only where it ends with them and does not stay: %s', (endsWith) => {
    const key = supervisorKey({ strategy: 'one_for_one', maxRestarts: 2, periodMs: 5_000, endsWith })
    const open = [wait(key, { kind: 'signal', name: SUPERVISOR_NAME, dueAt: null })]
    const over = [{ key, outcome: 'fired' }]
    expect(ask(running(open))).toMatchObject(
      endsWith === 'children' ? { suspended: false, resolved: over } : { suspended: true, resolved: [] },
    )
    expect(ask(running(open), { stay: true })).toMatchObject({ suspended: false, resolved: [] })
  })
})

describe('a pass that stays (docs/semantics.md 12.3)', () => {
  test('its waits are open from now on, each with its event; an approval has its own', () => {
    const ws = running([])
    const approves = {
      artifact: '"a"',
      mode: 'supervised',
      asked: true,
      maxRetries: 3,
      onReject: 'rerun',
      onTimeout: 'throw',
    } as const
    const outcome = ask(ws, {
      stay: true,
      waits: [
        { key: 'nap', position: 1, kind: 'timer', delayMs: 5 },
        { key: 'ok', position: 2, kind: 'approval', approval: approves },
        { key: 'mail', position: 3, kind: 'signal', name: 'mail' },
        { key: 'over', position: 4, kind: 'timer', delayMs: 0 },
      ],
    })
    expect(outcome).toMatchObject({ suspended: false, resolved: [{ key: 'over' }] })
    expect(told(ws)).toEqual([
      [
        'approval.requested',
        '{"artifact":"a","asked":true,"key":"ok","maxRetries":3,"mode":"supervised","position":2}',
      ],
      ['wait.started', '{"dueAt":50005,"key":"nap","kind":"timer","position":1}'],
      ['wait.started', '{"key":"mail","kind":"signal","name":"mail","position":3}'],
      ['wait.resolved', '{"key":"over","kind":"timer","outcome":"fired","position":4}'],
    ])
    expect(openKeys(ws)).toEqual(['nap', 'ok', 'mail'])
    expect(ws.task(7)).toMatchObject({ state: 'running', waits: 3 })
  })

  test('one that asks again, and nothing has changed, writes nothing; an open wait keeps its time', () => {
    const ws = running([wait('nap')])
    const outcome = ask(ws, { stay: true, waits: [{ key: 'nap', position: 1, kind: 'timer', delayMs: 9 }] })
    expect(outcome).toStrictEqual({ fenced: 'ok', suspended: false, resolved: [] })
    expect([[...ws.tasks.changed], [...ws.waits.changed], ws.events]).toEqual([[], [], []])
    expect(ws.waitsOf(task)).toEqual([wait('nap')])
  })
})

describe('a waiting task whose time has come (docs/semantics.md 12.3, 12.4)', () => {
  const asleep: TaskRow = { ...task, state: 'waiting', lease: null, waitReason: 'timer', dueAt: now.at }
  /** Which of its waits ends. */
  const woken = (open: readonly WaitRow[]): unknown => {
    const row = { ...asleep, waits: open.length }
    const ws = workingSet({ tasks: [row], waits: new Map([[7, open]]) })
    wake(ws, row)
    expect(ws.task(7)).toMatchObject({ state: 'queued', waits: open.length - 1 })
    return (JSON.parse(ws.events[0]?.data ?? '{}') as { key?: string }).key
  }
  const due = (key: string, dueAt: number | null, position: number) => wait(key, { dueAt, position })

  test('goes on with the wait that was due first, whatever stands before it', () => {
    expect(woken([due('a', now.at, 1), due('b', now.at - 1, 2)])).toBe('b')
    expect(woken([due('b', now.at - 1, 2), due('a', now.at, 1)])).toBe('b')
  })

  test('the lowest position comes first among waits that are due at one instant', () => {
    expect(woken([due('b', now.at, 2), due('a', now.at, 1)])).toBe('a')
    expect(woken([due('c', now.at, 3), due('b', now.at, 2), due('d', now.at, 4)])).toBe('b')
  })

  test('a time limit comes last among waits of one position', () => {
    const limit = due(branchLimitKey('r'), now.at, 1)
    expect(woken([limit, due('a', now.at, 1)])).toBe('a')
    expect(woken([due('a', now.at, 1), limit])).toBe('a')
  })

  test('not with one that is never due, nor with one that is due later', () => {
    expect(woken([due('never', null, 1), due('later', now.at + 1, 2), due('now', now.at, 3)])).toBe('now')
  })

  test('a task of which no wait is due is a fault of ours, and says so', () => {
    const ws = workingSet({ tasks: [asleep], waits: new Map([[7, [due('later', now.at + 1, 1)]]]) })
    expect(() => wake(ws, asleep)).toThrow('task 7 is due and none of its waits is')
  })
})
