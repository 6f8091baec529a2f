import { Scene } from '@ku0/agent-runtime-conformance'
import type { ExecutionConfigInput, ExecutionStore, StoreReach } from '@ku0/agent-runtime-core'
import { expect, test } from 'vitest'
import { verifyStore } from '../../src/index.ts'
import { CuttingProxy } from '../helpers/cutting-proxy.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { newPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

const minute = 60_000

interface Stage {
  readonly scene: Scene
  readonly proxy: CuttingProxy
  /** Another process of the store, on the same time, which reaches the server all the while. */
  readonly other: () => Promise<Scene>
  /** What the process was told of the server. */
  readonly told: readonly StoreReach[]
  /** From the next commit on the server is away: it has done that commit, or never hears of it. Resolves once the commit was sent. */
  readonly away: (commit: 'stored' | 'lost') => { readonly sent: Promise<void>; readonly begin: () => void }
}

async function play(config: ExecutionConfigInput, act: (stage: Stage) => Promise<void>): Promise<string> {
  const server = await sharedServer()
  const url = server.newStore()
  const proxy = await CuttingProxy.start(url)
  let open: () => Promise<ExecutionStore> = () => Promise.reject(new Error('not yet'))
  await Scene.play(
    ({ config: parsed, environment }) => {
      open = () => newPostgresStore(parsed, environment, url)
      return newPostgresStore(parsed, environment, proxy.url)
    },
    { digest: nodeDigest, quiet, config },
    async (scene) => {
      const told: StoreReach[] = []
      scene.store.listen({ reached: (reach) => void told.push(reach) })
      const others: Scene[] = []
      await act({
        scene,
        proxy,
        told,
        async other() {
          const made = new Scene(await open(), scene.config, scene.clock, { digest: nodeDigest, quiet })
          others.push(made)
          return made
        },
        away(commit) {
          const held = proxy.hold({ side: commit === 'stored' ? 'server' : 'client', commits: 1 })
          return {
            sent: held.all,
            begin: () => {
              proxy.isDown = true
              proxy.cutAll()
              held.drop()
            },
          }
        },
      })
      for (const { store } of others) await store.close()
    },
  )
  return url
}

/** The error of a call that is refused. */
const refusalOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  )

const work = { type: 'work', lane: 'normal', input: 'null' } as const

test.each(['stored', 'lost'] as const)(
  'D14 the server is away for three minutes while a commit is under way that is %s: callers get an error, and the store goes on by itself',
  async (commit) => {
    const url = await play({}, async ({ scene, proxy, told, away }) => {
      await scene.submit()
      const { sent, begin } = away(commit)
      const underWay = scene.store.write({ kind: 'submit', tasks: [work] })
      const unknown = refusalOf(underWay)
      await sent
      begin()
      await scene.pass(1_000)
      expect(told).toMatchObject([{ isReached: false, reason: expect.stringMatching(/./) }])
      const late = scene.store.write({ kind: 'submit', tasks: [work] })
      const refused = refusalOf(late)
      await scene.pass(12_000)
      expect(await refused).toMatchObject({ code: 'store_unavailable' })
      await scene.pass(minute)
      expect(await unknown).toMatchObject({ code: 'store_outcome_unknown' })
      await scene.pass(2 * minute)
      expect(scene.failures).toEqual([])
      expect(told).toHaveLength(1)
      proxy.isDown = false
      await scene.pass(2_000)
      expect(told).toMatchObject([{ isReached: false }, { isReached: true }])
      expect((await scene.stats()).totals.submitted).toBe(commit === 'stored' ? 2 : 1)
      expect(await scene.submit()).toMatchObject({ accepted: true, sequence: commit === 'stored' ? 3 : 2 })
      expect(await scene.violations()).toEqual([])
    })
    expect(await verifyStore(url)).toMatchObject({ ok: true, faultCount: 0 })
  },
)

test('D14 a server that was away for long goes away again during its first commit: whoever waits for that learns only after a minute that nobody knows', async () => {
  await play({}, async ({ scene, proxy, away }) => {
    await scene.submit()
    proxy.isDown = true
    proxy.cutAll()
    await scene.pass(2 * minute)
    const { sent, begin } = away('stored')
    const receipt = scene.store.write({ kind: 'submit', tasks: [work] })
    const outcome = receipt.catch((error: unknown) => error)
    proxy.isDown = false
    const passing = scene.pass(2_000)
    await sent
    begin()
    await passing
    await scene.pass(minute / 2)
    proxy.isDown = false
    await scene.pass(2_000)
    expect(await outcome).toMatchObject([{ accepted: true, sequence: 2 }])
    expect(scene.failures).toEqual([])
    expect(await scene.violations()).toEqual([])
  })
})

