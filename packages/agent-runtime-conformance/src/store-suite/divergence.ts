import type { Divergence, Claim, WaitRequest } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function divergence({ rule, timed, expect }: Suite): void {
  const parting: Divergence = {
    kind: 'unexpected_step',
    key: 'b',
    position: 1,
    expected: 'a "quoted" key',
    actual: 'b',
  }
  const nap: WaitRequest = { key: 'nap', position: 0, kind: 'timer', delayMs: 1_000 }
  const reply: WaitRequest = { key: 'reply', position: 1, kind: 'signal', name: 'reply' }
  const resume = (scene: Scene, taskId: string) => scene.write({ kind: 'resume', taskId })
  const signal = (scene: Scene, taskId: string) =>
    scene.write({ kind: 'signal', taskId, name: 'reply', value: '1' })

  /** A parked task, whose worker has its slot back. */
  async function parked(scene: Scene, waits: readonly WaitRequest[] = []): Promise<Claim> {
    const claim = await scene.running()
    const { leaseId } = claim
    if (waits.length > 0) await scene.write({ kind: 'suspend', leaseId, waits, stay: true })
    expect(await scene.write({ kind: 'diverge', leaseId, divergence: parting })).toBe('ok')
    scene.free(claim.workerId)
    return claim
  }

  rule(
    '6.4 a diverged task is parked: it waits, holds nothing, and says where code and history differ',
    async (scene) => {
      const claim = await parked(scene)
      expect(await scene.task(claim.taskId)).toMatchObject({
        state: 'waiting',
        waitingFor: 'divergence',
        divergence: parting,
        attempt: 1,
        waits: [],
      })
      expect(await scene.read({ kind: 'leases', taskId: claim.taskId })).toMatchObject([
        { status: 'completed', endReason: 'waiting' },
      ])
      expect(await scene.stats()).toMatchObject({ running: 0, waiting: 1 })
      const explained = await scene.read({ kind: 'explain', taskId: claim.taskId })
      expect([explained?.reason, explained?.summary.includes('a "quoted" key')]).toEqual(['divergence', true])
      const other = await scene.accepted()
      expect((await scene.claim()).taskId).toBe(other)
      expect(await scene.settle(claim)).toBe('stale')
    },
  )

  timed(
    '6.4 neither a timer nor a signal brings it back; both are kept, and count once it is resumed',
    async (scene) => {
      const { taskId } = await parked(scene, [nap, reply])
      await scene.pass(5_000)
      expect(await signal(scene, taskId)).toEqual({ delivered: true, state: 'waiting', awaited: true })
      expect(await scene.hasClaim()).toBe(false)
      expect(await scene.task(taskId)).toMatchObject({ waits: [{ key: 'nap' }, { key: 'reply' }] })

      expect(await resume(scene, taskId)).toEqual({ resumed: true, state: 'queued' })
      const next = await scene.claim()
      expect(next).toMatchObject({ taskId, attempt: 1, crashes: 0 })
      expect((await scene.read({ kind: 'memos', taskId })).waits).toEqual([])
      expect(
        await scene.write({ kind: 'suspend', leaseId: next.leaseId, waits: [nap, reply], stay: false }),
      ).toMatchObject({
        resolved: [
          { key: 'nap', outcome: 'fired' },
          { key: 'reply', outcome: 'received', value: '1' },
        ],
      })
      expect(await scene.settle(next)).toBe('ok')
    },
  )

  rule(
    '6.4 resume is for parked tasks: others are left as they are, and their state is reported',
    async (scene) => {
      const claim = await scene.running()
      expect(await resume(scene, claim.taskId)).toEqual({ resumed: false, state: 'running' })
      await scene.write({ kind: 'suspend', leaseId: claim.leaseId, waits: [reply], stay: false })
      expect(await resume(scene, claim.taskId)).toEqual({ resumed: false, state: 'waiting' })
      expect(await resume(scene, 'nobody')).toEqual({ resumed: false })
      expect((await scene.eventTypes(claim.taskId)).at(-1)).toBe('task.waiting')
    },
  )

  rule('6.4 it may be parked again, and canceled then', async (scene) => {
    const { taskId } = await parked(scene, [reply])
    await resume(scene, taskId)
    const next = await scene.claim()
    const later = { ...parting, kind: 'missing_step' } as const
    expect(await scene.write({ kind: 'diverge', leaseId: next.leaseId, divergence: later })).toBe('ok')
    expect(await scene.task(taskId)).toMatchObject({ divergence: later })
    expect(await scene.cancel(taskId)).toEqual({ canceled: true, state: 'canceled' })
    expect(await resume(scene, taskId)).toEqual({ resumed: false, state: 'canceled' })
    expect(await scene.stats()).toMatchObject({ waiting: 0, running: 0 })
  })

  rule('6.4 it can be forked, and tried again as a new task that keeps its steps', async (scene) => {
    const claim = await scene.running()
    await scene.step(claim, 'a', '1')
    await scene.write({ kind: 'diverge', leaseId: claim.leaseId, divergence: parting })
    await resume(scene, claim.taskId)
    scene.free(claim.workerId)
    const next = await scene.claim()
    await scene.write({ kind: 'diverge', leaseId: next.leaseId, divergence: parting })
    for (const onlyOver of [true, false]) {
      const outcome = await scene.write({
        kind: 'fork',
        taskId: claim.taskId,
        edits: {},
        onlyOver,
        change: {},
      })
      if (outcome.as !== 'submitted') throw new Error(outcome.as)
      expect(await scene.read({ kind: 'memos', taskId: outcome.receipt.taskId })).toMatchObject({
        steps: [{ key: 'a', result: '1' }],
        waits: [],
      })
    }
    expect(await scene.state(claim.taskId)).toBe('waiting')
  })

  rule('4.4 parking is fenced by the lease', async (scene) => {
    const claim = await scene.running()
    await scene.release(claim)
    const { leaseId } = claim
    expect(await scene.write({ kind: 'diverge', leaseId, divergence: parting })).toBe('stale')
    expect(await scene.stats()).toMatchObject({ staleWrites: 1, waiting: 0 })
  })

  rule('6.4 the memos say when a step finally failed last', async (scene) => {
    const claim = await scene.running()
    const { taskId, leaseId } = claim
    const fail = (key: string, retry?: number) =>
      scene.write({
        kind: 'failStep',
        leaseId,
        key,
        position: 0,
        durationMs: 1,
        error: '{"message":"no"}',
        ...(retry === undefined ? {} : { retry }),
      })
    await fail('a', 1)
    expect((await scene.read({ kind: 'memos', taskId })).lastFailure).toBe(undefined)
    await fail('a')
    await fail('b', 1)
    expect((await scene.read({ kind: 'memos', taskId })).lastFailure).toBe(4)
  })

  rule(
    '2.3 a parked task holds no quota; resumed it passes the limits and waits for room',
    async (scene) => {
      const claim = await scene.running({ model: 'm' })
      await scene.write({ kind: 'diverge', leaseId: claim.leaseId, divergence: parting })
      expect((await scene.stats()).quotas).toMatchObject([{ key: 'model:m', queued: 0, running: 0 }])
      await scene.accepted({ model: 'm' })
      expect(await resume(scene, claim.taskId)).toEqual({ resumed: true, state: 'queued' })
    },
    {
      config: {
        queueDepthLimit: 1,
        batchBackpressureThreshold: 1,
        quotaConfig: { models: { m: { maxInFlight: 5, onExceeded: 'defer' } }, tools: {} },
      },
    },
  )
}
