import { RESTART_NAME } from '../../src/supervision/supervision.ts'
import { describe, expect, test } from 'vitest'
import { approvalName, type ApprovalTerms } from '../../src/approval/approval.ts'
import { childName } from '../../src/child/child.ts'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import { RETRY_KEY } from '../../src/history/replay.ts'
import { noTotals, type SignalRow, type TaskRow, type WaitRow } from '../../src/transition.ts'
import {
  clearWaits,
  deliver,
  dropWaits,
  type Over,
  resolutionOf,
  resume,
  signal,
} from '../../src/wait/signal.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import { config, ids, lease, limited, now, quota, type Rows, task, workingSet } from '../transition/rows.ts'

const taskId = ids.task(7)
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
const approval = (changes: Partial<ApprovalTerms> = {}): WaitRow =>
  wait('ok', { kind: 'approval', name: approvalName('ok'), dueAt: null, terms: { ...terms, ...changes } })
const unread = (name: string, seq: number): SignalRow => ({
  task: 7,
  seq,
  name,
  at: now.at - 10,
  value: '"hi"',
  blob: null,
  outcome: 'received',
})
const asleep: TaskRow = { ...task, state: 'waiting', lease: null, waitReason: 'signal', dueAt: now.at + 100 }

/** A task with these open waits and unread signals. */
const having = (
  row: TaskRow,
  open: readonly WaitRow[],
  signals: readonly SignalRow[] = [],
  rows: Rows = {},
  settings = config,
): WorkingSet =>
  workingSet(
    {
      tasks: [{ ...row, waits: open.length + signals.length }],
      leases: [lease],
      waits: new Map([[7, open]]),
      signals: new Map([[7, signals]]),
      ...rows,
    },
    settings,
  )
const send = (ws: WorkingSet, name = 'mail', value = '"yo"') =>
  signal(ws, { kind: 'signal', taskId, name, value })
const told = (ws: WorkingSet) => ws.events.map(({ type, data }) => [type, data])
const openKeys = (ws: WorkingSet) => ws.waitsOf(task).map(({ key }) => key)
const names = (ws: WorkingSet) => ws.signalsOf(task).map(({ name }) => name)

