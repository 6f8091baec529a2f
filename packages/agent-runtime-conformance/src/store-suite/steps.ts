import type { Claim } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function steps({ rule, timed, expect }: Suite): void {
  const keys = async (scene: Scene, taskId: string) => (await scene.steps(taskId)).map(({ key }) => key)
  const output = (scene: Scene, taskId: string, after = 0, limit = 100) =>
    scene.read({ kind: 'output', taskId, after, limit })
  const append = (scene: Scene, { leaseId }: Claim, ...chunks: readonly string[]) =>
    scene.write({ kind: 'appendOutput', leaseId, chunks })
  /** The task goes back and is claimed again by the same worker. */
  async function again(scene: Scene, claim: Claim): Promise<Claim> {
    await scene.release(claim)
    scene.free(claim.workerId)
    return scene.claim()
  }

  rule('7.1 a recorded step is a memo: it is stored once and read back', async (scene) => {
    const claim = await scene.running()
    expect(
      await scene.write({
        kind: 'recordStep',
        leaseId: claim.leaseId,
        key: 'list files',
        position: 3,
        durationMs: 12.5,
        result: '["a","b"]',
        inputHash: 'ab12',
      }),
    ).toEqual({ fenced: 'ok' })
    const [memo] = await scene.steps(claim.taskId)
    expect(memo).toMatchObject({
      key: 'list files',
      position: 3,
      result: '["a","b"]',
      inputHash: 'ab12',
      seq: 3,
      durationMs: 12.5,
    })
    expect(await scene.task(claim.taskId)).toMatchObject({ steps: 1 })
  })

  rule('C18 the store answers a second record of a key with the memo, and writes nothing', async (scene) => {
    const claim = await scene.running()
    await scene.step(claim, 'a', '1')
    expect(await scene.step(claim, 'a', '2')).toEqual({ fenced: 'ok', memo: '1' })
    const next = await again(scene, claim)
    expect(await scene.step(next, 'a', '3')).toEqual({ fenced: 'ok', memo: '1' })
    expect((await scene.eventTypes(claim.taskId)).filter((type) => type === 'step.completed')).toHaveLength(1)
    expect(await scene.task(claim.taskId)).toMatchObject({ steps: 1 })
  })

  rule('I6 two records of one key in one turn: the first is the memo', async (scene) => {
    const claim = await scene.running()
    const both = [scene.step(claim, 'a', '1'), scene.step(claim, 'a', '2')]
    expect(await Promise.all(both)).toEqual([{ fenced: 'ok' }, { fenced: 'ok', memo: '1' }])
    expect(await scene.steps(claim.taskId)).toMatchObject([{ key: 'a', result: '1' }])
  })

  for (const result of ['null', '{"$ku0":["undefined"]}', 'false', '0', '""'])
    rule(`H05 C14, 7.2 ${result} is a memo like any other`, async (scene) => {
      const claim = await scene.running()
      expect(await scene.step(claim, 'a', result)).toEqual({ fenced: 'ok' })
      expect(await scene.step(claim, 'a', '"again"')).toEqual({ fenced: 'ok', memo: result })
      expect(await scene.steps(claim.taskId)).toMatchObject([{ key: 'a', result }])
    })

  rule('7.2 an error is not memoized: the step may still be recorded', async (scene) => {
    const claim = await scene.running()
    const error = '{"message":"no"}'
    const failed = {
      kind: 'failStep',
      leaseId: claim.leaseId,
      key: 'a',
      position: 0,
      durationMs: 1,
      error,
    } as const
    expect(await scene.write(failed)).toBe('ok')
    expect(await keys(scene, claim.taskId)).toEqual([])
    expect(await scene.task(claim.taskId)).toMatchObject({ steps: 0 })
    expect(await scene.step(claim, 'a', '1')).toEqual({ fenced: 'ok' })
    expect(await keys(scene, claim.taskId)).toEqual(['a'])
    expect((await scene.eventTypes(claim.taskId)).slice(2)).toEqual(['step.failed', 'step.completed'])
  })

  rule('7.1 memos live across attempts, and a claim says how many there are', async (scene) => {
    const claim = await scene.running()
    for (const [n, key] of ['a', 'b', 'c'].entries()) await scene.step(claim, key, String(n), n)
    const second = await again(scene, claim)
    expect(second).toMatchObject({ steps: 3, fencingToken: 2 })
    await scene.step(second, 'd', '3', 3)
    await scene.settle(second, { as: 'retry', error: '{}', delayMs: 0 })
    scene.free(claim.workerId)
    expect(await scene.claim()).toMatchObject({ steps: 4, attempt: 2 })
    expect(await keys(scene, claim.taskId)).toEqual(['a', 'b', 'c', 'd'])
  })

  rule('7.1 steps of one task are its own', async (scene) => {
    const [one, two] = [await scene.running(), await scene.running()]
    await scene.step(one, 'a', '1')
    expect(await scene.step(two, 'a', '2')).toEqual({ fenced: 'ok' })
    expect(await scene.steps(two.taskId)).toMatchObject([{ result: '2' }])
  })

  rule('7.1 steps come in pages', async (scene) => {
    const claim = await scene.running()
    const { taskId } = claim
    for (const key of ['a', 'b', 'c', 'd']) await scene.step(claim, key, '1')
    const pageAfter = (after: number, limit: number) => scene.read({ kind: 'steps', taskId, after, limit })
    const two = await pageAfter(0, 2)
    expect(two).toMatchObject({ steps: [{ key: 'a' }, { key: 'b' }], cursor: two.steps[1]?.seq })
    const rest = await pageAfter(two.cursor ?? 0, 2)
    expect(rest.steps.map(({ key }) => key)).toEqual(['c', 'd'])
    expect(rest.cursor).toBeUndefined()
  })

  const oddKeys = [
    '__proto__',
    'constructor',
    '"position":',
    '"result":1',
    'a"b\\c',
    '\u0000',
    '\ud800',
    '🦕',
    ' ',
  ]
  rule('G04 any text is a step key of its own', async (scene) => {
    const claim = await scene.running()
    for (const [n, key] of oddKeys.entries())
      expect(await scene.step(claim, key, String(n), n)).toEqual({ fenced: 'ok' })
    for (const [n, key] of oddKeys.entries())
      expect(await scene.step(claim, key, '"x"', n)).toEqual({ fenced: 'ok', memo: String(n) })
    const next = await again(scene, claim)
    for (const [n, key] of oddKeys.entries())
      expect(await scene.step(next, key, '"x"', n)).toEqual({ fenced: 'ok', memo: String(n) })
    expect(await keys(scene, claim.taskId)).toEqual(oddKeys)
  })

  rule('10 100 steps of 10 tasks recorded side by side share one commit', async (scene) => {
    const claims: Claim[] = []
    for (let n = 0; n < 10; n++) claims.push(await scene.running())
    const { commits } = await scene.stats()
    const all = claims.flatMap((claim) =>
      Array.from({ length: 10 }, (_, n) => scene.step(claim, `k${n}`, String(n), n)),
    )
    expect(new Set((await Promise.all(all)).map(({ fenced }) => fenced))).toEqual(new Set(['ok']))
    expect((await scene.stats()).commits).toBe(commits + 1)
  })

  rule('a checkpoint comes with the next claim, the newest alone', async (scene) => {
    const claim = await scene.running()
    for (const data of ['{"n":1}', '{"n":2}'])
      expect(await scene.write({ kind: 'checkpoint', leaseId: claim.leaseId, data })).toBe('ok')
    expect(claim.checkpoint).toBeUndefined()
    expect(await scene.read({ kind: 'checkpoint', taskId: claim.taskId })).toEqual({
      seq: (await scene.history(claim.taskId)).at(-1)?.seq,
      at: scene.now,
      data: '{"n":2}',
    })
    expect(await scene.read({ kind: 'checkpoint', taskId: 'nobody' })).toBeUndefined()
    expect(await again(scene, claim)).toMatchObject({ checkpoint: '{"n":2}' })
    expect(
      (await scene.eventTypes(claim.taskId)).filter((type) => type === 'checkpoint.created'),
    ).toHaveLength(2)
  })

  rule('also with one that is granted in the very turn of the checkpoint', async (scene) => {
    const claim = await scene.running()
    await scene.write({ kind: 'checkpoint', leaseId: claim.leaseId, data: '{"n":1}' })
    const checkpointed = scene.write({ kind: 'checkpoint', leaseId: claim.leaseId, data: '{"n":2}' })
    const released = scene.release(claim)
    scene.free(claim.workerId)
    expect([await checkpointed, await released]).toEqual(['ok', 'ok'])
    expect(await scene.claim()).toMatchObject({ checkpoint: '{"n":2}' })
  })

  rule('the event of a checkpoint keeps its hash and size, not its data', async (scene) => {
    const claim = await scene.running()
    await scene.write({ kind: 'checkpoint', leaseId: claim.leaseId, data: '"secret"' })
    const event = (await scene.history(claim.taskId)).at(-1)
    expect(Object.keys(JSON.parse(event?.data ?? '') as object)).toEqual(['hash', 'size'])
    expect(event?.data).not.toContain('secret')
  })

  rule('9 output chunks are numbered from 1 without a gap, within a call and across calls', async (scene) => {
    const claim = await scene.running()
    expect(await append(scene, claim, '"a"', '"b"')).toBe('ok')
    const more = [append(scene, claim, '"c"'), append(scene, claim), append(scene, claim, '"d"', '"e"')]
    expect(await Promise.all(more)).toEqual(['ok', 'ok', 'ok'])
    const chunks = await output(scene, claim.taskId)
    expect(chunks?.map(({ seq, data }) => [seq, data])).toEqual([
      [1, '"a"'],
      [2, '"b"'],
      [3, '"c"'],
      [4, '"d"'],
      [5, '"e"'],
    ])
    expect(await output(scene, claim.taskId, 2, 2)).toMatchObject([{ seq: 3 }, { seq: 4 }])
    expect(await output(scene, claim.taskId, 5)).toEqual([])
    expect(await output(scene, 'nobody')).toBeUndefined()
    expect(await scene.eventTypes(claim.taskId)).toEqual(['task.queued', 'task.started'])
  })

  timed('9.3 chunks carry the attempt, and go on counting after a failover', async (scene) => {
    const claim = await scene.running()
    await append(scene, claim, '1', '2')
    await scene.jump(30_000)
    scene.free(claim.workerId)
    const next = await scene.claim()
    await append(scene, next, '3')
    expect((await output(scene, claim.taskId))?.map(({ seq, attempt }) => [seq, attempt])).toEqual([
      [1, 1],
      [2, 1],
      [3, 2],
    ])
  })

  rule(
    '9.1 chunks are emitted to whoever is interested in their task, each once, in order',
    async (scene) => {
      const [mine, other] = [await scene.running(), await scene.running()]
      await append(scene, mine, '"before"')
      scene.store.interest({ types: [], tasks: [mine.taskId] })
      await append(scene, other, '"other"')
      await append(scene, mine, '1', '2')
      await append(scene, mine, '3')
      expect(scene.chunks.map(({ taskId, seq, data }) => [taskId, seq, data])).toEqual([
        [mine.taskId, 2, '1'],
        [mine.taskId, 3, '2'],
        [mine.taskId, 4, '3'],
      ])
    },
  )

  rule('progress is kept with the lease, not as an event', async (scene) => {
    const claim = await scene.running()
    for (const progress of ['0.25', '{"done":5,"of":9}'])
      expect(await scene.write({ kind: 'progress', leaseId: claim.leaseId, progress })).toBe('ok')
    const [lease] = await scene.read({ kind: 'leases', taskId: claim.taskId })
    expect(lease?.progress).toEqual({ done: 5, of: 9 })
    expect(typeof lease?.progressAt).toBe('number')
    expect(await scene.eventTypes(claim.taskId)).toEqual(['task.queued', 'task.started'])
  })

  timed('8.6 a report of progress has its time, whether or not its value is a new one', async (scene) => {
    const claim = await scene.running()
    const report = () => scene.write({ kind: 'progress', leaseId: claim.leaseId, progress: '0.5' })
    const [lease] = await scene.read({ kind: 'leases', taskId: claim.taskId })
    expect(lease?.progressAt).toBe(undefined)
    for (const after of [1_000, 2_000]) {
      await scene.pass(after)
      expect(await report()).toBe('ok')
      expect(await scene.read({ kind: 'leases', taskId: claim.taskId })).toMatchObject([
        { progress: 0.5, progressAt: scene.now },
      ])
    }
  })

  rule('12.0 a pass is checkpointed from its checkpoint to the end of its next step', async (scene) => {
    const claim = await scene.running()
    const { leaseId, taskId } = claim
    const isCheckpointed = async () => (await scene.task(taskId)) as { checkpointed?: boolean }
    const checkpoint = () => scene.write({ kind: 'checkpoint', leaseId, data: '1' })
    expect(await isCheckpointed()).toMatchObject({ checkpointed: false })
    const approval = {
      artifact: '1',
      mode: 'supervised',
      asked: true,
      maxRetries: 1,
      onReject: 'rerun',
      onTimeout: 'reject',
    } as const
    await scene.write({
      kind: 'suspend',
      leaseId,
      waits: [{ key: 'ask', position: 0, kind: 'approval', name: 'ask', approval }],
      stay: true,
    })
    const request = (await scene.eventTypes(taskId)).indexOf('approval.requested') + 1
    const child = await scene.write({
      kind: 'spawn',
      leaseId,
      key: 'child',
      position: 1,
      policy: 'cancel',
      submission: { type: 'child', lane: 'normal', input: '1' },
    })
    await checkpoint()
    // What comes from outside is not what the pass does.
    await scene.write({ kind: 'signal', taskId, name: 'word', value: '1' })
    if (child.fenced === 'ok' && child.as === 'spawned') await scene.cancel(child.child.taskId)
    await scene.write({ kind: 'resolveApproval', taskId, request, verdict: 'approved', value: '1' })
    expect((await scene.eventTypes(taskId)).slice(-3)).toEqual([
      'signal.received',
      'child.ended',
      'approval.resolved',
    ])
    expect(await isCheckpointed()).toMatchObject({ checkpointed: true })
    await scene.step(claim, 'one', '1')
    expect(await isCheckpointed()).toMatchObject({ checkpointed: false })
    await checkpoint()
    const failed = { key: 'two', position: 1, durationMs: 1, error: '"no"' }
    await scene.write({ kind: 'failStep', leaseId, ...failed })
    expect(await isCheckpointed()).toMatchObject({ checkpointed: false })
    // The next pass has made none yet.
    await checkpoint()
    const next = await again(scene, claim)
    expect(await isCheckpointed()).toMatchObject({ state: 'running', checkpointed: false })
    await scene.settle(next)
    expect((await isCheckpointed()).checkpointed).toBeUndefined()
  })
}
