import type { Claim } from '@ku0/agent-runtime-core'
import { type Scene, submission } from './scene.ts'
import type { Suite } from './suite.ts'

const big = { model: 'big' }
const quota = (quotaConfig: object, more: object = {}) => ({ config: { quotaConfig, ...more } })

export function quotas({ rule, timed, expect }: Suite): void {
  const counters = async (scene: Scene) =>
    Object.fromEntries(
      (await scene.stats()).quotas.map(({ key, queued, running }) => [key, [queued, running]]),
    )
  const isZero = async (scene: Scene) => {
    const { quotas: rows } = await scene.stats()
    expect(rows.every(({ queued, running }) => queued === 0 && running === 0)).toBe(true)
  }

  rule('2.6 unset: nothing is counted', async (scene) => {
    await scene.submitMany(3, { model: 'big', tools: ['browser'] })
    expect((await scene.stats()).quotas).toEqual([])
  })

  const one = quota({ models: { big: { maxInFlight: 1 } } })
  rule(
    'C4 reject: an excess submission is quota_exceeded, recorded and queued nowhere',
    async (scene) => {
      await scene.accepted(big)
      const receipt = await scene.submit(big)
      expect(receipt).toMatchObject({ accepted: false, reason: 'quota_exceeded' })
      expect(await scene.task(receipt.taskId)).toMatchObject({ state: 'rejected', reason: 'quota_exceeded' })
      expect(await counters(scene)).toEqual({ 'model:big': [1, 0] })
      expect(await scene.depth()).toBe(1)
      expect(await scene.submit({ model: 'small' })).toMatchObject({ accepted: true })
    },
    one,
  )

  for (const limit of ['maxInFlight', 'perWindow', 'tokensPerWindow'] as const)
    rule(
      `2.6 a task that a ${limit} of 0 refuses is refused finally, and the receipt says so`,
      async (scene) => {
        expect(await scene.submit({ ...big, tokens: 1 })).toMatchObject({
          reason: 'quota_exceeded',
          message: `quota model:big allows nothing: its ${limit} is 0; raise it`,
          forGood: true,
        })
      },
      quota({ models: { big: { [limit]: 0 } } }),
    )

  rule(
    'C4 reject counts queued and running holders, so an accepted task always starts',
    async (scene) => {
      await scene.accepted(big)
      await scene.accepted(big)
      await scene.worker('w', 4)
      await scene.claim()
      await scene.claim()
      expect(await counters(scene)).toEqual({ 'model:big': [0, 2] })
      expect(await scene.submit(big)).toMatchObject({ reason: 'quota_exceeded' })
    },
    quota({ models: { big: { maxInFlight: 2 } } }),
  )

  rule(
    '2.9 50 submissions at once never exceed the quota',
    async (scene) => {
      const operation = { kind: 'submit', tasks: [submission(big)] } as const
      const answers = await Promise.all(Array.from({ length: 50 }, () => scene.write(operation)))
      expect(answers.flat().filter((it) => it.accepted)).toHaveLength(7)
      expect(await counters(scene)).toEqual({ 'model:big': [7, 0] })
    },
    quota({ models: { big: { maxInFlight: 7 } } }),
  )

  rule(
    '2.6 a task that names a model and a tool takes both or neither',
    async (scene) => {
      await scene.accepted({ tools: ['browser'] })
      expect(await scene.submit({ model: 'big', tools: ['browser'] })).toMatchObject({
        reason: 'quota_exceeded',
      })
      expect(await counters(scene)).toEqual({ 'tool:browser': [1, 0] })
      const [first] = (await scene.read({ kind: 'tasks', filter: { states: ['queued'] } })).tasks
      await scene.cancel(first?.taskId ?? '')
      await scene.accepted({ model: 'big', tools: ['browser'] })
      expect(await counters(scene)).toEqual({ 'tool:browser': [1, 0], 'model:big': [1, 0] })
    },
    quota({ models: { big: { maxInFlight: 5 } }, tools: { browser: { maxInFlight: 1 } } }),
  )

  rule(
    '2.6 a specific limit beats the default, and each name has its own counter',
    async (scene) => {
      await scene.accepted({ model: 'a' })
      expect(await scene.submit({ model: 'a' })).toMatchObject({ reason: 'quota_exceeded' })
      expect(await scene.submit({ model: 'b' })).toMatchObject({ accepted: true })
      expect((await scene.submitMany(3, big)).map((it) => it.accepted)).toEqual([true, true, false])
    },
    quota({ models: { big: { maxInFlight: 2 } }, defaults: { model: { maxInFlight: 1 } } }),
  )

  rule(
    '2.6 a client has its own limit or the default, and is counted by its name',
    async (scene) => {
      await scene.accepted({ client: 'ada' })
      expect(await scene.submit({ client: 'ada' })).toMatchObject({ reason: 'quota_exceeded' })
      expect((await scene.submitMany(3, { client: 'bob' })).map((it) => it.accepted)).toEqual([
        true,
        true,
        false,
      ])
      await scene.accepted()
      expect(await counters(scene)).toEqual({ 'client:ada': [1, 0], 'client:bob': [2, 0] })
    },
    quota({ clients: { ada: { maxInFlight: 1 } }, defaults: { client: { maxInFlight: 2 } } }),
  )

  rule(
    '2.6 each value of a label has a counter, under its own limit or the label’s default',
    async (scene) => {
      const team = (value: string) => ({ labels: { team: value, run: '7' } })
      expect((await scene.submitMany(2, team('alpha'))).map((it) => it.accepted)).toEqual([true, false])
      expect((await scene.submitMany(3, team('beta'))).map((it) => it.accepted)).toEqual([true, true, false])
      await scene.accepted(team('gamma'))
      await scene.accepted({ labels: { run: '7' } })
      expect(await counters(scene)).toEqual({
        'label:team=alpha': [1, 0],
        'label:team=beta': [2, 0],
        'label:team=gamma': [1, 0],
      })
    },
    quota({
      labels: { team: { alpha: { maxInFlight: 1 } } },
      defaults: { labels: { team: { maxInFlight: 2 } } },
    }),
  )

  rule(
    '2.6 a task takes its model, tool, client and label together, or none of them',
    async (scene) => {
      await scene.accepted({ labels: { team: 'alpha' } })
      const all = { model: 'big', tools: ['browser'], client: 'ada', labels: { team: 'alpha' } }
      expect(await scene.submit(all)).toMatchObject({ reason: 'quota_exceeded' })
      expect(await counters(scene)).toEqual({ 'label:team=alpha': [1, 0] })
      await scene.accepted({ ...all, labels: { team: 'beta' } })
      expect(await counters(scene)).toEqual({
        'client:ada': [1, 0],
        'label:team=alpha': [1, 0],
        'label:team=beta': [1, 0],
        'model:big': [1, 0],
        'tool:browser': [1, 0],
      })
    },
    quota({
      models: { big: { maxInFlight: 5 } },
      tools: { browser: { maxInFlight: 5 } },
      clients: { ada: { maxInFlight: 5 } },
      defaults: { labels: { team: { maxInFlight: 1 } } },
    }),
  )

  const waysOut: readonly [string, (scene: Scene, claim: Claim) => Promise<unknown>][] = [
    ['completes', (scene, claim) => scene.settle(claim)],
    ['fails', (scene, claim) => scene.settle(claim, { as: 'failed', kind: 'error', error: '{}' })],
    ['is canceled running', (scene, { taskId }) => scene.cancel(taskId)],
  ]
  for (const [what, leave] of waysOut)
    rule(
      `2.6 a task that ${what} releases its quotas, once`,
      async (scene) => {
        const claim = await scene.running({ model: 'big', tools: ['browser'] })
        expect(await counters(scene)).toEqual({ 'model:big': [0, 1], 'tool:browser': [0, 1] })
        await leave(scene, claim)
        await isZero(scene)
        await leave(scene, claim)
        await scene.settle(claim)
        await scene.cancel(claim.taskId)
        await isZero(scene)
        expect(await scene.submit(big)).toMatchObject({ accepted: true })
      },
      quota({ models: { big: { maxInFlight: 1 } }, tools: { browser: { maxInFlight: 1 } } }),
    )

  rule(
    '2.6 a task that is canceled queued or delayed releases its quotas',
    async (scene) => {
      const queued = await scene.accepted(big)
      const delayed = await scene.accepted({ ...big, delayMs: 60_000 })
      expect(await counters(scene)).toEqual({ 'model:big': [2, 0] })
      await scene.cancel(queued)
      await scene.cancel(delayed)
      await isZero(scene)
    },
    quota({ models: { big: { maxInFlight: 2 } } }),
  )

  timed(
    'F05 2.6 a task that is poisoned releases its quotas',
    async (scene) => {
      const claim = await scene.running(big)
      await scene.jump(30_000)
      expect(await scene.state(claim.taskId)).toBe('failed')
      await isZero(scene)
    },
    quota({ models: { big: { maxInFlight: 1 } } }, { maxCrashes: 1 }),
  )

  for (const [what, back] of [
    ['is retried', (scene, claim) => scene.settle(claim, { as: 'retry', error: '{}', delayMs: 0 })],
    ['is retried later', (scene, claim) => scene.settle(claim, { as: 'retry', error: '{}', delayMs: 9_000 })],
    ['yields', (scene, claim) => scene.release(claim)],
  ] as readonly [string, (scene: Scene, claim: Claim) => Promise<unknown>][])
    rule(
      `2.6 a task that ${what} keeps its quotas, as a queued holder`,
      async (scene) => {
        const claim = await scene.running(big)
        await back(scene, claim)
        expect(await counters(scene)).toEqual({ 'model:big': [1, 0] })
        expect(await scene.submit(big)).toMatchObject({ reason: 'quota_exceeded' })
      },
      one,
    )

  const deferred = quota({ models: { big: { maxInFlight: 1, onExceeded: 'defer' } } })
  rule(
    'F04 C4 defer: an excess task is accepted, waits in place for quota:<key>, and starts when there is room',
    async (scene) => {
      await scene.worker('w', 4)
      const first = await scene.accepted(big)
      const second = await scene.accepted(big)
      const claim = await scene.claim()
      expect(claim).toMatchObject({ taskId: first })
      expect(await scene.hasClaim()).toBe(false)
      expect(await scene.state(second)).toBe('queued')
      expect(await scene.read({ kind: 'explain', taskId: second })).toMatchObject({
        state: 'queued',
        waitsFor: 'quota:model:big',
      })
      await scene.settle(claim)
      expect(await scene.claim()).toMatchObject({ taskId: second })
      expect(await counters(scene)).toEqual({ 'model:big': [0, 1] })
    },
    deferred,
  )

  rule(
    '3.4 a deferred head is skipped in place: what comes after it and may run, runs',
    async (scene) => {
      await scene.worker('w', 4)
      await scene.accepted(big)
      const deferredOne = await scene.accepted(big)
      const other = await scene.accepted()
      const claims = [await scene.claim(), await scene.claim()]
      expect(claims[1]).toMatchObject({ taskId: other })
      const later = await scene.accepted({ type: 'third' })
      expect(await scene.claim()).toMatchObject({ taskId: later })
      await scene.settle(claims[0])
      expect(await scene.claim()).toMatchObject({ taskId: deferredOne })
    },
    deferred,
  )

  rule(
    '2.6 a deferred task takes both of its quotas or neither',
    async (scene) => {
      await scene.worker('w', 4)
      const both = { model: 'big', tools: ['browser'] }
      await scene.accepted({ tools: ['browser'] })
      await scene.accepted(both)
      await scene.claim()
      expect(await scene.hasClaim()).toBe(false)
      expect(await counters(scene)).toEqual({ 'model:big': [1, 0], 'tool:browser': [1, 1] })
    },
    quota({
      models: { big: { maxInFlight: 9, onExceeded: 'defer' } },
      tools: { browser: { maxInFlight: 1, onExceeded: 'defer' } },
    }),
  )

  rule(
    'F05 I19 deferred tasks never run more than the maximum, however many are given at once',
    async (scene) => {
      await scene.submitMany(9, big)
      await scene.worker('w', 4)
      expect(scene.claims).toHaveLength(3)
      expect(await counters(scene)).toEqual({ 'model:big': [6, 3] })
    },
    quota({ models: { big: { maxInFlight: 3, onExceeded: 'defer' } } }),
  )

  const perMinute = (limit: object) => quota({ models: { big: limit } })
  timed(
    '2.8 a window in reject mode counts at admission and starts again at the epoch’s minute',
    async (scene) => {
      await scene.pass(30_000)
      expect((await scene.submitMany(3, big)).map((it) => it.accepted)).toEqual([true, true, false])
      await scene.pass(29_999)
      expect(await scene.submit(big)).toMatchObject({ reason: 'quota_exceeded' })
      await scene.pass(1)
      expect((await scene.submitMany(3, big)).map((it) => it.accepted)).toEqual([true, true, false])
    },
    perMinute({ perWindow: 2 }),
  )

  timed(
    '2.8 an admitted task stays counted in its window when it ends',
    async (scene) => {
      const claim = await scene.running(big)
      await scene.settle(claim)
      expect(await scene.submit(big)).toMatchObject({ reason: 'quota_exceeded' })
    },
    perMinute({ perWindow: 1 }),
  )

  timed(
    '2.8 tokens fill a window to the last one',
    async (scene) => {
      const tokens = async (n: number) => (await scene.submit({ ...big, tokens: n })).accepted
      expect([
        await tokens(60),
        await tokens(41),
        await tokens(40),
        await tokens(1),
        await tokens(0),
      ]).toEqual([true, false, true, false, true])
      await scene.pass(60_000)
      expect(await tokens(100)).toBe(true)
    },
    perMinute({ tokensPerWindow: 100 }),
  )

  timed(
    '2.8 a window in defer mode counts at the claim; what waits starts in the next window',
    async (scene) => {
      await scene.worker('w', 4)
      const first = await scene.accepted(big)
      const second = await scene.accepted(big)
      const claim = await scene.claim()
      expect(claim).toMatchObject({ taskId: first })
      await scene.settle(claim)
      expect(await scene.hasClaim()).toBe(false)
      await scene.pass(59_999)
      expect(await scene.hasClaim()).toBe(false)
      await scene.pass(101)
      expect(await scene.claim()).toMatchObject({ taskId: second })
    },
    perMinute({ perWindow: 1, onExceeded: 'defer' }),
  )

  timed(
    '2.8 a window is windowMs long',
    async (scene) => {
      await scene.accepted(big)
      await scene.pass(999)
      expect(await scene.submit(big)).toMatchObject({ reason: 'quota_exceeded' })
      await scene.pass(1)
      expect(await scene.submit(big)).toMatchObject({ accepted: true })
    },
    quota({ models: { big: { perWindow: 1 } }, windowMs: 1_000 }),
  )

  rule(
    '2.8 a task that needs more tokens than a window has is refused, also in defer mode: it would wait for ever',
    async (scene) => {
      await scene.worker('w', 4)
      expect(await scene.submit({ ...big, tokens: 101 })).toMatchObject({
        accepted: false,
        reason: 'quota_exceeded',
        message:
          'quota model:big allows 100 tokens per window, and the task needs 101; raise tokensPerWindow, or ask for fewer',
      })
      expect(await scene.submit({ ...big, tokens: 100 })).toMatchObject({ accepted: true })
      expect(await scene.hasClaim()).toBe(true)
    },
    perMinute({ tokensPerWindow: 100, onExceeded: 'defer' }),
  )
}