describe('a signal (docs/semantics.md 12.4)', () => {
  test('wakes the task that waits for it: it is queued, past its limits, and its other waits stay open', () => {
    const ws = having(asleep, [wait('nap'), mail({ position: 2 })], [unread('post', 1)], limited)
    expect(send(ws)).toStrictEqual({ delivered: true, state: 'queued', awaited: true })
    expect(told(ws)).toEqual([
      ['signal.received', '{"name":"mail","value":"yo"}'],
      [
        'task.resumed',
        '{"key":"mail","kind":"signal","name":"mail","outcome":"received","position":2,"reason":"signal","value":"yo"}',
      ],
    ])
    expect(ws.task(7)).toMatchObject({
      state: 'queued',
      waitReason: null,
      dueAt: null,
      queuedAt: now.at,
      attempt: 1,
      waits: 2,
    })
    expect([openKeys(ws), names(ws)]).toEqual([['nap'], ['post']])
    expect(ws.quota(quota.key)).toStrictEqual({ ...quota, queued: 3 })
    expect(ws.stream(1)).toMatchObject({ depth: 4, delayed: 3 })
    expect(ws.queued.get(1)?.map(({ id }) => id)).toEqual([7])
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 5, waiting: -1 })
    expect([...ws.verdicts.changed]).toEqual([])
  })

  test.each<[string, TaskRow, WaitRow]>([
    ['is queued', { ...asleep, state: 'queued', waitReason: null }, mail()],
    ['runs, and has the wait open beside a step', task, mail()],
    ['waits for another one', asleep, mail({ name: 'post' })],
    ['is parked, since its code and history differ', { ...asleep, waitReason: 'divergence' }, mail()],
    ['is parked for a budget', { ...asleep, waitReason: 'budget' }, mail()],
  ])('is kept for a task that %s', (_, row, open) => {
    const ws = having(row, [open])
    expect(send(ws)).toStrictEqual({ delivered: true, state: row.state, awaited: open.name === 'mail' })
    expect(told(ws)).toEqual([['signal.received', '{"name":"mail","value":"yo"}']])
    expect(ws.signalsOf(task)).toStrictEqual([
      { task: 7, seq: 3, name: 'mail', at: now.at, value: '"yo"', blob: null, outcome: 'received' },
    ])
    expect(ws.task(7)).toMatchObject({ state: row.state, waitReason: row.waitReason, waits: 2 })
    expect(openKeys(ws)).toEqual(['mail'])
  })

  test('that is large stands in a blob, once, for both events', () => {
    const { config: small } = parseExecutionConfig({ maxInlineBytes: 1_024 })
    const ws = having(asleep, [mail()], [], {}, small)
    send(ws, 'mail', JSON.stringify('x'.repeat(2_000)))
    const [blob] = ws.blobs.changed.keys()
    expect(ws.events.map((event) => event.blob)).toEqual([blob, blob])
    expect(ws.events[1]?.data).toContain(`"value":{"$blob":"${blob}","size":2002}}`)
  })

  test.each<[string, Partial<TaskRow>, string, object]>([
    ['is over', { state: 'completed', lease: null }, taskId, { state: 'completed' }],
    ['is not there', {}, ids.task(8), {}],
    ['has no id of ours', {}, 'nobody', {}],
  ])('is not for a task that %s', (_, changes, id, more) => {
    const ws = having({ ...task, ...changes }, [])
    const outcome = signal(ws, { kind: 'signal', taskId: id, name: 'mail', value: '1' })
    expect([outcome, ws.events]).toStrictEqual([{ delivered: false, ...more }, []])
  })

  test.each([
    ['two of its own', ['a', 'b'], { delivered: false, state: 'running', full: true }],
    [
      'one, and ends of children besides',
      ['a', childName('c'), childName('d')],
      { delivered: true, state: 'running', awaited: false },
    ],
    [
      'one, and restarts of its children besides',
      ['a', RESTART_NAME, RESTART_NAME],
      { delivered: true, state: 'running', awaited: false },
    ],
  ])('to a task that may keep two unread, and has %s', (_, kept, outcome) => {
    const { config: two } = parseExecutionConfig({ maxSignals: 2 })
    const ws = having(
      task,
      [],
      kept.map((name, index) => unread(name, index + 1)),
      {},
      two,
    )
    expect(send(ws)).toStrictEqual(outcome)
    expect(ws.events).toHaveLength(outcome.delivered ? 1 : 0)
  })
})

describe('waits that nobody has a use for', () => {
  test('are dropped by their keys; the others stay', () => {
    const ws = having(task, [wait('a'), wait('b'), wait('c')])
    dropWaits(ws, task, ['a', 'c', 'x'])
    expect([openKeys(ws), ws.task(7)?.waits]).toEqual([['b'], 1])
  })

  test('waits of which none is open are no change', () => {
    const ws = having(task, [wait('a')])
    dropWaits(ws, task, ['x'])
    expect([[...ws.waits.changed], [...ws.tasks.changed]]).toEqual([[], []])
  })

  test('go with a task that is over, and its unread signals too', () => {
    const ws = having(task, [wait('a')], [unread('mail', 1), unread('post', 2)])
    clearWaits(ws, ws.taskNow(task))
    expect([openKeys(ws), names(ws), ws.task(7)?.waits]).toEqual([[], [], 0])
  })

  test('waits of a task that has none are no change', () => {
    const ws = having(task, [])
    clearWaits(ws, task)
    expect([[...ws.waits.changed], [...ws.tasks.changed]]).toEqual([[], []])
  })
})

