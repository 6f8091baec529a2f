import { describe, expect, test } from 'vitest'
import type { ResourceLimits } from '../../src/profile/schema.ts'
import type { Write } from '../../src/store/port.ts'
import { swarmRoute } from '../../src/route/observe.ts'
import { report, scar } from '../../src/profile/report.ts'
import type { SwarmRow, UsageRow } from '../../src/transition.ts'
import { circuit, ids, lease, now, type Rows, swarm, task, usage, workingSet } from '../transition/rows.ts'

const leaseId = ids.lease(lease.id)
/** Of a task that has run for 1 000 ms where 100 are expected. */
const latency = Math.tanh(9)
const late = latency / Math.sqrt(3)

const running = (own?: UsageRow, rows: Rows = {}, others: readonly UsageRow[] = []) =>
  workingSet({
    tasks: [task],
    leases: [lease],
    usages: new Map([...(own === undefined ? [] : [own]), ...others].map((row) => [row.task, row])),
    ...rows,
  })
const say = (
  ws: ReturnType<typeof running>,
  sample: Write<'report'>['sample'] = {},
  more: Partial<Write<'report'>> = {},
) => report(ws, { kind: 'report', leaseId, terms: usage().terms, heartbeat: false, sample, ...more })
const within = { fenced: 'ok', verdict: 'within', pressure: late, cpuTimeUs: null, memoryBytes: null }
const failed = (message: string) => [
  'task.failed',
  `{"durationMs":9000,"error":{"code":"budget_exceeded","message":"${message}","name":"RuntimeError"},"kind":"budget_exceeded","leaseId":"${leaseId}"}`,
]
const told = (ws: ReturnType<typeof running>) => ws.events.map(({ type, data }) => [type, data])
const opened = (route: string) => circuit({ route, state: 'open', openedAt: now.leaseAt })

describe('the reports of a lease (docs/semantics.md 10.7)', () => {
  test('is kept as a row of its own, in whole numbers, and its progress with the lease', () => {
    const ws = running()
    const sample = { computeUs: 20_000.4, memoryBytes: 20_000_000.4, errorRate: 0.1, saturation: 0.2 }
    const outcome = say(ws, sample, { heartbeat: true, progress: '0.5', share: 0.5 })
    const pressure = Math.hypot(latency, Math.tanh(1), Math.tanh(1)) / Math.sqrt(3)
    expect(outcome).toStrictEqual({ ...within, pressure })
    expect(ws.usage(7)).toStrictEqual(
      usage({
        lease: 3,
        computeUs: 20_000,
        memoryBytes: 20_000_000,
        pressure,
        errorRate: 0.1,
        saturation: 0.2,
        progress: 0.5,
        reports: 1,
        reportedAt: now.leaseAt,
      }),
    )
    expect(ws.lease(3)).toStrictEqual({ ...lease, progress: '0.5', progressAt: ws.now.leaseAt })
    expect(ws.events).toEqual([])
  })

  test('leaves what it does not tell as it was', () => {
    const before = usage({
      lease: 3,
      computeUs: 10,
      memoryBytes: 20,
      errorRate: 0.1,
      saturation: 0.2,
      progress: 0.3,
      reports: 4,
      reportedAt: 5,
    })
    const ws = running(before)
    expect(say(ws)).toStrictEqual(within)
    expect(ws.usage(7)).toStrictEqual({ ...before, pressure: late })
    expect(ws.leases.changed.size).toBe(0)
  })

  test('a report replaces the one before, except the CPU time, which never falls', () => {
    const before = usage({ computeUs: 10, memoryBytes: 20, errorRate: 0.1, saturation: 0.2, progress: 0.3 })
    const ws = running({ ...before, reports: 4 })
    say(ws, { computeUs: 9, memoryBytes: 19, errorRate: 0, saturation: 0 }, { heartbeat: true, share: 0 })
    expect(ws.usage(7)).toMatchObject({
      computeUs: 10,
      memoryBytes: 19,
      errorRate: 0,
      saturation: 0,
      progress: 0,
      reports: 5,
      reportedAt: now.leaseAt,
    })
  })

  test('by a lease that is lost is stale, and changes nothing', () => {
    const ws = running(undefined, { leases: [{ ...lease, expiresAt: now.leaseAt }] })
    expect(say(ws, { computeUs: 1 }, { progress: '1' })).toStrictEqual({ fenced: 'stale' })
    expect([ws.usages.changed.size, ws.leases.changed.size, ws.staleWrites]).toEqual([0, 0, 1])
  })
})

