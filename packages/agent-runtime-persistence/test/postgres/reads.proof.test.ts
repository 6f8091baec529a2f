import { Scene } from '@ku0/agent-runtime-conformance'
import { expect, test } from 'vitest'
import { newPostgresStore, quiet } from '../helpers/postgres-store.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'

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