describe('a rejection that sends a task back (docs/semantics.md 12.2)', () => {
  const backOff = wait(`${RETRY_KEY}1/s`, { kind: 'signal', name: 'again' })
  const value = '{"by":"ann"}'
  const reject = (ws: WorkingSet) =>
    deliver(ws, ws.taskNow(task), {
      event: 'approval.resolved',
      fields: '"key":"ok"',
      name: approvalName('ok'),
      value: { text: value, blob: null },
      outcome: 'rejected',
    })

  test('takes open back-offs along, with what came for them, and nothing else', () => {
    const ws = having(
      { ...asleep, waitReason: 'approval' },
      [wait('nap'), backOff, approval()],
      [unread('post', 1), unread('again', 2)],
      { verdicts: new Map([[7, { approvedSeq: 1, rejections: 1 }]]) },
    )
    expect(reject(ws)).toMatchObject({ state: 'queued', waits: 2 })
    expect(told(ws)[1]).toEqual([
      'task.resumed',
      `{"dropped":["${RETRY_KEY}1/s"],"key":"ok","kind":"approval","name":"${approvalName('ok')}","outcome":"rejected","position":1,"reason":"approval","since":1,"value":${value}}`,
    ])
    expect([openKeys(ws), names(ws)]).toEqual([['nap'], ['post']])
    expect(ws.verdictsOf(task)).toStrictEqual({ approvedSeq: 1, rejections: 2 })
  })

  test('14.3 says that a person is asked, once it is one more than is allowed', () => {
    const ws = having({ ...asleep, waitReason: 'approval' }, [approval({ escalates: true })], [], {
      verdicts: new Map([[7, { approvedSeq: 1, rejections: 3 }]]),
    })
    reject(ws)
    expect(told(ws)[1]).toEqual(['task.resumed', expect.stringMatching(/^\{"escalates":true,"key":"ok",/)])
  })

  test('a rejection that is to be thrown takes nothing along, and says not since when', () => {
    const ws = having({ ...asleep, waitReason: 'approval' }, [backOff, approval({ onReject: 'throw' })])
    reject(ws)
    expect(told(ws)[1]).toEqual([
      'task.resumed',
      `{"key":"ok","kind":"approval","name":"${approvalName('ok')}","outcome":"rejected","position":1,"reason":"approval","value":${value}}`,
    ])
    expect(openKeys(ws)).toEqual([backOff.key])
    expect([...ws.verdicts.changed]).toEqual([])
  })
})

describe('how a wait ended, as its event says it (docs/semantics.md 12.3)', () => {
  test.each<[string, WaitRow, Over['outcome'], string]>([
    ['a timer', wait('nap"'), 'fired', '"key":"nap\\"","kind":"timer","outcome":"fired","position":1'],
    [
      'a signal that did not come in time',
      mail(),
      'timed_out',
      '"key":"mail","kind":"signal","name":"mail","outcome":"timed_out","position":1',
    ],
    ...(['timed_out', 'passed', 'approved', 'rejected'] as const).map(
      (outcome): [string, WaitRow, Over['outcome'], string] => [
        `an approval that nobody gave, as ${outcome}`,
        approval({ onReject: 'throw' }),
        outcome,
        `"key":"ok","kind":"approval","name":"${approvalName('ok')}","outcome":"${outcome}","position":1` +
          (outcome === 'approved' || outcome === 'rejected' ? ',"value":{"by":"timeout"}' : ''),
      ],
    ),
  ])('%s', (_, open, outcome, text) => {
    const ws = having(asleep, [open])
    expect(resolutionOf(ws, task, { wait: open, outcome, at: now.at })).toBe(text)
    resume(ws, ws.taskNow(task), { wait: open, outcome, at: now.at })
    const reason = open.kind
    expect(told(ws)).toEqual([
      ['task.resumed', `{${text.replace(/("position":1)/, `$1,"reason":"${reason}"`)}}`],
    ])
    expect(openKeys(ws)).toEqual([])
  })
})