test('D14 the first of two commits is stored and the second lost while the server is away for long: no call is done whose caller got the answer that nobody knows', async () => {
  const many = 100
  const url = await play({}, async ({ scene, proxy }) => {
    await scene.submit()
    const held = proxy.hold({ side: 'server', commits: 2, isLastKept: true })
    const first = refusalOf(scene.store.write({ kind: 'submit', tasks: [work] }))
    await held.first
    const others = Array.from({ length: many }, () =>
      refusalOf(scene.store.write({ kind: 'submit', tasks: [work] })),
    )
    await held.all
    proxy.isDown = true
    proxy.cutAll()
    held.drop()
    await scene.pass(minute + 5_000)
    for (const unknown of [first, ...others])
      expect(await unknown).toMatchObject({ code: 'store_outcome_unknown' })
    proxy.isDown = false
    await scene.pass(2_000)
    expect((await scene.stats()).totals.submitted).toBe(2)
    expect(await scene.submit()).toMatchObject({ accepted: true, sequence: 3 })
    expect(scene.failures).toEqual([])
    expect(await scene.violations()).toEqual([])
  })
  expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 3, faultCount: 0 })
})

test.each(['stored', 'lost'] as const)(
  'D14 a step is recorded by a commit that is %s while the server goes away: its lease is lost meanwhile, and it has one record',
  async (commit) => {
    await play({}, async ({ scene, proxy, away }) => {
      const claim = await scene.running()
      const { sent, begin } = away(commit)
      const { leaseId, taskId } = claim
      const step = { key: 'charge', position: 0, durationMs: 1, result: '"paid"' } as const
      const recorded = scene.store.write({ kind: 'recordStep', leaseId, ...step })
      await sent
      begin()
      await scene.pass(2 * minute)
      expect(scene.notices).toMatchObject([{ leaseId, verdict: 'lost', reason: 'not renewed' }])
      proxy.isDown = false
      expect(await scene.settled(recorded)).toEqual({ fenced: commit === 'stored' ? 'ok' : 'stale' })
      scene.free('w0')
      const next = await scene.claim()
      expect(next).toMatchObject({ taskId, fencingToken: 2 })
      expect(await scene.step(next, 'charge', '"again"')).toEqual(
        commit === 'stored' ? { fenced: 'ok', memo: '"paid"' } : { fenced: 'ok' },
      )
      expect(await scene.settle(next)).toBe('ok')
      expect(scene.failures).toEqual([])
      expect(await scene.violations()).toEqual([])
    })
  },
)

test('D14 a task is given by a commit of which its process learns when the lease is over: no handler starts, and the slot is free for its next try', async () => {
  await play({}, async ({ scene, proxy, away }) => {
    await scene.worker('w', 1)
    const { sent, begin } = away('stored')
    const accepted = scene.store.write({ kind: 'submit', tasks: [work] })
    await sent
    begin()
    accepted.catch(() => undefined)
    await scene.pass(2 * minute)
    expect(scene.claims).toEqual([])
    proxy.isDown = false
    const claim = await scene.claim()
    expect(scene.claims).toHaveLength(1)
    expect(claim.fencingToken).toBe(2)
    expect(await scene.settle(claim)).toBe('ok')
    expect(await scene.violations()).toEqual([])
  })
})

test('D14 a caller is given a lease by a commit whose answer was that nobody knows: the lease is not renewed, and the task goes to somebody else', async () => {
  const config = { leaseTtlMs: 150_000, heartbeatIntervalMs: 50_000 }
  await play(config, async ({ scene, proxy, away }) => {
    await scene.worker('by-hand', 1, [], 0)
    const taskId = await scene.accepted()
    const { sent, begin } = away('stored')
    const unknown = refusalOf(scene.store.write({ kind: 'claimTask', taskId, workerId: 'by-hand' }))
    await sent
    begin()
    await scene.pass(minute + 5_000)
    expect(await unknown).toMatchObject({ code: 'store_outcome_unknown' })
    proxy.isDown = false
    await scene.pass(2_000)
    expect(await scene.state(taskId)).toBe('running')
    await scene.worker('w', 1)
    await scene.pass(150_000)
    expect(scene.claims).toMatchObject([{ taskId, fencingToken: 2 }])
    expect(await scene.violations()).toEqual([])
  })
})

