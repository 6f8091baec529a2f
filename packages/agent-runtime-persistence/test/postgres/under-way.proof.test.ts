import { Scene } from '@ku0/agent-runtime-conformance'
import { expect, test } from 'vitest'
import { Connections } from '../../src/postgres/connection/connections.ts'
import { loadDriver } from '../../src/postgres/connection/driver.ts'
import { raisedVersion, storedOf } from '../../src/postgres/processes/head.ts'
import { parsePostgresUrl } from '../../src/postgres/connection/url.ts'
import { systemEnvironment } from '../../src/system.ts'
import { CuttingProxy } from '../helpers/cutting-proxy.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { newPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'
import { openStore, verifyStore } from '../../src/index.ts'

/** As many calls as are decided while the commit before them is under way. */
const many = 100

interface Stage {
  readonly scene: Scene
  readonly proxy: CuttingProxy
  /** Hands over one call, and many more once its commit is on its way. */
  readonly submit: (isUnderWay: Promise<void>) => Promise<readonly unknown[]>
}

async function play(act: (stage: Stage) => Promise<void>, tasks: number): Promise<void> {
  const server = await sharedServer()
  const proxy = await CuttingProxy.start(server.newStore())
  await Scene.play(
    ({ config, environment }) => newPostgresStore(config, environment, proxy.url),
    { digest: nodeDigest, quiet },
    async (scene) => {
      await scene.submit({ idempotencyKey: 'before' })
      // Without a key, which would have to be looked up after the commit under way.
      const one = () =>
        scene.store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: 'null' }] })
      await act({
        scene,
        proxy,
        submit: async (isUnderWay) => {
          const first = one()
          await isUnderWay
          return Promise.all([first, ...Array.from({ length: many }, one)])
        },
      })
      expect(scene.failures).toEqual([])
      expect((await scene.stats()).totals.submitted).toBe(tasks)
      expect(await scene.violations()).toEqual([])
    },
  )
  expect(await verifyStore(proxy.url)).toMatchObject({ ok: true, tasks, faultCount: 0 })
}

/** The answers in the order of the calls: each is stored once, in the order in which it was handed over. */
function inOrder(from: number): unknown {
  return Array.from({ length: many + 1 }, (_, n) => [
    { accepted: true, deduplicated: false, sequence: from + n },
  ])
}

test.each([
  { stored: 'neither', hold: { side: 'client', commits: 2 } },
  { stored: 'the first', hold: { side: 'server', commits: 2, isLastKept: true } },
  { stored: 'both', hold: { side: 'server', commits: 2 } },
] as const)(
  'two commits are under way when the connection is cut, and $stored of them is stored: each call is answered, and has happened once',
  async ({ hold }) => {
    await play(async ({ proxy, scene, submit }) => {
      const held = proxy.hold(hold)
      const answers = submit(held.first)
      await held.all
      proxy.cutAll()
      held.drop()
      expect(await scene.settled(answers)).toMatchObject(inOrder(2) as object)
    }, many + 2)
  },
)

test.each(['it is asked again', 'another process ends'])(
  'a commit without a row in the journal is not taken for stored because the version is its own, after %s',
  async (why) => {
    const server = await sharedServer()
    const url = server.newStore()
    await (await openStore(url, { thread: false })).close()
    const connections = new Connections(await loadDriver(), parsePostgresUrl(url), systemEnvironment().timers)
    const session = await connections.open('commit')
    const client = await server.connect(url)
    await client.query('UPDATE head SET writer = 7')
    const { rows } = await session.query('SELECT version, number, hash, untold FROM head')
    const [version, number, hash, untold] = rows[0] as [number, number, Buffer, number]
    const last = { version, number, hash, untold }
    const it = { last, heads: [{ ...last, version: version + 1 }], writer: 7, connections }
    if (why === 'it is asked again') await storedOf(session, it)
    else await client.query(raisedVersion.text)
    expect((await session.query('SELECT version FROM head')).rows).toEqual([[version + 1]])
    expect(await storedOf(session, it)).toBe(0)
    await Promise.all([session.end(), client.end()])
  },
)

test('another process moves the head while two commits are under way: both are decided again', async () => {
  await play(async ({ proxy, scene, submit }) => {
    const held = proxy.hold({ side: 'client', commits: 2 })
    const answers = submit(held.first)
    await held.all
    const client = await (await sharedServer()).connect(proxy.target)
    await client.query('UPDATE head SET version = version + 1')
    await client.end()
    held.go()
    expect(await scene.settled(answers)).toMatchObject(inOrder(2) as object)
  }, many + 2)
})
