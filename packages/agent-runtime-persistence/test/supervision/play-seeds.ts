import { Scene } from '@ku0/agent-runtime-conformance'
import { SeededRandom } from '@ku0/agent-runtime-core/testing'
import { openStore } from '../../src/index.ts'
import { nodeDigest } from '../helpers/scratch-folder.ts'
import { Play } from './play.ts'

const config = { maxInFlightPerWorker: 200, leaseTtlMs: 1_000_000, heartbeatIntervalMs: 400_000 }

/** Plays random trees on stores in memory. What differs from the model. */
export async function playSeeds(from: number, count: number): Promise<readonly string[]> {
  const differences: string[] = []
  for (let seed = from; seed < from + count; seed += 1)
    differences.push(...(await playSeed(seed, ':memory:')))
  return differences
}

/** Plays one tree on a store, and compares the two after each end of a worker. */
export async function playSeed(seed: number, path: string): Promise<readonly string[]> {
  const differences: string[] = []
  const open = (opening: Parameters<typeof openStore>[1]) =>
    openStore(`sqlite:${path}`, { ...opening, ...(path === ':memory:' ? {} : { durability: 'normal' }) })
  await Scene.play(open, { config, digest: nodeDigest, seed: `${seed}` }, async (scene) => {
    const play = new Play(scene, new SeededRandom(seed))
    await play.begin()
    const done: string[] = []
    for (let step = 0; step < 14; step += 1) {
      const what = await play.step()
      if (what === undefined) break
      done.push(what)
      const [model, store] = await play.compare()
      const wrong = store.filter((line, index) => line !== model[index])
      if (wrong.length > 0)
        differences.push(`seed ${seed}, ${done.join(', ')}: ${wrong.join(', ')}; model: ${model.join(', ')}`)
    }
    differences.push(...(await scene.violations()))
  })
  return differences
}