describe('limits of its own (10.5)', () => {
  const under = (limits: ResourceLimits) => ({ terms: usage({}, limits).terms })

  test('above a soft one there is one event, and one message', () => {
    const ws = running()
    const soft = under({ soft: { cpuTimeUs: 10 } })
    expect(say(ws, { computeUs: 10 }, soft)).toStrictEqual(within)
    expect(say(ws, { computeUs: 11 }, soft)).toStrictEqual({
      ...within,
      verdict: 'soft',
      message: 'cpuTimeUs 11 is above the limit 10',
    })
    expect(say(ws, { computeUs: 12 }, soft)).toStrictEqual({ ...within, verdict: 'soft' })
    expect(told(ws)).toEqual([
      ['limit.warned', `{"amount":"cpuTimeUs","leaseId":"${leaseId}","limit":10,"used":11}`],
    ])
    expect(ws.usage(7)).toMatchObject({ computeUs: 12, warned: true })
    expect(ws.circuits.changed.size).toBe(0)
  })

  test.each([
    ['CPU time', { computeUs: 11 }, { cpuTimeUs: 10 }, 'cpuTimeUs 11', [0, null]],
    ['memory', { memoryBytes: 11 }, { memoryBytes: 10 }, 'memoryBytes 11', [null, 10]],
    ['time', {}, { durationMs: 999 }, 'durationMs 1000', [null, null]],
  ])(
    'above a hard one of %s the task fails, and the circuit of its route opens',
    (_, sample, hard, has, left) => {
      const ws = running()
      const message = `${has} is above the limit ${Object.values(hard)[0]}`
      expect(say(ws, sample, under({ soft: hard, hard }))).toStrictEqual({
        ...within,
        verdict: 'hard',
        message,
        cpuTimeUs: left[0],
        memoryBytes: left[1],
      })
      expect(told(ws)).toEqual([failed(message)])
      expect(ws.task(7)).toMatchObject({ state: 'failed', lease: null, finishedAt: now.at })
      expect(ws.lease(3)).toMatchObject({ state: 'failed', endReason: 'failed' })
      expect([...ws.circuits.changed.values()]).toStrictEqual([opened('work')])
      expect(ws.usage(7)).toBeUndefined()
    },
  )
})

