import { branchLimitKey, type OutcomeOf, type Claim, type WaitRequest } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function waits({ rule, timed, expect }: Suite): void {
  const timer = (key: string, delayMs: number, position = 0): WaitRequest => ({
    key,
    position,
    kind: 'timer',
    delayMs,
  })
  const reply = (key: string, name: string, more: Partial<WaitRequest> = {}): WaitRequest => ({
    key,
    position: 0,
    kind: 'signal',
    name,
    ...more,
  })
  const suspend = (
    scene: Scene,
    { leaseId }: Claim,
    asked: readonly WaitRequest[],
    stay = false,
  ): Promise<OutcomeOf<'suspend'>> => scene.write({ kind: 'suspend', leaseId, waits: asked, stay })
  const signal = (scene: Scene, taskId: string, name: string, value = 'null') =>
    scene.write({ kind: 'signal', taskId, name, value })
  const memos = async (scene: Scene, taskId: string) => (await scene.read({ kind: 'memos', taskId })).waits
  const parked = { fenced: 'ok', suspended: true, resolved: [] }
  const delivered = { delivered: true, state: 'waiting', awaited: false }

  /** A task that waits, and whose worker has its slot back. */
  async function waiting(scene: Scene, asked: readonly WaitRequest[]): Promise<Claim> {
    const claim = await scene.running()
    expect(await suspend(scene, claim, asked)).toEqual(parked)
    scene.free(claim.workerId)
    return claim
  }

  rule('12.3 a waiting task holds no slot: its lease has ended, the next task runs', async (scene) => {
    const claim = await waiting(scene, [timer('nap', 60_000, 2)])
    expect(await scene.task(claim.taskId)).toMatchObject({
      state: 'waiting',
      waitingFor: 'timer',
      attempt: 1,
      waits: [{ key: 'nap', position: 2, kind: 'timer' }],
    })
    expect(await scene.read({ kind: 'leases', taskId: claim.taskId })).toMatchObject([
      { status: 'completed', endReason: 'waiting' },
    ])
    expect(await scene.stats()).toMatchObject({ running: 0, waiting: 1, delayed: 0 })
    const other = await scene.accepted()
    expect((await scene.claim()).taskId).toBe(other)
    expect(await scene.settle(claim)).toBe('stale')
  })

  timed(
    '12.3 a timer fires at its time, not before, once; the task goes on with the same attempt',
    async (scene) => {
      const claim = await waiting(scene, [timer('nap', 1_000)])
      await scene.pass(999)
      expect(await scene.hasClaim()).toBe(false)
      await scene.pass(1)
      const next = await scene.claim()
      expect(next).toMatchObject({ taskId: claim.taskId, attempt: 1, fencingToken: 2, crashes: 0 })
      expect(await memos(scene, claim.taskId)).toMatchObject([
        { key: 'nap', kind: 'timer', outcome: 'fired' },
      ])
      await scene.pass(5_000)
      expect((await scene.eventTypes(claim.taskId)).filter((type) => type === 'task.resumed')).toHaveLength(1)
    },
  )

  timed('12.3 a timer that came due while nothing ran fires once', async (scene) => {
    const claim = await waiting(scene, [timer('nap', 1_000)])
    await scene.jump(86_400_000)
    expect((await scene.claim()).taskId).toBe(claim.taskId)
    expect(await memos(scene, claim.taskId)).toHaveLength(1)
  })

  timed('12.3 a time beyond 2^31 ms is kept to the ms', async (scene) => {
    const dueAt = scene.now + 2 ** 31 + 5
    const claim = await waiting(scene, [{ key: 'year', position: 0, kind: 'timer', dueAt }])
    await scene.jump(dueAt - 1 - scene.now)
    expect(await scene.state(claim.taskId)).toBe('waiting')
    await scene.pass(1)
    expect((await scene.claim()).taskId).toBe(claim.taskId)
  })

  rule('12.3 a time that is over needs no waiting: the pass goes on', async (scene) => {
    const claim = await scene.running()
    const asked = [timer('later', 9_000, 0), { key: 'past', position: 1, kind: 'timer', dueAt: 1 } as const]
    expect(await suspend(scene, claim, asked)).toMatchObject({
      fenced: 'ok',
      suspended: false,
      resolved: [{ key: 'past', kind: 'timer', outcome: 'fired' }],
    })
    expect(await scene.state(claim.taskId)).toBe('running')
    expect((await scene.eventTypes(claim.taskId)).slice(2)).toEqual(['wait.started', 'wait.resolved'])
    expect(await scene.settle(claim)).toBe('ok')
  })

  timed('12.3 a wait that is open keeps its time when it is asked for again', async (scene) => {
    const claim = await scene.running()
    expect(await suspend(scene, claim, [timer('nap', 1_000)], true)).toEqual({
      fenced: 'ok',
      suspended: false,
      resolved: [],
    })
    await scene.pass(600)
    expect(await suspend(scene, claim, [timer('nap', 1_000)])).toEqual(parked)
    scene.free(claim.workerId)
    await scene.pass(399)
    expect(await scene.hasClaim()).toBe(false)
    await scene.pass(1)
    expect((await scene.claim()).taskId).toBe(claim.taskId)
  })

  timed('12.3 an open wait survives the crash of its pass', async (scene) => {
    const claim = await scene.running()
    await suspend(scene, claim, [timer('nap', 60_000)], true)
    await scene.settle(claim, { as: 'retry', error: '{}', delayMs: 50_000 })
    scene.free(claim.workerId)
    await scene.pass(50_000)
    const next = await scene.claim()
    expect((await scene.read({ kind: 'memos', taskId: claim.taskId })).open).toMatchObject([
      { key: 'nap', kind: 'timer', position: 0 },
    ])
    expect(await suspend(scene, next, [timer('nap', 60_000)])).toEqual(parked)
    scene.free(next.workerId)
    await scene.pass(10_000)
    expect(await memos(scene, (await scene.claim()).taskId)).toHaveLength(1)
  })

  timed('12.3 the earliest of several timers wakes the task, the others stay open', async (scene) => {
    const claim = await waiting(scene, [timer('long', 5_000, 0), timer('short', 1_000, 1)])
    await scene.pass(1_000)
    const next = await scene.claim()
    expect(await memos(scene, claim.taskId)).toMatchObject([{ key: 'short' }])
    expect(await suspend(scene, next, [timer('long', 5_000, 0)])).toEqual(parked)
    scene.free(next.workerId)
    await scene.pass(4_000)
    await scene.claim()
    expect(await memos(scene, claim.taskId)).toMatchObject([{ key: 'short' }, { key: 'long' }])
  })

  timed(
    '12.4 a time limit says not what a task waits for, and what ends in its very ms has ended in time',
    async (scene) => {
      const limit = timer(branchLimitKey('race'), 1_000)
      const claim = await waiting(scene, [limit, timer('nap', 1_000), reply('answer', 'reply')])
      expect(await scene.task(claim.taskId)).toMatchObject({ waitingFor: 'timer' })
      const asks = await waiting(scene, [limit, reply('answer', 'reply')])
      expect(await scene.task(asks.taskId)).toMatchObject({ waitingFor: 'signal' })
      const alone = await waiting(scene, [limit])
      expect(await scene.task(alone.taskId)).toMatchObject({ waitingFor: 'timer' })
      await scene.pass(1_000)
      for (let n = 0; n < 3; n += 1) scene.free((await scene.claim()).workerId)
      expect(await memos(scene, claim.taskId)).toMatchObject([{ key: 'nap', outcome: 'fired' }])
      expect(await memos(scene, asks.taskId)).toMatchObject([{ key: limit.key, outcome: 'fired' }])

      const busy = await scene.running()
      await suspend(scene, busy, [limit, timer('nap', 1_000)], true)
      await scene.pass(1_000)
      expect(await suspend(scene, busy, [limit, timer('nap', 1_000)], true)).toMatchObject({
        resolved: [{ key: 'nap' }, { key: limit.key }],
      })
    },
  )

  rule('12.4 a signal wakes the task that waits for it, with its value', async (scene) => {
    const claim = await waiting(scene, [reply('answer', 'reply')])
    expect(await scene.task(claim.taskId)).toMatchObject({ waitingFor: 'signal' })
    expect(await signal(scene, claim.taskId, 'reply', '{"ok":true}')).toEqual({
      delivered: true,
      state: 'queued',
      awaited: true,
    })
    expect(await scene.claim()).toMatchObject({ taskId: claim.taskId, attempt: 1 })
    expect(await memos(scene, claim.taskId)).toMatchObject([
      { key: 'answer', kind: 'signal', outcome: 'received', value: '{"ok":true}' },
    ])
  })

  rule('12.4 another signal does not wake it, and is kept', async (scene) => {
    const claim = await waiting(scene, [reply('answer', 'reply')])
    expect(await signal(scene, claim.taskId, 'other', '1')).toEqual(delivered)
    expect(await scene.hasClaim()).toBe(false)
    await signal(scene, claim.taskId, 'reply')
    const next = await scene.claim()
    expect(await suspend(scene, next, [reply('b', 'other')])).toMatchObject({
      resolved: [{ key: 'b', outcome: 'received', value: '1' }],
    })
  })

  rule('12.4 signals sent before the wait are kept; a wait takes the oldest unread', async (scene) => {
    const taskId = await scene.accepted()
    for (const value of ['1', '2'])
      expect(await signal(scene, taskId, 'n', value)).toEqual({ ...delivered, state: 'queued' })
    await scene.worker('w', 1)
    const claim = await scene.claim()
    await signal(scene, taskId, 'n', '3')
    expect(await suspend(scene, claim, [reply('a', 'n')])).toMatchObject({ resolved: [{ value: '1' }] })
    expect(await suspend(scene, claim, [reply('b', 'n', { position: 1 })])).toMatchObject({
      resolved: [{ value: '2' }],
    })
    const both = [reply('d', 'n', { position: 3 }), reply('c', 'n', { position: 2 })]
    expect(await suspend(scene, claim, both)).toMatchObject({ resolved: [{ key: 'c', value: '3' }] })
    expect(await suspend(scene, claim, [reply('d', 'n', { position: 3 })])).toEqual(parked)
  })

  timed('12.4 a signal that came in time beats its patience, a late one does not', async (scene) => {
    const ask = (position: number) => reply(`ask ${position}`, 'n', { position, delayMs: 1_000 })
    const claim = await scene.running()
    await suspend(scene, claim, [ask(0)], true)
    await scene.pass(900)
    await signal(scene, claim.taskId, 'n', '"in time"')
    await scene.pass(900)
    expect(await suspend(scene, claim, [ask(0)])).toMatchObject({
      resolved: [{ outcome: 'received', value: '"in time"' }],
    })
    await suspend(scene, claim, [ask(1)], true)
    await scene.pass(1_001)
    await signal(scene, claim.taskId, 'n', '"late"')
    const late = await suspend(scene, claim, [ask(1)])
    expect(late).toMatchObject({ resolved: [{ outcome: 'timed_out' }] })
    expect(await suspend(scene, claim, [reply('next', 'n', { position: 2 })])).toMatchObject({
      resolved: [{ value: '"late"' }],
    })
  })

  timed('12.4 patience that ends wakes the task', async (scene) => {
    const claim = await waiting(scene, [reply('answer', 'reply', { delayMs: 1_000 })])
    await scene.pass(1_000)
    await scene.claim()
    const [memo] = await memos(scene, claim.taskId)
    expect(memo).toMatchObject({ key: 'answer', outcome: 'timed_out' })
    expect(memo?.value).toBe(undefined)
  })

  timed('12.4 a decision drops the waits of the losers, with its own commit', async (scene) => {
    const claim = await waiting(scene, [timer('late', 5_000, 0), reply('answer', 'reply')])
    await signal(scene, claim.taskId, 'reply')
    const next = await scene.claim()
    expect(
      await scene.write({
        kind: 'recordStep',
        leaseId: next.leaseId,
        key: 'race',
        position: 0,
        durationMs: 0,
        result: '"answer"',
        drops: ['late', 'never there'],
      }),
    ).toEqual({ fenced: 'ok' })
    expect(await suspend(scene, next, [reply('more', 'reply', { position: 1 })])).toEqual(parked)
    expect(await scene.task(claim.taskId)).toMatchObject({ waits: [{ key: 'more' }] })
    scene.free(next.workerId)
    await scene.pass(10_000)
    expect(await scene.hasClaim()).toBe(false)
  })

  rule('12.4 the failure of a branch drops its open waits', async (scene) => {
    const claim = await scene.running()
    await suspend(scene, claim, [reply('answer', 'reply')], true)
    const { leaseId } = claim
    const failed = { leaseId, key: 'race', position: 0, durationMs: 0, error: '{}', drops: ['answer'] }
    expect(await scene.write({ kind: 'failStep', ...failed })).toBe('ok')
    expect(await suspend(scene, claim, [timer('nap', 60_000, 1)])).toEqual(parked)
    expect(await scene.task(claim.taskId)).toMatchObject({ waits: [{ key: 'nap' }] })
  })

  rule('7.7 a failed try says which retry follows', async (scene) => {
    const claim = await scene.running()
    const { leaseId } = claim
    await scene.write({
      kind: 'failStep',
      leaseId,
      key: 'a',
      position: 0,
      durationMs: 1,
      error: '{}',
      retry: 1,
    })
    const [, , failed] = await scene.history(claim.taskId)
    expect(JSON.parse(failed?.data ?? '')).toMatchObject({ key: 'a', retry: 1 })
  })

  rule('7.7 a task that waits to try a step again says how the last try failed', async (scene) => {
    const claim = await scene.running()
    await scene.write({
      kind: 'failStep',
      leaseId: claim.leaseId,
      key: 'call',
      position: 0,
      durationMs: 1,
      error: '{"code":"E503","message":"503 from the provider"}',
      retry: 1,
    })
    await suspend(scene, claim, [timer('$ku0/retry/1/call', 1_000)])
    const until = new Date(scene.now + 1_000).toISOString()
    expect(await scene.read({ kind: 'explain', taskId: claim.taskId })).toMatchObject({
      summary: `waits for the next try of 'call' until ${until} (the last one failed: 503 from the provider)`,
      stepFailures: [
        { step: 'call', message: '503 from the provider', code: 'E503', retry: 1, at: scene.now },
      ],
    })
  })

  timed('5.2 cancel of a waiting task: at once, its waits and signals are gone', async (scene) => {
    const claim = await waiting(scene, [timer('nap', 1_000), reply('answer', 'reply', { position: 1 })])
    await signal(scene, claim.taskId, 'other')
    expect(await scene.cancel(claim.taskId, 'enough')).toEqual({ canceled: true, state: 'canceled' })
    expect(await scene.stats()).toMatchObject({ waiting: 0 })
    await scene.pass(2_000)
    expect(await scene.hasClaim()).toBe(false)
    expect(await signal(scene, claim.taskId, 'reply')).toEqual({ delivered: false, state: 'canceled' })
    expect((await scene.eventTypes(claim.taskId)).at(-1)).toBe('task.canceled')
  })

  rule('12.4 a task that is over, or unknown, takes no signal', async (scene) => {
    const claim = await scene.running()
    await suspend(scene, claim, [reply('answer', 'reply')], true)
    await scene.settle(claim)
    expect(await signal(scene, claim.taskId, 'reply')).toEqual({ delivered: false, state: 'completed' })
    expect(await signal(scene, 'nobody', 'reply')).toEqual({ delivered: false })
  })

  rule(
    '12.4 signals that nobody takes are bounded by maxSignals',
    async (scene) => {
      const taskId = await scene.accepted()
      for (let n = 0; n < 3; n++) expect(await signal(scene, taskId, 'n')).toMatchObject({ delivered: true })
      expect(await signal(scene, taskId, 'n')).toEqual({ delivered: false, state: 'queued', full: true })
      expect((await scene.eventTypes(taskId)).filter((type) => type === 'signal.received')).toHaveLength(3)
    },
    { config: { maxSignals: 3 } },
  )

  rule('4.4 a wait is fenced by the lease like every write of a holder', async (scene) => {
    const claim = await scene.running()
    await scene.release(claim)
    expect(await suspend(scene, claim, [timer('nap', 1_000)])).toEqual({ fenced: 'stale' })
    expect(await scene.state(claim.taskId)).toBe('queued')
    expect(await scene.stats()).toMatchObject({ staleWrites: 1 })
  })

  rule('12.4 signal and cancel in one turn: the first counts', async (scene) => {
    const [one, two] = [await waiting(scene, [reply('a', 'n')]), await waiting(scene, [reply('a', 'n')])]
    const answers = await Promise.all([
      signal(scene, one.taskId, 'n'),
      scene.cancel(one.taskId),
      scene.cancel(two.taskId),
      signal(scene, two.taskId, 'n'),
    ])
    expect(answers).toEqual([
      { delivered: true, state: 'queued', awaited: true },
      { canceled: true, state: 'canceled' },
      { canceled: true, state: 'canceled' },
      { delivered: false, state: 'canceled' },
    ])
  })

  rule('12.4 a wait and its signal in one turn meet, whichever was handed over first', async (scene) => {
    for (const order of ['wait', 'signal']) {
      const claim = await scene.running()
      const [a, b] =
        order === 'wait'
          ? [suspend(scene, claim, [reply('a', 'n')]), signal(scene, claim.taskId, 'n', '7')]
          : [signal(scene, claim.taskId, 'n', '7'), suspend(scene, claim, [reply('a', 'n')])]
      await Promise.all([a, b])
      scene.free(claim.workerId)
      expect((await scene.claim()).taskId).toBe(claim.taskId)
      expect(await memos(scene, claim.taskId)).toMatchObject([{ key: 'a', value: '7' }])
    }
  })

  timed(
    '12.3 a waiting task holds no quota; when it comes back it waits for room',
    async (scene) => {
      const first = await scene.running({ model: 'm' })
      await suspend(scene, first, [timer('nap', 1_000)])
      expect((await scene.stats()).quotas).toMatchObject([{ key: 'model:m', queued: 0, running: 0 }])
      scene.free(first.workerId)
      const second = await scene.accepted({ model: 'm' })
      const claim = await scene.claim()
      expect(claim.taskId).toBe(second)
      await scene.worker('more', 4)
      await scene.pass(1_000)
      expect(await scene.hasClaim()).toBe(false)
      await scene.settle(claim)
      scene.free(claim.workerId)
      expect((await scene.claim()).taskId).toBe(first.taskId)
    },
    { config: { quotaConfig: { models: { m: { maxInFlight: 1, onExceeded: 'reject' } } } } },
  )

  timed(
    '2.3 a task that goes on passes the limits of the queue',
    async (scene) => {
      const claim = await scene.running()
      await suspend(scene, claim, [timer('nap', 1_000)])
      await scene.accepted()
      expect(await scene.submit()).toMatchObject({ accepted: false, reason: 'queue_full' })
      await scene.pass(1_000)
      expect(await scene.depth()).toBe(2)
    },
    { config: { queueDepthLimit: 1, batchBackpressureThreshold: 1 } },
  )

  rule(
    '7.5 a large value of a signal is kept whole',
    async (scene) => {
      const value = JSON.stringify('x'.repeat(2_000))
      const claim = await waiting(scene, [reply('a', 'n')])
      scene.store.interest({ types: 'all', tasks: [] })
      await signal(scene, claim.taskId, 'n', value)
      const next = await scene.claim()
      expect(await memos(scene, claim.taskId)).toMatchObject([{ key: 'a', value }])
      await signal(scene, claim.taskId, 'n', value)
      expect(await suspend(scene, next, [reply('b', 'n', { position: 1 })])).toMatchObject({
        resolved: [{ key: 'b', value }],
      })
      const heard = scene.events.filter(({ data }) => data.includes('"value":'))
      expect(heard.map(({ type, data }) => [type, data.includes(value)])).toEqual([
        ['signal.received', true],
        ['task.resumed', true],
        ['signal.received', true],
        ['wait.resolved', true],
      ])
    },
    { config: { maxInlineBytes: 1_000 } },
  )

  rule('G04 any text is the key of a wait and the name of a signal', async (scene) => {
    for (const text of ['__proto__', '"name":', ',"value":', 'a"b\\c', '🦕', ' ', '\u0000']) {
      const claim = await waiting(scene, [reply(text, text)])
      await signal(scene, claim.taskId, text, JSON.stringify(text))
      await scene.claim()
      expect(await memos(scene, claim.taskId)).toMatchObject([{ key: text, value: JSON.stringify(text) }])
    }
  })

  rule('12.3 the waits of a waiting task can be asked', async (scene) => {
    const claim = await waiting(scene, [reply('answer', 'reply', { dueAt: 4_102_444_800_000 })])
    const explained = await scene.read({ kind: 'explain', taskId: claim.taskId })
    expect(explained?.summary).toBe("waits for the signal 'reply' until 2100-01-01T00:00:00.000Z")
  })
}
