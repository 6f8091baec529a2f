import type { ExecutionStore } from '@ku0/agent-runtime-core'
import { Scene } from '@ku0/agent-runtime-conformance'
import { expect, test } from 'vitest'
import { CuttingProxy } from '../helpers/cutting-proxy.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { newPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

/** A scene whose store speaks through a proxy, and another process on the same database. */
async function play(
  act: (scene: Scene, other: ExecutionStore, proxy: CuttingProxy) => Promise<void>,
): Promise<void> {
  const server = await sharedServer()
  const proxy = await CuttingProxy.start(server.newStore())
  let open: (() => Promise<ExecutionStore>) | undefined
  await Scene.play(
    ({ config, environment }) => {
      open = () => newPostgresStore(config, environment, proxy.target)
      return newPostgresStore(config, environment, proxy.url)
    },
    { digest: nodeDigest, quiet, config: { maxInFlightPerWorker: 100 } },
    async (scene) => {
      const other = await open?.()
      if (other === undefined) throw new Error('the scene opened no store')
      try {
        await act(scene, other, proxy)
      } finally {
        await other.close()
      }
    },
  )
}

const one = { kind: 'submit', tasks: [{ type: 'other', lane: 'normal', input: 'null' }] } as const

test('rows that another process may have changed are read again in a few round trips, however many tasks run', async () => {
  await play(async (scene, other, proxy) => {
    await scene.worker('w', 100)
    for (let n = 0; n < 100; n += 1) await scene.submit()
    await scene.idle()
    expect(scene.claims).toHaveLength(100)
    await scene.settled(other.write(one))
    const before = proxy.trips
    await scene.submit()
    expect(proxy.trips - before).toBeLessThan(20)
  })
})