describe('the budget that a swarm shares (10.6)', () => {
  const agent = usage({ swarm: 's', agent: 'a', order: 1 })
  const other = usage({ task: 8, swarm: 's', agent: 'b', order: 2, computeUs: 200, memoryBytes: 300 })
  const among = (own: Partial<UsageRow> = {}, of: SwarmRow = swarm, beside = other) =>
    running({ ...agent, ...own }, { swarms: new Map([['s', of]]) }, [beside])

  test('all of it is within it', () => {
    const ws = among()
    expect(say(ws, { computeUs: 700, memoryBytes: 700 })).toStrictEqual({
      ...within,
      cpuTimeUs: 0,
      memoryBytes: 700,
    })
    expect([ws.events.length, ws.circuits.changed.size]).toEqual([0, 0])
  })

  test.each([
    ['CPU time', { computeUs: 701 }, 'cpuTimeUs', {}, [0, 700]],
    ['memory', { memoryBytes: 701 }, 'memoryBytes', {}, [700, 700]],
    [
      'memory, where only CPU time was promised',
      { memoryBytes: 701 },
      'memoryBytes',
      { promisedCpuUs: 1 },
      [1, 700],
    ],
    [
      'CPU time, where only memory was promised',
      { computeUs: 701 },
      'cpuTimeUs',
      { promisedMemoryBytes: 1 },
      [0, 1],
    ],
  ])(
    'the agent whose report goes beyond it in %s fails, and the breaker of the swarm opens',
    (_, sample, amount, own, left) => {
      const ws = among(own)
      const message = `the agents of swarm 's' together use or reserve 1001 ${amount}, above the shared limit 1000`
      expect(say(ws, sample)).toStrictEqual({
        ...within,
        verdict: 'hard',
        message,
        cpuTimeUs: left[0],
        memoryBytes: left[1],
      })
      expect(told(ws)).toEqual([failed(message)])
      expect([...ws.circuits.changed.values()]).toStrictEqual([opened(swarmRoute('s'))])
    },
  )

  test('a task that was promised a share answers for that alone, whatever others took', () => {
    const ws = among({ promisedCpuUs: 10, promisedMemoryBytes: 10 }, swarm, {
      ...other,
      computeUs: 2_000,
      memoryBytes: 2_000,
    })
    expect(say(ws, { computeUs: 10, memoryBytes: 10 })).toMatchObject({ verdict: 'within' })
    expect(say(ws, { computeUs: 11 })).toMatchObject({
      verdict: 'hard',
      message: 'cpuTimeUs 11 is above the limit 10',
    })
    // As at any hard limit, it is the route's circuit that opens.
    expect([...ws.circuits.changed.values()]).toStrictEqual([opened('work')])
  })

  test('an agent above a limit of its own opens the circuit of its route', () => {
    const ws = among()
    const { terms } = usage({}, { hard: { cpuTimeUs: 10 } })
    expect(say(ws, { computeUs: 11 }, { terms })).toMatchObject({
      verdict: 'hard',
      message: 'cpuTimeUs 11 is above the limit 10',
    })
    expect([...ws.circuits.changed.keys()]).toEqual(['work'])
  })

  test('a swarm that shares nothing limits nothing', () => {
    const ws = among({}, { ...swarm, terms: { ...swarm.terms, sharedBudget: {} } })
    expect(say(ws, { computeUs: 9_000, memoryBytes: 9_000 })).toStrictEqual(within)
  })

  test('a report that leaves the swarm above its threshold sheds the youngest agent', () => {
    const ws = running(
      agent,
      {
        swarms: new Map([['s', { ...swarm, terms: { ...swarm.terms, threshold: 0.2 } }]]),
        tasks: [task, { ...task, id: 8, lease: 4 }],
        leases: [lease, { ...lease, id: 4, task: 8 }],
      },
      [other],
    )
    expect(say(ws)).toMatchObject({ verdict: 'within' })
    expect(ws.events.map(({ task: of, type }) => [of, type])).toEqual([[8, 'task.canceled']])
  })
})

describe('work behind a lease that went wrong leaves a scar on its route (C8, C9)', () => {
  const overrun = { as: 'overrun', overrunMs: 250, grantedMs: 5_000 } as const
  const silent = { as: 'silent' } as const
  const left = (rows: Rows, cause: Write<'scar'>['cause'], id = leaseId) => {
    const ws = workingSet(rows)
    const size = scar(ws, { kind: 'scar', leaseId: id, cause })
    return [size, ws.circuit('work')?.scar, ws.staleWrites]
  }
  const live = { tasks: [task], leases: [lease] }
  const over = { tasks: [task], leases: [{ ...lease, state: 'failed' } as const] }

  test.each([
    ['of an overrun, while the lease is live', live, overrun, 0.25],
    ['of an overrun, after its lease has ended', over, overrun, 0.25],
    ['of silence, while the lease is live', live, silent, 1],
  ])('%s', (_, rows, cause, size) => {
    expect(left(rows, cause)).toEqual([size, size, 0])
  })

  test.each([
    ['silence of a lease that has ended, which nobody could break', over, silent, leaseId],
    ['a lease that is not known', {}, overrun, leaseId],
    ['an id of no lease', live, overrun, 'no lease'],
    ['a lease whose task is gone', { leases: [lease] }, overrun, leaseId],
  ])('nothing is left by %s; it is no stale write either', (_, rows, cause, id) => {
    expect(left(rows, cause, id)).toEqual([0, undefined, 0])
  })
})
