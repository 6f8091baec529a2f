import { describe, expect, test } from 'vitest'
import { startQueued } from '../../src/queue/start-queued.ts'
import { parseExecutionConfig } from '../../src/schemas.ts'
import { failAnywhere } from '../../src/task/fail-anywhere.ts'
import { type Requeue, requeue } from '../../src/task/requeue.ts'
import type { TaskRow } from '../../src/transition.ts'
import {
  childRow,
  config,
  family,
  ids,
  lease,
  limited,
  now,
  quota,
  type Rows,
  stream,
  task,
  worker,
  workingSet,
} from '../transition/rows.ts'

const leaseId = ids.lease(3)

describe('a task that goes back to the queue (docs/semantics.md 1.1)', () => {
  const back = (more: Partial<Requeue> = {}, rows: Rows = {}, settings = config) => {
    const ws = workingSet({ tasks: [task], leases: [lease], ...limited, ...rows }, settings)
    const it = { reason: 'retry', attempt: 2, crashes: 1, dueAt: null, ...more } as const
    requeue(ws, task, lease, it)
    const [event] = ws.events
    return { ws, also: event?.also, data: event?.data }
  }

  test('1.1 is queued at once for its next attempt, and its lease has ended', () => {
    const { ws, data, also } = back()
    expect(data).toBe(`{"attempt":2,"leaseId":"${leaseId}","reason":"retry"}`)
    expect(ws.task(7)).toMatchObject({
      state: 'queued',
      lease: null,
      attempt: 2,
      crashes: 1,
      dueAt: null,
      queuedAt: now.at,
      stream: 1,
    })
    expect(ws.lease(3)).toMatchObject({
      state: 'failed',
      endReason: 'retry',
      endSeq: 3,
      endedAt: now.leaseAt,
    })
    expect(also).toEqual(['lease.released'])
    expect([ws.depth, ws.delayed]).toEqual([4, 3])
    expect(ws.quota(quota.key)).toMatchObject({ queued: 3, running: 0 })
    expect(ws.totals).toMatchObject({ requeued: 1, running: 4, preempted: 0 })
  })

  test('1.1 waits for its time where it has one, and has its place from then on', () => {
    const { ws, data } = back({ dueAt: now.at + 5 })
    expect(data).toContain(`"dueAt":${now.at + 5},`)
    expect(ws.task(7)).toMatchObject({ dueAt: now.at + 5, queuedAt: now.at + 5 })
    expect([ws.depth, ws.delayed]).toEqual([3, 4])
  })

  test.each<[Requeue['reason'], string, readonly string[]]>([
    ['retry', 'failed', ['lease.released']],
    ['rate_limited', 'failed', ['lease.released']],
    ['expired', 'failed', ['lease.expired']],
    ['owner_dead', 'failed', ['lease.expired']],
    ['yielded', 'canceled', ['lease.released', 'task.preempted']],
    ['drained', 'canceled', ['lease.released']],
    ['restarted', 'canceled', ['lease.released']],
  ])('1.1 %s: its lease is %s', (reason, state, also) => {
    const it = back({ reason })
    expect([it.ws.lease(3)?.state, it.also]).toEqual([state, also])
    expect(it.ws.totals.preempted).toBe(reason === 'yielded' ? 1 : 0)
  })

  test('1.1 says its error, what was used, who refused it and who starts it again', () => {
    const { data } = back({
      error: '{"message":"no"}',
      charged: { tokens: 1, money: 0, cost: 0 },
      backOff: { keys: ['k'], retryAfterMs: 5 },
      restartedBy: 's"',
    })
    expect(JSON.parse(data ?? '')).toEqual({
      attempt: 2,
      backOff: { keys: ['k'], until: now.at + 5 },
      charged: expect.objectContaining({ tokens: 1 }),
      error: { message: 'no' },
      leaseId,
      reason: 'retry',
      restartedBy: 's"',
    })
  })

  test('14.3 falls back to another model, and holds the quota of that', () => {
    const settings = parseExecutionConfig({
      quotaConfig: { models: { big: { maxInFlight: 5 }, small: { maxInFlight: 5 } } },
    }).config
    const recovery = { category: 'crash', kind: 'error', strategy: 'fallback_agent' } as const
    const { ws, also, data } = back({ recovery: { ...recovery, model: 'small' } }, {}, settings)
    expect(JSON.parse(data ?? '')).toMatchObject({ recovery: { model: 'small' } })
    expect(also).toEqual(['lease.released', 'task.recovered'])
    const to = ws.stream(ws.task(7)?.stream ?? 0)
    expect([to.quotaKeys, to.depth]).toEqual([['model:small'], 1])
    expect([ws.quota('model:big').running, ws.quota('model:small').queued]).toEqual([0, 1])
    const stays = back({ recovery: { ...recovery, strategy: 'restart' } }, {}, settings).ws
    expect(stays.task(7)?.stream).toBe(1)
    expect(stays.quota('model:big')).toMatchObject({ queued: 3, running: 0 })
  })
})

