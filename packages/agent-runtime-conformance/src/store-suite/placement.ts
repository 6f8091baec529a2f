import type { Lane } from '@ku0/agent-runtime-core'
import type { Scene } from './scene.ts'
import type { Suite } from './suite.ts'

export function placement({ rule, timed, expect }: Suite): void {
  const byWorker = (scene: Scene) => scene.claims.map(({ workerId }) => workerId)
  const share = (scene: Scene) => {
    const shares: Record<string, number> = {}
    for (const workerId of byWorker(scene)) shares[workerId] = (shares[workerId] ?? 0) + 1
    return shares
  }
  const known = async (scene: Scene, workerId: string) =>
    (await scene.read({ kind: 'workers' })).find((it) => it.workerId === workerId)

  rule('3.1 two idle workers of capacity 4 and four tasks give 2 + 2', async (scene) => {
    await scene.worker('a', 4)
    await scene.worker('b', 4)
    await scene.submitMany(4)
    expect(byWorker(scene)).toEqual(['a', 'b', 'a', 'b'])
  })

  rule('3.1 nine tasks fill both and leave one', async (scene) => {
    await scene.worker('a', 4)
    await scene.worker('b', 4)
    await scene.submitMany(9)
    expect(share(scene)).toEqual({ a: 4, b: 4 })
    expect(await scene.depth()).toBe(1)
  })

  rule('3.1 least inFlight goes first, also when slots come back one by one', async (scene) => {
    await scene.worker('a', 3)
    await scene.worker('b', 3)
    await scene.submitMany(6)
    for (const claim of scene.claims.filter(({ workerId }) => workerId === 'b').slice(0, 2))
      await scene.settle(claim)
    scene.free('b', 2)
    await scene.settle(scene.claims.find(({ workerId }) => workerId === 'a'))
    scene.free('a')
    await scene.submitMany(2)
    expect(byWorker(scene).slice(6)).toEqual(['b', 'a'])
  })

  timed('3.1 then the worker seen longest ago, then the name by code unit', async (scene) => {
    await scene.worker('z', 2)
    await scene.pass(1_000)
    await scene.worker('b', 2)
    await scene.worker('B', 2)
    await scene.worker('ä', 2)
    await scene.submitMany(4)
    expect(byWorker(scene)).toEqual(['z', 'B', 'b', 'ä'])
  })

  rule('B15 3.2 capacity is min(worker.capacity, maxInFlightPerWorker)', async (scene) => {
    await scene.worker('big', 100)
    await scene.worker('one', 1)
    await scene.submitMany(20)
    expect(share(scene)).toEqual({ big: 4, one: 1 })
    expect(await known(scene, 'big')).toMatchObject({ capacity: 4, inFlight: 4 })
  })

  rule('B15 a worker of capacity 0 is registered and given nothing', async (scene) => {
    await scene.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 0, types: ['*'] }] })
    scene.store.demand('w', 0)
    await scene.submit()
    expect(await scene.hasClaim()).toBe(false)
    expect(await known(scene, 'w')).toMatchObject({ capacity: 0, state: 'idle' })
  })

  rule('4.12 a task is given by its id, past those before it, while its worker has room', async (scene) => {
    await scene.worker('hand', 2, [])
    const [first, second, third] = [await scene.accepted(), await scene.accepted(), await scene.accepted()]
    const ask = (taskId: string, workerId = 'hand') => scene.write({ kind: 'claimTask', taskId, workerId })
    const [given, again] = await Promise.all([ask(third), ask(third)])
    expect(given).toMatchObject({ as: 'claimed', attempt: 1 })
    expect(again).toEqual({ as: 'refused', why: 'not_queued' })
    expect(await ask(first, 'nobody')).toEqual({ as: 'refused', why: 'no_room' })
    expect(await ask('nothing')).toEqual({ as: 'refused', why: 'unknown' })
    const next = await ask(first)
    expect(next).toMatchObject({ as: 'claimed' })
    expect(await ask(second)).toEqual({ as: 'refused', why: 'no_room' })
    if (next.as === 'claimed')
      expect(await scene.write({ kind: 'release', leaseId: next.leaseId, reason: 'drained' })).toBe('ok')
    expect(await ask(second)).toMatchObject({ as: 'claimed' })
    // It stands where it stood.
    await scene.worker('w', 1)
    expect(await scene.claim()).toMatchObject({ taskId: first, workerId: 'w' })
  })

  rule('8.11 a worker shows what it knows of its types, as long as it is registered', async (scene) => {
    const settings = { mail: { lane: 'batch', input: 'abc' } }
    const workers = [{ workerId: 'w', capacity: 1, types: ['mail'], settings }]
    await scene.write({ kind: 'registerWorkers', workers })
    expect((await known(scene, 'w'))?.settings).toEqual(settings)
    await scene.worker('w', 1, ['mail'])
    expect((await known(scene, 'w'))?.settings).toBe(undefined)
  })

  rule(
    '8.12 the settings of the store that a process names are in force, and are shown with the process',
    async (scene) => {
      const { processId } = scene.store.info
      expect((await scene.stats()).configurations).toMatchObject([
        { inForce: true, settings: { maxDelayed: 1, queueDepthLimit: 1_000 }, processes: [{ processId }] },
      ])
      await scene.accepted({ delayMs: 60_000 })
      expect(await scene.submit({ delayMs: 60_000 })).toMatchObject({ accepted: false, reason: 'queue_full' })
    },
    { config: { maxDelayed: 1, leaseTtlMs: 20_000 } },
  )

  rule(
    '8.12 a process that names none of them states none',
    async (scene) => {
      expect((await scene.stats()).configurations).toBe(undefined)
    },
    { config: { leaseTtlMs: 20_000 } },
  )

  rule('8.5 a worker takes tasks only from the lanes that it names, and shows them', async (scene) => {
    const register = (workerId: string, lanes?: readonly Lane[]) =>
      scene.write({ kind: 'registerWorkers', workers: [{ workerId, capacity: 1, types: ['*'], lanes }] })
    await register('quick', ['normal', 'interactive'])
    scene.store.demand('quick', 1)
    const batch = await scene.accepted({ lane: 'batch' })
    expect(await scene.hasClaim()).toBe(false)
    expect(await known(scene, 'quick')).toMatchObject({ lanes: ['interactive', 'normal'], state: 'idle' })
    expect(await scene.read({ kind: 'explain', taskId: batch })).toMatchObject({
      waitsFor: 'worker',
      summary: 'no worker that runs type work takes tasks from the lane batch; start one that does',
    })
    const normal = await scene.accepted({ lane: 'normal' })
    expect(await scene.claim()).toMatchObject({ taskId: normal, workerId: 'quick' })
    await register('slow', ['batch'])
    scene.store.demand('slow', 1)
    expect(await scene.claim()).toMatchObject({ taskId: batch, workerId: 'slow' })
    await register('all', ['batch', 'interactive', 'normal'])
    expect((await known(scene, 'all'))?.lanes).toBe(undefined)
  })

  rule('8.5 a worker that another drains keeps its lanes, and takes none from them', async (scene) => {
    await scene.write({
      kind: 'registerWorkers',
      workers: [{ workerId: 'w', capacity: 1, types: ['*'], lanes: ['batch'] }],
    })
    scene.store.demand('w', 1)
    await scene.write({ kind: 'askDrain', workerId: 'w', draining: true })
    await scene.submit({ lane: 'batch' })
    expect(await scene.hasClaim()).toBe(false)
    expect(await known(scene, 'w')).toMatchObject({ state: 'draining', lanes: ['batch'] })
    await scene.write({ kind: 'askDrain', workerId: 'w', draining: false })
    expect(await scene.hasClaim()).toBe(true)
  })

  rule('B13 3.2 a draining worker takes none from the commit on, and ends what it has', async (scene) => {
    await scene.worker('w', 2)
    await scene.accepted()
    const claim = await scene.claim()
    await scene.write({ kind: 'drainWorkers', workerIds: ['w'] })
    await scene.submit()
    expect(await scene.hasClaim()).toBe(false)
    expect(await known(scene, 'w')).toMatchObject({ state: 'draining', inFlight: 1 })
    expect(await scene.settle(claim)).toBe('ok')
    scene.free('w')
    expect(await scene.hasClaim()).toBe(false)
    expect(await known(scene, 'w')).toMatchObject({ state: 'draining', inFlight: 0 })
  })

  rule('8.10 a worker drained from outside takes none until that is taken back', async (scene) => {
    await scene.worker('w', 2)
    await scene.accepted()
    const claim = await scene.claim()
    expect(await scene.write({ kind: 'askDrain', workerId: 'w', draining: true })).toBe(1)
    await scene.submit()
    expect(await scene.hasClaim()).toBe(false)
    expect(await known(scene, 'w')).toMatchObject({ state: 'draining', inFlight: 1 })
    expect(await scene.settle(claim)).toBe('ok')
    expect(await scene.write({ kind: 'askDrain', workerId: 'w', draining: false })).toBe(1)
    expect(await scene.hasClaim()).toBe(true)
    expect(scene.drains).toEqual([
      { workerId: 'w', draining: true },
      { workerId: 'w', draining: false },
    ])
  })

  rule(
    '8.10 a worker that states its capacity again stays drained; one that its own process drains, too',
    async (scene) => {
      await scene.worker('w', 1)
      await scene.write({ kind: 'askDrain', workerId: 'w', draining: true })
      await scene.worker('w', 2)
      expect(await known(scene, 'w')).toMatchObject({ state: 'draining', capacity: 2 })
      await scene.write({ kind: 'drainWorkers', workerIds: ['w'] })
      await scene.write({ kind: 'askDrain', workerId: 'w', draining: false })
      await scene.submit()
      expect(await scene.hasClaim()).toBe(false)
      expect(await known(scene, 'w')).toMatchObject({ state: 'draining' })
    },
  )

  rule('8.10 a drain ends with the registration, and nobody has none to drain', async (scene) => {
    await scene.worker('w', 1)
    await scene.write({ kind: 'askDrain', workerId: 'w', draining: true })
    await scene.write({ kind: 'removeWorkers', workerIds: ['w'] })
    expect(await scene.write({ kind: 'askDrain', workerId: 'w', draining: true })).toBe(0)
    await scene.worker('w', 1)
    await scene.submit()
    expect(await scene.hasClaim()).toBe(true)
  })

  rule('3.2 a drain and a submission in one turn: the drained worker gets nothing', async (scene) => {
    await scene.worker('w', 2)
    const drained = scene.write({ kind: 'drainWorkers', workerIds: ['w'] })
    await scene.submit()
    expect(await drained).toBe(true)
    expect(await scene.hasClaim()).toBe(false)
  })

  rule('8.5 a worker is given only the types it lists', async (scene) => {
    await scene.worker('mailer', 4, ['mail', 'letter'])
    await scene.worker('any', 1)
    for (const type of ['index', 'mail', 'index', 'letter']) await scene.accepted({ type })
    expect(scene.claims.map(({ workerId, type }) => `${workerId} ${type}`)).toEqual([
      'any index',
      'mailer mail',
      'mailer letter',
    ])
  })

  rule('8.5 a type is a name like any other', async (scene) => {
    for (const type of ['constructor', '__proto__', "'; --"]) {
      await scene.worker(`w ${type}`, 1, [type])
      await scene.accepted({ type })
      expect(await scene.claim()).toMatchObject({ type, workerId: `w ${type}` })
    }
  })

  rule(
    'C6 a worker is idle, busy while it runs something, and leaves the registry when it stops',
    async (scene) => {
      await scene.worker('w', 2)
      expect(await known(scene, 'w')).toMatchObject({
        state: 'idle',
        capacity: 2,
        inFlight: 0,
        types: ['*'],
        processId: scene.store.info.processId,
      })
      await scene.accepted()
      const claim = await scene.claim()
      expect(await known(scene, 'w')).toMatchObject({ state: 'busy', inFlight: 1 })
      await scene.settle(claim)
      expect(await known(scene, 'w')).toMatchObject({ state: 'idle', inFlight: 0 })
      await scene.write({ kind: 'removeWorkers', workerIds: ['w'] })
      expect(await scene.read({ kind: 'workers' })).toEqual([])
      await scene.submit()
      expect(await scene.hasClaim()).toBe(false)
    },
  )

  rule('5.6 a task that a removed worker still holds goes back, same attempt, drained', async (scene) => {
    await scene.worker('w', 2)
    await scene.worker('v', 2)
    await scene.submitMany(4)
    await scene.write({ kind: 'removeWorkers', workerIds: ['w'] })
    for (const claim of scene.claims) {
      const [lease] = await scene.read({ kind: 'leases', taskId: claim.taskId })
      if (claim.workerId === 'v') expect(lease).toMatchObject({ status: 'running' })
      else {
        expect(lease).toMatchObject({ status: 'canceled', endReason: 'drained' })
        expect(await scene.task(claim.taskId)).toMatchObject({ state: 'queued', attempt: 1, crashes: 0 })
        expect(await scene.settle(claim)).toBe('stale')
      }
    }
    expect(await scene.stats()).toMatchObject({ running: 2, depth: { normal: 2 } })
  })

  rule('5.6 removing the worker that has just settled everything writes nothing stale', async (scene) => {
    await scene.worker('w', 2)
    await scene.submitMany(2)
    const settled = scene.claims.map((claim) => scene.settle(claim))
    const removed = scene.write({ kind: 'removeWorkers', workerIds: ['w'] })
    expect(await Promise.all(settled)).toEqual(['ok', 'ok'])
    expect(await removed).toBe(true)
    expect(await scene.stats()).toMatchObject({ staleWrites: 0, totals: { completed: 2, requeued: 0 } })
  })

  rule('C6 a worker that left may come back under its name, with a new demand', async (scene) => {
    await scene.worker('w', 1)
    await scene.accepted()
    await scene.settle(await scene.claim())
    await scene.write({ kind: 'removeWorkers', workerIds: ['w'] })
    await scene.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
    scene.store.demand('w', 1)
    const next = await scene.accepted()
    expect(await scene.hasClaim()).toBe(true)
    expect(await scene.claim()).toMatchObject({ taskId: next })
  })

  rule('C6 leaving and coming back in one turn is coming back', async (scene) => {
    await scene.worker('w', 1, ['*'], 0)
    const removed = scene.write({ kind: 'removeWorkers', workerIds: ['w'] })
    await scene.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 3, types: ['mail'] }] })
    await removed
    expect(await known(scene, 'w')).toMatchObject({ capacity: 3, types: ['mail'] })
  })

  rule('C6 registering again states a new capacity and new types, and ends a drain', async (scene) => {
    await scene.worker('w', 1)
    await scene.write({ kind: 'drainWorkers', workerIds: ['w'] })
    await scene.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 3, types: ['mail'] }] })
    expect(await known(scene, 'w')).toMatchObject({ capacity: 3, types: ['mail'], state: 'idle' })
    expect(await scene.read({ kind: 'workers' })).toHaveLength(1)
  })

  rule('an unregistered worker can be drained and removed without harm', async (scene) => {
    expect(await scene.write({ kind: 'drainWorkers', workerIds: ['ghost'] })).toBe(true)
    expect(await scene.write({ kind: 'removeWorkers', workerIds: ['ghost'] })).toBe(true)
    expect(await scene.read({ kind: 'workers' })).toEqual([])
  })

  timed('3.2 lastSeenAt moves every heartbeatIntervalMs, idle or busy', async (scene) => {
    await scene.worker('idle', 1, ['nothing'])
    await scene.worker('busy', 1)
    await scene.accepted()
    const start = scene.now
    await scene.pass(4_999)
    expect(await known(scene, 'idle')).toMatchObject({ lastSeenAt: start })
    await scene.pass(1)
    expect(await known(scene, 'idle')).toMatchObject({ lastSeenAt: start + 5_000 })
    expect(await known(scene, 'busy')).toMatchObject({ lastSeenAt: start + 5_000 })
    await scene.pass(55_000)
    expect(await known(scene, 'idle')).toMatchObject({ lastSeenAt: start + 60_000 })
  })
}
