import { describe, expect, test } from 'vitest'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import { profileConfigs } from '../../src/profile/profile.ts'
import type { Submission } from '../../src/submit/submission.ts'
import { unused } from '../../src/swarm/agents.ts'
import { CALLER } from '../../src/lease/caller.ts'
import { noTotals, type SwarmRow } from '../../src/transition.ts'
import { startLease } from '../../src/lease/start-lease.ts'
import { config, ids, lease, now, own, type Rows, workingSet } from '../transition/rows.ts'

const profile = {
  profile: 'STANDARD',
  config: profileConfigs.STANDARD,
  grantedMs: 30_000,
  limits: {},
} as const
const submission = { type: 'work', lane: 'batch', input: '1', profile } as const
const start = (more: Partial<Submission> = {}, rows: Rows = {}, settings = config, fenceFloor = 0) => {
  const ws = workingSet({ depth: 3, ...rows }, settings, fenceFloor)
  const outcome = startLease(ws, { kind: 'startLease', submission: { ...submission, ...more } })
  return { ws, outcome }
}
const leaseId = ids.lease(100)
const taskId = ids.task(100)

describe('the work of a caller (docs/semantics.md 10.1)', () => {
  test('is a task and its live lease in one commit: it was never queued, and takes the slot of no worker', () => {
    const { ws, outcome } = start()
    expect(outcome).toStrictEqual({
      as: 'started',
      taskId,
      leaseId,
      sequence: 100,
      acquiredAt: now.leaseAt,
    })
    expect(ws.events.map(({ type, seq, also }) => [type, seq, also])).toEqual([
      ['task.queued', 1, []],
      ['task.started', 2, ['lease.acquired']],
    ])
    expect(ws.events[1]?.data).toBe(
      `{"attempt":1,"dispatch":100,"fencingToken":1,"lane":"batch","leaseId":"${leaseId}","type":"work","waitMs":0,"workerId":"caller"}`,
    )
    expect(ws.task(100)).toMatchObject({
      state: 'running',
      lease: 100,
      fence: 1,
      attempt: 1,
      startedAt: now.at,
      submittedAt: now.at,
    })
    expect(ws.lease(100)).toStrictEqual({
      ...lease,
      id: 100,
      task: 100,
      worker: CALLER,
      process: own,
      acquiredAt: now.leaseAt,
      expiresAt: now.leaseAt + config.leaseTtlMs,
      lastHeartbeatAt: now.leaseAt,
    })
    expect([ws.depth, [...ws.queued], ws.nextLease]).toEqual([3, [], 101])
    expect(ws.totals).toStrictEqual({ ...noTotals, submitted: 1, running: 6 })
    expect(ws.usage(100)).toStrictEqual({
      ...unused,
      task: 100,
      route: 'work',
      terms: profile,
      laneRank: 2,
      lease: 100,
    })
  })

  test('has in a later incarnation a token above all of the earlier ones (docs/reliability.md D25)', () => {
    const { ws } = start({}, {}, config, 1_000)
    expect([ws.task(100)?.fence, ws.lease(100)?.fence]).toEqual([1_001, 1_001])
    expect(ws.events[1]?.data).toContain('"fencingToken":1001,')
  })

  test('holds its quotas as a task that runs, and counts in their windows (C4)', () => {
    const settings = parseExecutionConfig({
      quotaConfig: { models: { big: { perWindow: 5, onExceeded: 'defer' } } },
    }).config
    const { ws } = start({ model: 'big' }, {}, settings)
    expect(ws.quota('model:big')).toMatchObject({ queued: 0, running: 1, windowCount: 1 })
  })

  test('a holder in a swarm knows the rest for it; other work does not ask (10.6)', () => {
    const swarm: SwarmRow = {
      name: 's',
      terms: {
        route: 'work',
        terms: profile,
        maxAgents: 2,
        threshold: 1,
        sharedBudget: { totalCpuTimeUs: 1_000 },
      },
      spentUs: 100,
      spawned: 4,
      createdAt: 0,
    }
    const { ws, outcome } = start({ swarm: 's', agent: 'a' }, { swarms: new Map([['s', swarm]]) })
    expect(outcome).toMatchObject({ as: 'started', left: { cpuTimeUs: 900, memoryBytes: null } })
    expect(ws.usage(100)).toMatchObject({ swarm: 's', agent: 'a', order: 5, lease: 100 })
  })

  test('that is refused, or was submitted before, has no lease', () => {
    const refused = start({ refused: { reason: 'invalid_payload', message: 'no' } })
    expect(refused.outcome).toMatchObject({ as: 'refused', receipt: { reason: 'invalid_payload' } })
    expect([...refused.ws.leases.changed]).toEqual([])
    const again = workingSet({})
    const it = { kind: 'startLease', submission: { ...submission, idempotencyKey: 'k' } } as const
    expect(startLease(again, it).as).toBe('started')
    expect(startLease(again, it)).toMatchObject({ as: 'refused', receipt: { deduplicated: true } })
    expect(again.leases.changed.size).toBe(1)
  })
})
