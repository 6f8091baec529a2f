import { describe, expect, test } from 'vitest'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import { noUse } from '../../src/budget/budget.ts'
import { exceed, exceededText, stop } from '../../src/budget/exceed.ts'
import { blobReference, type MemoRow, type TaskRow } from '../../src/transition.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import {
  budget,
  budgetsIn,
  childRow,
  circuit,
  config,
  family,
  ids,
  lease,
  limited,
  now,
  quota,
  type Rows,
  task,
  workingSet,
} from '../transition/rows.ts'

const row = budget({ limits: { tokens: 10 }, used: { ...noUse, tokens: 12 } })
const crossed = { budget: row, field: 'tokens', used: 12 } as const
const top = { ...crossed, budget: budget({ task: 5, limits: { tokens: 11 } }) }
const drawing: TaskRow = { ...task, budget: 7 }
const owner: TaskRow = { ...task, id: 5, lease: null, state: 'waiting', budget: 5, waitReason: 'children' }
const running = (rows: Rows = {}, settings = config) =>
  workingSet(
    { tasks: [drawing, owner], leases: [lease], budgets: budgetsIn(row, top.budget), ...rows },
    settings,
  )
const states = (ws: WorkingSet, ...tasks: readonly number[]) => tasks.map((id) => ws.task(id)?.state)
const told = (ws: WorkingSet) => ws.events.map(({ task: of, type }) => `${of} ${type}`)
const message = `the budget of task ${ids.task(7)} is exceeded: 12 of 10 tokens`
const error = `{"code":"budget_exceeded","details":{"budget":"${ids.task(7)}","field":"tokens","limit":10,"partial":[],"stopped":false,"used":12},"message":"${message}","name":"RuntimeError","retryable":false}`

