import {
  type BudgetSum,
  type BudgetTerms,
  type Claim,
  type Submission,
  MICRO,
  type UsageSum,
} from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function budgets({ rule, timed, expect }: Suite): void {
  const budget = (limits: BudgetSum, soft: BudgetSum = {}): BudgetTerms => ({ limits, soft })
  const tokens = (count: number): UsageSum => ({ tokens: count, money: 0, cost: 0 })
  /** So many steps were named in a scene. */
  const named = new WeakMap<Scene, number>()
  const nextKey = (scene: Scene) => {
    const nth = (named.get(scene) ?? 0) + 1
    named.set(scene, nth)
    return `k${nth}`
  }
  const spend = (scene: Scene, { leaseId }: Claim, charged?: UsageSum, key = nextKey(scene)) =>
    scene.write({
      kind: 'recordStep',
      leaseId,
      key,
      position: 0,
      durationMs: 1,
      result: `"${key}"`,
      ...(charged === undefined ? {} : { charged }),
    })
  const spawn = (scene: Scene, { leaseId }: Claim, key: string, given: Partial<Submission> = {}) =>
    scene.write({
      kind: 'spawn',
      leaseId,
      key,
      position: 0,
      policy: given.client === 'abandon' ? 'abandon' : 'cancel',
      submission: { type: 'child', lane: 'normal', input: 'null', ...given },
    })
  const settle = (scene: Scene, { leaseId }: Claim, charged: UsageSum) =>
    scene.write({
      kind: 'settle',
      leaseId,
      settlement: { as: 'completed', output: '"done"' },
      charged,
    })
  const answer = (scene: Scene, taskId: string, raise: BudgetSum = {}) =>
    scene.write({ kind: 'answerBudget', taskId, answer: { as: 'continue', raise } })
  const stop = (scene: Scene, taskId: string) =>
    scene.write({ kind: 'answerBudget', taskId, answer: { as: 'stop' } })
  const stands = (scene: Scene, taskId: string) => scene.read({ kind: 'budget', taskId })
  const errorOf = async (scene: Scene, taskId: string) => {
    const task = await scene.task(taskId)
    expect(task).toMatchObject({ state: 'failed', kind: 'budget_exceeded' })
    return task.state === 'failed'
      ? (JSON.parse(task.error) as { details: Record<string, unknown> })
      : undefined
  }

  /** A parent with a running child. */
  async function family(
    scene: Scene,
    parent: Partial<Submission>,
    child: Partial<Submission> = {},
  ): Promise<{ readonly parent: Claim; readonly child: Claim }> {
    const claim = await scene.running(parent)
    await spawn(scene, claim, 'c', child)
    await scene.worker('children', 4, ['child'])
    return { parent: claim, child: await scene.claim() }
  }

  rule('11.5 a charge of steps and settlements goes to every budget above, exactly', async (scene) => {
    const { parent, child } = await family(
      scene,
      { budget: budget({ tokens: 100, money: 5 * MICRO }) },
      { budget: budget({ steps: 9 }) },
    )
    await spend(scene, parent, tokens(10))
    await spend(scene, child, { tokens: 5, money: MICRO / 2, cost: 3 })
    await scene.write({
      kind: 'failStep',
      leaseId: child.leaseId,
      key: 'f',
      position: 1,
      durationMs: 1,
      error: '{"message":"no"}',
      charged: tokens(2),
    })
    expect(await settle(scene, child, tokens(1))).toBe('ok')
    expect(await stands(scene, parent.taskId)).toMatchObject({
      taskId: parent.taskId,
      limits: { tokens: 100, money: 5 },
      used: { tokens: 18, money: 0.5, cost: 3 / MICRO, steps: 2 },
      left: { tokens: 82, money: 4.5 },
      children: { tokens: 8, money: 0.5, steps: 1 },
      parked: 0,
    })
    expect(await stands(scene, child.taskId)).toMatchObject({
      taskId: child.taskId,
      above: parent.taskId,
      used: { tokens: 8, steps: 1 },
      left: { steps: 8 },
      children: { tokens: 0, steps: 0 },
    })
    expect(await scene.task(parent.taskId)).toMatchObject({ budget: { used: { tokens: 18 } } })
  })

  rule('11.5 a child without a budget draws on the nearest one above it', async (scene) => {
    const { parent, child } = await family(scene, { budget: budget({ tokens: 100 }) })
    await spawn(scene, child, 'grandchild')
    const grandchild = await scene.claim()
    await spend(scene, grandchild, tokens(30))
    expect(await stands(scene, grandchild.taskId)).toMatchObject({
      taskId: parent.taskId,
      used: { tokens: 30, steps: 1 },
    })
  })

  timed('11.5 the rest of a budget is no more than the rest above it', async (scene) => {
    const { parent, child } = await family(
      scene,
      { budget: budget({ tokens: 400, wallMs: 10_000 }) },
      { client: 'abandon', budget: budget({ tokens: 150, steps: 9 }) },
    )
    await spawn(scene, child, 'deep', { budget: budget({ tokens: 20 }) })
    const deep = await scene.claim()
    await spend(scene, deep, tokens(5))
    const left = async ({ taskId }: Claim) => (await stands(scene, taskId))?.left
    expect(await left(child)).toEqual({ tokens: 145, steps: 8, wallMs: 10_000 })
    expect(await left(deep)).toEqual({ tokens: 15, steps: 8, wallMs: 10_000 })
    await spend(scene, parent, tokens(385))
    await scene.pass(1_000)
    expect(await left(parent)).toEqual({ tokens: 10, wallMs: 9_000 })
    expect(await left(child)).toEqual({ tokens: 10, steps: 8, wallMs: 9_000 })
    expect(await left(deep)).toEqual({ tokens: 10, steps: 8, wallMs: 9_000 })
    expect(await stands(scene, child.taskId)).toMatchObject({ limits: { tokens: 150, steps: 9 } })
    // Time ends with its task: what outlived that has no end of it.
    await scene.settle(parent)
    expect(await left(child)).toEqual({ tokens: 10, steps: 8 })
  })

  rule('11.5 a task without a budget has none, and says so', async (scene) => {
    const claim = await scene.running()
    await spend(scene, claim, tokens(5))
    expect(await stands(scene, claim.taskId)).toBe(undefined)
    expect((await scene.task(claim.taskId)).budget).toBe(undefined)
    expect(await answer(scene, claim.taskId)).toEqual({ as: 'no_budget' })
    expect(await answer(scene, 'nobody')).toEqual({ as: 'unknown_task' })
  })

  rule(
    '11.5 all that is allowed may be used; a charge beyond it is recorded and fails the task',
    async (scene) => {
      const claim = await scene.running({ budget: budget({ tokens: 100 }) })
      await spend(scene, claim, tokens(100), 'first')
      expect(await scene.state(claim.taskId)).toBe('running')
      await scene.write({ kind: 'checkpoint', leaseId: claim.leaseId, data: '1' })
      expect(await spend(scene, claim, tokens(1), 'second')).toEqual({ fenced: 'ok' })
      const error = await errorOf(scene, claim.taskId)
      expect(error).toMatchObject({
        code: 'budget_exceeded',
        details: {
          budget: claim.taskId,
          field: 'tokens',
          limit: 100,
          used: 101,
          stopped: false,
          partial: [
            { key: 'first', result: 'first' },
            { key: 'second', result: 'second' },
          ],
        },
      })
      expect((await scene.eventTypes(claim.taskId)).slice(-2)).toEqual(['step.completed', 'task.failed'])
      expect(await scene.task(claim.taskId)).toMatchObject({ used: { tokens: 101 } })
      expect(scene.notices).toMatchObject([{ leaseId: claim.leaseId, verdict: 'failed' }])
      expect(await spend(scene, claim)).toEqual({ fenced: 'stale' })
    },
  )

  rule('11.5 a step counts when it is recorded', async (scene) => {
    const claim = await scene.running({ budget: budget({ steps: 2 }) })
    await spend(scene, claim, undefined, 'a')
    await spend(scene, claim, undefined, 'a')
    await spend(scene, claim, undefined, 'b')
    expect(await scene.state(claim.taskId)).toBe('running')
    await spend(scene, claim, undefined, 'c')
    expect(await errorOf(scene, claim.taskId)).toMatchObject({
      details: { field: 'steps', limit: 2, used: 3 },
    })
  })

  rule('11.5 a charge with the settlement counts too: what the task was to return is kept', async (scene) => {
    const claim = await scene.running({ budget: budget({ tokens: 10 }) })
    expect(await settle(scene, claim, tokens(11))).toBe('ok')
    expect(await errorOf(scene, claim.taskId)).toMatchObject({ details: { output: 'done', partial: [] } })
    const retried = await scene.running({ budget: budget({ tokens: 10 }) })
    await scene.write({
      kind: 'settle',
      leaseId: retried.leaseId,
      settlement: { as: 'retry', error: '{"message":"no"}', delayMs: 0 },
      charged: tokens(11),
    })
    expect(await errorOf(scene, retried.taskId)).toMatchObject({ details: { used: 11 } })
  })

  rule('11.5 a child that crosses the line ends the tree of the budget, the deepest first', async (scene) => {
    const { parent, child } = await family(scene, { budget: budget({ tokens: 100 }) })
    await spend(scene, parent, tokens(1), 'mine')
    await spawn(scene, child, 'deep')
    const deep = await scene.claim()
    await spawn(scene, parent, 'sibling')
    const sibling = await scene.claim()
    expect(await spend(scene, deep, tokens(100), 'too much')).toEqual({ fenced: 'ok' })
    for (const { taskId } of [deep, child, sibling]) expect(await scene.state(taskId)).toBe('canceled')
    expect(await errorOf(scene, parent.taskId)).toMatchObject({
      details: { used: 101, partial: [{ key: 'mine' }] },
    })
    expect((await scene.eventTypes(deep.taskId)).slice(-2)).toEqual(['step.completed', 'task.canceled'])
    expect(await stands(scene, deep.taskId)).toMatchObject({ used: { tokens: 101, steps: 2 } })
  })

  rule('11.5 a parent that waits for its child fails where it waits, or in the queue', async (scene) => {
    const { parent, child } = await family(scene, { budget: budget({ tokens: 100 }) })
    await spawn(scene, parent, 'other')
    const other = await scene.claim()
    const wait = (key: string, position: number) =>
      ({ key: `$ku0/child/${key}`, position, kind: 'child', name: `$ku0/child/${key}` }) as const
    const waits = [wait('c', 0), wait('other', 1)]
    await scene.write({ kind: 'suspend', leaseId: parent.leaseId, waits, stay: false })
    expect(await settle(scene, other, tokens(1))).toBe('ok')
    expect(await scene.state(parent.taskId)).toBe('queued')
    await spend(scene, child, tokens(100))
    expect(await errorOf(scene, parent.taskId)).toMatchObject({
      details: { partial: [{ key: 'other', result: 'done' }] },
    })
    expect(await scene.stats()).toMatchObject({ waiting: 0, running: 0, depth: { normal: 0 } })
  })

  rule(
    '11.5 a budget of its own that a child crosses fails the child; its parent learns it',
    async (scene) => {
      const { parent, child } = await family(
        scene,
        { budget: budget({ tokens: 100 }) },
        { budget: budget({ tokens: 10 }) },
      )
      await spend(scene, child, tokens(11))
      expect(await errorOf(scene, child.taskId)).toMatchObject({ details: { budget: child.taskId } })
      expect(await scene.state(parent.taskId)).toBe('running')
      expect((await scene.eventTypes(parent.taskId)).at(-1)).toBe('child.ended')
    },
  )

  rule('11.5 a child that outlived the task of the budget ends by itself', async (scene) => {
    const { parent, child } = await family(scene, { budget: budget({ tokens: 100 }) }, { client: 'abandon' })
    await scene.settle(parent)
    await spend(scene, child, tokens(100), 'all')
    expect(await scene.state(child.taskId)).toBe('running')
    await spend(scene, child, tokens(1), 'more')
    expect(await errorOf(scene, child.taskId)).toMatchObject({
      details: { budget: parent.taskId, partial: [{ key: 'all' }, { key: 'more' }] },
    })
    expect(await scene.state(parent.taskId)).toBe('completed')
  })

  rule('11.5 a child gets no more than is left: a call is refused, a default is cut', async (scene) => {
    const claim = await scene.running({ budget: budget({ tokens: 100 }) })
    await spend(scene, claim, tokens(40))
    expect(await spawn(scene, claim, 'a', { budget: budget({ tokens: 61 }) })).toEqual({
      fenced: 'ok',
      as: 'over_budget',
      field: 'tokens',
      left: 60,
      taskId: claim.taskId,
    })
    expect(await spawn(scene, claim, 'a', { budget: budget({ tokens: 60 }) })).toMatchObject({
      as: 'spawned',
    })
    const cut = { ...budget({ tokens: 90, steps: 5 }, { tokens: 80 }), cut: true }
    const spawned = await spawn(scene, claim, 'b', { budget: cut })
    if (spawned.fenced !== 'ok' || spawned.as !== 'spawned') throw new Error('not spawned')
    expect(await stands(scene, spawned.child.taskId)).toMatchObject({
      limits: { tokens: 60, steps: 5 },
      soft: { tokens: 60 },
      above: claim.taskId,
    })
  })

  rule('2.1 11.5 where nothing is left a child is rejected', async (scene) => {
    const claim = await scene.running({ budget: budget({ tokens: 100 }) })
    await spend(scene, claim, tokens(100))
    expect(await spawn(scene, claim, 'a', { budget: budget({ tokens: 1 }) })).toMatchObject({
      as: 'refused',
      receipt: { reason: 'budget_exceeded' },
    })
    expect(await scene.state(claim.taskId)).toBe('running')
  })

  rule(
    '11.5 a task that fails because its budget has nothing left fails as at its hard line',
    async (scene) => {
      const fail = ({ leaseId }: Claim, spent?: true) =>
        scene.write({
          kind: 'settle',
          leaseId,
          settlement: {
            as: 'failed',
            kind: 'error',
            error: '{"code":"budget_exceeded","message":"no","name":"TaskRejected"}',
            ...(spent === true ? { spent } : {}),
          },
        })
      const { parent, child } = await family(
        scene,
        { budget: budget({ tokens: 100 }) },
        { budget: budget({ steps: 2 }) },
      )
      await spend(scene, parent, tokens(60), 'mine')
      await spawn(scene, parent, 'done')
      const done = await scene.claim()
      expect(await settle(scene, done, tokens(1))).toBe('ok')
      await spend(scene, child, undefined, 'a')
      await spend(scene, child, undefined, 'b')
      await spawn(scene, parent, 'other')
      const other = await scene.claim()
      expect(await fail(child, true)).toBe('ok')
      expect(await errorOf(scene, child.taskId)).toEqual({
        code: 'budget_exceeded',
        name: 'RuntimeError',
        retryable: false,
        message: `the budget of task ${child.taskId} is used up: 2 of 2 steps`,
        cause: { code: 'budget_exceeded', message: 'no', name: 'TaskRejected' },
        details: {
          budget: child.taskId,
          field: 'steps',
          limit: 2,
          used: 2,
          stopped: false,
          partial: [
            { key: 'a', result: 'a' },
            { key: 'b', result: 'b' },
          ],
        },
      })
      // Where something is left, or it was not for want of a budget, it is the error that it is.
      const left = await scene.running({ budget: budget({ tokens: 5 }) })
      expect(await fail(left, true)).toBe('ok')
      expect(await scene.task(left.taskId)).toMatchObject({ state: 'failed', kind: 'error' })
      await spend(scene, parent, tokens(39), 'more')
      expect(await fail(other)).toBe('ok')
      expect(await scene.task(other.taskId)).toMatchObject({ state: 'failed', kind: 'error' })
      expect(await fail(parent, true)).toBe('ok')
      expect(await errorOf(scene, parent.taskId)).toMatchObject({
        details: {
          field: 'tokens',
          limit: 100,
          used: 100,
          partial: [
            { key: 'mine', result: 'mine' },
            { key: 'done', result: 'done' },
            { key: 'more', result: 'more' },
          ],
        },
      })
    },
  )

  rule('11.5 at the soft line the budget asks, and a task that yields is parked', async (scene) => {
    const claim = await scene.running({ budget: budget({ tokens: 100 }, { tokens: 80 }) })
    const { taskId } = claim
    await spend(scene, claim, tokens(79))
    expect(scene.notices).toEqual([])
    await spend(scene, claim, tokens(1))
    expect(scene.notices).toMatchObject([{ leaseId: claim.leaseId, verdict: 'yield' }])
    expect(await scene.read({ kind: 'budgets', limit: 10 })).toMatchObject({
      budgets: [{ taskId, asks: { field: 'tokens', by: taskId }, used: { tokens: 80 }, parked: 0 }],
    })
    await scene.release(claim)
    expect(await scene.task(taskId)).toMatchObject({ state: 'waiting', waitingFor: 'budget', waits: [] })
    expect(await scene.read({ kind: 'explain', taskId })).toMatchObject({ reason: 'budget' })
    expect((await scene.eventTypes(taskId)).slice(-2)).toEqual(['budget.asked', 'task.waiting'])
    expect(await scene.stats()).toMatchObject({ waiting: 1, running: 0 })
    const signal = { kind: 'signal', taskId, name: 'x', value: '1' } as const
    expect(await scene.write(signal)).toEqual({ delivered: true, state: 'waiting', awaited: false })

    scene.free(claim.workerId)
    expect(await answer(scene, taskId, { tokens: 50 })).toEqual({ as: 'answered', taskId, resumed: 1 })
    expect(await answer(scene, taskId)).toEqual({ as: 'not_asked', asked: true })
    const next = await scene.claim()
    expect(next).toMatchObject({ taskId, attempt: 1 })
    expect(next.yields).toBe(undefined)
    expect(await stands(scene, taskId)).toMatchObject({ limits: { tokens: 150 }, soft: { tokens: 130 } })
    await spend(scene, next, tokens(49))
    expect(scene.notices.length).toBe(1)
    await spend(scene, next, tokens(1))
    expect(scene.notices.length).toBe(2)
    expect(await scene.read({ kind: 'memos', taskId })).toMatchObject({ waits: [], steps: [{}, {}, {}, {}] })
  })

  rule('11.5 a line that was passed asks no more', async (scene) => {
    const claim = await scene.running({
      budget: budget({ tokens: 100, steps: 10 }, { tokens: 80, steps: 9 }),
    })
    await spend(scene, claim, tokens(90))
    expect(await answer(scene, claim.taskId)).toMatchObject({ resumed: 0 })
    await spend(scene, claim, tokens(10))
    expect(await stands(scene, claim.taskId)).toMatchObject({ soft: { steps: 9 }, left: { tokens: 0 } })
    expect((await stands(scene, claim.taskId))?.asks).toBe(undefined)
    expect(await answer(scene, claim.taskId)).toEqual({ as: 'not_asked', asked: true })
  })

  rule(
    '11.5 the whole tree parks, each task at its own step boundary, and goes on together',
    async (scene) => {
      const { parent, child } = await family(scene, { budget: budget({ tokens: 100 }, { tokens: 50 }) })
      await spend(scene, child, tokens(50))
      expect(scene.notices).toMatchObject([{ leaseId: child.leaseId, verdict: 'yield' }])
      await scene.release(child)
      await spend(scene, parent)
      expect(scene.notices[1]).toMatchObject({ leaseId: parent.leaseId, verdict: 'yield' })
      await spawn(scene, parent, 'late')
      const late = await scene.claim()
      expect(late.yields).toBe(true)
      await scene.release(late)
      await scene.release(parent)
      expect(await stands(scene, parent.taskId)).toMatchObject({ parked: 3, asks: { by: child.taskId } })
      expect(await answer(scene, child.taskId)).toEqual({ as: 'answered', taskId: parent.taskId, resumed: 3 })
      expect(await scene.stats()).toMatchObject({ waiting: 0 })
    },
  )

  rule('11.5 budgets that ask are answered one by one, the nearest first', async (scene) => {
    const { parent, child } = await family(
      scene,
      { budget: budget({ tokens: 100 }, { tokens: 10 }) },
      { budget: budget({ tokens: 50 }, { tokens: 10 }) },
    )
    await spend(scene, child, tokens(10))
    await scene.release(child)
    expect((await scene.read({ kind: 'budgets', limit: 1 })).budgets).toMatchObject([
      { taskId: parent.taskId },
    ])
    const { cursor } = await scene.read({ kind: 'budgets', limit: 1 })
    expect(await scene.read({ kind: 'budgets', limit: 1, after: cursor ?? 0 })).toMatchObject({
      budgets: [{ taskId: child.taskId }],
    })
    expect(await answer(scene, child.taskId, { tokens: 200 })).toMatchObject({
      as: 'over_budget',
      field: 'tokens',
      left: 90,
      above: parent.taskId,
    })
    expect(await answer(scene, child.taskId, { steps: 2 })).toEqual({ as: 'unlimited', field: 'steps' })
    expect(await answer(scene, child.taskId)).toEqual({ as: 'answered', taskId: child.taskId, resumed: 0 })
    expect(await answer(scene, child.taskId)).toEqual({ as: 'answered', taskId: parent.taskId, resumed: 1 })
  })

  rule('11.5 stop ends the tree with what it has done', async (scene) => {
    const { parent, child } = await family(scene, { budget: budget({ tokens: 100 }, { tokens: 50 }) })
    await spend(scene, parent, tokens(50), 'half')
    await scene.release(parent)
    expect(await stop(scene, child.taskId)).toEqual({ as: 'answered', taskId: parent.taskId, resumed: 0 })
    expect(await errorOf(scene, parent.taskId)).toMatchObject({
      details: { stopped: true, used: 50, limit: 100, partial: [{ key: 'half', result: 'half' }] },
    })
    expect(await scene.state(child.taskId)).toBe('canceled')
    expect(await stop(scene, parent.taskId)).toEqual({ as: 'not_asked', asked: true })
    expect(await scene.read({ kind: 'budgets', limit: 10 })).toEqual({ budgets: [] })
  })

  rule('5.2 11.5 a parked task is canceled like any other, and asks no more', async (scene) => {
    const claim = await scene.running({ budget: budget({ tokens: 100 }, { tokens: 50 }) })
    await spend(scene, claim, tokens(50))
    await scene.release(claim)
    expect(await scene.cancel(claim.taskId)).toEqual({ canceled: true, state: 'canceled' })
    expect(await scene.read({ kind: 'budgets', limit: 10 })).toEqual({ budgets: [] })
    expect(await answer(scene, claim.taskId)).toEqual({ as: 'not_asked', asked: true })
    expect(await stop(scene, claim.taskId)).toEqual({ as: 'not_asked', asked: true })
    expect(await scene.stats()).toMatchObject({ waiting: 0 })
  })

  rule('11.5 a budget whose task is over gets no answer; the next above that asks does', async (scene) => {
    const limits = budget({ tokens: 100 }, { tokens: 50 })
    const { parent, child } = await family(scene, { budget: limits }, { budget: limits })
    await spend(scene, child, tokens(50))
    await scene.release(child)
    await scene.cancel(child.taskId)
    expect(await answer(scene, child.taskId)).toMatchObject({ as: 'answered', taskId: parent.taskId })
    expect(await answer(scene, child.taskId)).toEqual({ as: 'not_asked', asked: true })
  })

  rule('11.5 a task that outlived the task of the budget can be answered still', async (scene) => {
    const { parent, child } = await family(
      scene,
      { budget: budget({ tokens: 100 }, { tokens: 50 }) },
      { client: 'abandon' },
    )
    await spend(scene, child, tokens(50))
    await scene.release(child)
    await scene.settle(parent)
    expect(await scene.read({ kind: 'budgets', limit: 10 })).toMatchObject({ budgets: [{ parked: 1 }] })
    expect(await stop(scene, child.taskId)).toMatchObject({ as: 'answered' })
    expect(await errorOf(scene, child.taskId)).toMatchObject({ details: { stopped: true } })
  })

  rule('11.5 stop ends what is parked, and would outlive the task of the budget', async (scene) => {
    const limits = budget({ tokens: 100 }, { tokens: 50 })
    const { parent, child } = await family(scene, { budget: limits }, { client: 'abandon' })
    await spend(scene, child, tokens(50))
    await scene.release(child)
    await scene.release(parent)
    expect(await stop(scene, parent.taskId)).toMatchObject({ as: 'answered', taskId: parent.taskId })
    for (const { taskId } of [parent, child])
      expect(await errorOf(scene, taskId)).toMatchObject({
        details: { budget: parent.taskId, stopped: true },
      })
  })

  timed('11.5 wall time counts from the first start, whatever the task does meanwhile', async (scene) => {
    const limits = budget({ wallMs: 10_000 }, { wallMs: 8_000 })
    const taskId = await scene.accepted({ budget: limits })
    await scene.pass(60_000)
    await scene.worker('w', 1)
    const claim = await scene.claim()
    const wait = { key: 'reply', position: 0, kind: 'signal', name: 'reply' } as const
    await scene.write({ kind: 'suspend', leaseId: claim.leaseId, waits: [wait], stay: false })
    await scene.pass(7_999)
    expect((await stands(scene, taskId))?.asks).toBe(undefined)
    await scene.pass(1)
    expect(await stands(scene, taskId)).toMatchObject({ asks: { field: 'wallMs', by: taskId } })
    await scene.pass(1_999)
    expect(await scene.state(taskId)).toBe('waiting')
    await scene.pass(1)
    expect(await errorOf(scene, taskId)).toMatchObject({
      details: { field: 'wallMs', limit: 10_000, used: 10_000 },
    })
    await scene.pass(60_000)
    expect(await stands(scene, taskId)).toMatchObject({ used: { wallMs: 10_000 }, left: { wallMs: 0 } })
  })

  timed('11.5 wall time ends a task that runs, and one that is queued', async (scene) => {
    const limits = { budget: budget({ wallMs: 1_000 }) }
    const running = await scene.running(limits)
    const queued = await scene.running(limits)
    const error = '{"message":"no"}'
    await scene.write({
      kind: 'settle',
      leaseId: queued.leaseId,
      settlement: { as: 'retry', error, delayMs: 60_000 },
    })
    await scene.pass(999)
    expect([await scene.state(running.taskId), await scene.state(queued.taskId)]).toEqual([
      'running',
      'queued',
    ])
    await scene.pass(1)
    for (const { taskId } of [running, queued]) await errorOf(scene, taskId)
    expect(await scene.stats()).toMatchObject({ delayed: 0, running: 0 })
    const ended = await scene.running(limits)
    await scene.settle(ended)
    await scene.pass(5_000)
    expect(await scene.state(ended.taskId)).toBe('completed')
  })

  timed('11.5 a crash neither forgets nor doubles what was used', async (scene) => {
    const claim = await scene.running({ budget: budget({ tokens: 100, steps: 9 }) })
    await spend(scene, claim, tokens(10), 'a')
    await scene.jump(40_000)
    scene.free(claim.workerId)
    const next = await scene.claim()
    expect(next).toMatchObject({ taskId: claim.taskId, attempt: 2 })
    await spend(scene, next, tokens(10), 'a')
    await spend(scene, next, tokens(10), 'b')
    expect(await spend(scene, claim, tokens(10), 'c')).toEqual({ fenced: 'stale' })
    expect(await stands(scene, claim.taskId)).toMatchObject({ used: { tokens: 20, steps: 2 } })
  })

  rule(
    '6.3 11.5 a fork begins with the budget of its task, unused, unless it is given another',
    async (scene) => {
      const claim = await scene.running({ budget: budget({ tokens: 100 }, { tokens: 80 }) })
      await spend(scene, claim, tokens(60), 'a')
      for (const given of [undefined, budget({ tokens: 7 })]) {
        const outcome = await scene.write({
          kind: 'fork',
          taskId: claim.taskId,
          edits: {},
          onlyOver: false,
          change: given === undefined ? {} : { budget: given },
        })
        if (outcome.as !== 'submitted') throw new Error(outcome.as)
        const { taskId } = outcome.receipt
        expect(await stands(scene, taskId)).toMatchObject({
          taskId,
          limits: { tokens: given === undefined ? 100 : 7 },
          used: { tokens: 0, steps: 0 },
        })
      }
    },
  )

  rule(
    '11.5 charges of one commit count together, and a charge after the line is too late',
    async (scene) => {
      const { parent, child } = await family(scene, { budget: budget({ tokens: 100 }) })
      const both = await Promise.all([
        spend(scene, child, tokens(60), 'x'),
        spend(scene, parent, tokens(60), 'y'),
        spend(scene, child, tokens(60), 'z'),
      ])
      expect(both).toEqual([{ fenced: 'ok' }, { fenced: 'ok' }, { fenced: 'stale' }])
      expect(await stands(scene, parent.taskId)).toMatchObject({ used: { tokens: 120 } })
      expect(await errorOf(scene, parent.taskId)).toMatchObject({ details: { partial: [{ key: 'y' }] } })
    },
  )

  rule(
    '11.5 the partial result is bounded; what does not fit is counted',
    async (scene) => {
      const claim = await scene.running({ budget: budget({ steps: 3 }) })
      const { leaseId } = claim
      for (const key of ['a', 'b', 'c', 'd'])
        await scene.write({
          kind: 'recordStep',
          leaseId,
          key,
          position: 0,
          durationMs: 1,
          result: `"${key.repeat(400)}"`,
        })
      const error = await errorOf(scene, claim.taskId)
      expect(error?.details['partial']).toEqual([
        { key: 'a', result: 'a'.repeat(400) },
        { key: 'b', result: 'b'.repeat(400) },
      ])
      expect(error?.details['omitted']).toBe(2)
    },
    { config: { maxPayloadBytes: 1_024, maxInlineBytes: 256 } },
  )
}