test('D14 the store is closed while a commit is unknown and the server away: it ends, and callers get an error', async () => {
  await play({}, async ({ scene, away }) => {
    const { sent, begin } = away('stored')
    const submitted = scene.store.write({ kind: 'submit', tasks: [work] })
    const unknown = refusalOf(submitted)
    await sent
    begin()
    await scene.pass(1_000)
    let isClosed = false
    const late = refusalOf(scene.store.write({ kind: 'submit', tasks: [work] }))
    const closed = scene.store.close().then(() => (isClosed = true))
    const began = scene.clock.monotonic()
    const pass = async () => {
      await scene.pass(500)
      return isClosed
    }
    await expect.poll(pass, { interval: 5 }).toBe(true)
    await closed
    expect(await unknown).toMatchObject({ code: 'store_outcome_unknown' })
    expect(await late).toMatchObject({ code: 'store_unavailable' })
    expect(scene.clock.monotonic() - began).toBeLessThan(minute)
  })
})

test('D14 retention cuts the journal past a commit while its process cannot ask for it: nobody can tell what became of it, so it is not done again', async () => {
  const config = { retention: { completed: { count: 1 }, keysMs: 1 } }
  const url = await play(config, async ({ scene, proxy, other, away }) => {
    const two = await other()
    const { sent, begin } = away('stored')
    const submitted = scene.store.write({ kind: 'submit', tasks: [work] })
    const unknown = refusalOf(submitted)
    await sent
    begin()
    for (const _ of [1, 2, 3]) {
      await two.pass(1_000)
      await two.settle(await two.running())
    }
    await two.pass(11_000)
    await two.accepted({ type: 'later' })
    expect((await two.prune()).completed).toBeGreaterThan(0)
    proxy.isDown = false
    await scene.pass(2_000)
    expect(await unknown).toMatchObject({ code: 'store_outcome_unknown' })
    expect(scene.failures).toMatchObject([{ code: 'store_outcome_unknown' }])
    expect((await two.stats()).totals.submitted).toBe(5)
  })
  expect(await verifyStore(url)).toMatchObject({ ok: true, faultCount: 0 })
})

test('D14 the server cannot tell what became of a commit when it is back, for a reason that does not pass: nothing is done again, and the store stops', async () => {
  const many = 100
  const url = await play({}, async ({ scene, proxy, other }) => {
    // It may miss the table, too: what is stored is looked at in the end.
    await other()
    const held = proxy.hold({ side: 'server', commits: 2, isLastKept: true })
    const calls = [scene.store.write({ kind: 'submit', tasks: [work] })]
    await held.first
    calls.push(...Array.from({ length: many }, () => scene.store.write({ kind: 'submit', tasks: [work] })))
    const answers = calls.map(refusalOf)
    await held.all
    proxy.isDown = true
    proxy.cutAll()
    held.drop()
    await scene.pass(1_000)
    const client = await (await sharedServer()).connect(proxy.target)
    await client.query('ALTER TABLE journal RENAME TO away')
    proxy.isDown = false
    await scene.pass(2_000)
    await client.query('ALTER TABLE away RENAME TO journal')
    await client.end()
    for (const unknown of answers) expect(await unknown).toMatchObject({ code: 'store_outcome_unknown' })
    expect(scene.failures).toMatchObject([{ code: 'store_outcome_unknown' }])
  })
  expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 1, faultCount: 0 })
})

test('D14 the server goes away before a process has read what another one committed: a follower gets each task once, in order', async () => {
  await play({}, async ({ scene, proxy, other }) => {
    const two = await other()
    scene.store.interest({ types: ['task.queued'], tasks: [] })
    await scene.submit()
    let isAway = false
    proxy.atStatement = (text) => {
      if (isAway || !text.includes('json_array_elements')) return undefined
      isAway = true
      proxy.isDown = true
      return 'before'
    }
    await two.submit()
    const pass = async () => {
      await scene.pass(100)
      return isAway
    }
    await expect.poll(pass, { interval: 5 }).toBe(true)
    proxy.cutAll()
    await scene.pass(70_000)
    expect(scene.events).toHaveLength(1)
    proxy.isDown = false
    await scene.pass(3_000)
    await scene.submit()
    expect(scene.failures).toEqual([])
    const { tasks } = await two.read({ kind: 'tasks', filter: {} })
    expect(scene.events.map(({ taskId }) => taskId)).toEqual(tasks.map(({ taskId }) => taskId).toReversed())
  })
})