describe('a task that starts on a worker (docs/semantics.md 1.4)', () => {
  const queued: TaskRow = { ...task, state: 'queued', lease: null, fence: 4, queuedAt: now.at - 9 }
  const start = (
    account: TaskRow['account'] = null,
    row: TaskRow = queued,
    { fenceFloor = 0, workers = [worker] } = {},
  ) => {
    const ws = workingSet({ tasks: [row], workers, ...limited }, config, fenceFloor)
    const given = startQueued(ws, row, ws.stream(1), { worker: 4, workerId: 'w"' }, () => account)
    return { ws, given, data: JSON.parse(ws.events[0]?.data ?? '') as object }
  }

  test('1.4 runs under a new lease, whose token is above all before it', () => {
    const { ws, given, data } = start()
    expect(data).toEqual({
      attempt: 1,
      dispatch: 100,
      fencingToken: 5,
      lane: 'batch',
      leaseId: ids.lease(100),
      type: 'work',
      waitMs: 9,
      workerId: 'w"',
    })
    expect(ws.events[0]?.also).toEqual(['lease.acquired'])
    expect(ws.task(7)).toMatchObject({ state: 'running', lease: 100, fence: 5, startedAt: now.at })
    expect(given.lease).toMatchObject({
      id: 100,
      task: 7,
      worker: 4,
      fence: 5,
      acquiredAt: now.leaseAt,
      expiresAt: now.leaseAt + config.leaseTtlMs,
    })
    expect(ws.lease(100)).toBe(given.lease)
    expect([ws.depth, ws.totals.running]).toEqual([2, 6])
    expect(ws.quota(quota.key)).toMatchObject({ queued: 1, running: 2 })
  })

  test('1.4 has a token above the floor of an incarnation, and has waited no less than nothing', () => {
    expect([3, 4, 5, 9].map((fenceFloor) => start(null, queued, { fenceFloor }).given.task.fence)).toEqual([
      5, 5, 6, 10,
    ])
    expect(start(null, { ...queued, queuedAt: now.at + 9 }).data).toMatchObject({ waitMs: 0 })
  })

  test('1.4 belongs to the process of its worker, or to this one', () => {
    expect(start(null, queued, { workers: [{ ...worker, process: 9 }] }).given.lease.process).toBe(9)
    expect(start(null, queued, { workers: [] }).given.lease.process).toBe(1)
  })

  test('11.2 says what it was charged and what is reserved for it, where that is new', () => {
    const account = { cost: 1, used: null, charge: 5, place: null, reserved: 6 }
    expect(start(account).data).toMatchObject({ charge: 5, reserved: 6 })
    expect(start(account).given.task.account).toEqual(account)
    const again = start(account, { ...queued, account }).data
    expect(again).not.toHaveProperty('charge')
    expect(again).not.toHaveProperty('reserved')
  })
})

describe('a task that fails wherever it stands', () => {
  const fail = (row: TaskRow, more: Rows = {}) => {
    const ws = workingSet({ tasks: [row], leases: [lease], streams: [stream], ...more })
    failAnywhere(ws, row, { kind: 'budget_exceeded', error: '{}', why: 'enough', route: 'none' })
    return ws
  }

  test('takes its children along, says why, and gives back what it held', () => {
    const child = { ...task, id: 8, state: 'waiting', lease: null, parent: 7 } as const
    const ws = fail(task, { tasks: [task, child], ...family(childRow(7, 8)) })
    expect(ws.events.map(({ task: of, type }) => `${of} ${type}`)).toEqual([
      '8 task.canceled',
      '7 task.failed',
    ])
    expect(JSON.parse(ws.events[0]?.data ?? '')).toMatchObject({ reason: 'enough' })
    expect(ws.task(7)).toMatchObject({ state: 'failed', lease: null, finishedAt: now.at })
    expect(ws.lease(3)).toMatchObject({ endSeq: 3 })
    expect(ws.lease(3)?.state).not.toBe('running')
    expect(ws.totals).toMatchObject({ failed: 1, running: 4 })
  })

  test('leaves the queue where it stands in one', () => {
    const ws = fail({ ...task, state: 'queued', lease: null })
    expect([ws.depth, ws.task(7)?.state]).toEqual([2, 'failed'])
    expect(JSON.parse(ws.events[0]?.data ?? '')).toEqual({ error: {}, kind: 'budget_exceeded' })
    const delayed = fail({ ...task, state: 'queued', lease: null, dueAt: now.at + 1 })
    expect([delayed.depth, delayed.delayed, delayed.task(7)?.dueAt]).toEqual([3, 2, null])
  })
})
