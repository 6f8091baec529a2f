import type { Claim } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { expect, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { verifyStore } from '../../src/index.ts'
import { CuttingProxy } from '../helpers/cutting-proxy.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { newPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

/** Every so many statements of a life the connection is cut at one: each night at all. */
const nth = draws(47, 47, 1)
const sides = ['before', 'after'] as const
const { config } = parseExecutionConfig({
  maxCrashes: 1_000,
  retention: { completed: { count: 1 }, keysMs: 1 },
})

/** A task that takes a step, waits for a signal and an approval, and ends: gone on with from wherever it stands, as the processes of a store do it together. */
async function live(scene: Scene, workerId: string, idempotencyKey: string): Promise<void> {
  const taskId = await scene.accepted({ idempotencyKey })
  for (;;) {
    const task = await scene.task(taskId)
    if (task.state === 'completed') return
    if (task.state === 'waiting') {
      if (task.waits.some(({ kind }) => kind === 'signal'))
        await scene.write({ kind: 'signal', taskId, name: 'go', value: '1' })
      const { approvals } = await scene.read({ kind: 'approvals', limit: 9, taskId })
      for (const { request } of approvals)
        await scene.write({
          kind: 'resolveApproval',
          taskId,
          request,
          verdict: 'approved',
          value: '{"by":"Ada"}',
        })
      continue
    }
    const claim = await scene.claim()
    expect(claim.taskId).toBe(taskId)
    const { steps, waits } = (await scene.read({ kind: 'memos', taskId })) ?? {}
    if (steps?.length === 0) await scene.step(claim, 'charge', '"paid"')
    await wait(scene, claim, new Set(waits?.map(({ key }) => key)))
    scene.free(workerId)
  }
}

/** Ends the pass at its waits, or the task if they are over. */
async function wait(scene: Scene, claim: Claim, over: Set<string>): Promise<void> {
  for (;;) {
    const waits = [signal, approval].filter(({ key }) => !over.has(key))
    if (waits.length === 0) {
      await scene.settle(claim)
      return
    }
    const told = await scene.write({ kind: 'suspend', leaseId: claim.leaseId, waits, stay: false })
    if (told.fenced === 'stale' || told.suspended) return
    for (const { key } of told.resolved) over.add(key)
  }
}

const signal = { key: 'answer', position: 1, kind: 'signal', name: 'go' } as const
const approval = {
  key: 'plan',
  position: 2,
  kind: 'approval',
  approval: {
    artifact: '1',
    mode: 'supervised',
    asked: true,
    maxRetries: 3,
    onReject: 'rerun',
    onTimeout: 'throw',
  },
} as const

/** The task of the life before is deleted. */
async function prune(scene: Scene): Promise<void> {
  scene.clock.advanceBy(2)
  await scene.prune()
  expect((await scene.read({ kind: 'tasks', filter: {} })).tasks).toHaveLength(1)
}

/** The task of a life has ended once, and did its step once. */
async function expectEnded(scene: Scene): Promise<void> {
  const { tasks } = await scene.read({ kind: 'tasks', filter: {} })
  expect(new Set(tasks.map(({ state }) => state))).toEqual(new Set(['completed']))
  const types = await scene.eventTypes(tasks[0]?.taskId ?? '')
  const times = (wanted: string) => types.filter((type) => type === wanted).length
  expect([times('task.completed'), times('step.completed'), types.at(-1)]).toEqual([1, 1, 'task.completed'])
}

/** One life of a sweep. `cut` has the connection cut from here on: at a later statement in each life. */
type Life = (it: {
  readonly scene: Scene
  readonly proxy: CuttingProxy
  readonly life: number
  readonly cut: () => void
}) => Promise<void>

/** Plays lives until one ends without a cut, and returns how many there were. Each task has ended once, and the store is sound. */
async function sweep(
  {
    side,
    own,
    worker,
  }: {
    readonly side: (typeof sides)[number]
    readonly own: typeof config
    readonly worker: Parameters<Scene['worker']>
  },
  play: Life,
): Promise<number> {
  const server = await sharedServer()
  const proxy = await CuttingProxy.start(server.newStore())
  let lives = 0
  await Scene.play(
    (setting) => newPostgresStore(setting.config, setting.environment, proxy.url),
    { digest: nodeDigest, quiet, config: own },
    async (scene) => {
      await scene.worker(...worker)
      for (let wasCut = true; wasCut;) {
        let left = 1 + lives * nth
        lives += 1
        const cut = () => {
          proxy.atStatement = () => ((left -= 1) === 0 ? side : undefined)
        }
        await play({ scene, proxy, life: lives, cut })
        await prune(scene)
        wasCut = left <= 0
      }
      proxy.atStatement = undefined
      const { submitted, completed } = (await scene.stats()).totals
      expect({ submitted, completed }).toEqual({ submitted: lives, completed: lives })
      expect(scene.failures).toEqual([])
      expect(await scene.violations()).toEqual([])
    },
  )
  expect(proxy.cuts).toBe(lives - 1)
  expect(await verifyStore(proxy.url)).toMatchObject({ ok: true, faults: [] })
  return lives
}

test.each(sides)(
  'A18 the connections of a process are cut %s any statement of a life: it goes on, and the task ends once',
  { timeout: 1_200_000 },
  async (side) => {
    const lives = await sweep({ side, own: config, worker: ['w', 1] }, async ({ scene, life, cut }) => {
      cut()
      await live(scene, 'w', `life ${life}`)
      await expectEnded(scene)
    })
    expect(lives).toBeGreaterThan(draws(2, 2, 60))
  },
)

/** How a process goes that holds a task: its connections end, or it is stopped and its lease runs out. */
const ends = [
  ['dies', 'owner_dead'],
  ['is stopped', 'expired'],
] as const

test.each(ends.flatMap(([end, reason]) => sides.map((side) => [end, side, reason] as const)))(
  'A18 a process %s with a task, and the connections of the one that takes over are cut %s any statement of that: the task ends once',
  { timeout: 1_200_000 },
  async (end, side, reason) => {
    const own = { ...config, leaseTtlMs: 2_000, heartbeatIntervalMs: 500 }
    const lives = await sweep(
      { side, own, worker: ['w', 1, ['*'], 0] },
      async ({ scene, proxy, life, cut }) => {
        const taskId = await scene.accepted({ idempotencyKey: `life ${life}` })
        const name = `${end} ${life}`
        const leave = await begun(name, { scene, url: proxy.target, isDead: end === 'dies' })
        await scene.idle()
        cut()
        scene.free('w')
        while ((await scene.state(taskId)) !== 'completed') {
          const claim = await scene.claim()
          expect((await scene.steps(taskId)).map(({ key }) => key)).toEqual(['charge'])
          await scene.settle(claim)
        }
        await expectEnded(scene)
        const [first] = await scene.read({ kind: 'leases', taskId })
        expect(first).toMatchObject({ workerId: name, endReason: reason })
        await leave()
      },
    )
    expect(lives).toBeGreaterThan(draws(1, 1, 10))
  },
)

interface Going {
  /** The process that takes over. */
  readonly scene: Scene
  readonly url: string
  readonly isDead: boolean
}

/** A process takes the next task, records its step, and goes. Its own time stands still from then on. The returned function lets go of it. */
async function begun(name: string, { scene, url, isDead }: Going): Promise<() => Promise<void>> {
  const link = await CuttingProxy.start(url)
  const environment = createVirtualEnvironment(name, { digest: nodeDigest })
  environment.clock.advanceTo(scene.clock.now())
  const store = await newPostgresStore(scene.config, environment, link.url)
  const going = new Scene(store, scene.config, environment.clock, { digest: nodeDigest, quiet })
  await going.worker(name, 1)
  await going.step(await going.claim(), 'charge', '"paid"')
  await going.idle()
  if (isDead) {
    link.isDown = true
    link.cutAll()
  }
  return () => going.settled(store.close())
}
