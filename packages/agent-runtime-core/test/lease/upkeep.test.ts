import { describe, expect, test } from 'vitest'
import { renew, sweep, takeOver } from '../../src/lease/upkeep.ts'
import type { LeaseRow, TaskRow } from '../../src/transition.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import { config, lease, now, task, worker, workingSet } from '../transition/rows.ts'

const running = (id: number): TaskRow => ({ ...task, id, lease: id })
const held = (id: number, expiresAt: number): LeaseRow => ({ ...lease, id, task: id, expiresAt })
const told = (ws: WorkingSet) => ws.events.map(({ task: of, type }) => [of, type])
const endedBy = (ws: WorkingSet) =>
  [...ws.leases.changed.values()].map(({ id, endReason }) => [id, endReason])

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
    expect([ws.events, [...ws.leases.changed]]).toEqual([[], []])
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
    expect([ws.events, [...ws.leases.changed]]).toEqual([[], []])
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
    expect([...ws.leases.changed]).toEqual([])
  })

  test('a worker that has left the registry was not seen', () => {
    const left = { ...worker, registered: false }
    const ws = workingSet({ workers: [left] })
    renew(ws, [], [left])
    expect([...ws.workers.changed]).toEqual([])
  })
})
