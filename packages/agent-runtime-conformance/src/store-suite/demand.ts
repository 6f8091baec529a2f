import type { Suite } from './suite.ts'

export function demand({ rule, timed, expect }: Suite): void {
  rule('nobody is given anything unasked', async (scene) => {
    await scene.worker('w', 4, ['*'], 0)
    await scene.submitMany(3)
    expect(await scene.hasClaim()).toBe(false)
    scene.store.demand('w', 2)
    await scene.until(() => scene.claims.length === 2, 'two claims')
    expect(await scene.depth()).toBe(1)
  })

  rule('the demand is a running total: said again, it changes nothing', async (scene) => {
    await scene.worker('w', 2)
    await scene.submitMany(6)
    for (let n = 0; n < 5; n++) scene.store.demand('w', 2)
    await scene.idle()
    expect(scene.claims).toHaveLength(2)
    await scene.settle(scene.claims[0])
    expect(scene.claims).toHaveLength(2)
    scene.store.demand('w', 3)
    scene.store.demand('w', 3)
    await scene.idle()
    expect(scene.claims).toHaveLength(3)
  })

  rule('a statement that was lost is made good by the next', async (scene) => {
    await scene.worker('w', 2)
    await scene.submitMany(6)
    for (const claim of scene.claims.slice()) await scene.settle(claim)
    scene.store.demand('w', 4)
    await scene.until(() => scene.claims.length === 4, 'two more')
  })

  rule('a later statement replaces the earlier, also by less', async (scene) => {
    await scene.worker('w', 4, ['*'], 0)
    scene.store.demand('w', 4)
    scene.store.demand('w', 1)
    await scene.submitMany(4)
    expect(scene.claims).toHaveLength(1)
  })

  rule('a demand from before the worker was registered counts', async (scene) => {
    scene.store.demand('w', 1)
    await scene.submit()
    expect(await scene.hasClaim()).toBe(false)
    await scene.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
    expect(await scene.hasClaim()).toBe(true)
  })

  rule('a demand beyond the capacity gives no more than the capacity at once', async (scene) => {
    await scene.worker('w', 2, ['*'], 0)
    await scene.submitMany(6)
    scene.store.demand('w', 100)
    await scene.idle()
    await scene.submitMany(2)
    await scene.submitMany(2)
    await scene.idle()
    expect(scene.claims).toHaveLength(2)
    const [status] = await scene.read({ kind: 'workers' })
    expect(status).toMatchObject({ capacity: 2, inFlight: 2 })
  })

  rule('4.5 a slot stays taken until the worker says that it has it back', async (scene) => {
    await scene.worker('w', 1)
    await scene.submitMany(2)
    const claim = await scene.claim()
    await scene.cancel(claim.taskId)
    expect(await scene.hasClaim()).toBe(false)
    scene.free('w')
    expect(await scene.hasClaim()).toBe(true)
  })

  timed('4.5 also when the lease is lost', async (scene) => {
    await scene.worker('w', 1)
    await scene.accepted()
    const claim = await scene.claim()
    await scene.jump(30_000)
    expect(scene.notices).toMatchObject([{ leaseId: claim.leaseId, verdict: 'lost' }])
    await scene.pass(10_000)
    expect(await scene.hasClaim()).toBe(false)
    scene.free('w')
    expect(await scene.claim()).toMatchObject({ taskId: claim.taskId, attempt: 2 })
  })

  rule(
    'a settlement and a freed slot in one turn hand over the next task in the same commit',
    async (scene) => {
      await scene.worker('w', 1)
      await scene.submitMany(2)
      const first = await scene.claim()
      const { commits } = await scene.stats()
      const settled = scene.settle(first)
      scene.free('w')
      expect(await settled).toBe('ok')
      expect(await scene.hasClaim()).toBe(true)
      expect((await scene.stats()).commits).toBe(commits + 1)
    },
  )

  rule('a submission that finds a free slot starts in its own commit, its input with it', async (scene) => {
    await scene.worker('w', 1)
    const { commits } = await scene.stats()
    const taskId = await scene.accepted({
      input: '{"a":[1,2]}',
      labels: { b: '2', a: '1' },
      trace: { traceparent: '00-1' },
      client: 'c',
      model: 'm',
      tools: ['t'],
      timeoutMs: 5,
      tokens: 7,
    })
    const claim = await scene.claim()
    expect((await scene.stats()).commits).toBe(commits + 1)
    expect(claim).toMatchObject({ taskId, workerId: 'w', attempt: 1, crashes: 0, fencingToken: 1, steps: 0 })
    expect(claim.submission).toBe(
      '{"client":"c","input":{"a":[1,2]},"labels":{"a":"1","b":"2"},"lane":"normal","model":"m","timeoutMs":5,' +
        '"tokens":7,"tools":["t"],"trace":{"traceparent":"00-1"},"type":"work"}',
    )
    expect((await scene.history(taskId))[0]?.data).toBe(claim.submission)
    expect(claim.checkpoint).toBeUndefined()
  })

  rule('a claim that waited in the tables says the same as one that did not', async (scene) => {
    const task = { input: '{"a":1}', labels: { x: 'y' }, lane: 'batch' } as const
    await scene.accepted(task)
    await scene.worker('w', 2)
    await scene.accepted(task)
    const [early, late] = [await scene.claim(), await scene.claim()]
    expect(early.submission).toBe(late.submission)
    expect(early).toMatchObject({ lane: 'batch', type: 'work', sequence: 1 })
  })
}
