import { describe, expect, test } from 'vitest'
import { type ApprovalTerms, approvalName } from '../../src/approval/approval.ts'
import { childName } from '../../src/child/child.ts'
import { conclude } from '../../src/wait/conclude.ts'
import { noTotals, type SignalRow, type TaskRow, type WaitRow } from '../../src/transition.ts'
import type { Over } from '../../src/wait/signal.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import { childRow, family, ids, now, task, workingSet } from '../transition/rows.ts'

const terms: ApprovalTerms = { asked: true, maxRetries: 0, onReject: 'rerun', onTimeout: 'fail', request: 1 }
const wait: WaitRow = {
  task: 7,
  key: 'ok',
  position: 1,
  kind: 'approval',
  name: approvalName('ok'),
  dueAt: now.at,
  terms,
}
/** Task 7 waits for an approval. */
const waiting: TaskRow = {
  ...task,
  state: 'waiting',
  lease: null,
  waitReason: 'approval',
  dueAt: now.at,
  waits: 1,
  seq: 9,
}
const verdict: SignalRow = {
  task: 7,
  seq: 9,
  name: approvalName('ok'),
  at: now.at,
  value: '{"by":"ann","feedback":"too short"}',
  blob: null,
  outcome: 'rejected',
}
const dataOf = (ws: WorkingSet, of: number) =>
  ws.events.filter((event) => event.task === of).map(({ type, data }) => [type, data])

describe('an approval that was not given (docs/semantics.md 12.2)', () => {
  const late = `{"code":"not_approved","message":"nobody answered the request for approval 'ok' in time","name":"RuntimeError"}`
  const refused = (said: string) =>
    `{"code":"not_approved","message":"'ok' was rejected once since the last approval (maxRetries 0)${said}","name":"RuntimeError"}`
  const ends: readonly (readonly [string, Pick<Over, 'outcome' | 'taken'>, string, string])[] = [
    ['nobody gave it in time', { outcome: 'fail' }, late, '"outcome":"timed_out"'],
    [
      'a human refused it once too often',
      { outcome: 'rejected', taken: verdict },
      refused(': too short'),
      '"outcome":"rejected"',
    ],
    [
      'nobody answered, which counts as a refusal',
      { outcome: 'rejected' },
      refused(''),
      '"outcome":"rejected","value":{"by":"timeout"}',
    ],
  ]

  test.each(ends)('%s: the task fails where it waits, and its event says how', (_, end, error, how) => {
    const ws = workingSet({ tasks: [waiting], waits: new Map([[7, [wait]]]) })
    conclude(ws, waiting, { wait, at: now.at, ...end })
    expect(dataOf(ws, 7)).toEqual([
      ['task.failed', `{"error":${error},"key":"ok","kind":"not_approved",${how}}`],
    ])
    expect(ws.task(7)).toMatchObject({
      state: 'failed',
      lease: null,
      finishedAt: now.at,
      waitReason: null,
      dueAt: null,
      waits: 0,
      attempt: 1,
    })
    expect(ws.waitsOf(waiting)).toEqual([])
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 5, failed: 1, waiting: -1 })
  })

  test('its parent learns of the failure, and its children end with it', () => {
    const parent: TaskRow = { ...task, id: 6, lease: 2 }
    const below: TaskRow = { ...task, id: 8, state: 'queued', lease: null, parent: 7 }
    const row: TaskRow = { ...waiting, parent: 6 }
    const ws = workingSet({
      tasks: [parent, row, below],
      waits: new Map([[7, [wait]]]),
      ...family(childRow(6, 7), childRow(7, 8)),
    })
    conclude(ws, row, { wait, outcome: 'fail', at: now.at })
    expect(ws.events.map(({ task: of, type }) => [of, type])).toEqual([
      [8, 'task.canceled'],
      [7, 'task.failed'],
      [6, 'child.ended'],
    ])
    expect(dataOf(ws, 8)).toEqual([['task.canceled', '{"from":"queued","reason":"its parent has failed"}']])
    expect(dataOf(ws, 6)).toEqual([
      [
        'child.ended',
        `{"key":"c7","name":"$ku0/child/c7","state":"failed","taskId":"${ids.task(7)}","value":{"error":${late},"kind":"not_approved","state":"failed"}}`,
      ],
    ])
  })
})

describe('a rejection that sends the task back (docs/semantics.md 12.2)', () => {
  const again = { ...wait, terms: { ...terms, maxRetries: 1 } }
  const ended = (id: number): SignalRow => ({
    ...verdict,
    seq: 5 + id,
    name: childName(`c${id}`),
    value: '{}',
    outcome: 'received',
  })
  const sent: SignalRow = { ...verdict, seq: 20, name: 'mail', value: '1', outcome: 'received' }
  const spawned: TaskRow = { ...task, state: 'queued', lease: null, parent: 7 }
  const over: TaskRow = { ...spawned, state: 'completed' }
  // Spawned before the last approval, in the event 5: one that runs and one that is over; and since, the same.
  const before = [childRow(7, 10, { seq: 3 }), childRow(7, 11, { seq: 4, state: 'closed' })]
  const since = [childRow(7, 12, { seq: 6 }), childRow(7, 13, { seq: 7, state: 'closed' })]

  test('cancels what it spawned since the last approval, and leaves no word of it; what was approved stays', () => {
    const ws = workingSet({
      tasks: [
        { ...waiting, waits: 6 },
        { ...spawned, id: 10 },
        { ...over, id: 11 },
        { ...spawned, id: 12 },
        { ...over, id: 13 },
      ],
      waits: new Map([[7, [again]]]),
      signals: new Map([[7, [ended(11), ended(13), sent]]]),
      verdicts: new Map([[7, { approvedSeq: 5, rejections: 0 }]]),
      ...family(...before, ...since),
    })
    conclude(ws, ws.taskNow({ id: 7 }), { wait: again, outcome: 'rejected', at: now.at, taken: verdict })
    expect(ws.events.map(({ task: of, type }) => [of, type])).toEqual([
      [7, 'task.resumed'],
      [12, 'task.canceled'],
    ])
    expect(dataOf(ws, 12)).toEqual([
      ['task.canceled', '{"from":"queued","reason":"its parent was sent back"}'],
    ])
    expect(ws.signalsOf({ id: 7 }).map(({ name }) => name)).toEqual([childName('c11'), 'mail'])
    expect([...ws.childrenOf({ id: 7 }).keys()]).toEqual([10])
    expect(['c10', 'c11', 'c12', 'c13'].map((key) => ws.child(7, key)?.task)).toEqual([
      10,
      11,
      undefined,
      undefined,
    ])
    expect(ws.task(7)).toMatchObject({ state: 'queued', waits: 3 })
    expect(ws.verdictsOf({ id: 7 })).toStrictEqual({ approvedSeq: 5, rejections: 1 })
  })

  test('an approval takes nothing back: what was spawned since the last one goes on', () => {
    const ws = workingSet({
      tasks: [
        { ...waiting, waits: 2 },
        { ...spawned, id: 12 },
      ],
      waits: new Map([[7, [again]]]),
      ...family(childRow(7, 12, { seq: 6 })),
    })
    const taken = { ...verdict, outcome: 'approved' } as const
    conclude(ws, ws.taskNow({ id: 7 }), { wait: again, outcome: 'approved', at: now.at, taken })
    expect(ws.events.map(({ task: of, type }) => [of, type])).toEqual([[7, 'task.resumed']])
    expect([...ws.childrenOf({ id: 7 }).keys()]).toEqual([12])
  })
})
