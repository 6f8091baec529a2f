import { describe, expect, test } from 'vitest'
import { approvalName, type ApprovalTerms } from '../../src/approval/approval.ts'
import type { Write } from '../../src/store/port.ts'
import type { SignalRow, TaskRow, WaitRow } from '../../src/transition.ts'
import { resolveApproval } from '../../src/approval/resolve.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import { ids, lease, now, type Rows, task, workingSet } from '../transition/rows.ts'

const taskId = ids.task(7)
const terms: ApprovalTerms = { asked: true, maxRetries: 0, onReject: 'rerun', onTimeout: 'throw', request: 2 }
const wait: WaitRow = {
  task: 7,
  key: 'ok',
  position: 1,
  kind: 'approval',
  name: approvalName('ok'),
  dueAt: null,
  terms,
}
/** Task 7 waits for an approval. */
const waiting: TaskRow = { ...task, state: 'waiting', lease: null, waitReason: 'approval', waits: 1 }
const having = (changes: Partial<TaskRow> = {}, open: Partial<WaitRow> = {}, rows: Rows = {}): WorkingSet =>
  workingSet({
    tasks: [{ ...waiting, ...changes }],
    leases: [lease],
    waits: new Map([[7, [{ ...wait, ...open }]]]),
    ...rows,
  })
const resolve = (ws: WorkingSet, it: Partial<Write<'resolveApproval'>> = {}) =>
  resolveApproval(ws, {
    kind: 'resolveApproval',
    taskId,
    request: 2,
    verdict: 'approved',
    value: '{"by":"ann"}',
    ...it,
  })
const told = (ws: WorkingSet) => ws.events.map(({ type, data }) => [type, data])
const resolved = (verdict: string) => [
  'approval.resolved',
  `{"key":"ok","outcome":"${verdict}","requestId":2,"value":{"by":"ann"}}`,
]

describe('a verdict on a request that is open (docs/semantics.md 12.2, 12.3)', () => {
  test('approved: the task goes on', () => {
    const ws = having()
    expect(resolve(ws)).toStrictEqual({ as: 'resolved', state: 'queued' })
    expect(told(ws)).toEqual([
      resolved('approved'),
      [
        'task.resumed',
        `{"key":"ok","kind":"approval","name":"${wait.name}","outcome":"approved","position":1,"reason":"approval","value":{"by":"ann"}}`,
      ],
    ])
    expect(ws.verdictsOf(task)).toStrictEqual({ approvedSeq: 4, rejections: 0 })
  })

  test('rejected once too often: the task fails', () => {
    const ws = having()
    expect(resolve(ws, { verdict: 'rejected' })).toStrictEqual({ as: 'resolved', state: 'failed' })
    expect(told(ws)[0]).toEqual(resolved('rejected'))
    expect(ws.events[1]?.type).toBe('task.failed')
  })

  test('a task that runs beside it learns it when its pass asks', () => {
    const ws = having({ state: 'running', lease: 3, waitReason: null })
    expect(resolve(ws, { verdict: 'rejected' })).toStrictEqual({ as: 'resolved', state: 'running' })
    expect(told(ws)).toEqual([resolved('rejected')])
    expect(ws.signalsOf(task)).toStrictEqual([
      {
        task: 7,
        seq: 3,
        name: wait.name,
        at: now.at,
        value: '{"by":"ann"}',
        blob: null,
        outcome: 'rejected',
      },
    ])
    // The first verdict counts.
    expect(resolve(ws)).toStrictEqual({ as: 'not_open', state: 'running' })
  })

  test.each([
    ['no patience', null],
    ['patience until this very ms', now.at],
    ['patience until the next', now.at + 1],
  ])('is in time where the request has %s', (_, dueAt) => {
    expect(resolve(having({}, { dueAt }))).toMatchObject({ as: 'resolved' })
  })
})

describe('a verdict on what is not open (docs/semantics.md 12.3)', () => {
  const answer: SignalRow = {
    task: 7,
    seq: 1,
    name: approvalName('ok'),
    at: now.at,
    value: '1',
    blob: null,
    outcome: 'approved',
  }

  test.each<[string, WorkingSet, Partial<Write<'resolveApproval'>>, object]>([
    ['whose patience ended a ms ago', having({}, { dueAt: now.at - 1 }), {}, { state: 'waiting' }],
    ['of another number', having(), { request: 3 }, { state: 'waiting' }],
    [
      'that a spot check let through',
      having({}, { terms: { ...terms, asked: false } }),
      {},
      { state: 'waiting' },
    ],
    [
      'that was answered',
      having({ state: 'running', lease: 3 }, {}, { signals: new Map([[7, [answer]]]) }),
      {},
      { state: 'running' },
    ],
    [
      'that the task does not have, and a signal of its own came',
      having({}, { terms: null }, { signals: new Map([[7, [answer]]]) }),
      {},
      { state: 'waiting' },
    ],
    ['whose task is over', having({ state: 'canceled' }), {}, { state: 'canceled' }],
    ['whose task is not there', having(), { taskId: ids.task(8) }, {}],
    ['whose task has no id of ours', having(), { taskId: 'nobody' }, {}],
  ])('a request %s: it is not open, and nothing is written', (_, ws, it, state) => {
    expect(resolve(ws, it)).toStrictEqual({ as: 'not_open', ...state })
    expect([ws.events, [...ws.tasks.changed], [...ws.signals.changed]]).toEqual([[], [], []])
  })
})
