import {
  type ApprovalRequest,
  RETRY_KEY,
  doubtKey,
  type Claim,
  type WaitRequest,
} from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function approvals({ rule, timed, expect }: Suite): void {
  const ask = (
    key: string,
    terms: Partial<ApprovalRequest> = {},
    more: Partial<WaitRequest> = {},
  ): WaitRequest => ({
    key,
    position: 0,
    kind: 'approval',
    ...more,
    approval: {
      artifact: `{"text":"${key}"}`,
      mode: 'supervised',
      asked: true,
      maxRetries: 3,
      onReject: 'rerun',
      onTimeout: 'throw',
      ...terms,
    },
  })
  const suspend = (scene: Scene, { leaseId }: Claim, waits: readonly WaitRequest[], stay = false) =>
    scene.write({ kind: 'suspend', leaseId, waits, stay })
  const pending = async (scene: Scene, taskId?: string) => {
    const query = taskId === undefined ? {} : { taskId }
    return (await scene.read({ kind: 'approvals', limit: 100, ...query })).approvals
  }
  const memos = (scene: Scene, taskId: string) => scene.read({ kind: 'memos', taskId })

  /** A verdict on the task's one open request. */
  async function answer(
    scene: Scene,
    taskId: string,
    verdict: 'approved' | 'rejected',
    value = '{"by":"Ada"}',
  ) {
    const [open] = await pending(scene, taskId)
    if (open === undefined) throw new Error(`nothing is asked of task ${taskId}`)
    return scene.write({ kind: 'resolveApproval', taskId, request: open.request, verdict, value })
  }

  /** A task that waits for `waits`, and whose worker has its slot back. */
  async function waiting(scene: Scene, claim: Claim, waits: readonly WaitRequest[]): Promise<string> {
    expect(await suspend(scene, claim, waits)).toMatchObject({ suspended: true })
    scene.free(claim.workerId)
    return claim.taskId
  }

  rule('12.3 a task that waits for an approval holds no slot, and the request is listed', async (scene) => {
    const taskId = await waiting(scene, await scene.running(), [ask('plan')])
    expect(await scene.task(taskId)).toMatchObject({ state: 'waiting', waitingFor: 'approval' })
    expect((await scene.read({ kind: 'explain', taskId }))?.summary).toBe("waits for the approval 'plan'")
    expect(await pending(scene)).toMatchObject([
      { taskId, type: 'work', key: 'plan', mode: 'supervised', artifact: '{"text":"plan"}', rejections: 0 },
    ])
    const other = await scene.accepted()
    expect((await scene.claim()).taskId).toBe(other)
  })

  rule('12.3 an approval wakes the task; what was approved is a memo', async (scene) => {
    const taskId = await waiting(scene, await scene.running(), [ask('plan')])
    expect(await answer(scene, taskId, 'approved')).toEqual({ as: 'resolved', state: 'queued' })
    expect(await pending(scene)).toEqual([])
    expect(await scene.claim()).toMatchObject({ taskId, attempt: 1, fencingToken: 2 })
    expect((await memos(scene, taskId)).waits).toMatchObject([
      { key: 'plan', kind: 'approval', outcome: 'approved', value: '{"by":"Ada"}' },
    ])
    expect((await scene.eventTypes(taskId)).filter((type) => type.startsWith('approval.'))).toEqual([
      'approval.requested',
      'approval.resolved',
    ])
  })

  rule(
    '12.3 the first verdict counts: a second one, and one on a canceled task, changes nothing',
    async (scene) => {
      const taskId = await waiting(scene, await scene.running(), [ask('plan')])
      const [open] = await pending(scene, taskId)
      const verdict = (as: 'approved' | 'rejected') =>
        scene.write({
          kind: 'resolveApproval',
          taskId,
          request: open?.request ?? 0,
          verdict: as,
          value: 'null',
        })
      const answers = await Promise.all([verdict('approved'), verdict('rejected')])
      expect(answers).toEqual([
        { as: 'resolved', state: 'queued' },
        { as: 'not_open', state: 'queued' },
      ])

      const canceled = await waiting(scene, await scene.claim(), [ask('plan', {}, { position: 1 })])
      await scene.cancel(canceled)
      expect(await pending(scene)).toEqual([])
      expect(await verdict('approved')).toMatchObject({ as: 'not_open' })
    },
  )

  rule('12.3 no such request, no such task: not open, and nothing is written', async (scene) => {
    const taskId = await waiting(scene, await scene.running(), [ask('plan')])
    const before = await scene.eventTypes(taskId)
    for (const given of [taskId, 'nobody'])
      expect(
        await scene.write({
          kind: 'resolveApproval',
          taskId: given,
          request: 99,
          verdict: 'approved',
          value: 'null',
        }),
      ).toMatchObject({ as: 'not_open' })
    expect(await scene.eventTypes(taskId)).toEqual(before)
  })

  rule('12.2 a rejection voids the steps since the last approval, and no others', async (scene) => {
    let claim = await scene.running()
    const { taskId } = claim
    await scene.step(claim, 'research', '"facts"', 0)
    await waiting(scene, claim, [ask('plan', {}, { position: 1 })])
    await answer(scene, taskId, 'approved')
    claim = await scene.claim()
    await scene.step(claim, 'draft', '"bad"', 2)
    await waiting(scene, claim, [ask('text', {}, { position: 3 })])
    expect(await answer(scene, taskId, 'rejected', '{"feedback":"shorter"}')).toEqual({
      as: 'resolved',
      state: 'queued',
    })

    claim = await scene.claim()
    const { steps, waits, rejections } = await memos(scene, taskId)
    expect(steps.map(({ key }) => key)).toEqual(['research'])
    expect(waits.map(({ key, outcome }) => [key, outcome])).toEqual([['plan', 'approved']])
    expect(rejections).toMatchObject([{ key: 'text', value: '{"feedback":"shorter"}' }])
    // The step runs again and is stored again.
    expect(await scene.step(claim, 'draft', '"good"', 2)).toEqual({ fenced: 'ok' })
    expect((await scene.steps(taskId)).map(({ result }) => result)).toEqual(['"facts"', '"good"'])
    // In pages of one, too: the page of the step that does not count is empty.
    expect((await scene.steps(taskId, 1)).map(({ result }) => result)).toEqual(['"facts"', '"good"'])
    expect(await scene.step(claim, 'draft', '"late"', 2)).toEqual({ fenced: 'ok', memo: '"good"' })
  })

  rule('12.2, 6.4 the mark of a patch stays after a rejection', async (scene) => {
    let claim = await scene.running()
    const { taskId } = claim
    await scene.step(claim, '$ku0/patched/p', 'true', 0)
    await scene.step(claim, 'draft', '"bad"', 1)
    await waiting(scene, claim, [ask('text', {}, { position: 2 })])
    await answer(scene, taskId, 'rejected')
    claim = await scene.claim()
    const keys = (await memos(scene, taskId)).steps.map(({ key }) => key)
    expect(keys).toEqual(['$ku0/patched/p'])
    expect((await scene.steps(taskId)).map(({ key }) => key)).toEqual(keys)
    expect(await scene.step(claim, '$ku0/patched/p', 'true', 0)).toEqual({ fenced: 'ok', memo: 'true' })
  })

  rule('12.2 a signal that was taken is not asked for again after a rejection', async (scene) => {
    let claim = await scene.running()
    const { taskId } = claim
    await scene.write({ kind: 'signal', taskId, name: 'reply', value: '1' })
    const asked: WaitRequest = { key: 'reply', position: 0, kind: 'signal', name: 'reply' }
    expect(await suspend(scene, claim, [asked])).toMatchObject({ suspended: false })
    await waiting(scene, claim, [ask('text', {}, { position: 1 })])
    await answer(scene, taskId, 'rejected')
    claim = await scene.claim()
    expect((await memos(scene, taskId)).waits).toMatchObject([{ key: 'reply', value: '1' }])
  })

  rule('12.2 rejections 1, 2 and 3 send the task back, the 4th fails it', async (scene) => {
    let claim = await scene.running()
    const { taskId } = claim
    for (let n = 1; n <= 3; n++) {
      await waiting(scene, claim, [ask('text')])
      expect((await pending(scene, taskId))[0]?.rejections).toBe(n - 1)
      expect(await answer(scene, taskId, 'rejected', `{"feedback":"no ${n}"}`)).toMatchObject({
        state: 'queued',
      })
      claim = await scene.claim()
      expect(claim.attempt).toBe(1)
    }
    await waiting(scene, claim, [ask('text')])
    expect(await answer(scene, taskId, 'rejected', '{"feedback":"no 4"}')).toEqual({
      as: 'resolved',
      state: 'failed',
    })
    expect(await scene.task(taskId)).toMatchObject({ state: 'failed', kind: 'not_approved' })
    const { error } = (await scene.task(taskId)) as { error: string }
    expect(JSON.parse(error)).toMatchObject({ code: 'not_approved' })
    expect(error).toContain('no 4')
    expect(await scene.stats()).toMatchObject({ waiting: 0, running: 0, totals: { failed: 1 } })
  })

  rule('12.2 an approval starts the count again', async (scene) => {
    let claim = await scene.running()
    const { taskId } = claim
    for (const verdict of ['rejected', 'approved', 'rejected'] as const) {
      await waiting(scene, claim, [ask(`text ${claim.fencingToken}`, { maxRetries: 1 })])
      await answer(scene, taskId, verdict)
      claim = await scene.claim()
    }
    expect((await memos(scene, taskId)).rejections).toHaveLength(2)
    await waiting(scene, claim, [ask('again', { maxRetries: 1 })])
    expect(await answer(scene, taskId, 'rejected')).toMatchObject({ state: 'failed' })
  })

  rule('12.2 a rejection that is to be thrown is a memo and voids nothing', async (scene) => {
    let claim = await scene.running()
    const { taskId } = claim
    await scene.step(claim, 'draft', '1', 0)
    await waiting(scene, claim, [ask('text', { onReject: 'throw', maxRetries: 0 }, { position: 1 })])
    await answer(scene, taskId, 'rejected', '{"feedback":"no"}')
    claim = await scene.claim()
    expect(await memos(scene, taskId)).toMatchObject({
      steps: [{ key: 'draft' }],
      waits: [{ key: 'text', outcome: 'rejected', value: '{"feedback":"no"}' }],
      rejections: [],
    })
  })

  rule(
    '12.3 a verdict that comes while the pass goes on is kept; a rejection then ends the pass',
    async (scene) => {
      const claim = await scene.running()
      const { taskId } = claim
      expect(await suspend(scene, claim, [ask('plan', {}, { position: 1 })], true)).toMatchObject({
        suspended: false,
      })
      const [open] = await pending(scene, taskId)
      expect(await answer(scene, taskId, 'rejected')).toEqual({ as: 'resolved', state: 'running' })
      expect(await pending(scene, taskId)).toEqual([])
      // The pass has not heard of the first, which counts all the same.
      expect(
        await scene.write({
          kind: 'resolveApproval',
          taskId,
          request: open?.request ?? 0,
          verdict: 'approved',
          value: 'null',
        }),
      ).toEqual({ as: 'not_open', state: 'running' })
      await scene.step(claim, 'beside', '1', 0)
      expect(await suspend(scene, claim, [ask('plan', {}, { position: 1 })], true)).toEqual({
        fenced: 'ok',
        suspended: true,
        resolved: [],
      })
      expect(await scene.step(claim, 'late', '1', 2)).toEqual({ fenced: 'stale' })
      scene.free(claim.workerId)
      expect((await scene.claim()).taskId).toBe(taskId)
      expect((await memos(scene, taskId)).steps).toEqual([])
    },
  )

  rule(
    '12.1 an approval that a spot check lets through is recorded with its draw, and nobody is asked',
    async (scene) => {
      const claim = await scene.running()
      const spared = ask('plan', { mode: 'spot_check', asked: false, draw: 0.7 })
      expect(await suspend(scene, claim, [spared])).toMatchObject({
        suspended: false,
        resolved: [{ key: 'plan', outcome: 'passed' }],
      })
      expect(await pending(scene)).toEqual([])
      const events = (await scene.read({ kind: 'events', taskId: claim.taskId, after: 0, limit: 100 })) ?? []
      const requested = events.find(({ type }) => type === 'approval.requested')
      expect(JSON.parse(requested?.data ?? '{}')).toMatchObject({
        asked: false,
        draw: 0.7,
        mode: 'spot_check',
      })
    },
  )

  timed('12.3 an approval that nobody gives in time ends as its policy says', async (scene) => {
    const ends: unknown[] = []
    for (const onTimeout of ['throw', 'approve', 'reject', 'fail'] as const) {
      const claim = await scene.running({ type: onTimeout })
      const { taskId } = claim
      await waiting(scene, claim, [ask('plan', { onTimeout }, { delayMs: 1_000 })])
      await scene.pass(999)
      expect(await scene.task(taskId)).toMatchObject({ state: 'waiting' })
      await scene.pass(1)
      const { state } = (await scene.task(taskId)) ?? {}
      const { waits, rejections } = await memos(scene, taskId)
      ends.push([onTimeout, state === 'failed', waits[0]?.outcome, rejections.length])
      if (state !== 'failed') await scene.settle(await scene.claim())
    }
    expect(ends).toEqual([
      ['throw', false, 'timed_out', 0],
      ['approve', false, 'approved', 0],
      ['reject', false, undefined, 1],
      ['fail', true, undefined, 0],
    ])
  })

  timed(
    '12.3 a verdict that comes when patience is over, and the pass has not heard of that, is too late',
    async (scene) => {
      const claim = await scene.running()
      const { taskId } = claim
      await suspend(scene, claim, [ask('plan', { onTimeout: 'reject' }, { position: 1, delayMs: 250 })], true)
      await scene.pass(250)
      const [open] = await pending(scene)
      expect(open).toMatchObject({ key: 'plan' })
      await scene.pass(1)
      expect(await pending(scene)).toEqual([])
      expect(await pending(scene, taskId)).toEqual([])
      const verdict = { request: open?.request ?? 0, verdict: 'approved', value: '{}' } as const
      expect(await scene.write({ kind: 'resolveApproval', taskId, ...verdict })).toEqual({
        as: 'not_open',
        state: 'running',
      })
      expect(await suspend(scene, claim, [], true)).toMatchObject({ suspended: true })
      expect((await memos(scene, taskId)).rejections).toMatchObject([
        { key: 'plan', value: '{"by":"timeout"}' },
      ])
    },
  )

  rule('12.3 requests of the children of a task, and of theirs, are listed with it', async (scene) => {
    const spawn = async ({ leaseId }: Claim, type: string) => {
      const submission = { type, lane: 'normal', input: 'null' } as const
      await scene.write({ kind: 'spawn', leaseId, key: type, position: 1, policy: 'cancel', submission })
      await scene.worker(`for ${type}`, 1, [type])
      return scene.claim()
    }
    const parent = await scene.running({ type: 'parent', taskId: 'given' })
    const child = await spawn(parent, 'child')
    const grandchild = await spawn(child, 'grandchild')
    const stranger = await scene.running({ type: 'stranger' })
    for (const claim of [stranger, grandchild, child, parent]) await waiting(scene, claim, [ask(claim.type)])
    const list = async (query: {
      readonly children?: boolean
      readonly limit?: number
      readonly after?: number
    }) => {
      const { taskId } = parent
      const page = await scene.read({ kind: 'approvals', limit: 100, taskId, ...query })
      return { keys: page.approvals.map(({ key }) => key), ...(page.cursor && { after: page.cursor }) }
    }
    expect(await list({})).toEqual({ keys: ['parent'] })
    const [first] = (await scene.read({ kind: 'approvals', limit: 1, taskId: 'given' })).approvals
    expect(first?.taskId).toBe('given')
    expect(await list({ children: true })).toEqual({ keys: ['parent', 'child', 'grandchild'] })
    const { after = 0 } = await list({ children: true, limit: 2 })
    expect(await list({ children: true, limit: 2, after })).toEqual({ keys: ['grandchild'] })
    const nobody = await scene.read({ kind: 'approvals', limit: 1, taskId: 'nobody', children: true })
    expect(nobody).toEqual({ approvals: [] })
  })

  rule('12.3 large artifacts and verdicts come back whole', async (scene) => {
    const large = JSON.stringify('x'.repeat(300_000))
    const taskId = await waiting(scene, await scene.running(), [ask('plan', { artifact: large })])
    expect((await pending(scene))[0]?.artifact).toBe(large)
    await answer(scene, taskId, 'approved', `{"value":${large}}`)
    await scene.claim()
    expect((await memos(scene, taskId)).waits).toMatchObject([{ value: `{"value":${large}}` }])
  })

  rule('12.2 a fork keeps what was approved, and a rejection in it voids what came after', async (scene) => {
    let claim = await scene.running()
    const { taskId } = claim
    await waiting(scene, claim, [ask('plan')])
    await answer(scene, taskId, 'approved')
    claim = await scene.claim()
    await scene.step(claim, 'draft', '1', 1)
    const forked = await scene.write({ kind: 'fork', taskId, edits: {}, onlyOver: false, change: {} })
    if (forked.as !== 'submitted') throw new Error(forked.as)
    const { taskId: copy } = forked.receipt
    await scene.settle(claim)
    scene.free(claim.workerId)
    claim = await scene.claim()
    expect(claim.taskId).toBe(copy)
    await waiting(scene, claim, [ask('text', {}, { position: 2 })])
    await answer(scene, copy, 'rejected')
    expect(await memos(scene, copy)).toMatchObject({ steps: [], waits: [{ key: 'plan' }] })
    expect(await memos(scene, taskId)).toMatchObject({ steps: [{ key: 'draft' }] })
  })

  rule(
    '12.2 children spawned since the last approval are void: canceled, forgotten, spawned again',
    async (scene) => {
      let claim = await scene.running()
      const { taskId } = claim
      const spawn = (key: string, position: number) =>
        scene.write({
          kind: 'spawn',
          leaseId: claim.leaseId,
          key,
          position,
          policy: 'cancel',
          submission: { type: 'child', lane: 'normal', input: 'null' },
        })
      const childOf = async (key: string) =>
        (await memos(scene, taskId)).children.find((child) => child.key === key)?.taskId ?? ''
      await spawn('before', 0)
      await waiting(scene, claim, [ask('plan', {}, { position: 1 })])
      await answer(scene, taskId, 'approved')
      claim = await scene.claim()
      await spawn('done', 2)
      await spawn('open', 3)
      const [before, done, open] = [await childOf('before'), await childOf('done'), await childOf('open')]
      await scene.worker('children', 1, ['child'])
      expect((await scene.claim()).taskId).toBe(before)
      await scene.settle(scene.claims.at(-1))
      scene.free('children')
      expect((await scene.claim()).taskId).toBe(done)
      await scene.settle(scene.claims.at(-1))

      await waiting(scene, claim, [ask('text', {}, { position: 4 })])
      await answer(scene, taskId, 'rejected')
      expect((await memos(scene, taskId)).children.map(({ key }) => key)).toEqual(['before'])
      expect(await scene.task(open)).toMatchObject({ state: 'canceled', reason: 'its parent was sent back' })
      expect(await scene.task(done)).toMatchObject({ state: 'completed' })
      claim = await scene.claim()
      await spawn('done', 2)
      expect(await childOf('done')).not.toBe(done)
    },
  )

  rule('12.2 one that is over at once counts since the last approval, too', async (scene) => {
    let claim = await scene.running()
    const { taskId } = claim
    await scene.step(claim, 'plan', '1', 0)
    await waiting(scene, claim, [ask('plan', {}, { position: 1 })])
    await answer(scene, taskId, 'approved')
    claim = await scene.claim()
    await scene.step(claim, 'draft', '1', 2)
    await suspend(scene, claim, [ask('text', { onTimeout: 'reject' }, { position: 3, delayMs: 0 })])
    scene.free(claim.workerId)
    const { steps, rejections } = await memos(scene, taskId)
    expect(steps).toMatchObject([{ key: 'plan' }])
    expect(rejections).toMatchObject([{ key: 'text', value: '{"by":"timeout"}' }])
    expect(rejections[0]?.since).toBeGreaterThan(steps[0]?.seq ?? 0)
  })

  rule(
    '12.1 nobody is asked what a spot check let through while a rejection beside it sent the task back',
    async (scene) => {
      const claim = await scene.running()
      const { taskId } = claim
      await suspend(scene, claim, [ask('text', {}, { position: 1 })], true)
      await answer(scene, taskId, 'rejected')
      await suspend(scene, claim, [
        ask('look', { mode: 'spot_check', asked: false, draw: 0.9 }, { position: 2 }),
      ])
      expect(await pending(scene)).toEqual([])
      const { seq = 0 } = scene.events.findLast(({ type }) => type === 'approval.requested') ?? {}
      const verdict = { verdict: 'rejected', value: '{}' } as const
      expect(await scene.write({ kind: 'resolveApproval', taskId, request: seq, ...verdict })).toMatchObject({
        as: 'not_open',
      })
    },
  )

  rule(
    '12.2, 5.5 a task that nobody approves takes its children along, and its parent learns it',
    async (scene) => {
      const top = await scene.running()
      const submission = { type: 'middle', lane: 'normal', input: 'null' } as const
      const spawned = { kind: 'spawn', policy: 'cancel', position: 0, submission } as const
      await scene.write({ ...spawned, leaseId: top.leaseId, key: 'middle' })
      await scene.worker('middle', 1, ['middle'])
      const middle = await scene.claim()
      await scene.write({ ...spawned, leaseId: middle.leaseId, key: 'below' })
      await waiting(scene, middle, [ask('plan', { maxRetries: 0 }, { position: 1 })])
      await answer(scene, middle.taskId, 'rejected')
      expect(await scene.task(middle.taskId)).toMatchObject({ state: 'failed', kind: 'not_approved' })
      const { tasks } = await scene.read({ kind: 'tasks', filter: { parent: middle.taskId } })
      expect(tasks).toMatchObject([{ state: 'canceled', reason: 'its parent has failed' }])
      expect((await scene.eventTypes(top.taskId)).at(-1)).toBe('child.ended')
    },
  )

  rule('12.2, 7.6 a rejection takes back-offs and questions about doubts along', async (scene) => {
    const claim = await scene.running()
    const { taskId } = claim
    const hour = { position: 0, kind: 'timer', delayMs: 3_600_000 } as const
    const backOff = { ...hour, key: `${RETRY_KEY}1/call` }
    const doubt = ask(doubtKey('charge', 1), {}, { position: 1 })
    const waits = [backOff, { ...hour, key: 'nap' }, doubt, ask('text', {}, { position: 2 })]
    await suspend(scene, claim, waits, true)
    // Both verdicts come while the pass is under way: what was said of the doubt goes with it.
    const [first, second] = await pending(scene)
    const verdict = { kind: 'resolveApproval', taskId, value: '{"by":"Ada"}' } as const
    await scene.write({ ...verdict, request: first?.request ?? 0, verdict: 'approved' })
    await scene.write({ ...verdict, request: second?.request ?? 0, verdict: 'rejected' })
    await waiting(scene, claim, [])
    expect((await memos(scene, taskId)).open.map(({ key }) => key)).toEqual(['nap'])
    const resumed = (await scene.history(taskId)).findLast(({ type }) => type === 'task.resumed')
    const dropped = [backOff.key, doubt.key]
    expect(JSON.parse(resumed?.data ?? '{}')).toMatchObject({ dropped, key: 'text', since: 0 })
    await waiting(scene, await scene.claim(), [doubt])
    expect(await pending(scene)).toMatchObject([{ key: doubt.key }])
  })

  rule(
    '12.2 a rejection voids the intents of steps with their memos: nothing of them is in doubt',
    async (scene) => {
      const claim = await scene.running()
      const { taskId, leaseId } = claim
      for (const key of ['paid', 'paying'])
        await scene.write({ kind: 'startStep', leaseId, key, position: 0 })
      await scene.step(claim, 'paid', '1', 0)
      const start = (await scene.history(taskId)).findLast(({ type }) => type === 'step.started')
      const { at: startedAt, seq } = start ?? {}
      expect((await memos(scene, taskId)).inDoubt).toEqual([{ key: 'paying', starts: 1, startedAt, seq }])
      await waiting(scene, claim, [ask('text', {}, { position: 2 })])
      await answer(scene, taskId, 'rejected')
      expect(await memos(scene, taskId)).toMatchObject({ steps: [], inDoubt: [] })
    },
  )
}
