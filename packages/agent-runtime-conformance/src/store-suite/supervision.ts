import {
  type ChildRestart,
  type Claim,
  SUPERVISOR_NAME,
  supervisedKey,
  supervisorKey,
  type SupervisorTerms,
} from '@ku0/agent-runtime-core'
import { type Scene, submission } from './scene.ts'
import type { SceneOptions, Suite } from './suite.ts'

interface Supervising extends Partial<SupervisorTerms> {
  /** By id, in order: when it is started again; those of type `super` are supervisors. */
  readonly children: Readonly<Record<string, ChildRestart>>
}

const error = '{"message":"broken","name":"Error"}'
const failed = { as: 'failed', kind: 'error', error } as const
const slots = 20

/** The suite's rules, on a worker that has room for all. */
export function supervision({ rule: anyRule, timed: anyTimed, expect }: Suite): void {
  const rule: Suite['rule'] = (title, body, options = {}) => anyRule(title, body, roomy(options))
  const timed: Suite['timed'] = (title, body, options = {}) => anyTimed(title, body, roomy(options))

  /** A supervisor that waits, and the claims of its children by id: each child runs, those of `super` too. */
  async function supervised(scene: Scene, it: Supervising): Promise<Tree> {
    await scene.worker('w', slots)
    const taskId = await scene.accepted({ type: 'super' })
    return begin(scene, await scene.claim(), taskId, it)
  }

  async function begin(scene: Scene, claim: Claim, taskId: string, it: Supervising): Promise<Tree> {
    const {
      children,
      strategy = 'one_for_one',
      maxRestarts = 2,
      periodMs = 1_000,
      endsWith = 'children',
    } = it
    const key = supervisorKey({ strategy, maxRestarts, periodMs, endsWith })
    const wait = { key, position: 0, kind: 'signal', name: SUPERVISOR_NAME } as const
    const { leaseId } = claim
    await scene.write({ kind: 'suspend', leaseId, waits: [wait], stay: true })
    const claims: Record<string, Claim> = {}
    const ids: Record<string, string> = {}
    for (const [position, [id, restart]] of Object.entries(children).entries()) {
      const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ type: id })
      const outcome = await scene.write({
        kind: 'spawn',
        leaseId,
        key: supervisedKey({ id, restart }),
        position: position + 1,
        policy: 'cancel',
        submission: task,
      })
      if (outcome.fenced !== 'ok' || outcome.as !== 'spawned') throw new Error(JSON.stringify(outcome))
      ids[id] = outcome.child.taskId
      claims[id] = await scene.claim()
    }
    await scene.write({ kind: 'suspend', leaseId, waits: [wait], stay: false })
    scene.free('w')
    return { taskId, claims, ids }
  }

  const view = async (scene: Scene, taskId: string) =>
    (await scene.read({ kind: 'supervisor', taskId }))?.children.map(({ id, state }) => `${id} ${state}`)
  const fail = async (scene: Scene, claim: Claim | undefined) => {
    if (claim === undefined) throw new Error('no claim')
    expect(await scene.settle(claim, failed)).toBe('ok')
    scene.free('w')
  }
  const told = async (scene: Scene, taskId: string, type: string) =>
    (await scene.history(taskId)).flatMap((it) => (it.type === type ? [JSON.parse(it.data) as unknown] : []))

  rule(
    '14.2 a supervisor holds no slot, and starts a child that failed again in the commit of its end',
    async (scene) => {
      const { taskId, claims, ids } = await supervised(scene, {
        children: { a: 'transient', b: 'transient' },
      })
      expect(await scene.task(taskId)).toMatchObject({ state: 'waiting', waitingFor: 'signal' })
      await scene.step(claims['a'] as Claim, 'once', '1')
      await fail(scene, claims['a'])
      const again = await scene.claim()
      expect(again).toMatchObject({ taskId: ids['a'], attempt: 2 })
      expect(await told(scene, ids['a'] ?? '', 'task.requeued')).toMatchObject([
        { reason: 'retry', restartedBy: taskId, error: { message: 'broken' } },
      ])
      expect(await told(scene, taskId, 'supervisor.restarted')).toEqual([
        { child: 'a', count: 1, stopped: [], strategy: 'one_for_one' },
      ])
      expect(await scene.task(ids['a'] ?? '')).toMatchObject({ steps: 1 })
      expect(await view(scene, taskId)).toEqual(['a running', 'b running'])
    },
  )

  rule(
    '14.2 a settlement that started its task again and is said twice gets the first answer',
    async (scene) => {
      const { claims } = await supervised(scene, { children: { a: 'transient' } })
      await fail(scene, claims['a'])
      expect(await scene.settle(claims['a'] as Claim, failed)).toBe('ok')
      expect(await scene.settle(claims['a'] as Claim, { ...failed, error: '{"message":"other"}' })).toBe(
        'stale',
      )
    },
  )

  for (const [strategy, stopped, kept] of [
    ['one_for_all', ['c', 'a'], []],
    ['rest_for_one', ['c'], ['a']],
  ] as const)
    rule(`14.1 ${strategy} takes the others back, the last one first`, async (scene) => {
      const children = { a: 'transient', b: 'transient', c: 'transient' } as const
      const { taskId, claims, ids } = await supervised(scene, { strategy, children })
      await fail(scene, claims['b'])
      expect(await told(scene, taskId, 'supervisor.restarted')).toEqual([
        { child: 'b', count: 1, stopped, strategy },
      ])
      const lost = scene.notices.map((notice) => [notice.taskId, notice.verdict])
      expect(lost).toEqual(stopped.map((id) => [ids[id], 'lost']))
      for (const id of stopped) {
        expect(await scene.settle(claims[id] as Claim)).toBe('stale')
        expect(await told(scene, ids[id] ?? '', 'task.requeued')).toMatchObject([
          { reason: 'restarted', attempt: 1, restartedBy: taskId },
        ])
      }
      for (const id of kept) expect(await scene.settle(claims[id] as Claim)).toBe('ok')
    })

  rule(
    '14.1 a temporary child is not started again, and ends with a restart of the others',
    async (scene) => {
      const children = { a: 'transient', b: 'temporary', c: 'temporary' } as const
      const { taskId, claims, ids } = await supervised(scene, { strategy: 'one_for_all', children })
      await fail(scene, claims['c'])
      expect(await view(scene, taskId)).toEqual(['a running', 'b running'])
      await fail(scene, claims['a'])
      expect(await scene.state(ids['b'] ?? '')).toBe('canceled')
    },
  )

  rule('14.1 a permanent child that completes is started again, as another task', async (scene) => {
    const { taskId, claims, ids } = await supervised(scene, { children: { a: 'permanent' } })
    await scene.step(claims['a'] as Claim, 'once', '1')
    expect(await scene.settle(claims['a'] as Claim)).toBe('ok')
    scene.free('w')
    const anew = await scene.claim()
    expect(anew.taskId).not.toBe(ids['a'])
    expect(await scene.task(anew.taskId)).toMatchObject({ parent: taskId, steps: 0, attempt: 1 })
    expect(await view(scene, taskId)).toEqual(['a running'])
  })

  timed(
    '14.2 a restart counts up to the end of the period: one more than the maximum ends the supervisor',
    async (scene) => {
      const { taskId, claims, ids } = await supervised(scene, {
        children: { a: 'transient', b: 'transient', c: 'transient' },
      })
      await fail(scene, claims['a'])
      const second = await scene.claim()
      await scene.pass(1_000)
      await fail(scene, second)
      await fail(scene, await scene.claim())
      expect(await scene.task(taskId)).toMatchObject({ state: 'failed', kind: 'escalated' })
      expect(await told(scene, taskId, 'task.failed')).toMatchObject([
        { error: { code: 'escalated', details: { child: 'a', restarts: 2 }, cause: { message: 'broken' } } },
      ])
      expect(await scene.state(ids['a'] ?? '')).toBe('failed')
      expect([await scene.state(ids['b'] ?? ''), await scene.state(ids['c'] ?? '')]).toEqual([
        'canceled',
        'canceled',
      ])
    },
  )

  timed('14.2 and does not count one ms later', async (scene) => {
    const { taskId, claims } = await supervised(scene, { children: { a: 'transient' } })
    await fail(scene, claims['a'])
    await scene.pass(1_001)
    await fail(scene, await scene.claim())
    await fail(scene, await scene.claim())
    expect(await scene.state(taskId)).toBe('waiting')
    expect(await told(scene, taskId, 'supervisor.restarted')).toMatchObject([
      { count: 1 },
      { count: 1 },
      { count: 2 },
    ])
    expect((await scene.read({ kind: 'supervisor', taskId }))?.restartedAt).toEqual([scene.now, scene.now])
  })

  rule(
    '14.2 a supervisor that failed starts again with all it supervises, in the same commit',
    async (scene) => {
      const top = await supervised(scene, {
        strategy: 'rest_for_one',
        children: { before: 'transient', low: 'transient', after: 'transient' },
      })
      const low = await begin(scene, top.claims['low'] as Claim, top.ids['low'] ?? '', {
        maxRestarts: 1,
        children: { a: 'transient', b: 'transient' },
      })
      await fail(scene, low.claims['a'])
      const again = await scene.claim()
      await fail(scene, again)
      expect(await told(scene, low.taskId, 'supervisor.escalated')).toEqual([
        { child: 'a', count: 2, to: top.taskId },
      ])
      expect(await told(scene, top.taskId, 'supervisor.restarted')).toEqual([
        { child: 'low', count: 1, stopped: ['after'], strategy: 'rest_for_one' },
      ])
      expect(await view(scene, top.taskId)).toEqual(['before running', 'low waiting', 'after running'])
      expect(await scene.settle(low.claims['b'] as Claim)).toBe('stale')
      expect((await scene.read({ kind: 'supervisor', taskId: low.taskId }))?.restartedAt).toEqual([])
    },
  )

  timed(
    '14.2 a child that its process dies of too often is started again, too',
    async (scene) => {
      const { taskId, ids } = await supervised(scene, { maxRestarts: 1, children: { a: 'transient' } })
      await scene.jump(30_000)
      scene.free('w')
      expect(await scene.claim()).toMatchObject({ taskId: ids['a'], attempt: 2, crashes: 1 })
      await scene.jump(30_000)
      scene.free('w')
      expect(await scene.claim()).toMatchObject({ taskId: ids['a'], attempt: 3, crashes: 2 })
      expect(await told(scene, taskId, 'supervisor.restarted')).toMatchObject([{ count: 1 }, { count: 1 }])
    },
    { config: { maxCrashes: 1 } },
  )

  rule('14.2 a failure that a restart does not mend ends the supervisor at once', async (scene) => {
    const { taskId, claims } = await supervised(scene, { children: { a: 'transient', b: 'transient' } })
    const settlement = { as: 'failed', kind: 'budget_exceeded', error } as const
    expect(await scene.settle(claims['a'] as Claim, settlement)).toBe('ok')
    expect(await scene.task(taskId)).toMatchObject({ state: 'failed', kind: 'escalated' })
  })

  rule('14.2 a supervisor goes on when its last child has ended', async (scene) => {
    const { taskId, claims, ids } = await supervised(scene, { children: { a: 'transient', b: 'temporary' } })
    expect(await scene.settle(claims['a'] as Claim)).toBe('ok')
    expect(await scene.state(taskId)).toBe('waiting')
    await scene.cancel(ids['b'] ?? '')
    expect(await told(scene, taskId, 'task.resumed')).toMatchObject([
      { outcome: 'fired', name: SUPERVISOR_NAME },
    ])
  })

  rule('14.2 children come, are stopped and started again from outside', async (scene) => {
    const { taskId, ids } = await supervised(scene, { endsWith: 'cancel', children: { a: 'transient' } })
    const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ type: 'late', input: '7' })
    const start = (id: string, restart: ChildRestart = 'transient') =>
      scene.write({ kind: 'startChild', taskId, id, restart, submission: task })
    expect(await start('late')).toMatchObject({ as: 'started', child: { position: 2, type: 'late' } })
    expect(await start('late', 'temporary')).toMatchObject({ as: 'already_started' })
    expect(await start('a')).toMatchObject({ as: 'already_started', child: { taskId: ids['a'] } })
    const { taskId: late } = await scene.claim()
    await scene.cancel(late)
    expect(await start('late')).toMatchObject({ as: 'already_present', child: { taskId: late } })
    expect(await view(scene, taskId)).toEqual(['a running', 'late canceled'])
    const restart = (id: string) => scene.write({ kind: 'restartChild', taskId, id })
    expect(await restart('late')).toMatchObject({ as: 'started' })
    expect(await restart('late')).toMatchObject({ as: 'running' })
    expect(await restart('nobody')).toEqual({ as: 'unknown_child' })
    scene.free('w')
    const anew = await scene.claim()
    expect(anew.taskId).not.toBe(late)
    expect(await scene.task(anew.taskId)).toMatchObject({ input: '7', type: 'late' })
    await scene.cancel(taskId)
    expect([await scene.state(anew.taskId), await start('more')]).toEqual([
      'canceled',
      { as: 'no_supervisor' },
    ])
  })
}

function roomy({ config = {} }: SceneOptions): SceneOptions {
  return { config: { ...config, maxInFlightPerWorker: slots } }
}

interface Tree {
  readonly taskId: string
  readonly claims: Readonly<Record<string, Claim>>
  readonly ids: Readonly<Record<string, string>>
}
