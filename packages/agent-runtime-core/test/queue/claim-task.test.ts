import { describe, expect, test } from 'vitest'
import { claimTask } from '../../src/queue/claim-task.ts'
import type { LeaseRow, TaskRow } from '../../src/transition.ts'
import { RESERVED } from '../../src/wait/wait.ts'
import {
  budget,
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

const queued: TaskRow = { ...task, state: 'queued', lease: null, startedAt: null }
const asking = { kind: 'claimTask', taskId: ids.task(7), workerId: 'w' } as const
const base: Rows = { tasks: [queued], workers: [worker] }
const pause = `${RESERVED}paused/type/${stream.type}`
const claimed = (rows: Rows, asked: Partial<typeof asking> = {}, running: readonly LeaseRow[] = []) => {
  const ws = workingSet({ ...base, ...rows })
  return { ws, outcome: claimTask(ws, { ...asking, ...asked }, running) }
}

describe('one certain task (docs/semantics.md 4.12)', () => {
  test('4.12 a worker of this process gets it, whatever stands before it', () => {
    const { ws, outcome } = claimed({})
    expect(outcome).toEqual({ as: 'claimed', leaseId: ids.lease(100), attempt: 1 })
    expect(ws.task(7)).toMatchObject({ state: 'running', lease: 100 })
    expect(ws.lease(100)).toMatchObject({ worker: 4, task: 7, state: 'running' })
  })

  test.each<[string, Rows, Partial<typeof asking>?]>([
    ['unknown', { tasks: [] }],
    ['unknown', {}, { taskId: ids.task(8) }],
    ['unknown', {}, { taskId: 'nobody' }],
    ['not_queued', { tasks: [task] }],
    ['not_due', { tasks: [{ ...queued, dueAt: now.at }] }],
    ['reserved', { streams: [{ ...stream, type: `${RESERVED}work` }] }],
    ['no_room', { workers: [] }],
    ['no_room', { workers: [{ ...worker, workerId: 'v' }] }],
    ['no_room', { workers: [{ ...worker, draining: true }] }],
    ['no_room', { workers: [{ ...worker, drainAsked: true }] }],
    ['paused', { quotas: new Map([[pause, { ...quota, key: pause, blockedUntil: 1 }]]) }],
    ['no_quota', { ...limited, quotas: new Map([[quota.key, { ...quota, blockedUntil: now.at + 1 }]]) }],
    [
      'no_budget',
      {
        tasks: [{ ...queued, budget: 7 }],
        budgets: new Map([[7, budget({ asked: { field: 'tokens', at: 1, by: 7 } as never })]]),
      },
    ],
  ])('4.12 %s: %j', (why, rows, asked) => {
    const { ws, outcome } = claimed(rows, asked)
    expect(outcome).toEqual({ as: 'refused', why })
    expect(ws.events).toEqual([])
  })

  test('4.12 live leases of this worker take its room, also those of this commit, and no others', () => {
    const held = (id: number, changes: Partial<LeaseRow> = {}): LeaseRow => ({ ...lease, id, ...changes })
    const others = [held(1, { worker: 5 }), held(2, { state: 'completed' })]
    const one = held(3)
    const leases = [...others, one]
    expect(claimed({ leases }, {}, leases).outcome).toMatchObject({ as: 'claimed' })
    const two = held(5)
    const full = [...leases, two]
    expect(claimed({ leases: full }, {}, full).outcome).toEqual({ as: 'refused', why: 'no_room' })
    const ws = workingSet({ ...base, tasks: [queued, { ...queued, id: 8 }], leases })
    const claim = (id: number) => claimTask(ws, { ...asking, taskId: ids.task(id) }, leases).as
    expect([claim(8), claim(7)]).toEqual(['claimed', 'refused'])
  })
})
