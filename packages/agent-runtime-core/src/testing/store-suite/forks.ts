import type { OutcomeOf, Write } from '../../store.ts'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function forks({ rule, timed, expect }: Suite): void {
  const fork = (scene: Scene, taskId: string, it: Partial<Write<'fork'>> = {}): Promise<OutcomeOf<'fork'>> =>
    scene.write({ kind: 'fork', taskId, edits: {}, onlyOver: false, change: {}, ...it })
  const results = async (scene: Scene, taskId: string) =>
    (await scene.read({ kind: 'steps', taskId })).map(({ key, result }) => [key, result])

  /** A task with the steps a, b and c, failed; its fork's id comes from `forked`. */
  async function failed(scene: Scene): Promise<string> {
    const claim = await scene.running({ input: '{"n":1}', labels: { of: 'x' }, timeoutMs: 5_000, model: 'm' })
    for (const [n, key] of ['a', 'b', 'c'].entries()) await scene.step(claim, key, String(n), n)
    await scene.settle(claim, { as: 'failed', kind: 'error', error: '{"message":"no"}' })
    scene.free(claim.workerId)
    return claim.taskId
  }
  function idOf(outcome: OutcomeOf<'fork'>): string {
    if (outcome.as !== 'submitted' || !outcome.receipt.accepted) throw new Error(JSON.stringify(outcome))
    return outcome.receipt.taskId
  }

  rule('1.2 a failed task is tried again as a new one that keeps the completed steps', async (scene) => {
    const old = await failed(scene)
    const before = await scene.history(old)
    const taskId = idOf(await fork(scene, old, { onlyOver: true }))
    const claim = await scene.claim()
    expect(claim).toMatchObject({ taskId, attempt: 1, fencingToken: 1, steps: 3 })
    expect(JSON.parse(claim.submission)).toMatchObject({
      input: { n: 1 },
      labels: { of: 'x' },
      timeoutMs: 5_000,
      forkOf: old,
    })
    expect(await results(scene, taskId)).toEqual([
      ['a', '0'],
      ['b', '1'],
      ['c', '2'],
    ])
    expect(await scene.step(claim, 'b', '"again"', 1)).toEqual({ fenced: 'ok', memo: '1' })
    expect(await scene.history(old)).toEqual(before)
    expect(await scene.task(taskId)).toMatchObject({ model: 'm', steps: 3 })
  })

  rule('6.3 a fork keeps what came before a step, by the order of the calls', async (scene) => {
    const old = await failed(scene)
    const taskId = idOf(await fork(scene, old, { fromStep: 'b' }))
    expect(await results(scene, taskId)).toEqual([['a', '0']])
    expect((await scene.eventTypes(taskId)).slice(0, 2)).toEqual(['task.queued', 'step.inherited'])
  })

  rule('6.3 results can be edited in the fork; the original is untouched', async (scene) => {
    const old = await failed(scene)
    const taskId = idOf(await fork(scene, old, { fromStep: 'c', edits: { a: '{"b":1}' } }))
    expect(await results(scene, taskId)).toEqual([
      ['a', '{"b":1}'],
      ['b', '1'],
    ])
    expect((await results(scene, old))[0]).toEqual(['a', '0'])
  })

  rule('6.3 a fork of a fork inherits what that one inherited', async (scene) => {
    const first = idOf(await fork(scene, await failed(scene)))
    const second = idOf(await fork(scene, first, { fromStep: 'c' }))
    expect((await results(scene, second)).map(([key]) => key)).toEqual(['a', 'b'])
  })

  rule('6.3 a running task can be forked, and goes on', async (scene) => {
    const claim = await scene.running()
    await scene.step(claim, 'a', '1')
    const taskId = idOf(await fork(scene, claim.taskId))
    expect(await results(scene, taskId)).toEqual([['a', '1']])
    expect(await scene.settle(claim)).toBe('ok')
  })

  timed('6.3 a wait that is over is over in the fork too', async (scene) => {
    const claim = await scene.running()
    const { leaseId } = claim
    const nap = { key: 'nap', position: 0, kind: 'timer', delayMs: 1_000 } as const
    await scene.write({ kind: 'suspend', leaseId, waits: [nap], stay: false })
    scene.free(claim.workerId)
    await scene.pass(1_000)
    const taskId = idOf(await fork(scene, claim.taskId))
    const { waits } = await scene.read({ kind: 'memos', taskId })
    await scene.worker('more', 1)
    expect(scene.claims.map(({ replays }) => replays)).toEqual([false, true, true])
    expect(waits).toMatchObject([{ key: 'nap', kind: 'timer', outcome: 'fired' }])
  })

  rule(
    '7.5 large results are inherited whole, edited ones too',
    async (scene) => {
      const [long, other] = ['x', 'y'].map((letter) => JSON.stringify(letter.repeat(2_000)))
      const claim = await scene.running({ input: long as string })
      await scene.step(claim, 'a', long as string)
      await scene.step(claim, 'b', '1', 1)
      const plain = idOf(await fork(scene, claim.taskId))
      const edited = idOf(await fork(scene, claim.taskId, { edits: { a: '1', b: other as string } }))
      expect(await results(scene, plain)).toEqual([
        ['a', long],
        ['b', '1'],
      ])
      expect(await results(scene, edited)).toEqual([
        ['a', '1'],
        ['b', other],
      ])
      expect((await scene.task(plain)).input).toBe(long)
    },
    { config: { maxInlineBytes: 1_000 } },
  )

  rule('1.2 what cannot be forked says why, and makes nothing', async (scene) => {
    const old = await failed(scene)
    const { totals } = await scene.stats()
    expect(await fork(scene, 'nobody')).toEqual({ as: 'unknown_task' })
    expect(await fork(scene, old, { fromStep: 'z' })).toEqual({ as: 'unknown_step', key: 'z' })
    for (const [key, recorded] of [
      ['b', { recorded: 'step' }],
      ['c', { recorded: 'step' }],
      ['z', {}],
    ] as const)
      expect(await fork(scene, old, { fromStep: 'b', edits: { [key]: '1' } })).toEqual({
        as: 'not_editable',
        key,
        ...recorded,
      })
    expect((await scene.stats()).totals).toEqual(totals)
    const claim = await scene.running()
    expect(await fork(scene, claim.taskId, { onlyOver: true })).toEqual({ as: 'not_over', state: 'running' })
    await scene.settle(claim)
    expect(await fork(scene, claim.taskId, { onlyOver: true })).toEqual({
      as: 'not_over',
      state: 'completed',
    })
    const refused = await scene.submit({ refused: { reason: 'invalid_payload', message: 'no' } })
    expect(await fork(scene, refused.taskId)).toEqual({ as: 'unknown_task' })
  })

  rule(
    '2.1 a fork is a submission: the limits hold, its own key and id count',
    async (scene) => {
      const old = await failed(scene)
      const named = await fork(scene, old, {
        change: { taskId: 'mine', idempotencyKey: 'k', input: '{"n":2}' },
      })
      expect(idOf(named)).toBe('mine')
      expect(await fork(scene, old, { change: { idempotencyKey: 'k', input: '{"n":2}' } })).toMatchObject({
        as: 'submitted',
        receipt: { accepted: true, deduplicated: true, taskId: 'mine' },
      })
      await scene.claim()
      await scene.accepted()
      expect(await fork(scene, old)).toMatchObject({
        as: 'submitted',
        receipt: { accepted: false, reason: 'queue_full' },
      })
    },
    { config: { queueDepthLimit: 1, batchBackpressureThreshold: 1 } },
  )
}
