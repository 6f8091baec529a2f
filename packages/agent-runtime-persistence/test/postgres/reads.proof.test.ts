import { join } from 'node:path'
import { Scene } from '@ku0/agent-runtime-conformance'
import type { TaskFilter } from '@ku0/agent-runtime-core'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { fromOutside } from '../helpers/from-outside.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { newPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'

test('a question is answered however much time passes from round to round', async () => {
  let isQuiet: () => Promise<boolean> = async () => false
  const setting = { digest: nodeDigest, quiet: () => isQuiet() }
  await Scene.play(
    async ({ config, environment }) => {
      const { clock } = environment
      let looks = 0
      // Each look at the clock is a millisecond later than the one before.
      const passing = { now: () => clock.now() + (looks += 1), monotonic: () => clock.monotonic() }
      const store = await newPostgresStore(config, { ...environment, clock: passing })
      isQuiet = () => quiet(store)
      return store
    },
    setting,
    async (scene) => {
      const { taskId } = await scene.running({ type: 'kept' })
      const { points } = await scene.read({ kind: 'series', filter: { windowMs: 600_000 } })
      expect(points.at(-1)).toMatchObject({ started: 1, running: 1 })
      expect(await scene.read({ kind: 'stats' })).toMatchObject({ running: 1 })
      expect(await scene.read({ kind: 'explain', taskId })).toMatchObject({ state: 'running' })
      expect(await scene.read({ kind: 'approvals', limit: 10 })).toEqual({ approvals: [] })
    },
  )
})

/** Damages the text of a task's submission in its middle, in the database. */
type Damage = (task: number) => Promise<void>
const damaged =
  "UPDATE event SET data = substr(data, 1, 3000) || '\"' || substr(data, 3001) WHERE task = $1 AND seq = 1"

const stores: readonly (readonly [
  string,
  () => Promise<readonly [Parameters<typeof Scene.play>[0], Damage]>,
])[] = [
  [
    'in a file',
    async () => {
      const path = join(scratchFolder(), 'it.db')
      return [
        ({ config, environment }) => openStore(`sqlite:${path}`, { config, environment }),
        async (task) => {
          fromOutside(path, damaged.replace('$1', '?'), task)
        },
      ]
    },
  ],
  [
    'on PostgreSQL',
    async () => {
      const server = await sharedServer()
      const url = server.newStore()
      return [
        ({ config, environment }) => newPostgresStore(config, environment, url),
        async (task) => {
          const client = await server.connect(url)
          await client.query(damaged, [task])
          await client.end()
        },
      ]
    },
  ],
]

test.each(stores)(
  'a list %s has a task whose long submission was damaged in its middle, and a filter leaves it out where it asks for what cannot be read',
  async (_, open) => {
    const [factory, damage] = await open()
    await Scene.play(factory, { digest: nodeDigest, quiet }, async (scene) => {
      const input = JSON.stringify('x'.repeat(6_000))
      for (let n = 0; n < 3; n += 1)
        await scene.submit({ type: `kind ${n}`, client: 'ada', labels: { region: 'eu' }, input })
      await scene.submit({ refused: { reason: 'invalid_payload', message: 'no' } })
      await damage(2)
      const list = async (filter: TaskFilter) =>
        (await scene.read({ kind: 'tasks', filter })).tasks.map(({ sequence, type }) => [sequence, type])
      const all = [
        [4, 'work'],
        [3, 'kind 2'],
        [2, 'kind 1'],
        [1, 'kind 0'],
      ]
      expect(await list({ values: false })).toEqual(all)
      expect(await list({})).toEqual(all)
      const others = [
        [3, 'kind 2'],
        [1, 'kind 0'],
      ]
      for (const filter of [{ labels: { region: 'eu' } }, { labels: { region: 'eu' }, values: false }])
        expect(await list(filter)).toEqual(others)
      expect(await list({ types: ['kind 1'] })).toEqual([[2, 'kind 1']])
      const counted = { kind: 'taskCount', filter: { labels: { region: 'eu' } } } as const
      expect(await scene.read(counted)).toMatchObject({ count: 2 })
    })
  },
)

test.each(stores)(
  '6.6 retention %s keeps a task whose submission was damaged, and deletes those behind it',
  async (_, open) => {
    const [factory, damage] = await open()
    const setting = { digest: nodeDigest, quiet, config: { retention: { completed: { count: 1 } } } }
    await Scene.play(factory, setting, async (scene) => {
      const input = JSON.stringify('x'.repeat(6_000))
      for (const key of [{}, { idempotencyKey: 'k' }, {}, {}])
        await scene.settle(await scene.running({ ...key, input }))
      await scene.running()
      await damage(2)
      expect(await scene.prune()).toMatchObject({ completed: 2 })
      expect(await scene.prune()).toMatchObject({ completed: 0 })
      const { tasks } = await scene.read({ kind: 'tasks', filter: { values: false } })
      expect(tasks.map(({ sequence }) => sequence)).toEqual([5, 4, 2])
    })
  },
)

test('a question that the server refuses fails alone, and those asked with it are answered', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  const store = await openStore(url, { thread: false })
  onTestFinished(() => store.close())
  const client = await server.connect(url)
  await client.query('ALTER TABLE evaluation RENAME TO elsewhere')
  await client.end()
  const [refused, stats] = await Promise.allSettled([
    store.read({ kind: 'evaluations', agentId: 'ada', limit: 10 }),
    store.read({ kind: 'stats' }),
  ])
  expect(refused).toMatchObject({ status: 'rejected' })
  expect(stats).toMatchObject({ status: 'fulfilled', value: { running: 0 } })
})
