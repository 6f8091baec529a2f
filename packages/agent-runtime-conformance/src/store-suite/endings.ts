import { type Settlement, failureKinds } from '@ku0/agent-runtime-core'
import type { Suite } from './suite.ts'

export function endings({ rule, timed, expect }: Suite): void {
  timed('1.1 the holder reports completion: task, lease and totals in one commit', async (scene) => {
    const claim = await scene.running()
    await scene.pass(1_234)
    const { commits } = await scene.stats()
    expect(await scene.settle(claim, { as: 'completed', output: '{"ok":true}' })).toBe('ok')
    expect(await scene.task(claim.taskId)).toMatchObject({
      state: 'completed',
      output: '{"ok":true}',
      startedAt: claim.acquiredAt,
      finishedAt: claim.acquiredAt + 1_234,
      attempt: 1,
    })
    expect(await scene.read({ kind: 'leases', taskId: claim.taskId })).toMatchObject([
      { status: 'completed', endReason: 'completed', endedAt: scene.now },
    ])
    expect((await scene.history(claim.taskId)).at(-1)).toMatchObject({ type: 'task.completed' })
    expect(await scene.stats()).toMatchObject({ running: 0, commits: commits + 1, totals: { completed: 1 } })
  })

  for (const kind of failureKinds.filter((it) => it !== 'poisoned' && it !== 'lease_lost'))
    rule(`1.1 the holder reports failure of kind ${kind}`, async (scene) => {
      const claim = await scene.running()
      const error = '{"message":"no","name":"Error"}'
      expect(await scene.settle(claim, { as: 'failed', kind, error })).toBe('ok')
      expect(await scene.task(claim.taskId)).toMatchObject({ state: 'failed', kind, error, attempt: 1 })
      expect(await scene.read({ kind: 'leases', taskId: claim.taskId })).toMatchObject([
        { status: 'failed', endReason: 'failed' },
      ])
      expect((await scene.stats()).totals).toMatchObject({ failed: 1, requeued: 0 })
    })

  rule('11.5 usage is stored with the end of the lease, and after it once', async (scene) => {
    const charged = { tokens: 5, money: 0, cost: 1_000_000 }
    const claim = await scene.running()
    const { leaseId, taskId } = claim
    const used = async () => {
      const task = await scene.task(taskId)
      return task.state === 'rejected' ? undefined : task.used?.tokens
    }
    const wait = { key: 'w', position: 0, kind: 'timer', delayMs: 0 } as const
    // It does not end here, and is told again.
    await scene.write({ kind: 'suspend', leaseId, waits: [{ ...wait, delayMs: 5 }], stay: true, charged })
    expect(await used()).toBeUndefined()
    await scene.write({ kind: 'release', leaseId, reason: 'yielded', charged })
    expect(await used()).toBe(5)
    scene.free(claim.workerId)
    const second = await scene.claim()
    const pending = { key: 'go', position: 1, kind: 'signal', name: 'go' } as const
    await scene.write({ kind: 'suspend', leaseId: second.leaseId, waits: [pending], stay: false, charged })
    expect(await used()).toBe(10)
    await scene.write({ kind: 'signal', taskId, name: 'go', value: '1' })
    scene.free(claim.workerId)
    const third = await scene.claim()
    await scene.cancel(taskId)
    for (const how of ['leaked', 'acknowledged', 'acknowledged', 'leaked'] as const)
      await scene.write({ kind: 'abortSettled', leaseId: third.leaseId, how, afterMs: 1, charged })
    expect(await used()).toBe(20)
    expect((await scene.eventTypes(taskId)).slice(-4)).toEqual([
      'task.canceled',
      'task.leaked',
      'task.charged',
      'task.charged',
    ])
  })

  rule('1.1 a retry goes back with attempt + 1 at once when it has no delay', async (scene) => {
    const claim = await scene.running()
    expect(await scene.settle(claim, { as: 'retry', error: '{"message":"no"}', delayMs: 0 })).toBe('ok')
    expect(await scene.task(claim.taskId)).toMatchObject({ state: 'queued', attempt: 2, crashes: 0 })
    expect(await scene.read({ kind: 'leases', taskId: claim.taskId })).toMatchObject([
      { status: 'failed', endReason: 'retry' },
    ])
    scene.free(claim.workerId)
    expect(await scene.claim()).toMatchObject({
      taskId: claim.taskId,
      attempt: 2,
      crashes: 0,
      fencingToken: 2,
    })
  })

  timed(
    '1.1 a retry with a delay is due then: outside the depth, claimed not a millisecond before',
    async (scene) => {
      const claim = await scene.running()
      await scene.settle(claim, { as: 'retry', error: '{"message":"no"}', delayMs: 2_000 })
      scene.free(claim.workerId)
      expect(await scene.task(claim.taskId)).toMatchObject({ state: 'queued', dueAt: scene.now + 2_000 })
      expect(await scene.stats()).toMatchObject({ delayed: 1, depth: { normal: 0 } })
      expect(await scene.read({ kind: 'explain', taskId: claim.taskId })).toMatchObject({
        waitsFor: 'delay',
        summary: `is due at ${new Date(scene.now + 2_000).toISOString()}, to be tried again: no`,
        requeued: { last: { reason: 'retry', failure: { message: 'no' } } },
      })
      await scene.pass(1_999)
      expect(await scene.hasClaim()).toBe(false)
      await scene.pass(1)
      expect(await scene.claim()).toMatchObject({ taskId: claim.taskId, attempt: 2 })
    },
  )

  rule('A10 the failure and the time of the retry stand in one event', async (scene) => {
    const claim = await scene.running()
    await scene.settle(claim, { as: 'retry', error: '{"message":"no"}', delayMs: 2_000 })
    const event = (await scene.history(claim.taskId)).at(-1)
    expect(event).toMatchObject({ type: 'task.requeued' })
    expect(JSON.parse(event?.data ?? '')).toMatchObject({
      attempt: 2,
      reason: 'retry',
      error: { message: 'no' },
      leaseId: claim.leaseId,
      dueAt: (event?.at ?? 0) + 2_000,
    })
  })

  rule(
    '2.6 14.3 a fallback to another model keeps the task and its memos; the new quota counts it, the old one does not',
    async (scene) => {
      scene.store.interest({ types: ['task.recovered'], tasks: [] })
      const claim = await scene.running({ model: 'big', tokens: 100 })
      await scene.step(claim, 'first', '1')
      const recovery = {
        category: 'timeout',
        kind: 'timeout',
        strategy: 'fallback_agent',
        model: 'small',
      } as const
      const counted = async () =>
        Object.fromEntries(
          (await scene.stats()).quotas.map(({ key, queued, running, window }) => [
            key,
            [queued, running, window?.tokens],
          ]),
        )
      expect(await counted()).toMatchObject({ 'model:big': [0, 1, 100] })
      await scene.settle(claim, { as: 'retry', error: '{"message":"late"}', delayMs: 0, recovery })
      expect(scene.events.map(({ type, also }) => [type, also])).toEqual([
        ['task.requeued', ['lease.released', 'task.recovered']],
      ])
      // It may have used its estimate, since it charged nothing.
      expect(await counted()).toMatchObject({ 'model:big': [0, 0, 100], 'model:small': [1, 0, 100] })
      expect(await scene.task(claim.taskId)).toMatchObject({ model: 'small' })
      expect(await scene.read({ kind: 'explain', taskId: claim.taskId })).toMatchObject({
        model: 'small',
        requeued: { last: { reason: 'retry', recovery } },
      })
      scene.free(claim.workerId)
      const second = await scene.claim()
      expect(second).toMatchObject({ taskId: claim.taskId, attempt: 2, steps: 1 })
      expect(await counted()).toMatchObject({ 'model:small': [0, 1, 100] })
      expect(await scene.read({ kind: 'memos', taskId: claim.taskId })).toMatchObject({
        steps: [{ key: 'first' }],
        failure: { attempt: 1, reason: 'retry', recovery },
        model: 'small',
      })
      await scene.settle(second)
      expect(await counted()).toMatchObject({ 'model:big': [0, 0, 100], 'model:small': [0, 0, 100] })
    },
    {
      config: { quotaConfig: { models: { big: { tokensPerWindow: 500 }, small: { tokensPerWindow: 500 } } } },
    },
  )

  rule(
    '14.3 a task that is handed over keeps its place and its memos, and the end of a process changes nothing',
    async (scene) => {
      const claim = await scene.running()
      await scene.step(claim, 'first', '1')
      const recovery = {
        category: 'crash',
        kind: 'error',
        strategy: 'fallback_agent',
        task: 'other',
      } as const
      await scene.settle(claim, { as: 'retry', error: '{"message":"no"}', delayMs: 0, recovery })
      const handedOver = { task: 'other', nth: 1 }
      const memos = () => scene.read({ kind: 'memos', taskId: claim.taskId })
      expect(await memos()).toMatchObject({ steps: [{ key: 'first' }], failure: { recovery }, handedOver })
      scene.free(claim.workerId)
      const second = await scene.claim()
      expect(second).toMatchObject({ taskId: claim.taskId, attempt: 2 })
      await scene.settle(second, { as: 'retry', error: '{"message":"no"}', delayMs: 0, interrupted: true })
      expect((await memos()).handedOver).toEqual(handedOver)
      scene.free(second.workerId)
      const third = await scene.claim()
      const again = { category: 'crash', kind: 'error', strategy: 'restart' } as const
      await scene.settle(third, { as: 'retry', error: '{"message":"no"}', delayMs: 0, recovery: again })
      expect(await memos()).toMatchObject({ handedOver: { ...handedOver, isOver: true } })
    },
  )

  for (const reason of ['yielded', 'drained'] as const)
    rule(
      `1.1 a task that is ${reason} goes back with the same attempt; its lease is canceled`,
      async (scene) => {
        const claim = await scene.running()
        expect(await scene.release(claim, reason)).toBe('ok')
        expect(await scene.task(claim.taskId)).toMatchObject({ state: 'queued', attempt: 1, crashes: 0 })
        expect(await scene.read({ kind: 'leases', taskId: claim.taskId })).toMatchObject([
          { status: 'canceled', endReason: reason },
        ])
        const { totals } = await scene.stats()
        expect(totals).toMatchObject({ requeued: 1, preempted: reason === 'yielded' ? 1 : 0, expired: 0 })
      },
    )

  const settlements: readonly [string, Settlement, readonly Settlement[]][] = [
    [
      'completion',
      { as: 'completed', output: '{"a":1,"b":[2]}' },
      [
        { as: 'completed', output: '{"a":1,"b":[3]}' },
        { as: 'failed', kind: 'error', error: '{"a":1,"b":[2]}' },
      ],
    ],
    [
      'failure',
      { as: 'failed', kind: 'timeout', error: '{"message":"late"}' },
      [
        { as: 'failed', kind: 'timeout', error: '{"message":"later"}' },
        { as: 'failed', kind: 'error', error: '{"message":"late"}' },
        { as: 'completed', output: 'null' },
      ],
    ],
    [
      'retry',
      { as: 'retry', error: '{"message":"no"}', delayMs: 60_000 },
      [
        { as: 'retry', error: '{"message":"yes"}', delayMs: 60_000 },
        { as: 'failed', kind: 'error', error: '{"message":"no"}' },
      ],
    ],
  ]
  for (const [what, settlement, others] of settlements) {
    rule(`B11 4.4 the same ${what} again gets the first answer and writes nothing`, async (scene) => {
      const claim = await scene.running()
      expect(await scene.settle(claim, settlement)).toBe('ok')
      const events = await scene.history(claim.taskId)
      expect(await scene.settle(claim, settlement)).toBe('ok')
      expect(await scene.settle(claim, settlement)).toBe('ok')
      expect(await scene.history(claim.taskId)).toEqual(events)
      expect(await scene.stats()).toMatchObject({ staleWrites: 0 })
    })

    rule(`4.4 the same ${what} twice in one turn`, async (scene) => {
      const claim = await scene.running()
      const twice = [scene.settle(claim, settlement), scene.settle(claim, settlement)]
      expect(await Promise.all(twice)).toEqual(['ok', 'ok'])
      expect(await scene.read({ kind: 'leases', taskId: claim.taskId })).toHaveLength(1)
    })

    rule(`B11 4.4 another settlement after a ${what} is stale`, async (scene) => {
      const claim = await scene.running()
      await scene.settle(claim, settlement)
      for (const other of others) expect(await scene.settle(claim, other)).toBe('stale')
      const together = [scene.settle(claim, others[0]), scene.settle(claim, settlement)]
      expect(await Promise.all(together)).toEqual(['stale', 'ok'])
    })
  }

  rule(
    '4.4 a settlement of a large value again is recognised by its content',
    async (scene) => {
      const claim = await scene.running()
      const output = JSON.stringify('x'.repeat(2_000))
      expect(await scene.settle(claim, { as: 'completed', output })).toBe('ok')
      expect(await scene.settle(claim, { as: 'completed', output })).toBe('ok')
      expect(await scene.settle(claim, { as: 'completed', output: output.replace('x', 'y') })).toBe('stale')
    },
    { config: { maxInlineBytes: 1_000 } },
  )

  rule('4.4 the same settlement after the task runs again under another lease', async (scene) => {
    const claim = await scene.running()
    const retry = { as: 'retry', error: '{}', delayMs: 0 } as const
    await scene.settle(claim, retry)
    scene.free(claim.workerId)
    const next = await scene.claim()
    expect(await scene.settle(claim, retry)).toBe('ok')
    expect(await scene.task(claim.taskId)).toMatchObject({
      state: 'running',
      lease: { leaseId: next.leaseId },
    })
  })

  rule('I3 a final state is final: nothing moves a task out of it', async (scene) => {
    const claim = await scene.running()
    await scene.settle(claim, { as: 'failed', kind: 'error', error: '{}' })
    const before = await scene.task(claim.taskId)
    await scene.cancel(claim.taskId)
    await scene.settle(claim)
    await scene.release(claim)
    expect(await scene.task(claim.taskId)).toEqual(before)
  })
}
