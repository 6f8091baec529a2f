import type { Suite } from './suite.ts'
import { hold, report, route, startLease, termsOf } from './workload.ts'

export function heldLeases({ rule, timed, expect }: Suite): void {
  rule(
    '10.1 one commit makes a task and its live lease; it takes no slot and is not queued',
    async (scene) => {
      await scene.worker('w', 1)
      const { commits } = await scene.stats()
      const { taskId, leaseId } = await hold(scene, { type: 'genom/sequence', labels: { a: 'b' } })
      expect((await scene.stats()).commits).toBe(commits + 1)
      expect(await scene.task(taskId)).toMatchObject({
        state: 'running',
        type: 'genom/sequence',
        held: true,
        profile: { profile: 'EXTREME' },
        lease: { leaseId, workerId: 'caller', fencingToken: 1 },
      })
      expect(await scene.depth()).toBe(0)
      expect(await scene.stats()).toMatchObject({ running: 1 })
      expect(await scene.hasClaim()).toBe(false)
      expect(await scene.read({ kind: 'workers' })).toMatchObject([{ state: 'idle', inFlight: 0 }])
      await scene.accepted()
      expect(await scene.hasClaim()).toBe(true)
    },
  )

  rule(
    '10.1 it is admitted whatever the depth',
    async (scene) => {
      await scene.submitMany(2)
      expect(await scene.submit()).toMatchObject({ reason: 'queue_full' })
      expect(await startLease(scene)).toMatchObject({ as: 'started' })
    },
    { config: { queueDepthLimit: 2, batchBackpressureThreshold: 2 } },
  )

  rule('10.4 its holder settles it like any other, and once', async (scene) => {
    const { taskId, leaseId } = await hold(scene)
    const settlement = { as: 'completed', output: '1' } as const
    expect(await scene.write({ kind: 'settle', leaseId, settlement })).toBe('ok')
    expect(await scene.write({ kind: 'settle', leaseId, settlement })).toBe('ok')
    expect(await scene.task(taskId)).toMatchObject({ state: 'completed', output: '1' })
    expect(await scene.eventTypes(taskId)).toEqual(['task.queued', 'task.started', 'task.completed'])
  })

  timed('C1, C8 it is renewed with the leases of the process, for as long as that lives', async (scene) => {
    const { taskId } = await hold(scene)
    await scene.pass(1_800_000)
    expect(await scene.state(taskId)).toBe('running')
    expect(scene.notices).toEqual([])
  })

  timed(
    'C8 whose process died is failed as lease_lost, without a scar, and never run again',
    async (scene) => {
      const held = await hold(scene)
      await report(scene, held)
      await scene.worker('w', 1)
      await scene.jump(30_000)
      expect(await scene.task(held.taskId)).toMatchObject({ state: 'failed', kind: 'lease_lost', crashes: 1 })
      expect(scene.notices).toMatchObject([{ leaseId: held.leaseId, verdict: 'lost', reason: 'expired' }])
      expect(await scene.hasClaim()).toBe(false)
      expect(await route(scene)).toBeUndefined()
      expect((await scene.stats()).totals).toMatchObject({ expired: 1, failed: 1, requeued: 0 })
    },
  )

  rule('5.1 it is canceled like any other, and its holder is told', async (scene) => {
    const { taskId, leaseId } = await hold(scene)
    expect(await scene.cancel(taskId, 'enough')).toMatchObject({ canceled: true })
    await scene.idle()
    expect(scene.notices).toMatchObject([{ leaseId, verdict: 'canceled', reason: 'enough' }])
    expect(await report(scene, { leaseId })).toEqual({ fenced: 'stale' })
  })

  rule('2.1, 1.5 an open circuit refuses it, and the refusal is a record', async (scene) => {
    const terms = termsOf({ limits: { hard: { cpuTimeUs: 1 } } })
    await report(scene, await hold(scene), { computeUs: 2 }, terms)
    const outcome = await startLease(scene)
    expect(outcome).toMatchObject({ as: 'refused', receipt: { reason: 'circuit_open' } })
    if (outcome.as === 'refused') expect(await scene.state(outcome.receipt.taskId)).toBe('rejected')
  })

  rule('6.3 nobody can fork it: nobody else could run it', async (scene) => {
    const { taskId } = await hold(scene)
    expect(await scene.write({ kind: 'fork', taskId, edits: {}, onlyOver: false, change: {} })).toEqual({
      as: 'held',
    })
  })

  rule('12.0 an id of its own is taken once', async (scene) => {
    await hold(scene, { taskId: 'mine' })
    expect(await startLease(scene, { taskId: 'mine' })).toMatchObject({
      as: 'refused',
      receipt: { reason: 'already_exists' },
    })
  })
}
