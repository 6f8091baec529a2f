import { describe, expect, test } from 'vitest'
import { swarmRoute } from '../../src/route/observe.ts'
import type { UsageRow } from '../../src/transition.ts'
import { leaseOver, workEnded } from '../../src/profile/work-ended.ts'
import { circuit, lease, now, type Rows, swarm, task, usage, workingSet } from '../transition/rows.ts'

/** What a lease has used that has reported everything there is. */
const busy = {
  lease: 3,
  computeUs: 200,
  memoryBytes: 300,
  pressure: 0.5,
  reports: 4,
  reportedAt: 9_500,
  progress: 0.5,
  errorRate: 0.1,
  saturation: 0.2,
  warned: true,
}
const agent = usage({ ...busy, swarm: 's', agent: 'a', order: 1 })
const having = (row: UsageRow | undefined, rows: Rows = {}) =>
  workingSet({
    tasks: [task],
    leases: [lease],
    swarms: new Map([['s', swarm]]),
    usages: new Map(row === undefined ? [] : [[row.task, row]]),
    ...rows,
  })

describe('the amounts of a lease are given back when it ends (docs/semantics.md 10.6, 10.7)', () => {
  test('work in no swarm leaves nothing behind', () => {
    const ws = having(usage(busy))
    leaseOver(ws, lease)
    expect([...ws.usages.changed]).toStrictEqual([[7, undefined]])
  })

  test('the CPU time of an agent is kept, and its reports: its next lease may be warned again', () => {
    const ws = having(agent)
    leaseOver(ws, lease)
    expect(ws.usage(7)).toStrictEqual({
      ...agent,
      lease: null,
      memoryBytes: 0,
      pressure: 0,
      reports: 0,
      reportedAt: null,
      warned: false,
    })
  })

  test.each([
    ['where others have some', usage({ task: 8 })],
    ['where nothing has', undefined],
  ])('work without a profile writes nothing, %s', (_, other) => {
    const ws = having(other)
    leaseOver(ws, lease)
    expect(ws.usages.changed.size).toBe(0)
  })
})

describe('its route and its swarm learn how work ended (10.3, 10.6)', () => {
  const route = swarmRoute('s')
  const halfOpen = (of: string) =>
    circuit({ route: of, state: 'half_open', openedAt: 1, probeAt: now.leaseAt, probe: 7 })
  const probed = { circuits: new Map([route, 'work'].map((of) => [of, halfOpen(of)])) }
  const failed = (of: string) => ({
    ...halfOpen(of),
    state: 'open',
    openedAt: now.leaseAt,
    probeAt: null,
    probe: null,
  })

  test('an agent that is over leaves its swarm, where its CPU time stays spent', () => {
    const ws = having(agent)
    workEnded(ws, task, 'success', true)
    expect([...ws.usages.changed]).toStrictEqual([[7, undefined]])
    expect(ws.swarm('s')).toStrictEqual({ ...swarm, spentUs: 300 })
  })

  test('an agent that waits stays one', () => {
    const ws = having(agent, probed)
    workEnded(ws, task, 'success', false)
    expect([ws.usages.changed.size, ws.swarms.changed.size]).toEqual([0, 0])
    // To come to wait is as good as a success.
    expect([ws.circuit('work'), ws.circuit(route)]).toEqual([undefined, undefined])
  })

  test('the probe of both circuits that fails opens both again', () => {
    const ws = having(agent, probed)
    workEnded(ws, task, 'failure', true)
    expect([...ws.circuits.changed.values()]).toStrictEqual([failed('work'), failed(route)])
  })

  test.each([
    ['with a profile', usage(busy)],
    ['without one', undefined],
    ['without one, where others have some', usage({ task: 8 })],
  ])('work in no swarm, %s, is reported to its route alone', (_, own) => {
    const ws = having(own, probed)
    workEnded(ws, task, 'failure', true)
    expect([...ws.circuits.changed.values()]).toStrictEqual([failed('work')])
    expect([ws.usage(7), ws.swarms.changed.size]).toEqual([undefined, 0])
  })
})
