import {
  childName,
  type ChildPolicy,
  type OutcomeOf,
  type Claim,
  type Submission,
  type WaitRequest,
} from '@ku0/agent-runtime-core'
import { type Scene, submission } from './scene.ts'
import type { Suite } from './suite.ts'

interface Spawning extends Partial<Submission> {
  readonly policy?: ChildPolicy
  readonly position?: number
}

export function children({ rule, timed, expect }: Suite): void {
  const spawn = (
    scene: Scene,
    { leaseId }: Claim,
    key: string,
    { policy = 'cancel', position = 0, ...task }: Spawning = {},
  ): Promise<OutcomeOf<'spawn'>> => {
    const { idempotencyKey: _, forkOf: __, parentId: ___, ...rest } = submission({ type: 'child', ...task })
    return scene.write({ kind: 'spawn', leaseId, key, position, policy, submission: rest })
  }
  const spawned = async (scene: Scene, claim: Claim, key: string, task: Spawning = {}): Promise<string> => {
    const outcome = await spawn(scene, claim, key, task)
    if (outcome.fenced === 'stale' || outcome.as !== 'spawned')
      throw new Error(`not spawned: ${JSON.stringify(outcome)}`)
    return outcome.child.taskId
  }
  const end = (key: string, position = 0): WaitRequest => ({
    key: childName(key),
    position,
    kind: 'child',
    name: childName(key),
  })
  const suspend = (scene: Scene, { leaseId }: Claim, waits: readonly WaitRequest[], stay = false) =>
    scene.write({ kind: 'suspend', leaseId, waits, stay })
  const lastOf = async (scene: Scene, taskId: string) =>
    JSON.parse((await scene.history(taskId)).at(-1)?.data ?? '{}') as Record<string, unknown>

  /** A parent that runs, and a worker for its children. */
  async function family(scene: Scene, ...keys: readonly string[]): Promise<[Claim, ...string[]]> {
    const parent = await scene.running({ type: 'parent' })
    const ids = []
    for (const key of keys) ids.push(await spawned(scene, parent, key))
    return [parent, ...ids]
  }

  rule('5.5 a child is a task with a parent, and a memo of its parent', async (scene) => {
    const [parent, child = ''] = await family(scene, 'a')
    expect(await scene.task(child)).toMatchObject({ state: 'queued', type: 'child', parent: parent.taskId })
    expect(await scene.eventTypes(parent.taskId)).toEqual(['task.queued', 'task.started', 'child.spawned'])
    expect(await lastOf(scene, parent.taskId)).toEqual({
      key: 'a',
      policy: 'cancel',
      position: 0,
      taskId: child,
      type: 'child',
    })
    const { children: memos } = await scene.read({ kind: 'memos', taskId: parent.taskId })
    expect(memos).toEqual([{ key: 'a', policy: 'cancel', position: 0, taskId: child, type: 'child', seq: 3 }])
  })

  rule(
    '5.5 B18 a key has one child: asked again, the store answers with it and writes nothing',
    async (scene) => {
      const [parent, child = ''] = await family(scene, 'a')
      expect(await spawn(scene, parent, 'a', { type: 'other' })).toMatchObject({
        as: 'spawned',
        child: { taskId: child, type: 'child' },
      })
      expect((await scene.stats()).totals.submitted).toBe(2)
      await scene.cancel(parent.taskId)
      expect(await spawn(scene, parent, 'b')).toEqual({ fenced: 'stale' })
    },
  )

  rule(
    '5.5 a submission that is refused is a record; the key stays free',
    async (scene) => {
      const [parent] = await family(scene)
      const refused = { reason: 'invalid_payload', message: 'no' } as const
      const outcome = await spawn(scene, parent, 'a', { refused })
      expect(outcome).toMatchObject({
        as: 'refused',
        receipt: { accepted: false, reason: 'invalid_payload', message: 'no' },
      })
      expect((await scene.stats()).totals.rejected).toBe(1)
      expect(await scene.eventTypes(parent.taskId)).toHaveLength(2)
      await spawned(scene, parent, 'a')
      await spawned(scene, parent, 'b')
      expect(await spawn(scene, parent, 'c')).toEqual({ fenced: 'ok', as: 'full' })
    },
    { config: { maxChildren: 2 } },
  )

  rule(
    '5.5 a child that stands in line is no record as long as there is no room, and ends its wait when there is',
    async (scene) => {
      const [parent] = await family(scene)
      const { leaseId } = parent
      const { idempotencyKey: _, ...task } = submission({ type: 'child' })
      const inLine = (key: string, more: object = {}) =>
        scene.write({
          kind: 'spawn',
          leaseId,
          key,
          position: 0,
          policy: 'cancel',
          submission: { ...task, ...more },
          inLine: true,
          drops: '$ku0/retry/1/b',
        })
      expect(await inLine('a')).toMatchObject({ as: 'spawned' })
      expect(await inLine('b')).toEqual({ fenced: 'ok', as: 'no_room' })
      expect((await scene.stats()).totals).toMatchObject({ submitted: 2, rejected: 0 })
      const wait: WaitRequest = { key: '$ku0/retry/1/b', position: 0, kind: 'timer', delayMs: 100 }
      await suspend(scene, parent, [wait], true)
      await scene.worker('other', 1, ['child'])
      const child = await scene.claim()
      await scene.settle(child, { as: 'completed', output: '1' })
      expect(await inLine('b')).toMatchObject({ as: 'spawned' })
      expect(await lastOf(scene, parent.taskId)).toMatchObject({ key: 'b', dropped: [wait.key] })
      expect((await scene.read({ kind: 'memos', taskId: parent.taskId })).open).toEqual([])
      const refused = { reason: 'invalid_payload', message: 'no' } as const
      expect(await inLine('c', { refused })).toMatchObject({ as: 'refused' })
      expect((await scene.stats()).totals.rejected).toBe(1)
    },
    { config: { queueDepthLimit: 1, batchBackpressureThreshold: 1 } },
  )

  rule(
    '5.5 a child that there will never be room for is refused, also in line: the parent has the only place of its quota',
    async (scene) => {
      const parent = await scene.running({ type: 'parent', model: 'one' })
      const { idempotencyKey: _, ...task } = submission({ type: 'child' })
      const inLine = (key: string, more: object) =>
        scene.write({
          kind: 'spawn',
          leaseId: parent.leaseId,
          key,
          position: 0,
          policy: 'cancel',
          submission: { ...task, ...more },
          inLine: true,
        })
      expect(await inLine('a', { model: 'one' })).toMatchObject({
        as: 'refused',
        receipt: {
          reason: 'quota_exceeded',
          forGood: true,
          message:
            "quota model:one allows one task in flight, and the parent is that task; raise maxInFlight, or set onExceeded to 'defer'",
        },
      })
      expect(await inLine('b', { model: 'few', tokens: 11 })).toMatchObject({ as: 'refused' })
      expect(await inLine('c', { model: 'few', tokens: 10 })).toMatchObject({ as: 'spawned' })
      expect(await inLine('d', { model: 'few', tokens: 10 })).toMatchObject({ as: 'no_room' })
      expect(await inLine('e', { model: 'other' })).toMatchObject({ as: 'spawned' })
      expect(await inLine('f', { model: 'other' })).toMatchObject({ as: 'no_room' })
    },
    {
      config: {
        quotaConfig: {
          models: { one: { maxInFlight: 1 }, few: { tokensPerWindow: 10 }, other: { maxInFlight: 1 } },
        },
      },
    },
  )

  rule('1.1 5.5 a parent that waits for its child goes on when that ends, with its output', async (scene) => {
    const [parent, child = ''] = await family(scene, 'a')
    expect(await suspend(scene, parent, [end('a')])).toEqual({ fenced: 'ok', suspended: true, resolved: [] })
    expect(await scene.task(parent.taskId)).toMatchObject({ state: 'waiting', waitingFor: 'children' })
    expect(await scene.read({ kind: 'explain', taskId: parent.taskId })).toMatchObject({
      summary: `waits for the child 'a' (task ${child}, queued); no worker runs type child`,
      reason: 'children',
    })
    scene.free(parent.workerId)
    await scene.worker('other', 1, ['child'])
    const claim = await scene.claim()
    expect(claim.taskId).toBe(child)
    await scene.settle(claim, { as: 'completed', output: '42' })
    expect((await scene.claim()).taskId).toBe(parent.taskId)
    const { waits } = await scene.read({ kind: 'memos', taskId: parent.taskId })
    expect(waits).toMatchObject([
      { key: childName('a'), kind: 'child', outcome: 'received', value: '{"output":42,"state":"completed"}' },
    ])
    expect((await scene.eventTypes(parent.taskId)).slice(3)).toEqual([
      'task.waiting',
      'child.ended',
      'task.resumed',
      'task.started',
    ])
  })

  rule('5.5 an end that came before it is waited for is kept', async (scene) => {
    const [parent] = await family(scene, 'a')
    await scene.worker('other', 1, ['child'])
    const error = '{"message":"broken","name":"Error"}'
    await scene.settle(await scene.claim(), { as: 'failed', kind: 'error', error })
    expect(await lastOf(scene, parent.taskId)).toMatchObject({ key: 'a', state: 'failed' })
    expect(await suspend(scene, parent, [end('a')])).toMatchObject({
      suspended: false,
      resolved: [
        {
          outcome: 'received',
          value: '{"error":{"message":"broken","name":"Error"},"kind":"error","state":"failed"}',
        },
      ],
    })
    expect(await scene.settle(parent)).toBe('ok')
  })

  rule(
    '5.5, 7.5 a large output is handed on by reference, not copied',
    async (scene) => {
      const [parent] = await family(scene, 'a')
      await scene.worker('other', 1, ['child'])
      const output = JSON.stringify('x'.repeat(500))
      await scene.settle(await scene.claim(), { as: 'completed', output })
      expect(await suspend(scene, parent, [end('a')])).toMatchObject({
        resolved: [{ value: `{"output":${output},"state":"completed"}` }],
      })
      const { waits } = await scene.read({ kind: 'memos', taskId: parent.taskId })
      expect(waits).toMatchObject([{ value: `{"output":${output},"state":"completed"}` }])
    },
    { config: { maxInlineBytes: 100 } },
  )

  for (const how of ['canceled', 'completed', 'failed'] as const)
    rule(`5.5 I22 a parent that is ${how} takes its children with it, the deepest first`, async (scene) => {
      const [parent, child = ''] = await family(scene, 'a')
      await scene.worker('other', 1, ['child'])
      const claim = await scene.claim()
      const grandchild = await spawned(scene, claim, 'b', { type: 'grandchild' })
      await suspend(scene, claim, [end('b')])
      const free = await spawned(scene, parent, 'free', { type: 'grandchild', policy: 'abandon' })
      if (how === 'canceled') await scene.cancel(parent.taskId, 'enough')
      else
        await scene.settle(
          parent,
          how === 'completed'
            ? { as: 'completed', output: '1' }
            : { as: 'failed', kind: 'error', error: '{"message":"m","name":"Error"}' },
        )
      expect(await scene.state(parent.taskId)).toBe(how)
      const reason = how === 'canceled' ? 'its parent was canceled: enough' : `its parent has ${how}`
      expect(await scene.task(child)).toMatchObject({ state: 'canceled', reason })
      expect(await scene.task(grandchild)).toMatchObject({ state: 'canceled', reason })
      expect(await scene.state(free)).toBe('queued')
      expect(await scene.eventTypes(parent.taskId)).not.toContain('child.ended')
      expect(await scene.eventTypes(child)).not.toContain('child.ended')
      expect((await scene.stats()).waiting).toBe(0)
    })

  rule('5.5 E08 a cancel reaches the handlers of children that run, and no other starts', async (scene) => {
    const [parent] = await family(scene, ...Array.from({ length: 50 }, (_, index) => `c${index}`))
    await scene.worker('other', 2, ['child'])
    const [one, two] = [await scene.claim(), await scene.claim()]
    await scene.cancel(parent.taskId, 'stop')
    expect(scene.notices.map(({ verdict, taskId }) => [verdict, taskId])).toEqual([
      ['canceled', one.taskId],
      ['canceled', two.taskId],
      ['canceled', parent.taskId],
    ])
    expect((await scene.stats()).totals.canceled).toBe(51)
    scene.free('other', 2)
    expect(await scene.hasClaim()).toBe(false)
    expect(await scene.settle(one)).toBe('stale')
  })

  timed(
    '5.5 a parent that is poisoned takes its children with it, and tells its own parent',
    async (scene) => {
      const [root] = await family(scene, 'a')
      await suspend(scene, root, [end('a')])
      await scene.worker('other', 1, ['child'])
      const child = await scene.claim()
      const grandchild = await spawned(scene, child, 'b', { type: 'grandchild' })
      await scene.write({ kind: 'removeWorkers', workerIds: [] })
      await scene.jump(40_000)
      expect(await scene.task(child.taskId)).toMatchObject({ state: 'failed', kind: 'poisoned' })
      expect(await scene.state(grandchild)).toBe('canceled')
      expect((await scene.eventTypes(root.taskId)).slice(4)).toEqual(['child.ended', 'task.resumed'])
    },
    { config: { maxCrashes: 1 } },
  )

  rule('5.5 a child that is canceled by itself ends its wait, the parent goes on', async (scene) => {
    const [parent, child = ''] = await family(scene, 'a')
    await suspend(scene, parent, [end('a')])
    await scene.cancel(child, 'not now')
    const { waits } = await scene.read({ kind: 'memos', taskId: parent.taskId })
    expect(waits).toMatchObject([{ value: '{"reason":"not now","state":"canceled"}' }])
    expect(await scene.state(parent.taskId)).toBe('queued')
  })

  rule('12.3 a decision cancels and forgets the children of the losers, in its own commit', async (scene) => {
    const [parent, lost = '', kept = ''] = await family(scene, 'lost', 'kept')
    const free = await spawned(scene, parent, 'free', { policy: 'abandon' })
    await suspend(scene, parent, [end('lost'), end('kept')], true)
    const { leaseId } = parent
    await scene.write({
      kind: 'recordStep',
      leaseId,
      key: 'race',
      position: 0,
      durationMs: 1,
      result: '1',
      drops: [childName('lost')],
      dropsChildren: ['lost', 'free', 'unknown'],
    })
    expect(await scene.task(lost)).toMatchObject({ state: 'canceled', reason: 'its branch was given up' })
    expect([await scene.state(kept), await scene.state(free)]).toEqual(['queued', 'queued'])
    expect(await lastOf(scene, parent.taskId)).toMatchObject({
      dropped: [childName('lost')],
      droppedChildren: ['lost'],
    })
    const again = await spawned(scene, parent, 'lost')
    expect(again === lost).toBe(false)
    const { children: memos } = await scene.read({ kind: 'memos', taskId: parent.taskId })
    expect(memos.map(({ key, taskId }) => [key, taskId])).toEqual([
      ['kept', kept],
      ['free', free],
      ['lost', again],
    ])
  })

  rule('6.3 a fork has the children that completed, and spawns the others again', async (scene) => {
    const [parent] = await family(scene, 'done', 'failed', 'open')
    await scene.worker('other', 2, ['child'])
    await scene.settle(await scene.claim(), { as: 'completed', output: '7' })
    await scene.settle(await scene.claim(), {
      as: 'failed',
      kind: 'error',
      error: '{"message":"m","name":"Error"}',
    })
    await suspend(scene, parent, [end('done')])
    await scene.cancel(parent.taskId)
    scene.free(parent.workerId)
    const fork = await scene.write({
      kind: 'fork',
      taskId: parent.taskId,
      edits: {},
      onlyOver: true,
      change: {},
    })
    if (fork.as !== 'submitted') throw new Error(fork.as)
    const { taskId } = fork.receipt
    expect((await scene.eventTypes(taskId)).slice(0, 3)).toEqual([
      'task.queued',
      'child.inherited',
      'child.ended',
    ])
    const claim = await scene.claim()
    expect(claim.taskId).toBe(taskId)
    const { children: memos } = await scene.read({ kind: 'memos', taskId })
    expect(memos.map(({ key }) => key)).toEqual(['done'])
    expect(await suspend(scene, claim, [end('done')], true)).toMatchObject({
      resolved: [{ value: '{"output":7,"state":"completed"}' }],
    })
    await spawned(scene, claim, 'failed')
  })

  rule('6.3 a child that is forked by itself has no parent', async (scene) => {
    const [, child = ''] = await family(scene, 'a')
    await scene.cancel(child)
    const fork = await scene.write({ kind: 'fork', taskId: child, edits: {}, onlyOver: true, change: {} })
    if (fork.as !== 'submitted') throw new Error(fork.as)
    expect((await scene.task(fork.receipt.taskId)).parent).toBeUndefined()
  })

  rule('the children of a task can be listed', async (scene) => {
    const [parent, a, b] = await family(scene, 'a', 'b')
    await scene.accepted({ type: 'child' })
    const list = async (filter: object) =>
      (await scene.read({ kind: 'tasks', filter })).tasks.map(({ taskId }) => taskId)
    expect(await list({ parent: parent.taskId })).toEqual([b, a])
    expect(await list({ parent: parent.taskId, states: ['running'] })).toEqual([])
    expect(await list({ parent: 'nobody' })).toEqual([])
  })
}
