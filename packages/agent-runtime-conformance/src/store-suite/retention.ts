import type { PerState } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function retention({ rule, timed, expect }: Suite): void {
  const config = {
    retention: { completed: { ageMs: 60_000 }, failed: 'forever', canceled: { ageMs: 10_000 } },
  } as const
  const none: PerState = { completed: 0, failed: 0, canceled: 0 }
  const always: PerState = { completed: 8e15, failed: 8e15, canceled: 8e15 }

  /** One pass, as a runtime makes it, without its shortcut of leaving out what is young. */
  async function pruned(scene: Scene, dryRun = false): Promise<PerState> {
    const sum = { ...none } as Record<keyof PerState, number>
    let excess: PerState | undefined
    for (let after: number | undefined = 0; after !== undefined;) {
      const given = excess === undefined ? {} : { excess, ends: always }
      const answer: Awaited<ReturnType<typeof scene.write<'prune'>>> = await scene.write({
        kind: 'prune',
        after,
        dryRun,
        ...given,
      })
      for (const state of Object.keys(sum) as (keyof PerState)[]) sum[state] += answer.pruned[state]
      excess = answer.excess
      after = answer.next
    }
    return sum
  }

  /** A young task, so that none of the others is the newest or has the newest lease. */
  async function young(scene: Scene): Promise<void> {
    await scene.running({ type: 'young' })
  }

  async function done(scene: Scene, more: Parameters<Scene['running']>[0] = {}): Promise<string> {
    const claim = await scene.running(more)
    await scene.settle(claim)
    return claim.taskId
  }

  timed(
    '6.6 a task that ended is deleted when its age is reached, and not before',
    async (scene) => {
      const old = await done(scene)
      const canceled = await scene.accepted()
      await scene.cancel(canceled)
      const failed = await scene.running()
      await scene.settle(failed, { as: 'failed', kind: 'error', error: '{}' })
      await scene.pass(59_999)
      const later = await done(scene)
      await young(scene)
      expect(await pruned(scene)).toEqual({ ...none, canceled: 1 })
      expect(await scene.state(old)).toBe('completed')
      await scene.pass(1)
      expect(await pruned(scene, true)).toEqual({ ...none, completed: 1 })
      expect(await scene.state(old)).toBe('completed')
      expect(await pruned(scene)).toEqual({ ...none, completed: 1 })
      expect(await scene.read({ kind: 'task', taskId: old })).toBeUndefined()
      expect(await scene.read({ kind: 'events', taskId: old, after: 0, limit: 10 })).toBeUndefined()
      expect(await scene.state(later)).toBe('completed')
      expect(await scene.state(failed.taskId)).toBe('failed')
      expect(await scene.stats()).toMatchObject({
        deleted: { completed: 1, canceled: 1, failed: 0 },
        totals: { completed: 2, canceled: 1, failed: 1, submitted: 5 },
      })
    },
    { config },
  )

  timed(
    'A17 with a task that is deleted go its steps: a new one of the same id and key runs its own',
    async (scene) => {
      const named = { taskId: 'mine', idempotencyKey: 'k', type: 'named' }
      const first = await scene.running(named)
      await scene.step(first, 'one', '"first"')
      await scene.settle(first)
      await young(scene)
      await scene.pass(10)
      expect(await pruned(scene)).toEqual({ ...none, completed: 1 })
      const second = await scene.running(named)
      expect(second).toMatchObject({ taskId: 'mine', attempt: 1, steps: 0 })
      expect(await scene.step(second, 'one', '"second"')).toEqual({ fenced: 'ok' })
      await scene.settle(second)
      expect(await scene.eventTypes('mine')).toEqual([
        'task.queued',
        'task.started',
        'step.completed',
        'task.completed',
      ])
    },
    { config: { retention: { completed: { ageMs: 1 }, keysMs: 1 } } },
  )

  rule('6.6 without a rule nothing is deleted', async (scene) => {
    await done(scene)
    await scene.accepted()
    expect(await pruned(scene)).toEqual(none)
  })

  rule(
    '6.6 the oldest above a count are deleted, and the newest task never',
    async (scene) => {
      const ids: string[] = []
      for (let n = 0; n < 5; n++) ids.push(await done(scene))
      expect(await pruned(scene, true)).toEqual({ ...none, completed: 3 })
      expect(await pruned(scene)).toEqual({ ...none, completed: 3 })
      const { taskIds } = await scene.read({ kind: 'taskIds', filter: {} })
      expect(taskIds).toEqual([ids[4], ids[3]])
      await done(scene)
      expect(await pruned(scene)).toEqual({ ...none, completed: 1 })
      expect(await pruned(scene)).toEqual(none)
    },
    { config: { retention: { completed: { count: 2 } } } },
  )

  rule(
    '6.6 passes that meet in one commit delete each task once, and no more than the rule allows',
    async (scene) => {
      for (let n = 0; n < 10; n += 1) await done(scene)
      await young(scene)
      const first = { kind: 'prune', after: 0, ends: always } as const
      const { excess } = await scene.write(first)
      expect(excess).toEqual({ ...none, completed: 7 })
      // The third has come further than the others.
      const answers = await Promise.all([0, 0, 5].map((after) => scene.write({ ...first, after, excess })))
      const sums = answers.map(({ pruned: { completed } }) => completed)
      expect(sums).toEqual([7, 0, 0])
      expect((await scene.stats()).deleted).toMatchObject({ completed: 7 })
      expect(scene.failures).toEqual([])
    },
    { config: { retention: { completed: { count: 3 } } } },
  )

  timed(
    '6.6 a rule of a task type takes the place of the general rule',
    async (scene) => {
      const kept = await done(scene, { type: 'audit' })
      const brief = await done(scene, { type: 'ping' })
      const other = await done(scene)
      await done(scene)
      await scene.pass(5_000)
      expect(await pruned(scene)).toEqual({ ...none, completed: 1 })
      expect(await scene.read({ kind: 'task', taskId: brief })).toBeUndefined()
      await scene.pass(60_000)
      await done(scene)
      expect(await pruned(scene)).toEqual({ ...none, completed: 2 })
      expect(await scene.state(kept)).toBe('completed')
      expect(await scene.read({ kind: 'task', taskId: other })).toBeUndefined()
    },
    {
      config: {
        retention: {
          completed: { ageMs: 60_000 },
          types: { audit: { completed: 'forever' }, ping: { completed: { ageMs: 5_000 } } },
        },
      },
    },
  )

  timed(
    '6.6 an idempotency key finds its task for as long as keysMs says, and is free afterwards',
    async (scene) => {
      const key = { idempotencyKey: 'order-1' }
      const first = await done(scene, key)
      await young(scene)
      await scene.pass(100_000)
      expect(await pruned(scene)).toEqual(none)
      expect(await scene.submit(key)).toMatchObject({ accepted: true, taskId: first })
      await scene.pass(100_000)
      expect(await pruned(scene)).toEqual({ ...none, completed: 1 })
      const again = await scene.submit(key)
      expect(again).toMatchObject({ accepted: true })
      expect(again.accepted && again.taskId).not.toBe(first)
    },
    { config: { retention: { ...config.retention, keysMs: 200_000 } } },
  )

  timed(
    '6.6 children go after their parent, never before it, and a parent not before its children ended',
    async (scene) => {
      const parent = await scene.running()
      const { leaseId } = parent
      const submission = { type: 'child', lane: 'normal', input: 'null' } as const
      const spawned = await scene.write({
        kind: 'spawn',
        leaseId,
        key: 'child',
        position: 0,
        policy: 'abandon',
        submission,
      })
      if (spawned.fenced === 'stale' || spawned.as !== 'spawned') throw new Error('not spawned')
      const child = spawned.child.taskId
      await scene.settle(parent)
      await young(scene)
      await scene.pass(60_000)
      expect(await pruned(scene)).toEqual(none)
      await scene.cancel(child)
      await scene.pass(10_000)
      // Both in one commit: the parent first.
      expect(await pruned(scene)).toEqual({ ...none, completed: 1, canceled: 1 })
      expect(await scene.read({ kind: 'task', taskId: parent.taskId })).toBeUndefined()
      expect(await scene.read({ kind: 'task', taskId: child })).toBeUndefined()
    },
    { config },
  )

  timed(
    '6.6 a task that changes in the same commit stays, and a task that was deleted is unknown',
    async (scene) => {
      const old = await done(scene)
      await young(scene)
      await scene.pass(60_000)
      expect(await pruned(scene)).toEqual({ ...none, completed: 1 })
      expect(await scene.cancel(old)).toEqual({ canceled: false })
      expect(await scene.write({ kind: 'signal', taskId: old, name: 'x', value: 'null' })).toMatchObject({
        delivered: false,
      })
    },
    { config },
  )

  timed(
    '6.6 values that were moved out of their events go with the last task that holds them',
    async (scene) => {
      const input = JSON.stringify('x'.repeat(200))
      const first = await done(scene, { input })
      await scene.pass(60_000)
      const second = await scene.running({ input })
      expect(await pruned(scene)).toEqual({ ...none, completed: 1 })
      expect(await scene.read({ kind: 'task', taskId: first })).toBeUndefined()
      const [queued] = await scene.history(second.taskId)
      expect(queued?.data).toContain('xxx')
    },
    { config: { ...config, maxInlineBytes: 100 } },
  )
}
