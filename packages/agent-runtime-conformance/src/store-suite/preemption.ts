import type { Suite } from './suite.ts'

const on = { config: { preemption: true } }

export function preemption({ rule, timed, expect }: Suite): void {
  rule(
    '3.6 no slot free and an interactive task waiting: the youngest lease of the lowest lane is asked to yield',
    async (scene) => {
      await scene.worker('w', 4)
      for (const lane of ['normal', 'batch', 'batch', 'normal'] as const) await scene.accepted({ lane })
      expect(scene.claims).toHaveLength(4)
      const youngest = scene.claims.findLast(({ lane }) => lane === 'batch')
      const urgent = await scene.accepted({ lane: 'interactive' })
      expect(scene.notices).toEqual([
        { leaseId: youngest?.leaseId, taskId: youngest?.taskId, verdict: 'yield' },
      ])
      expect(await scene.state(youngest?.taskId ?? '')).toBe('running')

      expect(await scene.release(youngest, 'yielded')).toBe('ok')
      scene.free('w')
      await scene.until(() => scene.claims.length === 5, 'the urgent task')
      expect(scene.claims[4]).toMatchObject({ taskId: urgent })
      expect(await scene.task(youngest?.taskId ?? '')).toMatchObject({ state: 'queued', attempt: 1 })
      expect((await scene.stats()).totals).toMatchObject({ preempted: 1 })
    },
    on,
  )

  timed(
    '3.6 it is asked once for each task that waits, however long it takes',
    async (scene) => {
      await scene.worker('w', 3)
      await scene.submitMany(3, { lane: 'batch' })
      await scene.accepted({ lane: 'interactive' })
      await scene.pass(2_000)
      expect(scene.notices).toHaveLength(1)
      await scene.accepted({ lane: 'interactive' })
      await scene.pass(2_000)
      expect(scene.notices.map(({ leaseId }) => leaseId)).toEqual([
        scene.claims[2]?.leaseId,
        scene.claims[1]?.leaseId,
      ])
    },
    on,
  )

  rule(
    '3.6 a running step is never cut: who is asked still writes until it yields',
    async (scene) => {
      await scene.worker('w', 1)
      await scene.accepted({ lane: 'batch' })
      const claim = await scene.claim()
      await scene.accepted({ lane: 'interactive' })
      expect(scene.notices).toMatchObject([{ verdict: 'yield' }])
      expect(await scene.step(claim, 'a', '1')).toEqual({ fenced: 'ok' })
      expect(await scene.settle(claim)).toBe('ok')
    },
    on,
  )

  rule(
    '3.6 nobody is asked while a slot is free, for a normal task, or by an interactive one to an interactive one',
    async (scene) => {
      await scene.worker('w', 2)
      await scene.accepted({ lane: 'batch' })
      await scene.accepted({ lane: 'interactive' })
      await scene.accepted({ lane: 'normal' })
      expect(scene.notices).toEqual([])
      await scene.settle(scene.claims[0])
      scene.free('w')
      await scene.until(() => scene.claims.length === 3, 'the normal one')
      await scene.settle(scene.claims[2])
      await scene.accepted({ lane: 'interactive' })
      scene.free('w')
      await scene.until(() => scene.claims.length === 4, 'two interactive ones')
      await scene.accepted({ lane: 'interactive' })
      expect(scene.notices).toEqual([])
    },
    on,
  )

  rule(
    '3.6 an interactive task that no worker here runs asks nobody',
    async (scene) => {
      await scene.worker('w', 1, ['work'])
      await scene.accepted({ lane: 'batch' })
      await scene.claim()
      await scene.accepted({ lane: 'interactive', type: 'chat' })
      expect(scene.notices).toEqual([])
    },
    on,
  )

  rule(
    '3.6 a free slot of a worker that does not run it is none, and only a slot that is of use is asked for',
    async (scene) => {
      await scene.worker('chat', 1, ['chat', 'work'])
      await scene.worker('mail', 1, ['mail'])
      await scene.accepted({ lane: 'batch' })
      const claim = await scene.claim()
      await scene.accepted({ lane: 'batch', type: 'mail' })
      await scene.claim()
      scene.free('mail')
      await scene.accepted({ lane: 'interactive', type: 'chat' })
      expect(scene.notices).toMatchObject([{ leaseId: claim.leaseId, verdict: 'yield' }])
    },
    on,
  )

  rule(
    '3.6 a task that waits for a quota makes nobody yield either',
    async (scene) => {
      await scene.worker('w', 2)
      await scene.accepted({ lane: 'interactive', model: 'big' })
      await scene.accepted({ lane: 'batch' })
      expect(scene.claims).toHaveLength(2)
      await scene.accepted({ lane: 'interactive', model: 'big' })
      expect(scene.notices).toEqual([])
    },
    {
      config: { preemption: true, quotaConfig: { models: { big: { maxInFlight: 1, onExceeded: 'defer' } } } },
    },
  )

  rule(
    '3.6, 2.8 a task whose tokens its window has no room for makes nobody yield either',
    async (scene) => {
      await scene.worker('w', 1)
      const first = { lane: 'interactive', model: 'big', tokens: 60 } as const
      await scene.accepted(first)
      await scene.settle(await scene.claim())
      await scene.accepted(first)
      await scene.accepted({ lane: 'batch' })
      scene.free('w')
      await scene.until(() => scene.claims.length === 2, 'the batch task')
      await scene.accepted(first)
      expect(scene.notices).toEqual([])
    },
    {
      config: {
        preemption: true,
        quotaConfig: { models: { big: { tokensPerWindow: 100, onExceeded: 'defer' } } },
      },
    },
  )

  rule(
    '3.6 no more are asked than quotas let in together, whatever their types',
    async (scene) => {
      await scene.worker('w', 3)
      await scene.submitMany(3, { lane: 'batch' })
      for (const type of ['chat', 'talk', 'call'])
        await scene.accepted({ lane: 'interactive', type, model: 'big' })
      expect(scene.notices).toHaveLength(1)
    },
    {
      config: { preemption: true, quotaConfig: { models: { big: { maxInFlight: 1, onExceeded: 'defer' } } } },
    },
  )

  rule('3.6 without the option nobody is asked', async (scene) => {
    await scene.worker('w', 1)
    await scene.accepted({ lane: 'batch' })
    await scene.claim()
    await scene.accepted({ lane: 'interactive' })
    expect(scene.notices).toEqual([])
  })
}
