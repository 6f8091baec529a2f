import { describe, expect, test } from 'vitest'
import type { LeaseRow, TaskRow, WorkerRow } from '../../src/transition.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import {
  askDrain,
  drainWorkers,
  registerWorkers,
  removeGone,
  removeWorkers,
} from '../../src/worker/registry.ts'
import { config, lease, now, own, task, worker, workingSet } from '../transition/rows.ts'

const running = (id: number): TaskRow => ({ ...task, id, lease: id })
const held = (id: number, expiresAt: number): LeaseRow => ({ ...lease, id, task: id, expiresAt })
const told = (ws: WorkingSet) => ws.events.map(({ task: of, type }) => [of, type])
const endedBy = (ws: WorkingSet) =>
  [...ws.leases.changed.values()].map(({ id, endReason }) => [id, endReason])

describe('the registry of workers (docs/semantics.md 3.2)', () => {
  const register = {
    kind: 'registerWorkers',
    workers: [{ workerId: 'w', capacity: 3, types: ['a'] }],
  } as const
  const drain = { kind: 'drainWorkers', workerIds: ['w'] } as const
  const remove = { kind: 'removeWorkers', workerIds: ['w'] } as const
  const rows = (ws: WorkingSet) => [...ws.workers.changed.values()]

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

  test('8.10 a drain from outside counts and changes the workers of that name that have not left', () => {
    const left = { ...worker, id: 5, registered: false }
    const ws = workingSet({ workers: [worker, left, { ...worker, id: 6, workerId: 'v' }] })
    expect(askDrain(ws, { kind: 'askDrain', workerId: 'w', draining: true })).toBe(1)
    expect(rows(ws)).toEqual([{ ...worker, drainAsked: true }])
    const drained = workingSet({ workers: [{ ...worker, drainAsked: true }] })
    expect(askDrain(drained, { kind: 'askDrain', workerId: 'w', draining: true })).toBe(1)
    expect(rows(drained)).toEqual([])
  })

  test('8.10 a drain from outside reaches the workers of that name in other processes, too', () => {
    const other = { ...worker, id: 9, process: own + 1 }
    const strangers = [other, { ...other, id: 8, workerId: 'v' }]
    const ws = workingSet({ workers: [worker], workersNamed: new Map([['w', [worker, ...strangers]]]) })
    expect(askDrain(ws, { kind: 'askDrain', workerId: 'w', draining: true })).toBe(2)
    expect(rows(ws).map(({ id, drainAsked }) => [id, drainAsked])).toEqual([
      [4, true],
      [9, true],
    ])
  })

  test('a worker on a line is one of the process that the lines are kept under, if there is one', () => {
    const remote = own + 1
    const processOf = (remoteNow: number | undefined, asked: boolean) => {
      const ws = workingSet({ remote: remoteNow })
      registerWorkers(ws, { ...register, ...(asked ? { remote: asked } : {}) })
      return rows(ws).map(({ process }) => process)
    }
    expect([processOf(remote, true), processOf(remote, false), processOf(undefined, true)]).toEqual([
      [remote],
      [own],
      [own],
    ])
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

  test('the changes of this flush count: a client that entered in it is drained, one that left in it enters again', () => {
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

  test('a task that a leaving worker still holds goes back to the queue; tasks of others, and ended ones, do not', () => {
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

  test('C6 a worker on a line that was silent for three times the TTL leaves, unless it holds a live lease', () => {
    const remote = own + 1
    const seenBefore = (ttls: number) => now.leaseAt - ttls * config.leaseTtlMs
    const far = { ...worker, process: remote }
    const ws = workingSet({
      tasks: [task],
      leases: [{ ...lease, worker: 3 }],
      workers: [
        { ...worker, id: 1, lastSeenAt: seenBefore(9) },
        { ...far, id: 2, lastSeenAt: seenBefore(3) + 1 },
        { ...far, id: 3, lastSeenAt: seenBefore(3) },
        { ...far, id: 5, lastSeenAt: seenBefore(3) },
        { ...far, id: 6, lastSeenAt: seenBefore(9), registered: false },
      ],
    })
    removeGone(ws, [])
    expect(rows(ws)).toEqual([])
    const { base } = ws
    const served = Object.assign(ws, { base: { ...base, remote } })
    removeGone(served, [{ ...lease, worker: 3 }])
    expect(rows(served).map(({ id, registered }) => [id, registered])).toEqual([[5, false]])
  })
})
