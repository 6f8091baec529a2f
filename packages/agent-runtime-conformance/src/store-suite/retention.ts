import type { Claim, PerState } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function retention({ rule, timed, expect }: Suite): void {
  const config = {
    retention: { completed: { ageMs: 60_000 }, failed: 'forever', canceled: { ageMs: 10_000 } },
  } as const
  const none: PerState = { completed: 0, failed: 0, canceled: 0 }
  /** A young task, so that none of the others is the newest or has the newest lease. */
  async function young(scene: Scene): Promise<void> {
    await scene.running({ type: 'young' })
  }

  async function done(scene: Scene, more: Parameters<Scene['running']>[0] = {}): Promise<string> {
    const claim = await scene.running(more)
    await scene.settle(claim)
    return claim.taskId
  }

  async function spawned(scene: Scene, { leaseId }: Claim, key = 'child'): Promise<string> {
    const submission = { type: 'child', lane: 'normal', input: 'null' } as const
    const spawn = { kind: 'spawn', leaseId, key, position: 0, policy: 'abandon', submission } as const
    const outcome = await scene.write(spawn)
    if (outcome.fenced === 'stale' || outcome.as !== 'spawned') throw new Error('not spawned')
    return outcome.child.taskId
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
      expect(await scene.prune()).toEqual({ ...none, canceled: 1 })
      expect(await scene.state(old)).toBe('completed')
      await scene.pass(1)
      expect(await scene.prune(true)).toEqual({ ...none, completed: 1 })
      expect(await scene.state(old)).toBe('completed')
      expect(await scene.prune()).toEqual({ ...none, completed: 1 })
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
      expect(await scene.prune()).toEqual({ ...none, completed: 1 })
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
    expect(await scene.prune()).toEqual(none)
  })

  rule(
    '6.6 the oldest above a count are deleted, and the newest task never',
    async (scene) => {
      const ids: string[] = []
      for (let n = 0; n < 5; n++) ids.push(await done(scene))
      expect(await scene.prune(true)).toEqual({ ...none, completed: 3 })
      expect(await scene.prune()).toEqual({ ...none, completed: 3 })
      const { taskIds } = await scene.read({ kind: 'taskIds', filter: {} })
      expect(taskIds).toEqual([ids[4], ids[3]])
      await done(scene)
      expect(await scene.prune()).toEqual({ ...none, completed: 1 })
      expect(await scene.prune()).toEqual(none)
    },
    { config: { retention: { completed: { count: 2 } } } },
  )

  rule(
    '6.6 each final state has a count of its own',
    async (scene) => {
      for (let n = 0; n < 3; n += 1) {
        await done(scene)
        await scene.settle(await scene.running(), { as: 'failed', kind: 'error', error: '{}' })
      }
      await young(scene)
      expect(await scene.prune()).toEqual({ ...none, completed: 1, failed: 1 })
      expect(await scene.prune()).toEqual(none)
    },
    { config: { retention: { completed: { count: 2 }, failed: { count: 2 } } } },
  )

  rule(
    '6.6 passes that meet in one commit delete each task once, and no more than the rule allows',
    async (scene) => {
      for (let n = 0; n < 10; n += 1) await done(scene)
      await young(scene)
      const due = await scene.due()
      expect(due.tasks).toHaveLength(7)
      // The third has come further than the others.
      const answers = await Promise.all(
        [due.tasks, due.tasks, due.tasks.slice(5)].map((tasks) =>
          scene.write({ kind: 'prune', ...due, tasks }),
        ),
      )
      const sums = answers.map(({ pruned: { completed } }) => completed)
      expect(sums).toEqual([7, 0, 0])
      // One that comes late knows no more than before.
      expect(await scene.write({ kind: 'prune', ...due })).toMatchObject({ pruned: none })
      expect((await scene.stats()).deleted).toMatchObject({ completed: 7 })
      expect(scene.failures).toEqual([])
    },
    { config: { retention: { completed: { count: 3 } } } },
  )

  timed(
    '6.6 a count of a task type counts its tasks alone, and the general count those of the other types',
    async (scene) => {
      const ofType = new Map<string, string[]>([
        ['audit', []],
        ['ping', []],
        ['work', []],
        ['mail', []],
      ])
      for (let n = 0; n < 4; n += 1) for (const [type, ids] of ofType) ids.push(await done(scene, { type }))
      const last = await done(scene, { type: 'ping' })
      await young(scene)
      const left = async (type: string) => {
        const { taskIds } = await scene.read({
          kind: 'taskIds',
          filter: { types: [type], states: ['completed'] },
        })
        return taskIds.toReversed()
      }
      expect(await scene.prune(true)).toEqual({ ...none, completed: 5 + 4 })
      expect(await scene.prune()).toEqual({ ...none, completed: 5 + 4 })
      expect(await left('audit')).toEqual(ofType.get('audit'))
      expect(await left('ping')).toEqual([last])
      // Mail and work together: three.
      expect(await left('mail')).toEqual(ofType.get('mail')?.slice(2))
      expect(await left('work')).toEqual(ofType.get('work')?.slice(3))
      expect(await scene.prune()).toEqual(none)
      await scene.pass(10_000)
      expect(await scene.prune()).toEqual({ ...none, completed: 1 })
      expect(await left('ping')).toEqual([])
    },
    {
      config: {
        retention: {
          completed: { count: 3 },
          types: { audit: { completed: 'forever' }, ping: { completed: { count: 1, ageMs: 10_000 } } },
        },
      },
    },
  )

  rule(
    '6.6 a task that another rule keeps takes no place of the newest: those are kept beside it',
    async (scene) => {
      const ids: string[] = []
      for (const idempotencyKey of ['a', 'b', undefined, undefined, undefined])
        ids.push(await done(scene, idempotencyKey === undefined ? {} : { idempotencyKey }))
      expect(await scene.prune()).toEqual({ ...none, completed: 1 })
      const { taskIds } = await scene.read({ kind: 'taskIds', filter: {} })
      expect(taskIds.toReversed()).toEqual(ids.filter((_, n) => n !== 2))
    },
    { config: { retention: { completed: { count: 2 } } } },
  )

  rule(
    '6.6 a count under other rules deletes no more than those in force allow',
    async (scene) => {
      for (let n = 0; n < 4; n += 1) await done(scene)
      for (let n = 0; n < 4; n += 1) await done(scene, { type: 'audit' })
      await young(scene)
      const { tasks } = await scene.due()
      expect(tasks).toHaveLength(2)
      const all = [1, 2, 3, 4]
      const prune = (newest: object) =>
        scene.write({
          kind: 'prune',
          tasks: all,
          newest: [{ state: 'completed', count: 2, from: 9, ...newest }],
        })
      // Audits were among them; fewer were to be kept; it was another state, or another type.
      for (const other of [
        {},
        { except: ['audit'], count: 1 },
        { except: ['audit'], state: 'failed' },
        { type: 'audit' },
      ])
        expect(await prune(other)).toEqual({ pruned: none, looked: 4 })
      // With fewer types, or more tasks, it holds all the more.
      expect(await prune({ except: ['audit', 'mail'], count: 3, from: 2 })).toMatchObject({
        pruned: { ...none, completed: 1 },
      })
    },
    { config: { retention: { completed: { count: 2 }, types: { audit: { completed: 'forever' } } } } },
  )

  timed(
    '6.6 a rule of a task type takes the place of the general rule',
    async (scene) => {
      const kept = await done(scene, { type: 'audit' })
      const brief = await done(scene, { type: 'ping' })
      const other = await done(scene)
      await done(scene)
      await scene.pass(5_000)
      expect(await scene.prune()).toEqual({ ...none, completed: 1 })
      expect(await scene.read({ kind: 'task', taskId: brief })).toBeUndefined()
      await scene.pass(60_000)
      await done(scene)
      expect(await scene.prune()).toEqual({ ...none, completed: 2 })
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
      expect(await scene.prune()).toEqual(none)
      expect(await scene.submit(key)).toMatchObject({ accepted: true, taskId: first })
      await scene.pass(100_000)
      expect(await scene.prune()).toEqual({ ...none, completed: 1 })
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
      const child = await spawned(scene, parent)
      await scene.settle(parent)
      await young(scene)
      await scene.pass(60_000)
      expect(await scene.prune()).toEqual(none)
      await scene.cancel(child)
      await scene.pass(10_000)
      // Both in one commit: the parent first.
      expect(await scene.prune()).toEqual({ ...none, completed: 1, canceled: 1 })
      expect(await scene.read({ kind: 'task', taskId: parent.taskId })).toBeUndefined()
      expect(await scene.read({ kind: 'task', taskId: child })).toBeUndefined()
    },
    { config },
  )

  timed(
    '6.6 a pass names no task of a family that stays, and each of a family that goes, from above',
    async (scene) => {
      const family = async (more = {}) => {
        const root = await scene.running(more)
        for (const key of ['one', 'two']) await scene.cancel(await spawned(scene, root, key))
        return root
      }
      // It runs on.
      await family()
      const withOpenChild = await family()
      const keptByRule = await family()
      const withKey = await family({ idempotencyKey: 'k' })
      const goes = await family()
      const open = await spawned(scene, withOpenChild, 'open')
      await scene.settle(keptByRule, { as: 'failed', kind: 'error', error: '{}' })
      for (const root of [withOpenChild, withKey, goes]) await scene.settle(root)
      await young(scene)
      await scene.pass(60_000)
      expect((await scene.due()).tasks).toEqual([13, 14, 15])
      await scene.cancel(open)
      await scene.pass(10_000)
      expect((await scene.due()).tasks).toEqual([4, 5, 6, 13, 14, 15, 16])
      expect(await scene.prune()).toEqual({ ...none, completed: 2, canceled: 5 })
      expect((await scene.due()).tasks).toEqual([])
      await scene.pass(10_000)
      expect((await scene.due()).tasks).toEqual([10, 11, 12])
    },
    { config: { retention: { ...config.retention, keysMs: 80_000 } } },
  )

  timed(
    '6.6 a task that changes in the same commit stays, and a task that was deleted is unknown',
    async (scene) => {
      const old = await done(scene)
      await young(scene)
      await scene.pass(60_000)
      expect(await scene.prune()).toEqual({ ...none, completed: 1 })
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
      expect(await scene.prune()).toEqual({ ...none, completed: 1 })
      expect(await scene.read({ kind: 'task', taskId: first })).toBeUndefined()
      const [queued] = await scene.history(second.taskId)
      expect(queued?.data).toContain('xxx')
    },
    { config: { ...config, maxInlineBytes: 100 } },
  )
}
