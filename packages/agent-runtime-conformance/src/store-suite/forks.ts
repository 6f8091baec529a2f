import {
  childName,
  patienceKey,
  type OutcomeOf,
  type Write,
  type Claim,
  type WaitRequest,
} from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function forks({ rule, timed, expect }: Suite): void {
  const fork = (scene: Scene, taskId: string, it: Partial<Write<'fork'>> = {}): Promise<OutcomeOf<'fork'>> =>
    scene.write({ kind: 'fork', taskId, edits: {}, onlyOver: false, change: {}, ...it })
  const results = async (scene: Scene, taskId: string) =>
    (await scene.steps(taskId)).map(({ key, result }) => [key, result])

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

  rule('6.3 many are retried in one commit, each once, with their completed steps', async (scene) => {
    const canceled = await scene.accepted()
    await scene.cancel(canceled)
    const [one, two] = [await failed(scene), await failed(scene)]
    const running = await scene.running()
    const given = { kind: 'retryMany', taskIds: [one, running.taskId, 'nobody', two, one, canceled] } as const
    const { commits } = await scene.stats()
    const none = { retried: 0, before: 0, rejected: 0, skipped: 0 }
    expect(await scene.write({ ...given, states: ['failed'] })).toEqual({ ...none, retried: 2, skipped: 3 })
    expect((await scene.stats()).commits).toBe(commits + 1)
    const claims = [await scene.claim(), await scene.claim()]
    expect(claims.map(({ submission }) => JSON.parse(submission) as object)).toMatchObject([
      { forkOf: one, asRetry: true, idempotencyKey: `retry of ${one}` },
      { forkOf: two },
    ])
    for (const { taskId } of claims) expect(await results(scene, taskId)).toHaveLength(3)
    expect(await scene.write(given)).toEqual({ ...none, retried: 1, before: 2, skipped: 2 })
    expect(await scene.write({ ...given, again: true })).toEqual({ ...none, retried: 3, skipped: 2 })
    expect(
      await fork(scene, one, { onlyOver: true, change: { idempotencyKey: `retry of ${one}` } }),
    ).toMatchObject({ receipt: { taskId: claims[0]?.taskId, deduplicated: true } })
  })

  rule(
    '6.3 the first one for which there is no room ends a retry of many, without a trace',
    async (scene) => {
      const taskIds = [await failed(scene), await failed(scene)]
      const most = scene.config.queueDepthLimit - 1
      // Free workers take some of them.
      while ((await scene.depth()) < most) await scene.submitMany(most - (await scene.depth()))
      const { totals } = await scene.stats()
      expect(await scene.write({ kind: 'retryMany', taskIds })).toMatchObject({
        retried: 1,
        rejected: 0,
        full: { reason: 'queue_full' },
      })
      expect((await scene.stats()).totals).toMatchObject({ rejected: totals.rejected })
    },
  )

  rule('6.3 tasks that are no child can be selected', async (scene) => {
    const { taskId: top, leaseId } = await scene.running()
    const task = { type: 'child', lane: 'batch', input: '1' } as const
    await scene.write({ kind: 'spawn', leaseId, key: 'c', position: 0, policy: 'cancel', submission: task })
    expect(await scene.read({ kind: 'taskIds', filter: { parent: null } })).toMatchObject({ taskIds: [top] })
    expect((await scene.read({ kind: 'taskIds', filter: {} })).taskIds).toHaveLength(2)
    expect((await scene.read({ kind: 'tasks', filter: { parent: null, limit: 1 } })).tasks).toHaveLength(1)
    expect(
      await scene.read({ kind: 'taskCount', filter: { parent: null, states: ['failed'] } }),
    ).toMatchObject({
      count: 0,
    })
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

  rule(
    '6.3, 7.6 a step in doubt is in doubt in the fork, under its key, unless an edit says how it ended',
    async (scene) => {
      const claim = await scene.running()
      const { leaseId } = claim
      const start = { kind: 'startStep', leaseId, inputHash: 'h', position: 1 } as const
      await scene.step(claim, 'a', '0', 0)
      for (const key of ['paid', 'paying', 'refused', 'late', 'paying']) await scene.write({ ...start, key })
      await scene.step(claim, 'paid', '1', 1)
      const fail = { kind: 'failStep', leaseId, position: 1, durationMs: 1 } as const
      await scene.write({ ...fail, key: 'refused', error: '{"message":"no"}' })
      await scene.write({ ...fail, key: 'late', error: '{"code":"timeout","message":"late"}' })
      const old = (await scene.read({ kind: 'memos', taskId: claim.taskId })).inDoubt
      expect(old).toMatchObject([
        { key: 'paying', starts: 2 },
        { key: 'late', starts: 1 },
      ])
      expect(await fork(scene, claim.taskId, { fromStep: 'late' })).toMatchObject({ inDoubt: true })
      const stray = await fork(scene, claim.taskId, { fromStep: 'a', edits: { late: '1' } })
      expect(stray).toMatchObject({ as: 'not_editable', key: 'late', inDoubt: true })

      const first = idOf(await fork(scene, claim.taskId))
      const inherited = await scene.read({ kind: 'memos', taskId: first })
      const told = ({ key, starts, startedAt }: (typeof old)[number]) => ({ key, starts, startedAt })
      expect(inherited.inDoubt.map(told)).toEqual(old.toSorted((a, b) => a.seq - b.seq).map(told))
      expect(inherited.effectKeys.map(({ key }) => key).toSorted()).toEqual(['late', 'paying'])
      expect(new Set(inherited.effectKeys.map(({ effectKey }) => effectKey)).size).toBe(2)
      const second = idOf(await fork(scene, first, { edits: { late: '"done"' } }))
      const { inDoubt, effectKeys, steps } = await scene.read({ kind: 'memos', taskId: second })
      expect(inDoubt.map(told)).toEqual(old.filter(({ key }) => key === 'paying').map(told))
      expect(effectKeys).toEqual(inherited.effectKeys.filter(({ key }) => key === 'paying'))
      expect(steps.find(({ key }) => key === 'late')).toMatchObject({
        result: '"done"',
        inputHash: 'h',
        position: 1,
      })
      expect(
        (await scene.read({ kind: 'memos', taskId: idOf(await fork(scene, first, { fromStep: 'a' })) }))
          .inDoubt,
      ).toEqual([])
    },
  )

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

  rule('1.2 a task that cannot be forked says why, and makes nothing', async (scene) => {
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

  const suspend = (scene: Scene, { leaseId }: Claim, ...waits: readonly WaitRequest[]) =>
    scene.write({ kind: 'suspend', leaseId, waits, stay: false })
  const memos = (scene: Scene, taskId: string) => scene.read({ kind: 'memos', taskId })
  const timer = (key: string, position: number, delayMs: number): WaitRequest => ({
    key,
    position,
    kind: 'timer',
    delayMs,
  })
  const ask = (key: string, position: number): WaitRequest => ({
    key,
    position,
    kind: 'approval',
    approval: {
      artifact: '1',
      mode: 'supervised',
      asked: true,
      maxRetries: 3,
      onReject: 'rerun',
      onTimeout: 'throw',
    },
  })

  /** The next claim of a task that asked for an approval and got this verdict. */
  async function answered(
    scene: Scene,
    claim: Claim,
    asked: WaitRequest,
    verdict: 'approved' | 'rejected',
    value = '{"by":"Ada"}',
  ): Promise<Claim> {
    const { taskId } = claim
    await suspend(scene, claim, asked)
    const { approvals } = await scene.read({ kind: 'approvals', limit: 1, taskId })
    const request = approvals[0]?.request ?? 0
    await scene.write({ kind: 'resolveApproval', taskId, request, verdict, value })
    scene.free(claim.workerId)
    return scene.claim()
  }

  rule('6.3 12.2 a fork has the rejections that what it keeps was made under', async (scene) => {
    let claim = await answered(scene, await scene.running(), ask('plan', 0), 'approved')
    await scene.step(claim, 'draft', '1', 1)
    claim = await answered(scene, claim, ask('text', 2), 'rejected', '{"feedback":"shorter"}')
    await scene.step(claim, 'draft', '2', 1)
    await scene.step(claim, 'send', '3', 3)
    claim = await answered(scene, claim, ask('sent', 4), 'rejected', '{"feedback":"no"}')
    // What the second one sent back is gone, so that nothing was made under it.
    const bare = idOf(await fork(scene, claim.taskId))
    expect((await memos(scene, bare)).rejections).toEqual([])
    await scene.step(claim, 'draft', '4', 1)
    let taskId = claim.taskId
    for (let generation = 1; generation <= 2; generation++) {
      taskId = idOf(await fork(scene, taskId))
      const { waits, steps, rejections } = await memos(scene, taskId)
      expect(waits).toMatchObject([{ key: 'plan', outcome: 'approved', seq: 2 }])
      expect(rejections).toMatchObject([
        { key: 'text', since: 2, seq: 3, value: '{"feedback":"shorter"}' },
        { key: 'sent', since: 2, seq: 4, value: '{"feedback":"no"}' },
      ])
      expect(steps).toMatchObject([{ key: 'draft', result: '4', seq: 5 }])
    }
    // Made before the step, so it was made under none.
    const earlier = idOf(await fork(scene, claim.taskId, { fromStep: 'draft' }))
    expect(await memos(scene, earlier)).toMatchObject({ waits: [{ key: 'plan' }], rejections: [] })
  })

  rule('6.3 12.2 inherited rejections count towards maxRetries', async (scene) => {
    let claim = await scene.running()
    for (const n of [1, 2, 3]) {
      claim = await answered(scene, claim, ask('text', 1), 'rejected')
      await scene.step(claim, 'draft', String(n))
    }
    const taskId = idOf(await fork(scene, claim.taskId))
    await scene.settle(claim)
    scene.free(claim.workerId)
    claim = await scene.claim()
    expect(claim.taskId).toBe(taskId)
    await suspend(scene, claim, ask('text', 1))
    const { approvals } = await scene.read({ kind: 'approvals', limit: 1, taskId })
    expect(approvals).toMatchObject([{ rejections: 3 }])
    const request = approvals[0]?.request ?? 0
    await scene.write({ kind: 'resolveApproval', taskId, request, verdict: 'rejected', value: '{}' })
    expect(await scene.task(taskId)).toMatchObject({ state: 'failed', kind: 'not_approved' })
  })

  rule('6.3 12.2 a rejection whose approval is not kept is not kept, and voids nothing', async (scene) => {
    let claim = await scene.running()
    await scene.step(claim, 'a', '1', 0)
    claim = await answered(scene, claim, ask('plan', 2), 'approved')
    claim = await answered(scene, claim, ask('text', 3), 'rejected')
    await scene.step(claim, 'beside', '2', 1)
    await scene.step(claim, 'c', '3', 2)
    const taskId = idOf(await fork(scene, claim.taskId, { fromStep: 'c' }))
    expect(await memos(scene, taskId)).toMatchObject({
      steps: [{ key: 'a' }, { key: 'beside' }],
      waits: [],
      rejections: [],
    })
  })

  /** A parent that waits for a child with patience, one of 50 ms; `first` comes before the other. */
  async function patient(scene: Scene, first: 'end' | 'patience'): Promise<Claim> {
    const parent = await scene.running({ type: 'parent' })
    const submission = { type: 'child', lane: 'normal', input: 'null' } as const
    const { leaseId } = parent
    await scene.write({ kind: 'spawn', leaseId, key: 'slow', position: 0, policy: 'cancel', submission })
    const end = { key: childName('slow'), position: 1, kind: 'child', name: childName('slow') } as const
    await suspend(scene, parent, end, timer(patienceKey('slow', 1), 1, 50))
    const over = async () => {
      await scene.worker('child', 1, ['child'])
      await scene.settle(await scene.claim(), { as: 'completed', output: '7' })
    }
    if (first === 'end') await over()
    scene.free(parent.workerId)
    if (first === 'patience') await scene.pass(50)
    const claim = await scene.claim()
    if (first === 'patience') await over()
    else await scene.pass(50)
    await suspend(scene, claim, timer('nap', 2, 0))
    await scene.step(claim, 'b', '1', 3)
    return claim
  }

  timed(
    '6.3 5.5 a limit of patience that was over is over in the fork, before the end of the child',
    async (scene) => {
      const { taskId } = await patient(scene, 'patience')
      const copy = idOf(await fork(scene, taskId))
      expect((await memos(scene, copy)).waits.map(({ key }) => key)).toEqual([patienceKey('slow', 1), 'nap'])
      const types = await scene.eventTypes(copy)
      expect(types.slice(0, 4)).toEqual(['task.queued', 'child.inherited', 'wait.inherited', 'child.ended'])
      const again = idOf(await fork(scene, copy))
      expect(await scene.eventTypes(again)).toEqual(types)
    },
  )

  timed('6.3 5.5 a limit that ended after its child is not over in the fork', async (scene) => {
    const { taskId } = await patient(scene, 'end')
    expect((await memos(scene, taskId)).waits.map(({ key }) => key)).toContain(patienceKey('slow', 1))
    const copy = idOf(await fork(scene, taskId))
    expect((await memos(scene, copy)).waits.map(({ key }) => key)).toEqual(['nap'])
  })

  timed(
    '1.2 6.3 a retry waits again for the wait that failed the task, a fork has its end',
    async (scene) => {
      const late = (key: string, position: number): WaitRequest => ({
        key,
        position,
        kind: 'signal',
        name: key,
        delayMs: 10,
      })
      const waitsOf = async (taskId: string) => (await memos(scene, taskId)).waits.map(({ key }) => key)
      for (const [waits, kept] of [
        [['second'], ['first']],
        [['first'], []],
        // The failure names none: the last memo is what it came of.
        [undefined, ['first']],
      ] as const) {
        let claim = await scene.running({ type: String(waits) })
        const { taskId } = claim
        await scene.step(claim, 'a', '1')
        for (const [position, key] of ['first', 'second'].entries()) {
          await suspend(scene, claim, late(key, position + 1))
          scene.free(claim.workerId)
          await scene.pass(10)
          claim = await scene.claim()
        }
        const error = '{"message":"no"}'
        await scene.settle(claim, { as: 'failed', kind: 'error', error, ...(waits && { waits }) })
        expect(await waitsOf(taskId)).toEqual(['first', 'second'])
        const again = idOf(await fork(scene, taskId, { onlyOver: true }))
        expect(await waitsOf(again)).toEqual(kept)
        expect(await results(scene, again)).toEqual([['a', '1']])
        expect(await waitsOf(idOf(await fork(scene, taskId)))).toEqual(['first', 'second'])
      }
    },
  )

  timed('1.2 6.3 a retry keeps what ended before a step was recorded, or failed', async (scene) => {
    for (const last of ['recorded', 'failed']) {
      let claim = await scene.running({ type: last })
      const { taskId, workerId } = claim
      const wait = { key: 'go', position: 0, kind: 'signal', name: 'go', delayMs: 10 } as const
      await suspend(scene, claim, wait)
      scene.free(workerId)
      await scene.pass(10)
      claim = await scene.claim()
      const { leaseId } = claim
      const step = { leaseId, key: 'plan b', position: 1, durationMs: 1 } as const
      if (last === 'recorded') await scene.step(claim, 'plan b', '1', 1)
      else await scene.write({ kind: 'failStep', ...step, error: '{"message":"no"}' })
      await scene.settle(claim, { as: 'failed', kind: 'error', error: '{"message":"no"}' })
      const again = idOf(await fork(scene, taskId, { onlyOver: true }))
      expect((await memos(scene, again)).waits).toMatchObject([{ key: 'go', outcome: 'timed_out' }])
    }
  })

  rule('6.3 a retry of a parent keeps the steps of its children that failed', async (scene) => {
    const spawn = async (parent: Claim, input: string) => {
      const submission = { type: 'child', lane: 'normal', input } as const
      const { forkOf, asRetry } = JSON.parse(parent.submission) as { forkOf?: string; asRetry?: true }
      const retryOf = asRetry === true && forkOf !== undefined ? { retryOf: forkOf } : {}
      const { leaseId } = parent
      await scene.write({
        kind: 'spawn',
        leaseId,
        key: 'c',
        position: 0,
        policy: 'cancel',
        submission,
        ...retryOf,
      })
      await scene.worker('child', 1, ['child'])
      const child = await scene.claim()
      scene.free(child.workerId)
      return child
    }
    const failure = { as: 'failed', kind: 'error', error: '{"message":"no"}' } as const
    const parent = await scene.running({ type: 'parent' })
    const child = await spawn(parent, '1')
    for (const [n, key] of ['a', 'b'].entries()) await scene.step(child, key, String(n), n)
    await scene.settle(child, failure)
    await scene.settle(parent, failure)
    const again = async (taskId: string, onlyOver: boolean) => {
      const id = idOf(await fork(scene, taskId, { onlyOver }))
      scene.free(parent.workerId)
      const claim = await scene.claim()
      expect(claim.taskId).toBe(id)
      return claim
    }

    const retried = await again(parent.taskId, true)
    const second = await spawn(retried, '1')
    expect(second).toMatchObject({ attempt: 1, steps: 2 })
    expect(JSON.parse(second.submission)).toMatchObject({
      asRetry: true,
      forkOf: child.taskId,
      parentId: retried.taskId,
    })
    expect(await results(scene, second.taskId)).toEqual([
      ['a', '0'],
      ['b', '1'],
    ])
    // The second child failed with more steps, so the next retry keeps them, too.
    await scene.step(second, 'c', '2', 2)
    await scene.settle(second, failure)
    await scene.settle(retried, failure)
    const end = async (claim: Claim, ended: Claim) => {
      await scene.settle(ended, failure)
      await scene.settle(claim, failure)
    }
    const third = await again(retried.taskId, true)
    const kept = await spawn(third, '1')
    expect(kept).toMatchObject({ steps: 3 })
    await scene.cancel(kept.taskId)
    await scene.settle(third, failure)
    // A canceled child keeps its steps, too.
    const afterCancel = await again(third.taskId, true)
    const goesOn = await spawn(afterCancel, '1')
    expect(goesOn).toMatchObject({ steps: 3 })
    await end(afterCancel, goesOn)

    // Steps belong to an input: with another one the child starts from nothing. A fork that is no retry starts it from nothing, too.
    const fourth = await again(afterCancel.taskId, true)
    const other = await spawn(fourth, '2')
    expect(other).toMatchObject({ steps: 0 })
    await end(fourth, other)
    expect(await spawn(await again(afterCancel.taskId, false), '1')).toMatchObject({ steps: 0 })
  })

  timed('6.3 7.7 a fork begins the tries of its steps again', async (scene) => {
    const claim = await scene.running()
    await suspend(scene, claim, timer('$ku0/retry/1/a', 0, 0))
    expect((await memos(scene, claim.taskId)).waits).toMatchObject([{ key: '$ku0/retry/1/a' }])
    const taskId = idOf(await fork(scene, claim.taskId))
    expect((await memos(scene, taskId)).waits).toEqual([])
  })

  timed('7.7 a retry of the task begins the tries of its steps again, a crash does not', async (scene) => {
    let claim = await scene.running()
    const { taskId } = claim
    const retry = (n: number, delayMs: number) => timer(`$ku0/retry/${n}/a`, 0, delayMs)
    const again = async () => {
      scene.free(claim.workerId)
      claim = await scene.claim()
    }
    const { leaseId } = claim
    await suspend(scene, claim, retry(1, 0), timer('nap', 1, 0))
    await scene.write({
      kind: 'suspend',
      leaseId,
      waits: [retry(2, 1_000), timer('long', 2, 5_000)],
      stay: true,
    })
    await scene.release(claim)
    await again()
    expect(await memos(scene, taskId)).toMatchObject({
      waits: [{ key: '$ku0/retry/1/a' }, { key: 'nap' }],
      open: [{ key: '$ku0/retry/2/a' }, { key: 'long' }],
    })
    await scene.settle(claim, { as: 'retry', error: '{"message":"no"}', delayMs: 0 })
    await again()
    expect(await memos(scene, taskId)).toMatchObject({ waits: [{ key: 'nap' }], open: [{ key: 'long' }] })
    await suspend(scene, claim, retry(1, 0))
    expect((await memos(scene, taskId)).waits.map(({ key }) => key)).toEqual(['nap', '$ku0/retry/1/a'])
  })

  rule('6.3 a result that a decision was made of cannot be edited, the decision can', async (scene) => {
    const claim = await scene.running()
    const { leaseId, taskId } = claim
    await scene.step(claim, 'web', '1', 0)
    const open = idOf(await fork(scene, taskId, { edits: { web: '9' } }))
    expect(await results(scene, open)).toEqual([['web', '9']])
    const decision = { key: 'search', position: 0, durationMs: 1, result: '{"web":1}' }
    await scene.write({ kind: 'recordStep', leaseId, ...decision, branches: 'all' })
    const inside = { as: 'inside_decision', key: 'web', decision: 'search' }
    expect(await fork(scene, taskId, { edits: { web: '9' } })).toEqual(inside)
    const copy = idOf(await fork(scene, taskId, { edits: { search: '{"web":9}' } }))
    expect(await results(scene, copy)).toEqual([
      ['web', '1'],
      ['search', '{"web":9}'],
    ])
    expect(await fork(scene, copy, { edits: { web: '9' } })).toEqual(inside)
  })

  rule('2.7 6.3 the key of a fork binds what it is forked from, its step and its edits', async (scene) => {
    const old = await failed(scene)
    const change = { idempotencyKey: 'k' }
    const first = idOf(await fork(scene, old, { change, fromStep: 'c', edits: { b: '7', a: '8' } }))
    const receiptOf = async (taskId: string, it: Partial<Write<'fork'>>) => {
      const outcome = await fork(scene, taskId, { change, ...it })
      return outcome.as === 'submitted' ? outcome.receipt : outcome
    }
    expect(await receiptOf(old, { fromStep: 'c', edits: { a: '8', b: '7' } })).toMatchObject({
      accepted: true,
      deduplicated: true,
      taskId: first,
    })
    const conflict = { accepted: false, reason: 'idempotency_conflict', taskId: first }
    const other = await failed(scene)
    for (const [taskId, it] of [
      [old, { fromStep: 'c', edits: { a: '8' } }],
      [old, { fromStep: 'c' }],
      [old, { edits: { a: '8', b: '7' } }],
      [old, {}],
      [other, { fromStep: 'c', edits: { a: '8', b: '7' } }],
    ] as const)
      expect(await receiptOf(taskId, it)).toMatchObject(conflict)
  })
}
