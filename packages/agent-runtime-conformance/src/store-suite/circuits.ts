import type { Settlement } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'
import { hold, report, route, termsOf } from './workload.ts'

const overLimit: Settlement = {
  as: 'failed',
  kind: 'budget_exceeded',
  error: '{"message":"too much"}',
  breach: 'hard',
}

export function circuits({ rule, timed, expect }: Suite): void {
  const opened = async (scene: Scene) => {
    const claim = await scene.running()
    await scene.settle(claim, overLimit)
    scene.free(claim.workerId)
    return claim
  }
  const observe = (scene: Scene, latencyMs?: number) =>
    scene.write({
      kind: 'observeRoute',
      route: 'work',
      baselineMs: 10,
      ...(latencyMs === undefined ? {} : { latencyMs }),
    })

  rule('10.3 a route of which nothing is known has no row', async (scene) => {
    await scene.settle(await scene.running())
    expect(await scene.read({ kind: 'routes' })).toEqual([])
  })

  rule('10.3 a hard breach opens the circuit: its task type is refused, others are not', async (scene) => {
    await opened(scene)
    expect(await route(scene)).toMatchObject({ circuit: 'open', healthy: false, retryAfterMs: 30_000 })
    const refused = await scene.submit()
    expect(refused).toMatchObject({ accepted: false, reason: 'circuit_open' })
    expect(await scene.submit({ type: 'other' })).toMatchObject({ accepted: true })
    expect(await scene.task(refused.taskId)).toMatchObject({ state: 'rejected', reason: 'circuit_open' })
  })

  rule(
    '2.1 the key comes before the circuit, the depth before it, the quota after it',
    async (scene) => {
      const known = await scene.submit({ idempotencyKey: 'k', lane: 'batch', model: 'm' })
      const claim = await scene.running({ type: 'busy' })
      await scene.settle(claim, overLimit)
      expect(await scene.submit({ idempotencyKey: 'k', lane: 'batch', model: 'm' })).toMatchObject({
        taskId: known.taskId,
      })
      expect(await scene.submit({ type: 'busy', model: 'm' })).toMatchObject({ reason: 'circuit_open' })
      expect(await scene.submit({ model: 'm' })).toMatchObject({ reason: 'quota_exceeded' })
      await scene.submitMany(9)
      expect(await scene.submit({ type: 'busy' })).toMatchObject({ reason: 'queue_full' })
    },
    {
      config: {
        queueDepthLimit: 10,
        batchBackpressureThreshold: 10,
        quotaConfig: { models: { m: { maxInFlight: 1 } } },
      },
    },
  )

  timed('10.3 after 30 s one probe is let through, and its success closes the circuit', async (scene) => {
    await opened(scene)
    await scene.pass(29_999)
    expect(await scene.submit()).toMatchObject({ reason: 'circuit_open' })
    await scene.pass(1)
    await scene.accepted()
    expect(await route(scene)).toMatchObject({ circuit: 'half_open' })
    expect(await scene.submit()).toMatchObject({ reason: 'circuit_open' })
    await scene.settle(await scene.claim())
    expect(await scene.submit()).toMatchObject({ accepted: true })
    expect(await scene.read({ kind: 'routes' })).toEqual([])
  })

  timed('10.3 from when a probe would be let through it is half open to whoever looks', async (scene) => {
    const { taskId } = await opened(scene)
    await scene.pass(29_999)
    expect(await route(scene)).toMatchObject({ circuit: 'open', healthy: false, retryAfterMs: 1 })
    expect(await scene.read({ kind: 'explain', taskId })).toMatchObject({
      failure: { circuit: { state: 'open' } },
    })
    await scene.pass(1)
    expect(await route(scene)).toMatchObject({ circuit: 'half_open', healthy: false, retryAfterMs: 0 })
    expect(await scene.read({ kind: 'explain', taskId })).toMatchObject({
      failure: { circuit: { state: 'half_open' } },
    })
    const delayed = await scene.submit({ delayMs: 1 })
    expect(await scene.read({ kind: 'explain', taskId: delayed.taskId })).toMatchObject({
      verdict: { by: 'circuit', state: 'half_open' },
    })
    await scene.accepted()
    expect(await route(scene)).toMatchObject({ circuit: 'half_open', healthy: false, retryAfterMs: 0 })
  })

  timed('10.3 work that was accepted before the circuit opened does not close it', async (scene) => {
    const claim = await scene.running()
    await scene.write({ kind: 'scar', leaseId: claim.leaseId, cause: { as: 'silent' } })
    await scene.pass(30_001)
    await scene.settle(claim)
    expect(await route(scene)).toMatchObject({ circuit: 'half_open', healthy: false })
    await scene.accepted()
    expect(await scene.submit()).toMatchObject({ reason: 'circuit_open' })
  })

  timed('10.3 a probe that fails opens it again', async (scene) => {
    await opened(scene)
    await scene.pass(30_000)
    await scene.accepted()
    const error: Settlement = { as: 'failed', kind: 'error', error: '{"message":"no"}' }
    await scene.settle(await scene.claim(), error)
    expect(await route(scene)).toMatchObject({ circuit: 'open', retryAfterMs: 30_000 })
    await scene.pass(29_999)
    expect(await scene.submit()).toMatchObject({ reason: 'circuit_open' })
  })

  timed(
    '10.3 a scar while a probe is under way opens it again, and that probe closes nothing',
    async (scene) => {
      const { leaseId } = await opened(scene)
      await scene.pass(30_000)
      await scene.accepted()
      const probe = await scene.claim()
      expect(await route(scene)).toMatchObject({ circuit: 'half_open' })
      const overrun = { as: 'overrun', overrunMs: 1_000, grantedMs: 1_000 } as const
      expect(await scene.write({ kind: 'scar', leaseId, cause: overrun })).toBe(5)
      expect(await route(scene)).toMatchObject({ circuit: 'open', healthy: false })
      await scene.settle(probe)
      expect(await route(scene)).toMatchObject({ circuit: 'open' })
      expect(await scene.submit()).toMatchObject({ reason: 'circuit_open' })
    },
  )

  timed('10.3, 11.5 a probe that uses up more than its budget opens it again', async (scene) => {
    await opened(scene)
    await scene.pass(30_000)
    const { leaseId, taskId } = await scene.running({ budget: { limits: { tokens: 1 }, soft: {} } })
    const charged = { tokens: 2, money: 0, cost: 0 }
    await scene.write({
      kind: 'recordStep',
      leaseId,
      key: 'a',
      position: 0,
      durationMs: 1,
      result: '1',
      charged,
    })
    expect(await scene.task(taskId)).toMatchObject({ state: 'failed', kind: 'budget_exceeded' })
    expect(await route(scene)).toMatchObject({ circuit: 'open', retryAfterMs: 30_000 })
  })

  timed('10.3 a probe that is canceled leaves the next its place', async (scene) => {
    await opened(scene)
    await scene.pass(30_000)
    await scene.cancel(await scene.accepted())
    expect(await route(scene)).toMatchObject({ circuit: 'half_open', retryAfterMs: 0 })
    expect(await scene.submit()).toMatchObject({ accepted: true })
    expect(await scene.submit()).toMatchObject({ reason: 'circuit_open' })
  })

  timed('C8 a probe that is lost to a crash leaves the next its place', async (scene) => {
    await opened(scene)
    await scene.pass(30_000)
    const { taskId } = await hold(scene)
    expect(await route(scene)).toMatchObject({ circuit: 'half_open' })
    await scene.jump(30_000)
    expect(await scene.task(taskId)).toMatchObject({ kind: 'lease_lost' })
    expect(await route(scene)).toMatchObject({ circuit: 'half_open', retryAfterMs: 0 })
  })

  timed('10.3 a probe that has not begun is given up after a while, and another finds out', async (scene) => {
    const over = await scene.running()
    await scene.settle(over, overLimit)
    await scene.pass(30_000)
    const stuck = await scene.accepted({ lane: 'batch' })
    await scene.pass(29_999)
    expect(await scene.submit()).toMatchObject({ reason: 'circuit_open' })
    await scene.pass(1)
    const probe = await scene.accepted({ lane: 'interactive' })
    expect(await scene.submit()).toMatchObject({ reason: 'circuit_open' })
    scene.free(over.workerId)
    const claim = await scene.claim()
    expect(claim.taskId).toBe(probe)
    await scene.settle(claim)
    expect(await scene.submit()).toMatchObject({ accepted: true })
    expect(await scene.state(stuck)).not.toBe('canceled')
  })

  timed('10.3 a delayed task is no probe', async (scene) => {
    await opened(scene)
    await scene.pass(30_000)
    expect(await scene.submit({ delayMs: 1 })).toMatchObject({ reason: 'circuit_open' })
    expect(await scene.submit()).toMatchObject({ accepted: true })
  })

  timed('10.3 a probe whose pass ends at a wait is well', async (scene) => {
    await opened(scene)
    await scene.pass(30_000)
    await scene.accepted()
    const { leaseId } = await scene.claim()
    const nap = { key: 'nap', position: 0, kind: 'timer', delayMs: 1_000_000 } as const
    await scene.write({ kind: 'suspend', leaseId, waits: [nap], stay: false })
    expect(await scene.submit()).toMatchObject({ accepted: true })
  })

  timed('10.3 a task that was accepted before the circuit opened runs', async (scene) => {
    const claim = await scene.running()
    const other = await scene.accepted()
    await scene.settle(claim, overLimit)
    scene.free(claim.workerId)
    expect(await scene.claim()).toMatchObject({ taskId: other })
  })

  timed('C9 the scar of an overrun is left when it is reported, and fades', async (scene) => {
    const { leaseId } = await scene.running()
    const cause = { as: 'overrun', overrunMs: 180_000, grantedMs: 1_800_000 } as const
    await scene.write({
      kind: 'settle',
      leaseId,
      settlement: { as: 'failed', kind: 'budget_exceeded', error: '{"message":"late"}', breach: 'deadline' },
    })
    expect(await route(scene)).toMatchObject({ circuit: 'closed', healthy: false, scar: 0 })
    expect(await scene.write({ kind: 'scar', leaseId, cause })).toBeCloseTo(0.5)
    expect((await route(scene))?.scar).toBeCloseTo(0.5)
    await scene.pass(10_000)
    expect((await route(scene))?.scar).toBeCloseTo(0.5 * Math.exp(-1))
    expect(await scene.submit()).toMatchObject({ accepted: true })
  })

  timed('10.3 an unhealthy route is well again when something of it succeeds', async (scene) => {
    const claim = await scene.running()
    const { leaseId, workerId } = claim
    await scene.write({ kind: 'scar', leaseId, cause: { as: 'silent' } })
    await scene.settle(claim)
    expect(await route(scene)).toMatchObject({ circuit: 'open' })
    await scene.pass(30_000)
    scene.free(workerId)
    await scene.accepted()
    await scene.settle(await scene.claim())
    expect(await route(scene)).toMatchObject({ circuit: 'closed', healthy: true })
  })

  timed('C8 silence is that of a live lease: one that was lost to a crash leaves no scar', async (scene) => {
    const { leaseId } = await hold(scene)
    await scene.jump(30_000)
    expect(await scene.write({ kind: 'scar', leaseId, cause: { as: 'silent' } })).toBe(0)
    expect(await scene.read({ kind: 'routes' })).toEqual([])
  })

  timed(
    'C11 un-leased work that is slower than its baseline leaves a scar, and is reported',
    async (scene) => {
      expect(await observe(scene, 10)).toMatchObject({ admitted: true, scar: 0, circuit: 'closed' })
      expect(await scene.read({ kind: 'routes' })).toEqual([])
      expect((await observe(scene, 11)).scar).toBeCloseTo(0.498, 3)
      const slow = await observe(scene, 100)
      expect(slow).toMatchObject({ admitted: false, circuit: 'open', healthy: false })
      expect(slow.scar).toBeCloseTo(5, 3)
      expect(await observe(scene)).toMatchObject({ admitted: false })
    },
  )

  timed('10.3 un-leased work can be the probe; a probe that nobody reports is given up', async (scene) => {
    await opened(scene)
    await scene.pass(30_000)
    expect(await observe(scene)).toMatchObject({ admitted: true, probe: true, circuit: 'half_open' })
    expect(await observe(scene)).toMatchObject({ admitted: false })
    await scene.pass(30_000)
    expect(await observe(scene)).toMatchObject({ admitted: true, probe: true })
    expect(await observe(scene, 5)).toMatchObject({ admitted: true, circuit: 'closed', healthy: true })
  })

  rule('10.5 above a soft limit there is one event, whatever follows', async (scene) => {
    const terms = termsOf({ limits: { soft: { cpuTimeUs: 100 }, hard: { cpuTimeUs: 1_000 } } })
    const claim = await scene.running()
    expect(await report(scene, claim, { computeUs: 100 }, terms)).toMatchObject({ verdict: 'within' })
    const warned = await report(scene, claim, { computeUs: 101 }, terms)
    expect(warned).toMatchObject({ verdict: 'soft', message: 'cpuTimeUs 101 is above the limit 100' })
    expect(await report(scene, claim, { computeUs: 500 }, terms)).toMatchObject({ verdict: 'soft' })
    expect(await scene.eventTypes(claim.taskId)).toEqual(['task.queued', 'task.started', 'limit.warned'])
    expect((await route(scene))?.resistance).toBeCloseTo(1)
  })

  rule(
    '10.5 above a hard one the task fails in the same commit; of both the hard one counts alone',
    async (scene) => {
      const terms = termsOf({ limits: { soft: { memoryBytes: 10 }, hard: { memoryBytes: 20 } } })
      const claim = await scene.running()
      const outcome = await report(scene, claim, { memoryBytes: 21 }, terms)
      expect(outcome).toMatchObject({ verdict: 'hard', message: 'memoryBytes 21 is above the limit 20' })
      expect(await scene.eventTypes(claim.taskId)).toEqual(['task.queued', 'task.started', 'task.failed'])
      expect(await scene.task(claim.taskId)).toMatchObject({ state: 'failed', kind: 'budget_exceeded' })
      expect(await route(scene)).toMatchObject({ circuit: 'open', leases: 0 })
      expect(await report(scene, claim, {}, terms)).toEqual({ fenced: 'stale' })
    },
  )

  timed('10.2 the pressure of a lease is shown with its route as long as it is live', async (scene) => {
    const claim = await scene.running()
    await scene.pass(120_000)
    expect(await report(scene, claim, { memoryBytes: 16_000_000_000 })).toMatchObject({ verdict: 'within' })
    const pressure = Math.hypot(Math.tanh(1), Math.tanh(1)) / Math.sqrt(3)
    expect((await route(scene))?.pressure).toBeCloseTo(pressure)
    await scene.release(claim)
    expect(await route(scene)).toBeUndefined()
  })
}
