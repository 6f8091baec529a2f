import type { Scene } from './scene.ts'
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
    'C8 a lease whose process died is failed as lease_lost, without a scar, and never run again',
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

  rule('5.1 it is canceled like any other, and its holder learns it', async (scene) => {
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

  for (const onExceeded of ['reject', 'defer'] as const) {
    const label = { labels: { tenant: 'a' } }
    const config = {
      quotaConfig: { labels: { tenant: { a: { maxInFlight: 2, perWindow: 3, onExceeded } } } },
    }
    const full = (limit: string) => ({
      as: 'refused',
      receipt: {
        reason: 'quota_exceeded',
        message: 'quota label:tenant=a has no room; submit later or raise its limit',
      },
      limit,
    })
    const refusal = async (scene: Scene) => {
      const outcome = await startLease(scene, label)
      if (outcome.as !== 'refused' || outcome.receipt.accepted) return outcome
      const explained = await scene.read({ kind: 'explain', taskId: outcome.receipt.taskId })
      const { verdict } = (explained ?? {}) as { readonly verdict?: { readonly limit?: string } }
      return { ...outcome, limit: verdict?.limit }
    }

    timed(
      `10.1, 2.6 ${onExceeded}: it holds its quotas like any other, and is refused where it could not start`,
      async (scene) => {
        const one = await hold(scene, label)
        await hold(scene, label)
        expect((await scene.stats()).quotas).toMatchObject([
          { key: 'label:tenant=a', queued: 0, running: 2, window: { tasks: 2 } },
        ])
        expect(await refusal(scene)).toMatchObject(full('maxInFlight'))
        await scene.write({
          kind: 'settle',
          leaseId: one.leaseId,
          settlement: { as: 'completed', output: 'null' },
        })
        await hold(scene, label)
        expect((await scene.stats()).quotas).toMatchObject([{ queued: 0, running: 2, window: { tasks: 3 } }])
      },
      { config },
    )

    timed(
      `2.8, 10.1 ${onExceeded}: it counts in its window, which refuses the one after`,
      async (scene) => {
        for (let n = 0; n < 3; n++) {
          const { leaseId } = await hold(scene, label)
          await scene.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' } })
        }
        expect(await refusal(scene)).toMatchObject(full('perWindow'))
        await scene.pass(60_000)
        expect(await startLease(scene, label)).toMatchObject({ as: 'started' })
      },
      { config },
    )
  }

  rule(
    '11.2, 10.1 where there are shares it runs on its client’s account, and takes none of its turns',
    async (scene) => {
      const { leaseId } = await hold(scene, { client: 'A' })
      expect(await scene.read({ kind: 'clients' })).toMatchObject([{ name: 'A', running: 1, queued: 0 }])
      await scene.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' } })
      expect(await scene.read({ kind: 'clients' })).toMatchObject([{ name: 'A', running: 0, queued: 0 }])
    },
    { config: { shares: {} } },
  )
}