describe('a hard line that is crossed (docs/semantics.md 11.5)', () => {
  test('a charge ends the running task: its lease, its slot and its quotas go, and its holder learns why', () => {
    const ws = running({ ...limited })
    exceed(ws, [crossed], drawing)
    expect(ws.events.map(({ type, data, also }) => [type, data, also])).toEqual([
      [
        'task.failed',
        `{"durationMs":9000,"error":${error},"kind":"budget_exceeded","leaseId":"${ids.lease(3)}"}`,
        ['lease.released'],
      ],
    ])
    expect(ws.task(7)).toMatchObject({
      state: 'failed',
      lease: null,
      finishedAt: now.at,
      dueAt: null,
      waitReason: null,
    })
    expect(ws.lease(3)).toMatchObject({ state: 'failed', endReason: 'failed', endSeq: 3 })
    expect(ws.notices).toEqual([
      { leaseId: ids.lease(3), taskId: ids.task(7), verdict: 'failed', reason: message },
    ])
    expect(ws.quota(quota.key)).toMatchObject({ running: quota.running - 1, queued: quota.queued })
    expect([ws.totals.running, ws.totals.failed]).toEqual([4, 1])
  })

  test.each([
    ['never started', null, 0],
    ['starts in a time that is still to come', now.at + 5, 0],
    ['ran for a while', now.at - 7, 7],
  ])('says how long it ran: one that %s', (_, startedAt, ms) => {
    const ws = running({ tasks: [{ ...drawing, startedAt }] })
    exceed(ws, [crossed], drawing)
    expect(ws.events[0]?.data).toContain(`{"durationMs":${ms},`)
  })

  test('ends one that is queued: it leaves its queue, and nothing is said of a run', () => {
    const queued: TaskRow = { ...drawing, state: 'queued', lease: null }
    const ws = running({ ...limited, tasks: [queued] })
    exceed(ws, [crossed], queued)
    expect(ws.events.map(({ data, also }) => [data, also])).toEqual([
      [`{"error":${error},"kind":"budget_exceeded"}`, []],
    ])
    expect(ws.quota(quota.key)).toMatchObject({ running: quota.running, queued: quota.queued - 1 })
    expect([ws.depth, ws.totals.running, ws.totals.waiting, ws.totals.failed]).toEqual([2, 5, 0, 1])
  })

  test('ends one that waits', () => {
    const ws = running({ totals: { ...running().totals, waiting: 2 } })
    exceed(ws, [top], drawing)
    expect(ws.events[0]?.data).not.toContain('durationMs')
    expect([states(ws, 5, 7), ws.totals.waiting, ws.totals.running]).toEqual([['failed', 'running'], 1, 5])
  })

  test('a charge ends the uppermost first, and with it all tasks below it, which learn why', () => {
    const ws = running({
      tasks: [{ ...drawing, parent: 5 }, owner],
      ...family(childRow(5, 7)),
    })
    exceed(ws, [crossed, top], drawing)
    expect(told(ws)).toEqual(['7 task.canceled', '5 task.failed'])
    expect(ws.events[0]?.data).toContain('"reason":"a budget above it was exceeded"')
    expect(ws.events[1]?.data).toContain(`the budget of task ${ids.task(5)} is exceeded: 12 of 11 tokens`)
  })

  test('an end is reported to the parent, whose child has failed', () => {
    const ws = running({
      tasks: [
        { ...drawing, parent: 5 },
        { ...owner, budget: null },
      ],
      ...family(childRow(5, 7)),
      waits: new Map([[5, []]]),
      signals: new Map([[5, []]]),
    })
    exceed(ws, [crossed], drawing)
    expect(told(ws)).toEqual(['7 task.failed', '5 child.ended'])
    expect(ws.events[1]?.data).toBe(
      `{"key":"c7","name":"$ku0/child/c7","state":"failed","taskId":"${ids.task(7)}","value":{"error":${error},"kind":"budget_exceeded","state":"failed"}}`,
    )
  })

  test('speaks against the route of what ran, and of nothing that did not', () => {
    const probing = {
      circuits: new Map([['work', circuit({ state: 'half_open', openedAt: 5_000, probe: 7 })]]),
    }
    const ran = running(probing)
    exceed(ran, [crossed], drawing)
    expect(ran.circuits.get('work')).toMatchObject({ state: 'open', openedAt: now.leaseAt })
    const waited: TaskRow = { ...drawing, state: 'waiting', lease: null }
    const quiet = running({ ...probing, tasks: [waited] })
    exceed(quiet, [crossed], waited)
    expect(quiet.circuits.get('work')).toMatchObject({ state: 'open', openedAt: 5_000 })
  })

  test('ends whoever crossed it where all are over whose lines they are', () => {
    const outlived: TaskRow = { ...task, id: 9, budget: 7, lease: 3 }
    const over: TaskRow = { ...drawing, state: 'completed', lease: null }
    const ws = running({ tasks: [over, outlived, owner] })
    exceed(ws, [crossed], outlived)
    expect([states(ws, 7, 9), told(ws)]).toEqual([['completed', 'failed'], ['9 task.failed']])
    const above = running({ tasks: [over, outlived, owner] })
    exceed(above, [crossed, top], outlived)
    expect(states(above, 7, 9, 5)).toEqual(['completed', 'running', 'failed'])
    const gone = running({ tasks: [over, { ...outlived, state: 'canceled', lease: null }] })
    exceed(gone, [crossed], outlived)
    exceed(gone, [], outlived)
    expect(gone.events).toEqual([])
  })
})

test('a budget that is answered with stop ends its task and what is parked for it, unless that is over by then', () => {
  const parked: TaskRow = { ...drawing, id: 9, state: 'waiting', lease: null, waitReason: 'budget' }
  const ws = running({ tasks: [drawing, parked, { ...parked, id: 10, state: 'canceled' }] })
  stop(ws, row, { field: 'tokens', used: 9 }, [parked, { ...parked, id: 10 }])
  expect([states(ws, 7, 9, 10), told(ws)]).toEqual([
    ['failed', 'failed', 'canceled'],
    ['7 task.failed', '9 task.failed'],
  ])
  for (const { data } of ws.events)
    expect((JSON.parse(data) as { error: object }).error).toMatchObject({
      message: `the budget of task ${ids.task(7)} was stopped at its soft line (9 of 10 tokens)`,
      details: { stopped: true, used: 9 },
    })
})

