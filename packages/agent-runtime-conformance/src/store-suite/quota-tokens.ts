import type { Claim, Settlement } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

const quota = (quotaConfig: object, more: object = {}) => ({ config: { quotaConfig, ...more } })
const work = { model: 'big', tokens: 40 }

/** Tokens are reserved by estimate and settled by what was charged. Source: `docs/semantics.md 2.8`. */
export function quotaTokens({ rule, timed, expect }: Suite): void {
  const inWindow = async (scene: Scene) =>
    Object.fromEntries((await scene.stats()).quotas.map(({ key, window }) => [key, window?.tokens]))
  const charged = (tokens: number) => ({ tokens, money: 0, cost: 0 })
  const step = (scene: Scene, { leaseId }: Claim, key: string, tokens: number) =>
    scene.write({
      kind: 'recordStep',
      leaseId,
      key,
      position: 0,
      durationMs: 1,
      result: '1',
      charged: charged(tokens),
    })
  const end = (
    scene: Scene,
    { leaseId }: Claim,
    tokens: number,
    settlement: Settlement = { as: 'completed', output: 'null' },
  ) => scene.write({ kind: 'settle', leaseId, settlement, charged: charged(tokens) })

  for (const onExceeded of ['reject', 'defer']) {
    const hundred = quota({ models: { big: { tokensPerWindow: 100, onExceeded } } })

    timed(
      `2.8 ${onExceeded}: the estimate is reserved, and what was charged takes its place at the end`,
      async (scene) => {
        const claim = await scene.running(work)
        expect(await inWindow(scene)).toEqual({ 'model:big': 40 })
        await step(scene, claim, 'one', 10)
        expect(await inWindow(scene)).toEqual({ 'model:big': 40 })
        await end(scene, claim, 5)
        expect(await inWindow(scene)).toEqual({ 'model:big': 15 })
        await end(scene, claim, 5)
        expect(await inWindow(scene)).toEqual({ 'model:big': 15 })
      },
      hundred,
    )

    timed(
      `2.8 ${onExceeded}: what goes beyond the estimate counts as it is charged`,
      async (scene) => {
        const claim = await scene.running(work)
        await step(scene, claim, 'one', 30)
        await step(scene, claim, 'one', 30)
        await step(scene, claim, 'two', 30)
        expect(await inWindow(scene)).toEqual({ 'model:big': 60 })
        await end(scene, claim, 7)
        expect(await inWindow(scene)).toEqual({ 'model:big': 67 })
      },
      hundred,
    )

    timed(
      `2.8 ${onExceeded}: a task that charged nothing keeps its estimate, through tries, yields and waits`,
      async (scene) => {
        const claim = await scene.running(work)
        await scene.settle(claim, { as: 'retry', error: '{}', delayMs: 0 })
        scene.free(claim.workerId)
        const second = await scene.claim()
        await scene.release(second)
        scene.free(claim.workerId)
        const third = await scene.claim()
        await scene.write({
          kind: 'suspend',
          leaseId: third.leaseId,
          stay: false,
          waits: [{ key: 'nap', position: 0, kind: 'timer', delayMs: 1_000 }],
        })
        scene.free(claim.workerId)
        await scene.pass(1_100)
        const fourth = await scene.claim()
        expect(await inWindow(scene)).toEqual({ 'model:big': 40 })
        await scene.settle(fourth)
        expect(await inWindow(scene)).toEqual({ 'model:big': 40 })
      },
      hundred,
    )

    timed(
      `2.8 ${onExceeded}: the window of the estimate alone gives back, and only as long as it lasts`,
      async (scene) => {
        const first = await scene.running(work)
        await scene.pass(60_000)
        const second = await scene.running(work)
        await step(scene, first, 'one', 60)
        expect(await inWindow(scene)).toEqual({ 'model:big': 60 })
        await end(scene, first, 0)
        expect(await inWindow(scene)).toEqual({ 'model:big': 60 })
        await end(scene, second, 1)
        expect(await inWindow(scene)).toEqual({ 'model:big': 21 })
      },
      hundred,
    )

    timed(
      `2.8 ${onExceeded}: a task that was tried again gives back in the window in which it started first`,
      async (scene) => {
        const claim = await scene.running(work)
        await end(scene, claim, 10, { as: 'retry', error: '{}', delayMs: 0 })
        await scene.pass(60_000)
        scene.free(claim.workerId)
        const second = await scene.claim()
        await scene.running({ model: 'big', tokens: 1 })
        await end(scene, second, 10)
        expect(await inWindow(scene)).toEqual({ 'model:big': 1 })
      },
      hundred,
    )

    timed(
      `2.8 ${onExceeded}: a crash keeps what was charged, once`,
      async (scene) => {
        const claim = await scene.running(work)
        await step(scene, claim, 'one', 70)
        await scene.jump(30_000)
        expect(await scene.state(claim.taskId)).toBe('queued')
        expect(await inWindow(scene)).toEqual({ 'model:big': 70 })
        await step(scene, claim, 'two', 70)
        expect(await inWindow(scene)).toEqual({ 'model:big': 70 })
      },
      hundred,
    )
  }

  timed(
    '2.8 a running task that uses more than its estimate stops others from starting',
    async (scene) => {
      await scene.worker('w', 4)
      await scene.accepted(work)
      const claim = await scene.claim()
      await step(scene, claim, 'one', 61)
      const other = await scene.accepted(work)
      expect(await scene.hasClaim()).toBe(false)
      expect(await scene.read({ kind: 'explain', taskId: other })).toMatchObject({
        waitsFor: 'quota:model:big',
        until: Math.floor(scene.now / 60_000) * 60_000 + 60_000,
      })
      await scene.pass(60_100)
      expect(await scene.claim()).toMatchObject({ taskId: other })
    },
    quota({ models: { big: { tokensPerWindow: 100, onExceeded: 'defer' } } }),
  )

  timed(
    '2.8 one that used less lets them in before the window is over',
    async (scene) => {
      const claim = await scene.running({ ...work, tokens: 100 })
      expect(await scene.submit(work)).toMatchObject({ reason: 'quota_exceeded' })
      await end(scene, claim, 60)
      expect(await scene.submit(work)).toMatchObject({ accepted: true })
    },
    quota({ models: { big: { tokensPerWindow: 100 } } }),
  )

  timed(
    '2.8 a task that is canceled before it started gives its estimate back',
    async (scene) => {
      const taskId = await scene.accepted(work)
      await scene.cancel(taskId)
      expect(await inWindow(scene)).toEqual({ 'model:big': 0 })
    },
    quota({ models: { big: { tokensPerWindow: 100 } } }),
  )

  rule(
    '2.8 tokens count in every key that limits them',
    async (scene) => {
      const claim = await scene.running({ ...work, client: 'ada', labels: { team: 'alpha' } })
      await step(scene, claim, 'one', 50)
      expect(await inWindow(scene)).toEqual({
        'model:big': 50,
        'client:ada': undefined,
        'label:team=alpha': 50,
      })
    },
    quota({
      models: { big: { tokensPerWindow: 100, onExceeded: 'defer' } },
      clients: { ada: { maxInFlight: 1 } },
      defaults: { labels: { team: { tokensPerWindow: 100 } } },
    }),
  )
}
