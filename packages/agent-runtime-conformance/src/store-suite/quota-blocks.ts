import type { Claim } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

const big = { model: 'big' }
const quota = (quotaConfig: object) => ({ config: { quotaConfig } })

/** A provider that refuses a call for now blocks what it names. Source: `docs/semantics.md 2.8`. */
export function quotaBlocks({ rule, timed, expect }: Suite): void {
  const refuse = (scene: Scene, { leaseId }: Claim, keys: readonly string[], retryAfterMs: number) =>
    scene.write({
      kind: 'settle',
      leaseId,
      settlement: { as: 'rate_limited', error: '{}', delayMs: retryAfterMs },
      backOff: { keys, retryAfterMs },
    })
  const refuseStep = (scene: Scene, { leaseId }: Claim, keys: readonly string[], retryAfterMs: number) =>
    scene.write({
      kind: 'failStep',
      leaseId,
      key: 'ask',
      position: 0,
      durationMs: 1,
      error: '{}',
      backOff: { keys, retryAfterMs },
    })
  const counters = async (scene: Scene) =>
    Object.fromEntries(
      (await scene.stats()).quotas.map(({ key, queued, running }) => [key, [queued, running]]),
    )

  timed(
    '2.8 a task that its provider refused goes on in the same attempt, with its steps, not before it said',
    async (scene) => {
      const claim = await scene.running(big)
      await scene.step(claim, 'one', '1')
      expect(await refuse(scene, claim, ['model:big'], 20_000)).toBe('ok')
      expect(await refuse(scene, claim, ['model:big'], 20_000)).toBe('ok')
      const [lease] = await scene.read({ kind: 'leases', taskId: claim.taskId })
      expect(lease).toMatchObject({ status: 'failed', endReason: 'rate_limited' })
      expect(await scene.read({ kind: 'explain', taskId: claim.taskId })).toMatchObject({
        waitsFor: 'delay',
        summary: `is due at ${new Date(scene.now + 20_000).toISOString()}: the provider of model:big refused it until then`,
        requeued: {
          last: { reason: 'rate_limited', backOff: { keys: ['model:big'], until: scene.now + 20_000 } },
        },
      })
      scene.free(claim.workerId)
      await scene.pass(19_900)
      expect(await scene.hasClaim()).toBe(false)
      await scene.pass(200)
      expect(await scene.claim()).toMatchObject({ taskId: claim.taskId, attempt: 1, steps: 1 })
    },
    quota({ models: { big: { maxInFlight: 5 } } }),
  )

  timed(
    '2.8 14.3 a task that has fallen back is held by a block of its new model, and not by one of its old',
    async (scene) => {
      await scene.worker('w', 3)
      await scene.accepted(big)
      const large = await scene.claim()
      await scene.accepted({ model: 'small' })
      const little = await scene.claim()
      await scene.accepted(big)
      const recovery = {
        category: 'timeout',
        kind: 'timeout',
        strategy: 'fallback_agent',
        model: 'small',
      } as const
      await scene.settle(await scene.claim(), { as: 'retry', error: '{}', delayMs: 60_000, recovery })
      await refuseStep(scene, large, ['model:big'], 20_000)
      expect(await counters(scene)).toEqual({ 'model:big': [0, 1] })
      await refuseStep(scene, little, ['model:small'], 20_000)
      expect(await counters(scene)).toEqual({ 'model:big': [0, 1], 'model:small': [1, 1] })
    },
  )

  for (const [what, config] of [
    ['that nothing limits', {}],
    ['of a quota', quota({ models: { big: { maxInFlight: 50 } } })],
    ['of a quota that defers', quota({ models: { big: { maxInFlight: 50, onExceeded: 'defer' } } })],
  ] as const)
    timed(
      `2.8 a key ${what} is blocked for all: what waits keeps its place, others pass`,
      async (scene) => {
        await scene.worker('w', 4, ['*'], 1)
        await scene.accepted(big)
        const refused = await scene.claim()
        const [first, second] = [await scene.accepted(big), await scene.accepted(big)]
        const other = await scene.accepted({ model: 'small' })
        await refuseStep(scene, refused, ['model:big'], 20_000)
        const until = scene.now + 20_000
        expect((await scene.stats()).quotas).toMatchObject([
          { key: 'model:big', queued: 2, running: 1, blockedUntil: until },
        ])
        await scene.settle(refused)
        scene.free('w')
        expect(await scene.claim()).toMatchObject({ taskId: other })
        expect(await scene.read({ kind: 'explain', taskId: second })).toMatchObject({
          waitsFor: 'quota:model:big',
          until,
        })
        scene.free('w', 2)
        expect(await scene.hasClaim()).toBe(false)
        await scene.pass(20_100)
        expect(await scene.claim()).toMatchObject({ taskId: first })
        await scene.settle(scene.claims.at(-1))
        expect((await scene.stats()).quotas).toMatchObject([{ key: 'model:big' }])
        expect((await scene.stats()).quotas[0]?.blockedUntil).toBe(undefined)
      },
      config,
    )

  timed(
    '2.8 every task that names the key is held from the block on: queued, delayed, running, waiting, and later ones',
    async (scene) => {
      const names = { labels: { team: 'a=b' } }
      const key = 'label:team=a=b'
      const delayed = await scene.accepted({ ...names, delayMs: 5_000 })
      const waiting = await scene.running(names)
      await scene.write({
        kind: 'suspend',
        leaseId: waiting.leaseId,
        stay: false,
        waits: [{ key: 'go', name: 'go', position: 0, kind: 'signal' }],
      })
      const running = await scene.running(names)
      const queued = await scene.accepted({ ...names, type: 'later' })
      const refused = await scene.running()
      await refuse(scene, refused, [key], 20_000)
      expect(await counters(scene)).toEqual({ [key]: [2, 1] })
      const late = await scene.accepted({ ...names, type: 'later' })
      expect(await counters(scene)).toEqual({ [key]: [3, 1] })
      await scene.settle(running)
      await scene.write({ kind: 'signal', taskId: waiting.taskId, name: 'go', value: 'null' })
      expect(await counters(scene)).toEqual({ [key]: [4, 0] })
      for (const workerId of [waiting.workerId, running.workerId]) scene.free(workerId)
      await scene.worker('more', 4)
      await scene.pass(10_000)
      expect(await scene.hasClaim()).toBe(false)
      await scene.pass(15_000)
      const started = scene.claims.slice(-5).map(({ taskId }) => taskId)
      expect(started.toSorted()).toEqual([delayed, waiting.taskId, queued, refused.taskId, late].toSorted())
      for (const taskId of started) await scene.cancel(taskId)
      expect(await counters(scene)).toEqual({ [key]: [0, 0] })
    },
  )

  timed('2.8 the latest time counts, whichever was said first', async (scene) => {
    const claim = await scene.running(big)
    await refuseStep(scene, claim, ['model:big'], 20_000)
    const until = scene.now + 20_000
    await scene.pass(1_000)
    await refuseStep(scene, claim, ['model:big', 'tool:x'], 5_000)
    expect((await scene.stats()).quotas).toMatchObject([
      { key: 'model:big', blockedUntil: until },
      { key: 'tool:x', blockedUntil: scene.now + 5_000 },
    ])
  })

  timed(
    '2.8 while it is blocked, a quota that rejects refuses, and one that defers lets in',
    async (scene) => {
      const claim = await scene.running()
      await refuseStep(scene, claim, ['model:big', 'model:slow', 'model:free'], 20_000)
      const refused = await scene.submit(big)
      expect(refused).toMatchObject({ accepted: false, reason: 'quota_exceeded' })
      expect(!refused.accepted && refused.message.includes('model:big is blocked until')).toBe(true)
      expect(await scene.submit({ model: 'slow' })).toMatchObject({ accepted: true })
      expect(await scene.submit({ model: 'free' })).toMatchObject({ accepted: true })
      await scene.pass(20_000)
      expect(await scene.submit(big)).toMatchObject({ accepted: true })
    },
    quota({ models: { big: { maxInFlight: 5 }, slow: { maxInFlight: 5, onExceeded: 'defer' } } }),
  )

  rule('2.8 a task that lost its lease blocks nothing', async (scene) => {
    const claim = await scene.running(big)
    await scene.cancel(claim.taskId)
    expect(await refuse(scene, claim, ['model:big'], 20_000)).toBe('stale')
    expect((await scene.stats()).quotas).toEqual([])
  })
}
