import { describe, expect, test } from 'vitest'
import {
  drainWorkers,
  promote,
  registerWorkers,
  removeWorkers,
  renew,
  sweep,
  takeOver,
} from '../../src/transition/upkeep.ts'
import type { LeaseRow, TaskRow, WorkerRow } from '../../src/transition/index.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import { config, lease, now, own, task, worker, workingSet } from './rows.ts'

const running = (id: number): TaskRow => ({ ...task, id, lease: id })
const held = (id: number, expiresAt: number): LeaseRow => ({ ...lease, id, task: id, expiresAt })
const told = (ws: WorkingSet) => ws.events.map(({ task: of, type }) => [of, type])
const endedBy = (ws: WorkingSet) => [...ws.leases.values()].map(({ id, endReason }) => [id, endReason])

describe('leases that have expired (docs/semantics.md 3.5, 4.2)', () => {
  test('end in the order in which they expired, then in that of their numbers', () => {
    const leases = [held(9, now.leaseAt - 1), held(8, now.leaseAt), held(7, now.leaseAt)]
    const ws = workingSet({ tasks: [7, 8, 9].map(running), leases })
    sweep(ws, leases)
    expect(endedBy(ws)).toEqual([
      [9, 'expired'],
      [7, 'expired'],
      [8, 'expired'],
    ])
    expect(told(ws)).toEqual([9, 7, 8].map((id) => [id, 'task.requeued']))
    expect(ws.totals.expired).toBe(3)
  })

  test.each([
    ['was renewed in this flush', held(7, now.leaseAt + 1)],
    ['was ended in this flush', { ...held(7, now.leaseAt), state: 'canceled' as const }],
    ['is gone', undefined],
  ])('one that %s is left alone', (_, row) => {
    const ws = workingSet({ tasks: [running(7)], leases: row === undefined ? [] : [row] })
    sweep(ws, [held(7, now.leaseAt)])
    expect([ws.events, [...ws.leases]]).toEqual([[], []])
  })
})

describe('leases of processes that are gone (docs/semantics.md 4.10)', () => {
  test('end at once, whenever they would have expired, first the one that would have done so first', () => {
    const leases = [held(8, now.leaseAt + 9_000), held(7, now.leaseAt + 9_000), held(9, now.leaseAt + 1)]
    const ws = workingSet({ tasks: [7, 8, 9].map(running), leases })
    takeOver(ws, leases)
    expect(endedBy(ws)).toEqual([9, 7, 8].map((id) => [id, 'owner_dead']))
  })

  test.each([
    ['was ended in this flush', { ...held(7, now.leaseAt), state: 'canceled' as const }],
    ['is gone', undefined],
  ])('one that %s is left alone', (_, row) => {
    const ws = workingSet({ tasks: [running(7)], leases: row === undefined ? [] : [row] })
    takeOver(ws, [held(7, now.leaseAt)])
    expect([ws.events, [...ws.leases]]).toEqual([[], []])
  })
})

describe('tasks whose time has come (docs/semantics.md 2.2, 12.3)', () => {
  const delayed: TaskRow = { ...task, state: 'queued', lease: null, dueAt: now.at, queuedAt: now.at }

  test('one that is queued leaves the delayed, counts in the depth and is claimable since it was due', () => {
    const ws = workingSet({ tasks: [{ ...delayed, dueAt: now.at - 5 }] })
    promote(ws, [delayed])
    expect(ws.task(7)).toMatchObject({ state: 'queued', dueAt: null, queuedAt: now.at - 5 })
    expect(ws.stream(1)).toMatchObject({ depth: 4, delayed: 2 })
    expect([ws.depth, ws.delayed]).toEqual([4, 2])
    expect(ws.queued.get(1)?.map(({ id }) => id)).toEqual([7])
    expect(ws.events).toEqual([])
  })

  test('one that waits for something that has come by now goes on', () => {
    const waiting: TaskRow = { ...delayed, state: 'waiting', waitReason: 'timer', waits: 1 }
    const ws = workingSet({ tasks: [waiting] })
    ws.waits.set(7, [
      { task: 7, key: 'nap', position: 1, kind: 'timer', name: null, dueAt: now.at, terms: null },
    ])
    promote(ws, [waiting])
    expect(ws.task(7)?.state).toBe('queued')
    expect(told(ws)).toEqual([[7, 'task.resumed']])
    expect(ws.delayed).toBe(3)
  })

  test.each<[string, TaskRow | undefined]>([
    ['is gone', undefined],
    ['was promoted in this flush', { ...delayed, dueAt: null }],
    ['is due one ms later by now', { ...delayed, dueAt: now.at + 1 }],
    ['runs', { ...delayed, state: 'running' }],
    ['was canceled in this flush', { ...delayed, state: 'canceled' }],
  ])('one that %s is left alone', (_, row) => {
    const ws = workingSet({ tasks: row === undefined ? [] : [row] })
    promote(ws, [delayed])
    expect([ws.events, [...ws.tasks], ws.depth, ws.delayed]).toEqual([[], [], 3, 3])
  })

  test('one that is due one ms later does not hold up the one behind it', () => {
    const later = { ...delayed, dueAt: now.at + 1 }
    const ws = workingSet({ tasks: [later, { ...delayed, id: 8 }] })
    promote(ws, [later, { ...delayed, id: 8 }])
    expect([...ws.tasks.keys()]).toEqual([8])
  })
})

