import type { Write, Claim, LeaseNotice } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

/** Every write of a holder, named by its kind. */
function holderWrites(leaseId: string): readonly Write[] {
  return [
    { kind: 'settle', leaseId, settlement: { as: 'completed', output: '"late"' } },
    { kind: 'settle', leaseId, settlement: { as: 'failed', kind: 'error', error: '{"message":"late"}' } },
    { kind: 'settle', leaseId, settlement: { as: 'retry', error: '{"message":"late"}', delayMs: 0 } },
    { kind: 'release', leaseId, reason: 'yielded' },
    { kind: 'release', leaseId, reason: 'drained' },
    { kind: 'recordStep', leaseId, key: 'late', position: 9, durationMs: 1, result: '"late"' },
    { kind: 'failStep', leaseId, key: 'late', position: 9, durationMs: 1, error: '{"message":"late"}' },
    { kind: 'checkpoint', leaseId, data: '"late"' },
    { kind: 'appendOutput', leaseId, chunks: ['"late"'] },
    { kind: 'progress', leaseId, progress: '"late"' },
  ]
}

export function leases({ rule, timed, expect }: Suite): void {
  const leaseOf = async (scene: Scene, claim: Claim) =>
    (await scene.read({ kind: 'leases', taskId: claim.taskId })).find((it) => it.leaseId === claim.leaseId)
  const live = (scene: Scene, taskId: string) =>
    scene
      .read({ kind: 'leases', taskId })
      .then((all) => all.filter(({ status }) => status === 'running').map(({ leaseId }) => leaseId))

  timed(
    '4.1 acquired at t, a lease expires at t + 30 000; a heartbeat at t + 5 000 moves it to t + 35 000',
    async (scene) => {
      const t = scene.now
      const claim = await scene.running()
      expect(claim).toMatchObject({ acquiredAt: t, expiresAt: t + 30_000 })
      await scene.pass(4_999)
      expect(await leaseOf(scene, claim)).toMatchObject({ expiresAt: t + 30_000, lastHeartbeatAt: t })
      await scene.pass(1)
      expect(await leaseOf(scene, claim)).toMatchObject({
        status: 'running',
        acquiredAt: t,
        expiresAt: t + 35_000,
        lastHeartbeatAt: t + 5_000,
      })
    },
  )

  timed('4.3 one renewal covers all leases of the process', async (scene) => {
    const t = scene.now
    const first = await scene.running()
    await scene.pass(2_000)
    const second = await scene.running()
    await scene.pass(3_000)
    for (const claim of [first, second])
      expect(await leaseOf(scene, claim)).toMatchObject({ expiresAt: t + 35_000 })
  })

  timed('B16 a task that runs ten times the TTL with healthy heartbeats keeps its lease', async (scene) => {
    const claim = await scene.running()
    await scene.pass(300_000)
    expect(scene.notices).toEqual([])
    expect(await scene.settle(claim)).toBe('ok')
    expect(await scene.task(claim.taskId)).toMatchObject({ state: 'completed', attempt: 1, crashes: 0 })
  })

  timed('4.2 a process that wakes a millisecond before the end still has its lease', async (scene) => {
    const claim = await scene.running()
    await scene.jump(29_999)
    expect(scene.notices).toEqual([])
    expect(await leaseOf(scene, claim)).toMatchObject({ status: 'running', expiresAt: scene.now + 30_000 })
    expect(await scene.settle(claim)).toBe('ok')
  })

  timed(
    'B04 4.2 at expiresAt exactly it has lost it, although no sweep has run: the heartbeat of that instant is refused',
    async (scene) => {
      const claim = await scene.running()
      await scene.jump(30_000)
      expect(scene.notices).toEqual([
        { leaseId: claim.leaseId, taskId: claim.taskId, verdict: 'lost', reason: 'expired' },
      ] satisfies LeaseNotice[])
      expect(await leaseOf(scene, claim)).toMatchObject({
        status: 'failed',
        endReason: 'expired',
        expiresAt: scene.now,
      })
    },
  )

  for (const operation of holderWrites('?'))
    timed(
      `B04 4.2 at expiresAt exactly ${operation.kind} (${JSON.stringify(operation).slice(0, 80)}) is stale`,
      async (scene) => {
        const claim = await scene.running()
        scene.clock.advanceBy(30_000)
        const written = scene.write({ ...operation, leaseId: claim.leaseId } as Write)
        expect(fencedOf(await written)).toBe('stale')
        expect(await scene.task(claim.taskId)).toMatchObject({ state: 'queued', attempt: 2 })
      },
    )

  timed('C7 an expired task goes back with attempt + 1; its lease ends as failed, expired', async (scene) => {
    const claim = await scene.running()
    await scene.jump(30_000)
    expect(await scene.task(claim.taskId)).toMatchObject({ state: 'queued', attempt: 2, crashes: 1 })
    expect(await leaseOf(scene, claim)).toMatchObject({
      status: 'failed',
      endReason: 'expired',
      endedAt: scene.now,
      attempt: 1,
    })
    expect((await scene.stats()).totals).toMatchObject({ expired: 1, requeued: 1 })
    expect((await scene.history(claim.taskId)).at(-1)).toMatchObject({ type: 'task.requeued' })
  })

  timed('4.4 completion first: the sweep sees nothing', async (scene) => {
    const claim = await scene.running()
    expect(await scene.settle(claim)).toBe('ok')
    await scene.jump(60_000)
    await scene.pass(1_000)
    expect(scene.notices).toEqual([])
    expect(await scene.task(claim.taskId)).toMatchObject({ state: 'completed', attempt: 1 })
    expect((await scene.stats()).totals).toMatchObject({ expired: 0 })
  })

  timed(
    'B06 4.2 no lease of more than one flush sweeps is renewed or written under, and all go back',
    async (scene) => {
      await scene.submitMany(1_100)
      await scene.worker('w', 1_100)
      expect(scene.claims).toHaveLength(1_100)
      scene.clock.advanceBy(30_000)
      expect(await scene.settle(scene.claims[1_099])).toBe('stale')
      await scene.pass(1_000)
      expect(scene.notices).toHaveLength(1_100)
      expect(await scene.stats()).toMatchObject({ running: 0, totals: { expired: 1_100 } })
      expect(await scene.depth()).toBe(1_100)
    },
    { config: { maxInFlightPerWorker: 1_100, queueDepthLimit: 2_000 } },
  )

  timed(
    '3.5 leases that expire in one tick requeue in (expiresAt, leaseId) order',
    async (scene) => {
      scene.store.interest({ types: ['lease.expired'], tasks: [] })
      const config = [2_000, 0, 1_000, 0]
      const claims: Claim[] = []
      for (const wait of config) {
        claims.push(await scene.running())
        await scene.pass(wait)
      }
      await scene.jump(60_000)
      const inOrder = claims.toSorted((a, b) => a.expiresAt - b.expiresAt || a.dispatch - b.dispatch)
      expect(scene.events.map(({ taskId }) => taskId)).toEqual(inOrder.map(({ taskId }) => taskId))
    },
    { config: { heartbeatIntervalMs: 29_000 } },
  )

  timed('C17 at its maxCrashes-th crash a task fails as poisoned', async (scene) => {
    await scene.worker('w', 1)
    const taskId = await scene.accepted()
    for (let attempt = 1; attempt <= 5; attempt++) {
      expect(await scene.claim()).toMatchObject({
        taskId,
        attempt,
        crashes: attempt - 1,
        fencingToken: attempt,
      })
      await scene.jump(30_000)
      scene.free('w')
    }
    const task = await scene.task(taskId)
    expect(task).toMatchObject({ state: 'failed', kind: 'poisoned', attempt: 5, crashes: 5 })
    expect(task.state === 'failed' && JSON.parse(task.error)).toMatchObject({ code: 'poisoned' })
    expect(await scene.hasClaim()).toBe(false)
    expect((await scene.stats()).totals).toMatchObject({ expired: 5, requeued: 4, failed: 1 })
    const all = await scene.read({ kind: 'leases', taskId })
    expect(all.map(({ status, endReason }) => `${status} ${endReason}`)).toEqual(
      Array.from({ length: 5 }, () => 'failed expired'),
    )
  })

  timed(
    'C17 retries and yields are no crashes',
    async (scene) => {
      await scene.worker('w', 1)
      const taskId = await scene.accepted()
      for (let n = 0; n < 4; n++) {
        const claim = await scene.claim()
        await (n % 2 === 0
          ? scene.settle(claim, { as: 'retry', error: '{}', delayMs: 0 })
          : scene.release(claim))
        scene.free('w')
      }
      await scene.claim()
      expect(await scene.task(taskId)).toMatchObject({ state: 'running', attempt: 3, crashes: 0 })
    },
    { config: { maxCrashes: 1 } },
  )

  rule('1.4 a task has one live lease, and its record shows it', async (scene) => {
    const claim = await scene.running()
    const task = await scene.task(claim.taskId)
    expect(task).toMatchObject({
      state: 'running',
      lease: {
        leaseId: claim.leaseId,
        taskId: claim.taskId,
        workerId: claim.workerId,
        status: 'running',
        acquiredAt: claim.acquiredAt,
        expiresAt: claim.expiresAt,
        lastHeartbeatAt: claim.acquiredAt,
        attempt: 1,
        fencingToken: 1,
        dispatch: claim.dispatch,
      },
    })
    expect(await live(scene, claim.taskId)).toEqual([claim.leaseId])
    await scene.settle(claim)
    expect(await live(scene, claim.taskId)).toEqual([])
  })

  rule('4.6 the fencing token rises by one at every claim, whatever the attempt does', async (scene) => {
    await scene.worker('w', 1)
    const taskId = await scene.accepted()
    const seen: [number, number][] = []
    for (let n = 0; n < 6; n++) {
      const claim = await scene.claim()
      seen.push([claim.fencingToken, claim.attempt])
      await (n % 2 === 0
        ? scene.release(claim)
        : scene.settle(claim, { as: 'retry', error: '{}', delayMs: 0 }))
      scene.free('w')
    }
    expect(seen).toEqual([
      [1, 1],
      [2, 1],
      [3, 2],
      [4, 2],
      [5, 3],
      [6, 3],
    ])
    const all = await scene.read({ kind: 'leases', taskId })
    expect(all.map(({ fencingToken }) => fencingToken).slice(0, 6)).toEqual([1, 2, 3, 4, 5, 6])
  })

  /** How a lease ends from outside or inside, after which its id is worth nothing. */
  const ends: readonly [string, (scene: Scene, claim: Claim) => Promise<unknown>][] = [
    ['was canceled', (scene, { taskId }) => scene.cancel(taskId)],
    ['was settled', (scene, claim) => scene.settle(claim, { as: 'completed', output: '"first"' })],
    ['was given back', (scene, claim) => scene.release(claim)],
    ['was retried', (scene, claim) => scene.settle(claim, { as: 'retry', error: '"first"', delayMs: 0 })],
    [
      'was taken over by another claim',
      async (scene, claim) => {
        await scene.release(claim)
        scene.free(claim.workerId)
        await scene.claim()
      },
    ],
  ]
  for (const [how, end] of ends)
    rule(
      `B05 4.4 every write of a holder whose lease ${how} is stale, and changes nothing`,
      async (scene) => {
        const claim = await scene.running()
        await end(scene, claim)
        await refusesAll(scene, claim.leaseId, claim.taskId)
      },
    )

  timed('4.4 every write of a holder whose lease expired is stale, and changes nothing', async (scene) => {
    const claim = await scene.running()
    await scene.jump(30_000)
    await refusesAll(scene, claim.leaseId, claim.taskId)
  })

  const strangers: readonly [string, (claim: Claim) => string][] = [
    ['never granted', ({ leaseId }) => `${leaseId.slice(0, -4)}fff0`],
    ['of another store', ({ leaseId }) => `${leaseId.startsWith('0') ? '1' : '0'}${leaseId.slice(1)}`],
    ['the id of the task', ({ taskId }) => taskId],
    ['in capitals', ({ leaseId }) => (leaseId.toUpperCase() === leaseId ? '' : leaseId.toUpperCase())],
    ['empty', () => ''],
    ['no id at all', () => "' OR 1 = 1; --"],
    ['a number', () => '1'],
  ]
  for (const [what, make] of strangers)
    rule(`B10 a lease id that is ${what} is stale for every write`, async (scene) => {
      const claim = await scene.running()
      await refusesAll(scene, make(claim), claim.taskId)
      expect(await scene.settle(claim)).toBe('ok')
    })

  rule('4.4 one holder cannot write for another', async (scene) => {
    const [mine, theirs] = [await scene.running(), await scene.running()]
    expect(await scene.settle(mine, { as: 'completed', output: '"mine"' })).toBe('ok')
    expect(await scene.task(theirs.taskId)).toMatchObject({ state: 'running' })
    await refusesAll(scene, mine.leaseId, theirs.taskId)
    expect(await scene.settle(theirs, { as: 'completed', output: '"theirs"' })).toBe('ok')
    expect(await scene.task(mine.taskId)).toMatchObject({ output: '"mine"' })
  })

  rule('4.4 stale writes are counted', async (scene) => {
    const claim = await scene.running()
    await scene.cancel(claim.taskId)
    expect(await scene.stats()).toMatchObject({ staleWrites: 0 })
    await scene.settle(claim)
    await scene.step(claim, 'a', '1')
    await scene.write({ kind: 'appendOutput', leaseId: claim.leaseId, chunks: ['1', '2'] })
    expect(await scene.stats()).toMatchObject({ staleWrites: 3 })
  })

  async function refusesAll(scene: Scene, leaseId: string, taskId: string): Promise<void> {
    const before = await everythingAbout(scene, taskId)
    for (const operation of holderWrites(leaseId))
      expect(fencedOf(await scene.write(operation))).toBe('stale')
    expect(await everythingAbout(scene, taskId)).toEqual(before)
  }

  async function everythingAbout(scene: Scene, taskId: string): Promise<unknown> {
    const { staleWrites: _, commits: __, ...stats } = await scene.stats()
    return {
      task: await scene.task(taskId),
      events: await scene.history(taskId),
      steps: await scene.steps(taskId),
      output: await scene.read({ kind: 'output', taskId, after: 0, limit: 100 }),
      leases: await scene.read({ kind: 'leases', taskId }),
      stats,
    }
  }
}

function fencedOf(outcome: unknown): unknown {
  return typeof outcome === 'object' && outcome !== null ? (outcome as { fenced?: unknown }).fenced : outcome
}
