import { describe, expect, test } from 'vitest'
import { cancel, cancelChildren, childrenToDrop, dropChildren } from '../../src/task/cancel.ts'
import { noTotals, type QuotaRow, type StreamRow, type TaskRow } from '../../src/transition.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import {
  childRow,
  family,
  ids,
  lease,
  now,
  own,
  type Rows,
  stream,
  task,
  workingSet,
} from '../transition/rows.ts'

const queued: TaskRow = { ...task, state: 'queued', lease: null, startedAt: null }
const waiting: TaskRow = {
  ...task,
  state: 'waiting',
  lease: null,
  waitReason: 'timer',
  dueAt: now.at + 9,
  waits: 1,
}
const told = (ws: WorkingSet) => ws.events.map(({ task: of, type, data }) => [of, type, data])
const canceled = (ws: WorkingSet) =>
  ws.events.filter(({ type }) => type === 'task.canceled').map(({ task: of }) => of)

describe('a task that is canceled (docs/semantics.md 5.1, 5.2)', () => {
  const quota: QuotaRow = {
    key: 'model:big',
    queued: 4,
    running: 3,
    windowStart: 0,
    windowCount: 0,
    windowTokens: 0,
    blockedUntil: 0,
  }
  const limited: StreamRow = { ...stream, quotaKeys: [quota.key] }
  const rows = (row: TaskRow): Rows => ({
    tasks: [row],
    leases: [lease],
    streams: [limited],
    quotas: new Map([[quota.key, quota]]),
  })

  test('one that is queued leaves its stream and its quotas, and no lease is spoken of', () => {
    const ws = workingSet(rows(queued))
    expect(cancel(ws, { taskId: ids.task(7) })).toStrictEqual({ canceled: true, state: 'canceled' })
    expect(told(ws)).toEqual([[7, 'task.canceled', '{"from":"queued"}']])
    expect(ws.events[0]?.also).toEqual([])
    expect(ws.task(7)).toMatchObject({ state: 'canceled', finishedAt: now.at, lease: null })
    expect(ws.stream(1)).toMatchObject({ depth: 2, delayed: 3 })
    expect(ws.quota(quota.key)).toStrictEqual({ ...quota, queued: 3 })
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 5, canceled: 1 })
    expect([...ws.leases.changed, ...ws.notices]).toEqual([])
  })

  test('one that is delayed is no longer among the delayed', () => {
    const ws = workingSet(rows({ ...queued, dueAt: now.at + 1 }))
    cancel(ws, { taskId: ids.task(7) })
    expect(ws.stream(1)).toMatchObject({ depth: 3, delayed: 2 })
    expect(ws.task(7)?.dueAt).toBeNull()
  })

  test('a running task loses its lease and its slot in the same commit, and its holder learns why', () => {
    const ws = workingSet(rows(task))
    cancel(ws, { taskId: ids.task(7), reason: 'no "use"' })
    const leaseId = ids.lease(3)
    expect(told(ws)).toEqual([
      [7, 'task.canceled', `{"from":"running","leaseId":"${leaseId}","reason":"no \\"use\\""}`],
    ])
    expect(ws.events[0]?.also).toEqual(['lease.released'])
    expect(ws.lease(3)).toStrictEqual({
      ...lease,
      state: 'canceled',
      endReason: 'canceled',
      endSeq: 3,
      endedAt: now.leaseAt,
    })
    expect(ws.notices).toStrictEqual([
      { leaseId, taskId: ids.task(7), verdict: 'canceled', reason: 'no "use"' },
    ])
    expect(ws.quota(quota.key)).toStrictEqual({ ...quota, running: 2 })
    expect(ws.stream(1)).toMatchObject({ depth: 3, delayed: 3 })
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 4, canceled: 1 })
    expect(ws.base.process).toBe(own)
  })

  test('one that waits waits for nothing any more; it holds no quota', () => {
    const nap = {
      task: 7,
      key: 'nap',
      position: 1,
      kind: 'timer',
      name: null,
      dueAt: 1,
      terms: null,
    } as const
    const ws = workingSet({ ...rows(waiting), waits: new Map([[7, [nap]]]) })
    cancel(ws, { taskId: ids.task(7) })
    expect(told(ws)).toEqual([[7, 'task.canceled', '{"from":"waiting"}']])
    expect(ws.task(7)).toMatchObject({ state: 'canceled', waitReason: null, dueAt: null, waits: 0 })
    expect(ws.quota(quota.key)).toStrictEqual(quota)
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 5, waiting: -1, canceled: 1 })
  })

  test('one that is over, and one that is unknown, stay as they are', () => {
    const ws = workingSet(rows({ ...task, state: 'failed' }))
    expect(cancel(ws, { taskId: ids.task(7) })).toStrictEqual({ canceled: false, state: 'failed' })
    expect(cancel(ws, { taskId: ids.task(8) })).toStrictEqual({ canceled: false })
    expect(cancel(ws, { taskId: 'nobody' })).toStrictEqual({ canceled: false })
    expect([ws.events, [...ws.tasks.changed]]).toEqual([[], []])
  })

  test('one that runs without a lease is a fault of ours, and says so', () => {
    const ws = workingSet({ tasks: [task] })
    expect(() => cancel(ws, { taskId: ids.task(7) })).toThrow('running task 7 has no lease')
  })
})