describe('a heartbeat (docs/semantics.md 3.2, 4.1-4.3)', () => {
  test('its live leases last another TTL, its workers were seen now', () => {
    const ws = workingSet({ tasks: [task], leases: [lease], workers: [worker] })
    renew(ws, [lease], [worker])
    expect(ws.lease(3)).toStrictEqual({
      ...lease,
      expiresAt: now.leaseAt + config.leaseTtlMs,
      lastHeartbeatAt: now.leaseAt,
    })
    expect(ws.worker(4)).toStrictEqual({ ...worker, lastSeenAt: now.leaseAt })
  })

  test.each<[string, LeaseRow | undefined]>([
    ['is gone', undefined],
    ['expires at this instant', { ...lease, expiresAt: now.leaseAt }],
    ['has ended', { ...lease, state: 'completed' }],
  ])('a lease that %s is not renewed', (_, row) => {
    const ws = workingSet({ tasks: [task], leases: row === undefined ? [] : [row] })
    renew(ws, [lease], [])
    expect([...ws.leases]).toEqual([])
  })

  test('a worker that has left the registry was not seen', () => {
    const left = { ...worker, registered: false }
    const ws = workingSet({ workers: [left] })
    renew(ws, [], [left])
    expect([...ws.workers]).toEqual([])
  })
})

describe('the registry of workers (docs/semantics.md 3.2)', () => {
  const register = {
    kind: 'registerWorkers',
    workers: [{ workerId: 'w', capacity: 3, types: ['a'] }],
  } as const
  const drain = { kind: 'drainWorkers', workerIds: ['w'] } as const
  const remove = { kind: 'removeWorkers', workerIds: ['w'] } as const
  const rows = (ws: WorkingSet) => [...ws.workers.values()]

  test('a worker enters with the next number', () => {
    const ws = workingSet({})
    expect(registerWorkers(ws, register)).toBe(true)
    expect(rows(ws)).toStrictEqual([
      { ...worker, id: 100, capacity: 3, types: ['a'], lastSeenAt: now.leaseAt },
    ])
    expect(ws.nextWorker).toBe(101)
  })

  test('one that is known states a new capacity, keeps its number, and is given tasks again', () => {
    const ws = workingSet({ workers: [{ ...worker, draining: true }] })
    registerWorkers(ws, register)
    expect(rows(ws)).toStrictEqual([{ ...worker, capacity: 3, types: ['a'], lastSeenAt: now.leaseAt }])
    expect(ws.nextWorker).toBe(100)
  })

  test('no worker takes more than maxInFlightPerWorker', () => {
    const ws = workingSet({})
    registerWorkers(ws, { ...register, workers: [{ workerId: 'w', capacity: 1e9, types: [] }] })
    expect(rows(ws).map(({ capacity }) => capacity)).toEqual([config.maxInFlightPerWorker])
  })

  const strangers: readonly (readonly [string, WorkerRow])[] = [
    ['of another name', { ...worker, workerId: 'v' }],
    ['of this name in another process', { ...worker, process: own + 1 }],
    ['of this name that has left', { ...worker, registered: false }],
  ]
  test.each(strangers)('one %s is another worker', (_, other) => {
    const ws = workingSet({ workers: [other] })
    expect([drainWorkers(ws, drain), removeWorkers(ws, remove, [])]).toEqual([true, true])
    expect(rows(ws)).toEqual([])
    registerWorkers(ws, register)
    expect(rows(ws).map(({ id }) => id)).toEqual([100])
  })

  test('what this flush has done counts: one that entered in it is drained, one that left in it enters anew', () => {
    const ws = workingSet({ workers: [worker, { ...worker, id: 5, workerId: 'v' }] })
    registerWorkers(ws, { ...register, workers: [{ workerId: 'x', capacity: 1, types: [] }] })
    drainWorkers(ws, { ...drain, workerIds: ['x', 'nobody', 'v'] })
    expect(rows(ws).map(({ workerId, draining }) => [workerId, draining])).toEqual([
      ['x', true],
      ['v', true],
    ])
    removeWorkers(ws, remove, [])
    registerWorkers(ws, register)
    drainWorkers(ws, drain)
    expect(rows(ws).map(({ id, registered, draining }) => [id, registered, draining])).toEqual([
      [100, true, true],
      [5, true, true],
      [4, false, false],
      [101, true, true],
    ])
  })

  test('what a worker that leaves still holds goes back to the queue; what others hold, and what has ended, does not', () => {
    const mine = lease
    const ended: LeaseRow = { ...lease, id: 2, state: 'completed' }
    const others: LeaseRow = { ...held(9, now.leaseAt + 1), worker: 5 }
    const ws = workingSet({ tasks: [task, running(9)], leases: [mine, ended, others], workers: [worker] })
    expect(removeWorkers(ws, remove, [mine, ended, others, { ...lease, id: 1 }].values())).toBe(true)
    expect(endedBy(ws)).toEqual([[3, 'drained']])
    expect(told(ws)).toEqual([[7, 'task.requeued']])
    expect(ws.task(7)).toMatchObject({ state: 'queued', attempt: 1, crashes: 0 })
    expect(ws.worker(4)).toStrictEqual({ ...worker, registered: false })
    expect(ws.staleWrites).toBe(0)
  })
})
