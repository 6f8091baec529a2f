import type { Claim } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function cancellation({ rule, timed, expect }: Suite): void {
  const yes = { canceled: true, state: 'canceled' }

  rule('E01 5.2 a queued task leaves at once and never starts', async (scene) => {
    const taskId = await scene.accepted()
    expect(await scene.cancel(taskId, 'changed my mind')).toEqual(yes)
    expect(await scene.task(taskId)).toMatchObject({ state: 'canceled', reason: 'changed my mind' })
    expect(await scene.depth()).toBe(0)
    await scene.worker('w', 1)
    expect(await scene.hasClaim()).toBe(false)
    expect(await scene.eventTypes(taskId)).toEqual(['task.queued', 'task.canceled'])
  })

  rule('5.2 one in the middle of the queue leaves, the others keep their places', async (scene) => {
    const tasks = (await scene.submitMany(4)).map(({ taskId }) => taskId)
    await scene.worker('v', 1)
    await scene.claim()
    await scene.cancel(tasks[2] as string)
    await scene.worker('w', 4)
    expect(scene.claims.map(({ taskId }) => taskId)).toEqual([tasks[0], tasks[1], tasks[3]])
  })

  rule('5.8 many tasks are canceled in one commit, and those that are over are left alone', async (scene) => {
    const running = await scene.running()
    const done = await scene.running()
    await scene.settle(done)
    const queued = await scene.accepted()
    const taskIds = [queued, done.taskId, running.taskId, 'nobody', queued]
    const { commits } = await scene.stats()
    expect(await scene.write({ kind: 'cancelMany', taskIds, reason: 'a bad deploy' })).toEqual({
      canceled: 2,
    })
    expect((await scene.stats()).commits).toBe(commits + 1)
    expect(await scene.task(queued)).toMatchObject({ state: 'canceled', reason: 'a bad deploy' })
    expect(await scene.state(running.taskId)).toBe('canceled')
    expect(await scene.state(done.taskId)).toBe('completed')
    expect(scene.notices).toMatchObject([{ leaseId: running.leaseId, verdict: 'canceled' }])
  })

  rule('5.8 only tasks in the states that are named are canceled', async (scene) => {
    const running = await scene.running()
    const queued = await scene.accepted()
    const taskIds = [running.taskId, queued]
    const { taskIds: selected, start } = await scene.read({ kind: 'taskIds', filter: { states: ['queued'] } })
    expect(selected).toEqual([queued])
    expect(await scene.read({ kind: 'taskCount', filter: { states: ['queued'] } })).toEqual({
      count: 1,
      start,
    })
    expect(await scene.read({ kind: 'taskCount', filter: { limit: 1 } })).toMatchObject({ count: 2 })
    expect(await scene.read({ kind: 'taskCount', filter: { parent: queued } })).toMatchObject({ count: 0 })
    expect(await scene.read({ kind: 'taskCount', filter: { parent: 'nobody' } })).toEqual({ count: 0, start })
    expect(await scene.write({ kind: 'cancelMany', taskIds, states: ['queued'] })).toEqual({ canceled: 1 })
    expect(await scene.state(running.taskId)).toBe('running')
    const later = await scene.accepted()
    const again = await scene.read({ kind: 'taskIds', filter: { cursor: start } })
    expect(again.taskIds).toEqual([queued, running.taskId])
    expect(await scene.read({ kind: 'taskCount', filter: { cursor: start } })).toMatchObject({ count: 2 })
    expect(await scene.state(later)).toBe('queued')
  })

  timed('5.2 a delayed task leaves, and its time does not bring it back', async (scene) => {
    const taskId = await scene.accepted({ delayMs: 1_000 })
    expect(await scene.cancel(taskId)).toEqual(yes)
    expect(await scene.stats()).toMatchObject({ delayed: 0 })
    await scene.worker('w', 1)
    await scene.pass(2_000)
    expect(await scene.hasClaim()).toBe(false)
    expect(await scene.state(taskId)).toBe('canceled')
  })

  rule('E09 5.2 a task that waits for its retry leaves as well', async (scene) => {
    const claim = await scene.running()
    await scene.settle(claim, { as: 'retry', error: '{}', delayMs: 60_000 })
    expect(await scene.cancel(claim.taskId)).toEqual(yes)
    expect(await scene.stats()).toMatchObject({ delayed: 0 })
  })

  rule('5.1 a running one: task and lease in one commit, the holder gets the reason', async (scene) => {
    const claim = await scene.running()
    const { commits } = await scene.stats()
    expect(await scene.cancel(claim.taskId, 'too slow')).toEqual(yes)
    expect((await scene.stats()).commits).toBe(commits + 1)
    expect(scene.notices).toEqual([
      { leaseId: claim.leaseId, taskId: claim.taskId, verdict: 'canceled', reason: 'too slow' },
    ])
    expect(await scene.task(claim.taskId)).toMatchObject({
      state: 'canceled',
      reason: 'too slow',
      attempt: 1,
    })
    expect(await scene.read({ kind: 'leases', taskId: claim.taskId })).toMatchObject([
      { status: 'canceled', endReason: 'canceled' },
    ])
    expect(await scene.stats()).toMatchObject({ running: 0, totals: { canceled: 1 } })
  })

  rule('C3 the physical stop is tracked beside the state: requested, then acknowledged', async (scene) => {
    const claim = await scene.running()
    await scene.cancel(claim.taskId)
    const requested = await scene.task(claim.taskId)
    expect(requested.state === 'canceled' && Object.keys(requested.abort ?? {})).toEqual(['requestedAt'])
    expect(await abortSettled(scene, claim, 'acknowledged')).toBe(true)
    const stopped = await scene.task(claim.taskId)
    expect(stopped.state === 'canceled' && Object.keys(stopped.abort ?? {})).toEqual([
      'requestedAt',
      'acknowledgedAt',
    ])
    expect(await abortSettled(scene, claim, 'acknowledged')).toBe(false)
    expect(await abortSettled(scene, claim, 'leaked')).toBe(false)
    expect(await scene.eventTypes(claim.taskId)).toEqual(['task.queued', 'task.started', 'task.canceled'])
  })

  rule(
    '5.4 a handler that outlives its grace is reported as leaked, once, and may still stop',
    async (scene) => {
      const claim = await scene.running()
      await scene.cancel(claim.taskId)
      expect(await abortSettled(scene, claim, 'leaked')).toBe(true)
      expect(await abortSettled(scene, claim, 'leaked')).toBe(false)
      const last = (await scene.history(claim.taskId)).at(-1)
      expect(last).toMatchObject({ type: 'task.leaked' })
      expect(JSON.parse(last?.data ?? '')).toEqual({ afterMs: 30_000, leaseId: claim.leaseId })
      expect(await scene.task(claim.taskId)).toMatchObject({
        state: 'canceled',
        abort: { graceExpiredAt: scene.now },
      })
      expect(await abortSettled(scene, claim, 'acknowledged')).toBe(true)
      expect(await scene.task(claim.taskId)).toMatchObject({
        state: 'canceled',
        abort: { acknowledgedAt: scene.now },
      })
      expect(await scene.read({ kind: 'explain', taskId: claim.taskId })).toMatchObject({ state: 'canceled' })
    },
  )

  rule(
    '5.4 a handler that was ended with its thread or process is reported as killed, once',
    async (scene) => {
      const claim = await scene.running()
      await scene.cancel(claim.taskId)
      expect(await abortSettled(scene, claim, 'killed')).toBe(true)
      for (const how of ['killed', 'leaked', 'acknowledged'] as const)
        expect(await abortSettled(scene, claim, how)).toBe(false)
      const last = (await scene.history(claim.taskId)).at(-1)
      expect(last).toMatchObject({ type: 'task.killed' })
      expect(JSON.parse(last?.data ?? '')).toEqual({ afterMs: 30_000, leaseId: claim.leaseId })
      expect(await scene.task(claim.taskId)).toMatchObject({
        state: 'canceled',
        abort: { acknowledgedAt: scene.now },
      })
    },
  )

  timed(
    '5.4 a handler that leaks after its lease expired does not disturb the task that runs again',
    async (scene) => {
      const claim = await scene.running()
      await scene.jump(30_000)
      expect(await scene.state(claim.taskId)).toBe('queued')
      expect(await abortSettled(scene, claim, 'leaked')).toBe(true)
      scene.free(claim.workerId)
      const next = await scene.claim()
      expect(next).toMatchObject({ taskId: claim.taskId, attempt: 2 })
      expect(await scene.settle(next)).toBe('ok')
      expect(scene.failures).toEqual([])
      expect(await scene.eventTypes(claim.taskId)).toEqual([
        'task.queued',
        'task.started',
        'task.requeued',
        'task.leaked',
        'task.started',
        'task.completed',
      ])
    },
  )

  timed('5.4 also when the report, the slot and other work come in one turn', async (scene) => {
    const claim = await scene.running()
    await scene.accepted({ type: 'other' })
    await scene.jump(30_000)
    await abortSettled(scene, claim, 'leaked')
    scene.free(claim.workerId)
    const receipt = await scene.submit({ type: 'other' })
    expect(receipt).toMatchObject({ accepted: true })
    expect(await scene.claim()).toMatchObject({ taskId: claim.taskId, attempt: 2 })
    expect(scene.failures).toEqual([])
  })

  rule('5.4 a lease that runs, or never was, has no abort to settle', async (scene) => {
    const claim = await scene.running()
    for (const how of ['acknowledged', 'leaked', 'killed'] as const) {
      expect(await abortSettled(scene, claim, how)).toBe(false)
      expect(await abortSettled(scene, { ...claim, leaseId: claim.taskId }, how)).toBe(false)
      expect(await abortSettled(scene, { ...claim, leaseId: '' }, how)).toBe(false)
    }
    expect(await scene.eventTypes(claim.taskId)).toEqual(['task.queued', 'task.started'])
  })

  rule('5.4 the return value of a canceled handler is dropped', async (scene) => {
    const claim = await scene.running()
    await scene.cancel(claim.taskId)
    expect(await scene.settle(claim, { as: 'completed', output: '"too late"' })).toBe('stale')
    expect(await scene.state(claim.taskId)).toBe('canceled')
  })

  rule('5.2 twice: one event, and false the second time', async (scene) => {
    for (const taskId of [await scene.accepted(), (await scene.running({ type: 'other' })).taskId]) {
      expect(await scene.cancel(taskId)).toEqual(yes)
      expect(await scene.cancel(taskId)).toEqual({ canceled: false, state: 'canceled' })
      expect((await scene.eventTypes(taskId)).filter((type) => type === 'task.canceled')).toHaveLength(1)
    }
    expect((await scene.stats()).totals).toMatchObject({ canceled: 2 })
  })

  rule('5.2 twice in one turn: one event', async (scene) => {
    const taskId = await scene.accepted()
    const answers = await Promise.all([scene.cancel(taskId), scene.cancel(taskId)])
    expect(answers.map(({ canceled }) => canceled)).toEqual([true, false])
    expect((await scene.stats()).totals).toMatchObject({ canceled: 1 })
  })

  const finals: readonly [string, (scene: Scene) => Promise<string>][] = [
    ['completed', async (scene) => end(scene, (claim) => scene.settle(claim))],
    [
      'failed',
      async (scene) =>
        end(scene, (claim) => scene.settle(claim, { as: 'failed', kind: 'error', error: '{}' })),
    ],
    [
      'rejected',
      async (scene) => (await scene.submit({ refused: { reason: 'invalid_payload', message: '' } })).taskId,
    ],
  ]
  for (const [state, make] of finals)
    rule(`5.2 a ${state} task: false, no event`, async (scene) => {
      const taskId = await make(scene)
      const before = await scene.history(taskId)
      expect(await scene.cancel(taskId)).toEqual({ canceled: false, state })
      expect(await scene.history(taskId)).toEqual(before)
      expect((await scene.stats()).totals).toMatchObject({ canceled: 0 })
    })

  rule('5.2 an unknown task: false', async (scene) => {
    const claim = await scene.running()
    for (const id of ['', 'nobody', claim.leaseId, `${claim.taskId.slice(0, -1)}f`])
      expect(await scene.cancel(id)).toEqual({ canceled: false })
  })

  rule('5.3 cancel against complete: the first commit wins, the other is a no-op', async (scene) => {
    const [canceled, completed] = [await scene.running(), await scene.running()]
    expect(await scene.cancel(canceled.taskId)).toEqual(yes)
    expect(await scene.settle(canceled)).toBe('stale')
    expect(await scene.settle(completed)).toBe('ok')
    expect(await scene.cancel(completed.taskId)).toEqual({ canceled: false, state: 'completed' })
    for (const [taskId, last] of [
      [canceled.taskId, 'task.canceled'],
      [completed.taskId, 'task.completed'],
    ] as const)
      expect((await scene.eventTypes(taskId)).slice(2)).toEqual([last])
  })

  for (const first of ['cancel', 'settle'] as const)
    rule(`5.3 in one turn, ${first} handed over first, exactly one of the two is done`, async (scene) => {
      const claim = await scene.running()
      const calls = {
        cancel: () => scene.cancel(claim.taskId).then(({ canceled }) => canceled),
        settle: () => scene.settle(claim).then((fenced) => fenced === 'ok'),
      }
      const firstDone = calls[first]()
      const secondDone = calls[first === 'cancel' ? 'settle' : 'cancel']()
      expect([await firstDone, await secondDone].filter(Boolean)).toHaveLength(1)
      expect(await scene.eventTypes(claim.taskId)).toHaveLength(3)
    })

  rule(
    '5.3 a task that is submitted and canceled in one turn, by its own id, never starts',
    async (scene) => {
      await scene.worker('w', 1)
      const submitted = scene.submit({ taskId: 'x' })
      const canceled = scene.cancel('x')
      expect(await submitted).toMatchObject({ accepted: true })
      expect(await canceled).toEqual(yes)
      expect(await scene.hasClaim()).toBe(false)
    },
  )

  rule(
    'E01 a claim and a cancel in one turn: a task that is handed over after its cancel was answered does not exist',
    async (scene) => {
      const taskId = await scene.accepted()
      const canceled = scene.cancel(taskId)
      await scene.worker('w', 1)
      expect(await canceled).toEqual(yes)
      expect(await scene.hasClaim()).toBe(false)
    },
  )

  async function end(scene: Scene, how: (claim: Claim) => Promise<unknown>): Promise<string> {
    const claim = await scene.running()
    await how(claim)
    return claim.taskId
  }

  function abortSettled(
    scene: Scene,
    { leaseId }: Claim,
    how: 'acknowledged' | 'leaked' | 'killed',
  ): Promise<boolean> {
    return scene.write({ kind: 'abortSettled', leaseId, how, afterMs: 30_000 })
  }
}
