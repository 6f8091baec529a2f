import { describe, expect, test } from 'vitest'
import { CALLER } from '../../src/lease/caller.ts'
import { held, heldByWorker, liveLease, notice } from '../../src/lease/fence.ts'
import { ids, lease, now, own, task, workingSet } from '../transition/rows.ts'

const id = ids.lease(lease.id)

describe('the fence (docs/semantics.md 4.2, 4.4)', () => {
  test('a live lease and its task are found, and nothing is counted', () => {
    const ws = workingSet({ tasks: [task], leases: [lease] })
    expect(held(ws, id)).toStrictEqual({ lease, task })
    expect(heldByWorker(ws, id)).toStrictEqual({ lease, task })
    expect(liveLease(ws, id)).toStrictEqual({ lease, task })
    expect(ws.staleWrites).toBe(0)
  })

  // The fence trusts no row alone: of a lease and its task, each has to name the other.
  test.each([
    ['a lease that there is not', {}],
    ['a lease at the instant at which it expires', { lease: { ...lease, expiresAt: now.leaseAt } }],
    [
      'a lease that has ended, although its task names it',
      { lease: { ...lease, state: 'completed' as const } },
    ],
    ['a lease of a task that there is not', { lease: { ...lease, task: 8 } }],
    [
      'a lease of a task that does not run, although it names the lease',
      { task: { ...task, state: 'waiting' as const } },
    ],
    ['a lease of a task that runs under another one', { task: { ...task, lease: 2 } }],
  ])(
    '%s holds nothing, and each write under it is counted',
    (_, damaged: Partial<{ lease: typeof lease; task: typeof task }>) => {
      const isNone = Object.keys(damaged).length === 0
      const ws = workingSet({ tasks: [damaged.task ?? task], leases: isNone ? [] : [damaged.lease ?? lease] })
      expect(liveLease(ws, id)).toBeUndefined()
      expect(ws.staleWrites).toBe(0)
      expect(held(ws, id)).toBeUndefined()
      expect(ws.staleWrites).toBe(1)
      expect(heldByWorker(ws, id)).toBeUndefined()
      expect(ws.staleWrites).toBe(2)
    },
  )

  test.each(['', 'nobody', ids.task(3), ids.lease(4)])('%j is the id of no lease', (other) => {
    const ws = workingSet({ tasks: [task], leases: [lease] })
    expect(held(ws, other)).toBeUndefined()
    expect(ws.staleWrites).toBe(1)
  })

  test("a caller's lease holds for what a caller does, not for what a worker does", () => {
    const ws = workingSet({ tasks: [task], leases: [{ ...lease, worker: CALLER }] })
    expect(held(ws, id)?.lease.id).toBe(lease.id)
    expect(ws.staleWrites).toBe(0)
    expect(heldByWorker(ws, id)).toBeUndefined()
    expect(ws.staleWrites).toBe(1)
  })
})

describe('word of a lease that ended from outside (docs/semantics.md 4.4)', () => {
  test('its holder in this process learns it, by the ids that it knows', () => {
    const ws = workingSet({ tasks: [task], leases: [lease] })
    notice(ws, lease, 'lost', 'expired')
    notice(ws, lease, 'canceled')
    expect(ws.notices).toStrictEqual([
      { leaseId: id, taskId: ids.task(task.id), verdict: 'lost', reason: 'expired' },
      { leaseId: id, taskId: ids.task(task.id), verdict: 'canceled' },
    ])
  })

  test('a task is called as its submitter called it', () => {
    const ws = workingSet({ tasks: [{ ...task, explicitId: 'mine' }], leases: [lease] })
    notice(ws, lease, 'lost')
    expect(ws.notices.map(({ taskId }) => taskId)).toEqual(['mine'])
  })

  test('a lease without its task is reported all the same', () => {
    const ws = workingSet({ leases: [lease] })
    notice(ws, lease, 'lost')
    expect(ws.notices.map(({ taskId }) => taskId)).toEqual([ids.task(task.id)])
  })

  test('a holder in another process finds out on its own', () => {
    const ws = workingSet({ tasks: [task], leases: [lease] })
    notice(ws, { ...lease, process: own + 1 }, 'lost')
    expect(ws.notices).toEqual([])
  })
})