describe('the error says', () => {
  const errorOf = (ws: WorkingSet, how: Parameters<typeof exceededText>[3] = {}, over = crossed) =>
    JSON.parse(exceededText(ws, drawing, over, how)) as {
      message: string
      details: Record<string, unknown>
      cause?: unknown
    }
  const step = (key: string, result: unknown): MemoRow => ({
    seq: 3,
    type: 'step.completed',
    data: JSON.stringify({ durationMs: 1, key, position: 0, result }),
    blob: null,
  })
  const ended = (key: string, value: object): MemoRow => ({
    ...step(key, 0),
    type: 'child.ended',
    data: JSON.stringify({ key, name: 'n', state: 'x', taskId: 't', value }),
  })
  const knowing = (memos: readonly MemoRow[], settings = config) =>
    running({ histories: new Map([[7, { memos, doubts: [] } as never]]) }, settings)

  test('a task that is over, or was used up, or was answered', () => {
    const time = { budget: budget({ limits: { wallMs: 50 } }), field: 'wallMs', used: 60 } as const
    const money = {
      budget: budget({ limits: { money: 2_500_000 } }),
      field: 'money',
      used: 3_000_000,
    } as const
    const whose = `the budget of task ${ids.task(7)}`
    expect(errorOf(running()).message).toBe(message)
    expect(errorOf(running(), {}, time as never).message).toBe(`${whose} is out of time: 60 of 50 wallMs`)
    expect(errorOf(running(), {}, money as never)).toMatchObject({
      message: `${whose} is exceeded: 3 of 2.5 money`,
      details: { limit: 2.5, used: 3 },
    })
    expect(errorOf(running(), { cause: '{"message":"theirs"}' })).toMatchObject({
      message: `${whose} is used up: 12 of 10 tokens`,
      cause: { message: 'theirs' },
    })
    expect(errorOf(running())).not.toHaveProperty('cause')
  })

  test('the work that the task had done by then: its steps and children, in their order, and its return value', () => {
    const ws = knowing([
      step('one', { a: 1 }),
      { ...step('inherited', 2), type: 'step.inherited' },
      { ...step('failed', 3), type: 'step.failed' },
      step('$ku0/now/1', 4),
      ended('child', { state: 'completed', output: [5] }),
      ended('lost', { state: 'failed', error: {} }),
    ])
    const { details } = errorOf(ws, { output: '"all"' })
    expect(details).toEqual({
      budget: ids.task(7),
      field: 'tokens',
      limit: 10,
      used: 12,
      stopped: false,
      output: 'all',
      partial: [
        { key: 'one', result: { a: 1 } },
        { key: 'inherited', result: 2 },
        { key: 'child', result: [5] },
      ],
    })
    expect(errorOf(ws).details).not.toHaveProperty('output')
    expect(
      errorOf(running({ histories: new Map([[7, { fault: 'x' } as never]]) })).details['partial'],
    ).toEqual([])
  })

  test('the work that the task did in this flush', () => {
    const ws = knowing([step('one', 1)])
    ws.move(drawing, {}, 'step.completed', step('two', 2).data)
    ws.move(owner, {}, 'step.completed', step('of another', 3).data)
    expect(errorOf(ws).details['partial']).toEqual([
      { key: 'one', result: 1 },
      { key: 'two', result: 2 },
    ])
  })

  test('also where a result stands apart', () => {
    const text = JSON.stringify('long')
    const sha = 'a'.repeat(64)
    const apart: MemoRow = {
      ...step('one', 0),
      data: `{"durationMs":1,"key":"one","position":0,"result":${blobReference(sha, text.length)}}`,
      blob: sha,
    }
    const partial = (blobs: ReadonlyMap<string, string>, here = false) => {
      const ws = running({
        histories: new Map([[7, { memos: [apart], doubts: [] } as never]]),
        ...(here ? {} : { blobs }),
      })
      if (here) for (const [name, value] of blobs) ws.blobs.put(name, value)
      return errorOf(ws).details['partial']
    }
    const blobs = new Map([[sha, text]])
    expect(partial(blobs)).toEqual([{ key: 'one', result: 'long' }])
    expect(partial(blobs, true)).toEqual([{ key: 'one', result: 'long' }])
  })

  test('as much of it as there is room for; what is left out is counted', () => {
    const { config: small } = parseExecutionConfig({ maxPayloadBytes: 1_024, maxInlineBytes: 1_024 })
    const text = (bytes: number) => 'x'.repeat(bytes - 2)
    const keysOf = (memos: readonly MemoRow[], output?: string) => {
      const { details } = errorOf(knowing(memos, small), output === undefined ? {} : { output })
      const partial = details['partial'] as readonly { key: string }[]
      return [partial.map(({ key }) => key).join(''), details['omitted'] ?? 0]
    }
    expect(keysOf([step('a', text(1_023))])).toEqual(['a', 0])
    expect(keysOf([step('a', text(1_024)), step('b', 1)])).toEqual(['b', 1])
    expect(keysOf([step('aa', text(1_022)), step('b', 1)])).toEqual(['aa', 1])
    expect(keysOf([step('a', text(1_000)), step('b', text(21)), step('c', 1)], '1')).toEqual(['ab', 1])
    expect(keysOf([step('a', text(24))], JSON.stringify(text(1_000)))).toEqual(['', 1])
  })
})