describe('a task that ends takes its children with it (docs/semantics.md 5.5)', () => {
  // Task 7 has 8 and, to be left alone, 9; 8 has 10 and, to be left alone, 11.
  const below = (id: number, parent: number): TaskRow => ({ ...queued, id, parent })
  const rows: Rows = {
    tasks: [task, below(8, 7), below(9, 7), below(10, 8), below(11, 8)],
    leases: [lease],
    ...family(
      childRow(7, 8),
      childRow(7, 9, { policy: 'abandon' }),
      childRow(8, 10),
      childRow(8, 11, { policy: 'abandon' }),
    ),
  }

  test.each([
    [undefined, 'its parent was canceled'],
    ['no use', 'its parent was canceled: no use'],
  ])('when it is canceled, the deepest first; given as a reason: %s', (reason, theirs) => {
    const ws = workingSet(rows)
    cancel(ws, { taskId: ids.task(7), ...(reason === undefined ? {} : { reason }) })
    expect(told(ws).slice(0, 2)).toEqual([
      [10, 'task.canceled', `{"from":"queued","reason":"${theirs}"}`],
      [8, 'task.canceled', `{"from":"queued","reason":"${theirs}"}`],
    ])
    expect(canceled(ws)).toEqual([10, 8, 7])
  })

  test('none of its children is open any more, whether or not it goes on', () => {
    const ws = workingSet(rows)
    cancelChildren(ws, task, 'over')
    expect(canceled(ws)).toEqual([10, 8])
    expect([9, 11].map((id) => ws.task(id)?.state)).toEqual(['queued', 'queued'])
    expect([...ws.childRows.changed].map(([key, row]) => [key, row.state])).toEqual([
      ['7:c8', 'closed'],
      ['7:c9', 'closed'],
      ['8:c10', 'closed'],
      ['8:c11', 'closed'],
    ])
    expect([7, 8].map((id) => ws.childrenOf({ id }).size)).toEqual([0, 0])
    expect([7, 8].map((id) => ws.task(id)?.waits)).toEqual([0, 0])
    expect(ws.child(7, 'c9')?.task).toBe(9)
  })

  test('a task that ends by itself is reported to its parent with the reason', () => {
    const ws = workingSet(rows)
    cancel(ws, { taskId: ids.task(10), reason: 'enough' })
    expect(told(ws)).toEqual([
      [10, 'task.canceled', '{"from":"queued","reason":"enough"}'],
      [
        8,
        'child.ended',
        `{"key":"c10","name":"$ku0/child/c10","state":"canceled","taskId":"${ids.task(10)}","value":{"reason":"enough","state":"canceled"}}`,
      ],
    ])
    cancel(ws, { taskId: ids.task(9) })
    expect(told(ws).at(-1)).toEqual([
      7,
      'child.ended',
      `{"key":"c9","name":"$ku0/child/c9","state":"canceled","taskId":"${ids.task(9)}","value":{"state":"canceled"}}`,
    ])
  })

  test('a branch that was given up takes those of its keys with it that would not go on, and these are free', () => {
    const ws = workingSet(rows)
    expect(childrenToDrop(ws, task, ['c8', 'c9', 'c10']).map(({ task: id }) => id)).toEqual([8])
    expect(childrenToDrop(ws, task, [])).toEqual([])
    expect(childrenToDrop(ws, task)).toEqual([])
    dropChildren(ws, childrenToDrop(ws, task, ['c8']))
    expect(told(ws)).toEqual([
      [10, 'task.canceled', '{"from":"queued","reason":"its branch was given up"}'],
      [8, 'task.canceled', '{"from":"queued","reason":"its branch was given up"}'],
    ])
    expect([ws.child(7, 'c8'), ws.child(7, 'c9')?.task]).toEqual([undefined, 9])
    expect([...ws.childrenOf(task).keys()]).toEqual([9])
  })

  test('an ended child among the dropped ones stays as it is', () => {
    const ws = workingSet({ ...rows, tasks: [task, { ...below(8, 7), state: 'completed' }] })
    dropChildren(ws, [childRow(7, 8, { state: 'closed' })])
    expect([ws.events, ws.task(8)?.state, ws.child(7, 'c8')]).toEqual([[], 'completed', undefined])
  })
})
