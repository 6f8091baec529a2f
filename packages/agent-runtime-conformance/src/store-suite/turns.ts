import { StoreError } from '@ku0/agent-runtime-core'
import { type Scene, submission } from './scene.ts'
import type { Suite } from './suite.ts'

export function turns({ rule, timed, expect }: Suite): void {
  rule('operations of one turn share one commit', async (scene) => {
    const { commits } = await scene.stats()
    const all = Array.from({ length: 50 }, () => scene.write({ kind: 'submit', tasks: [submission()] }))
    await Promise.all(all)
    expect((await scene.stats()).commits).toBe(commits + 1)
  })

  rule(
    'however many are handed over in one turn, all are answered, in order',
    async (scene) => {
      const all = Array.from({ length: 4_500 }, () =>
        scene.store.write({ kind: 'submit', tasks: [submission()] }),
      )
      const receipts = (await scene.settled(Promise.all(all))).flat()
      expect(receipts.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 4_500 }, (_, n) => n + 1))
      expect(await scene.depth()).toBe(4_500)
    },
    { config: { queueDepthLimit: 10_000 } },
  )

  rule('operations of two turns are two commits', async (scene) => {
    const { commits } = await scene.stats()
    await scene.submit()
    await scene.submit()
    expect((await scene.stats()).commits).toBe(commits + 2)
  })

  timed('a write that changes nothing commits nothing', async (scene) => {
    const taskId = await scene.accepted({ idempotencyKey: 'k' })
    const { commits } = await scene.stats()
    await scene.submit({ idempotencyKey: 'k' })
    await scene.cancel('nobody')
    await scene.read({ kind: 'task', taskId })
    await scene.pass(1_000)
    expect((await scene.stats()).commits).toBe(commits)
  })

  rule('answers come in the order of the calls', async (scene) => {
    const order: number[] = []
    const all = Array.from({ length: 20 }, (_, n) =>
      scene.store.write({ kind: 'submit', tasks: [submission({ input: String(n) })] }).then(([receipt]) => {
        order.push(n)
        return receipt?.sequence
      }),
    )
    expect(await scene.settled(Promise.all(all))).toEqual(Array.from({ length: 20 }, (_, n) => n + 1))
    expect(order).toEqual(Array.from({ length: 20 }, (_, n) => n))
  })

  rule('writes on one lease are applied in the order in which they were handed over', async (scene) => {
    const claim = await scene.running()
    const all = [
      scene.step(claim, 'a', '1', 0),
      scene.write({ kind: 'checkpoint', leaseId: claim.leaseId, data: '1' }),
      scene.step(claim, 'b', '2', 1),
      scene.settle(claim),
      scene.step(claim, 'c', '3', 2),
    ]
    expect(await Promise.all(all)).toEqual([
      { fenced: 'ok' },
      'ok',
      { fenced: 'ok' },
      'ok',
      { fenced: 'stale' },
    ])
    expect((await scene.eventTypes(claim.taskId)).slice(2)).toEqual([
      'step.completed',
      'checkpoint.created',
      'step.completed',
      'task.completed',
    ])
  })

  rule('a notice comes before the stale answer that it explains', async (scene) => {
    const claim = await scene.running()
    const order: string[] = []
    scene.store.listen({ noticed: ([notice]) => void order.push(notice?.verdict ?? '') })
    const canceled = scene.store.write({ kind: 'cancel', taskId: claim.taskId })
    await scene.settled(canceled)
    const { leaseId } = claim
    await scene.settled(
      scene.store
        .write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: '1' } })
        .then((fenced) => order.push(fenced)),
    )
    expect(order).toEqual(['canceled', 'stale'])
  })

  rule('one operation that cannot be stored is refused alone: its neighbours are done', async (scene) => {
    scene.hasBadOperation = true
    const before = scene.store.write({ kind: 'submit', tasks: [submission({ input: '1' })] })
    const bad = outcome(
      scene,
      scene.store.write({
        kind: 'registerWorkers',
        workers: [{ workerId: 'w', capacity: -1, types: ['*'] }],
      }),
    )
    const after = scene.store.write({ kind: 'submit', tasks: [submission({ input: '2' })] })
    expect(await scene.settled(before)).toMatchObject([{ accepted: true, sequence: 1 }])
    expect(await bad).toBe('rejected')
    expect(await scene.settled(after)).toMatchObject([{ accepted: true, sequence: 2 }])
    expect(await scene.read({ kind: 'workers' })).toEqual([])
    expect(await scene.depth()).toBe(2)
    expect(scene.failures).toEqual([])
  })

  rule('a closed store refuses everything with store_closed', async (scene) => {
    const claim = await scene.running()
    await scene.settled(scene.store.close())
    const calls = [
      () => scene.store.write({ kind: 'submit', tasks: [submission()] }),
      () => scene.store.write({ kind: 'cancel', taskId: claim.taskId }),
      () =>
        scene.store.write({
          kind: 'settle',
          leaseId: claim.leaseId,
          settlement: { as: 'completed', output: '1' },
        }),
      () => scene.store.read({ kind: 'stats' }),
      () => scene.store.read({ kind: 'task', taskId: claim.taskId }),
    ]
    for (const call of calls) {
      const error: unknown = await scene.settled(
        call().then(
          () => undefined,
          (caught: unknown) => caught,
        ),
      )
      expect(error instanceof StoreError && error.code).toBe('store_closed')
    }
    scene.store.demand('w', 1)
    scene.store.interest({ types: 'all', tasks: [] })
  })

  rule('closing twice is closing once', async (scene) => {
    await scene.settled(Promise.all([scene.store.close(), scene.store.close()]))
    await scene.settled(scene.store.close())
    expect(scene.failures).toEqual([])
  })

  rule('a write that was handed over before the close is done', async (scene) => {
    const written = scene.store.write({ kind: 'submit', tasks: [submission()] })
    const closed = scene.store.close()
    expect(await scene.settled(written)).toMatchObject([{ accepted: true }])
    await scene.settled(closed)
  })

  rule(
    'however much was handed over before the close is done',
    async (scene) => {
      const all = Array.from({ length: 4_500 }, () =>
        scene.store.write({ kind: 'submit', tasks: [submission()] }),
      )
      const closed = scene.store.close()
      const receipts = (await scene.settled(Promise.all(all))).flat()
      expect(receipts.filter((it) => it.accepted)).toHaveLength(4_500)
      await scene.settled(closed)
    },
    { config: { queueDepthLimit: 10_000, batchBackpressureThreshold: 10_000 } },
  )

  rule('a call made while the store closes is answered, one way or the other', async (scene) => {
    const closed = scene.store.close()
    const call = outcome(scene, scene.store.write({ kind: 'submit', tasks: [submission()] }))
    expect(['resolved', 'rejected']).toContain(await call)
    await scene.settled(closed)
  })
}

function outcome(scene: Scene, promise: Promise<unknown>): Promise<'resolved' | 'rejected'> {
  return scene.settled(
    promise.then(
      () => 'resolved' as const,
      () => 'rejected' as const,
    ),
  )
}
