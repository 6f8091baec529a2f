import {
  afterKey,
  type ChildRestart,
  type Claim,
  handOverKey,
  READY_KEY,
  SHUTDOWN_LABEL,
  type Sibling,
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
      shutdownMs,
    } = it
    const shutdown = shutdownMs === undefined ? {} : { shutdownMs }
    const key = supervisorKey({ strategy, maxRestarts, periodMs, endsWith, ...shutdown })
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
      expect(await scene.settle(claims['a'], failed)).toBe('ok')
      expect(await scene.settle(claims['a'], { ...failed, error: '{"message":"other"}' })).toBe('stale')
    },
  )

  rule(
    '14.2 a child that comes after others starts once they have completed, or are ready',
    async (scene) => {
      await scene.worker('w', slots)
      const taskId = await scene.accepted({ type: 'super' })
      const { leaseId } = await scene.claim()
      const terms = {
        strategy: 'rest_for_one',
        maxRestarts: 2,
        periodMs: 1_000,
        endsWith: 'children',
      } as const
      const main = { key: supervisorKey(terms), position: 9, kind: 'signal', name: SUPERVISOR_NAME } as const
      await scene.write({ kind: 'suspend', leaseId, waits: [main], stay: true })
      const spawn = (lease: string, id: string, position: number, after: readonly Sibling[] = []) => {
        const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ type: id })
        const key = supervisedKey({ id, restart: 'transient' })
        const child = { leaseId: lease, key, position, policy: 'cancel', submission: task } as const
        return scene.write({ kind: 'spawn', ...child, ...(after.length === 0 ? {} : { after }) })
      }
      const done = { id: 'a', restart: 'transient', until: 'completed' } as const
      const ready = { ...done, until: 'ready' } as const
      await spawn(leaseId, 'a', 1)
      const first = await scene.claim()
      expect(await spawn(leaseId, 'b', 2, [ready])).toEqual({ fenced: 'ok', as: 'not_yet' })
      const wait = (id: string, position: number, after: readonly Sibling[], nth = 0) =>
        ({ ...main, key: afterKey(nth, id, after), position }) as const
      const waits = [wait('b', 2, [ready]), wait('c', 3, [ready, done]), main]
      expect(await scene.write({ kind: 'suspend', leaseId, waits, stay: false })).toMatchObject({
        suspended: true,
      })
      scene.free('w')
      expect((await scene.read({ kind: 'explain', taskId }))?.summary).toBe(
        'waits for its supervised children (rest_for_one, at most 2 restarts in 1 s)' +
          " or the moment for child 'b' to start, once 'a' is ready or the moment for child 'c' to start, once 'a' is ready and 'a' has completed",
      )
      await fail(scene, first)
      const again = await scene.claim()
      expect(again.taskId).toBe(first.taskId)
      await scene.step(again, READY_KEY, 'null')
      const pass = await scene.claim()
      expect(pass).toMatchObject({ taskId, type: 'super' })
      expect(await spawn(pass.leaseId, 'c', 3, [ready, done])).toEqual({ fenced: 'ok', as: 'not_yet' })
      expect(await spawn(pass.leaseId, 'b', 2, [ready])).toMatchObject({ as: 'spawned' })
      const second = await scene.claim()
      expect(second.type).toBe('b')
      await scene.settle(second)
      await scene.settle(again)
      scene.free('w', 2)
      // No child is left, but one can start.
      expect(
        await scene.write({
          kind: 'suspend',
          leaseId: pass.leaseId,
          waits: [waits[1] ?? main, main],
          stay: false,
        }),
      ).toMatchObject({ suspended: false, resolved: [{ key: waits[1]?.key, outcome: 'fired' }] })
      expect(await spawn(pass.leaseId, 'c', 3, [ready, done])).toMatchObject({ as: 'spawned' })
      expect(await view(scene, taskId)).toEqual(['a completed', 'b completed', 'c running'])
      const third = await scene.claim()
      await scene.write({ kind: 'suspend', leaseId: pass.leaseId, waits: [main], stay: false })
      scene.free('w')
      await scene.settle(third)
      expect(await scene.claim()).toMatchObject({ taskId })
    },
  )

  rule('14.2 a supervisor is done although a child never came to start', async (scene) => {
    await scene.worker('w', slots)
    const taskId = await scene.accepted({ type: 'super' })
    const { leaseId } = await scene.claim()
    const terms = { strategy: 'one_for_one', maxRestarts: 2, periodMs: 1_000, endsWith: 'children' } as const
    const main = { key: supervisorKey(terms), position: 9, kind: 'signal', name: SUPERVISOR_NAME } as const
    await scene.write({ kind: 'suspend', leaseId, waits: [main], stay: true })
    const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ type: 'a' })
    const key = supervisedKey({ id: 'a', restart: 'transient' })
    await scene.write({ kind: 'spawn', leaseId, key, position: 1, policy: 'cancel', submission: task })
    const first = await scene.claim()
    const after = [{ id: 'a', restart: 'transient', until: 'completed' }] as const
    const waits = [{ ...main, key: afterKey(0, 'b', after), position: 2 }, main]
    await scene.write({ kind: 'suspend', leaseId, waits, stay: false })
    scene.free('w')
    await scene.cancel(first.taskId)
    const pass = await scene.claim()
    expect(pass.taskId).toBe(taskId)
    expect((await scene.read({ kind: 'memos', taskId })).waits).toMatchObject([{ key: main.key }])
  })

  rule('14.2 the retry of a supervisor keeps the children that had completed', async (scene) => {
    const { taskId, claims, ids } = await supervised(scene, {
      maxRestarts: 0,
      children: { a: 'transient', b: 'permanent', c: 'temporary', d: 'transient' },
    })
    await scene.settle(claims['a'], { as: 'completed', output: '7' })
    await scene.settle(claims['c'])
    await fail(scene, claims['d'])
    expect(await scene.state(taskId)).toBe('failed')
    const forked = await scene.write({ kind: 'fork', taskId, edits: {}, onlyOver: true, change: {} })
    expect(forked).toMatchObject({ as: 'submitted', receipt: { accepted: true } })
    const retry = await scene.claim()
    const { leaseId } = retry
    const spawn = (id: string, restart: ChildRestart, position: number, input = 'null') => {
      const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ type: id, input })
      const key = supervisedKey({ id, restart })
      const child = { leaseId, key, position, policy: 'cancel', submission: task } as const
      return scene.write({ kind: 'spawn', ...child, retryOf: taskId })
    }
    expect(await spawn('a', 'transient', 1)).toMatchObject({ as: 'spawned', child: { taskId: ids['a'] } })
    expect(await spawn('a', 'transient', 1)).toMatchObject({ as: 'spawned', child: { taskId: ids['a'] } })
    expect(await spawn('c', 'temporary', 3)).toMatchObject({ as: 'spawned', child: { taskId: ids['c'] } })
    for (const [id, restart] of [
      ['b', 'permanent'],
      ['d', 'transient'],
    ] as const) {
      expect(await spawn(id, restart, 2)).toMatchObject({ as: 'spawned' })
      const { taskId: fresh, type } = await scene.claim()
      expect([type, fresh === ids[id]]).toEqual([id, false])
    }
    expect(await told(scene, retry.taskId, 'child.inherited')).toMatchObject([
      { key: supervisedKey({ id: 'a', restart: 'transient' }), taskId: ids['a'], type: 'a' },
      { taskId: ids['c'] },
    ])
    expect(await view(scene, retry.taskId)).toEqual(['a completed', 'b running', 'd running'])
    expect((await scene.read({ kind: 'memos', taskId: retry.taskId })).children).toHaveLength(4)
  })

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
        expect(await scene.settle(claims[id])).toBe('stale')
        expect(await told(scene, ids[id] ?? '', 'task.requeued')).toMatchObject([
          { reason: 'restarted', attempt: 1, restartedBy: taskId },
        ])
      }
      for (const id of kept) expect(await scene.settle(claims[id])).toBe('ok')
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
    expect(await scene.settle(claims['a'])).toBe('ok')
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

  timed('14.2 a restart does not count one ms after its period', async (scene) => {
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
    const counted = async () => (await scene.read({ kind: 'supervisor', taskId }))?.restartedAt
    expect(await counted()).toEqual([scene.now, scene.now])
    await scene.pass(1_000)
    expect(await counted()).toHaveLength(2)
    await scene.pass(1)
    expect(await counted()).toEqual([])
  })

  rule(
    '14.2 supervisors are listed, newest first, with their children and the restarts that count now',
    async (scene) => {
      const list = (more: { readonly before?: number | undefined; readonly supervising?: boolean } = {}) =>
        scene.read({ kind: 'supervisors', limit: 2, ...more })
      expect(await list()).toEqual({ supervisors: [] })
      const first = await supervised(scene, {
        children: { a: 'transient', b: 'temporary', c: 'permanent' },
        endsWith: 'cancel',
        periodMs: 600_000,
      })
      const terms = { strategy: 'one_for_one', maxRestarts: 2, periodMs: 600_000, endsWith: 'cancel' }
      const standing = { taskId: first.taskId, type: 'super', state: 'waiting', terms }
      const children = { total: 3, open: 3, running: 3 }
      expect(await list()).toEqual({ supervisors: [{ ...standing, children, restarts: 0 }] })

      await fail(scene, first.claims['a'])
      await scene.claim()
      expect(await scene.settle(first.claims['b'])).toBe('ok')
      scene.free('w')
      const fewer = { total: 2, open: 2, running: 2 }
      expect((await list()).supervisors).toEqual([{ ...standing, children: fewer, restarts: 1 }])

      // Another has ended, one has many children, and one that has begun has none yet.
      const over = await supervised(scene, { children: { a: 'transient' } })
      await scene.cancel(over.taskId)
      const many = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`c${n}`, 'transient' as const]))
      const wide = await supervised(scene, { children: many })
      const bare = await supervised(scene, { children: {}, endsWith: 'cancel' })
      await scene.accepted({ type: 'work' })
      const page = await list()
      expect(page.supervisors).toMatchObject([
        { taskId: bare.taskId, children: { total: 0, open: 0, running: 0 } },
        { taskId: wide.taskId, children: { total: 9, open: 9, running: 9 } },
      ])
      const rest = await list({ before: page.cursor })
      expect(rest).toEqual({
        supervisors: [
          {
            taskId: over.taskId,
            type: 'super',
            state: 'canceled',
            children: { total: 1, open: 0, running: 0 },
            restarts: 0,
          },
          { ...standing, children: fewer, restarts: 1 },
        ],
      })
      const now = await list({ supervising: true })
      const older = await list({ supervising: true, before: now.cursor })
      expect([...now.supervisors, ...older.supervisors].map(({ taskId }) => taskId)).toEqual([
        bare.taskId,
        wide.taskId,
        first.taskId,
      ])
      expect(older.cursor).toBeUndefined()
    },
  )

  timed('14.2 a restart that is over counts in no list', async (scene) => {
    const { claims } = await supervised(scene, { children: { a: 'transient' } })
    await fail(scene, claims['a'])
    const restarts = async () =>
      (await scene.read({ kind: 'supervisors', limit: 1 })).supervisors.map((it) => it.restarts)
    await scene.pass(1_000)
    expect(await restarts()).toEqual([1])
    await scene.pass(1)
    expect(await restarts()).toEqual([0])
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
      expect(await scene.settle(low.claims['b'])).toBe('stale')
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

  timed(
    '14.2 14.3 a child that was handed over begins again with its handler when its process has died too often: the other task is canceled',
    async (scene) => {
      const { claims, ids } = await supervised(scene, { maxRestarts: 1, children: { a: 'transient' } })
      const other = { category: 'crash', kind: 'error', strategy: 'fallback_agent', task: 'other' } as const
      const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ type: 'other' })
      await scene.settle(claims['a'], { as: 'retry', error, delayMs: 0, recovery: other })
      scene.free('w')
      const { leaseId } = await scene.claim()
      const outcome = await scene.write({
        kind: 'spawn',
        leaseId,
        key: handOverKey(1),
        position: 0,
        policy: 'cancel',
        submission: { ...task, dueAt: 1e15 },
      })
      if (outcome.fenced !== 'ok' || outcome.as !== 'spawned') throw new Error(JSON.stringify(outcome))
      const memos = () => scene.read({ kind: 'memos', taskId: ids['a'] ?? '' })
      expect(await memos()).toMatchObject({ handedOver: { task: 'other', nth: 1 } })
      await scene.jump(30_000)
      scene.free('w')
      expect(await scene.claim()).toMatchObject({ taskId: ids['a'], crashes: 1 })
      expect((await memos()).handedOver).toBe(undefined)
      expect(await scene.task(outcome.child.taskId)).toMatchObject({ state: 'canceled' })
    },
    { config: { maxCrashes: 1 } },
  )

  rule('14.2 a failure that a restart does not mend ends the supervisor at once', async (scene) => {
    const { taskId, claims } = await supervised(scene, { children: { a: 'transient', b: 'transient' } })
    const settlement = { as: 'failed', kind: 'budget_exceeded', error } as const
    expect(await scene.settle(claims['a'], settlement)).toBe('ok')
    expect(await scene.task(taskId)).toMatchObject({ state: 'failed', kind: 'escalated' })
  })

  rule(
    '14.1 14.3 a child that a person has refused another try is not started again: its supervisor ends at once',
    async (scene) => {
      const { taskId, ids, claims } = await supervised(scene, {
        children: { a: 'transient', b: 'transient' },
      })
      expect(await scene.settle(claims['a'], { ...failed, refused: true })).toBe('ok')
      expect(await scene.task(ids['a'] ?? '')).toMatchObject({ state: 'failed', kind: 'error' })
      expect(await scene.task(taskId)).toMatchObject({ state: 'failed', kind: 'escalated' })
      expect(await told(scene, taskId, 'supervisor.restarted')).toEqual([])
    },
  )

  rule('14.2 a supervisor goes on when its last child has ended', async (scene) => {
    const { taskId, claims, ids } = await supervised(scene, { children: { a: 'transient', b: 'temporary' } })
    expect(await scene.settle(claims['a'])).toBe('ok')
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

  rule(
    '14.2 a child that is started from outside has the time to stop of its supervisor, or its own',
    async (scene) => {
      const { taskId } = await supervised(scene, { endsWith: 'cancel', shutdownMs: 700, children: {} })
      expect(await scene.read({ kind: 'supervisor', taskId })).toMatchObject({ terms: { shutdownMs: 700 } })
      const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ type: 'late' })
      const started = async (id: string, labels: Record<string, string>) => {
        const it = {
          kind: 'startChild',
          taskId,
          id,
          restart: 'transient',
          submission: { ...task, labels },
        } as const
        const outcome = await scene.write(it)
        return outcome.as === 'started' ? (await scene.task(outcome.child.taskId))?.labels : outcome
      }
      expect(await started('a', { of: 'a' })).toEqual({ of: 'a', [SHUTDOWN_LABEL]: '700' })
      expect(await started('b', { [SHUTDOWN_LABEL]: '9' })).toEqual({ [SHUTDOWN_LABEL]: '9' })
      expect(await scene.read({ kind: 'supervisor', taskId })).toMatchObject({
        children: [
          { id: 'a', shutdownMs: 700 },
          { id: 'b', shutdownMs: 9 },
        ],
      })
    },
  )

  rule(
    '14.2 a temporary child that has ended can be started again under its id, and a supervisor has no more than maxChildren',
    async (scene) => {
      const { taskId, claims, ids } = await supervised(scene, {
        endsWith: 'cancel',
        children: { a: 'temporary' },
      })
      const { idempotencyKey: _, forkOf: __, parentId: ___, ...task } = submission({ type: 'late' })
      const start = (id: string) =>
        scene.write({ kind: 'startChild', taskId, id, restart: 'temporary', submission: task })
      expect(await scene.settle(claims['a'])).toBe('ok')
      const again = await start('a')
      expect(again).toMatchObject({ as: 'started', child: { type: 'late' } })
      expect(again).not.toMatchObject({ child: { taskId: ids['a'] } })
      expect(await start('b')).toMatchObject({ as: 'started' })
      expect(await start('c')).toEqual({ as: 'full' })
    },
    { config: { maxChildren: 2 } },
  )
}

function roomy({ config = {} }: SceneOptions): SceneOptions {
  return { config: { ...config, maxInFlightPerWorker: slots } }
}

interface Tree {
  readonly taskId: string
  readonly claims: Readonly<Record<string, Claim>>
  readonly ids: Readonly<Record<string, string>>
}
