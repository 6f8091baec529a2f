import { parentPort } from 'node:worker_threads'
import { addCounts, noCounts } from './minimums.ts'
import type { SeedRange, Stretch } from './run-seeds.ts'
import { simulate } from './simulate.ts'

/** The thread behind `runSeeds`: it is given stretches of seeds, and says what came of each. */
async function play({ first, last }: SeedRange): Promise<Stretch> {
  let stretch: Stretch = { seeds: 0, counts: noCounts, virtualMs: 0, broken: [], liveness: 0 }
  for (let seed = first; seed <= last; seed += 1) {
    const life = await simulate(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed} threw`, { cause: error })
    })
    stretch = {
      seeds: stretch.seeds + 1,
      counts: addCounts(stretch.counts, life.counts),
      virtualMs: stretch.virtualMs + life.virtualMs,
      broken: life.violations.length === 0 ? stretch.broken : [...stretch.broken, life],
      liveness: stretch.liveness + (life.mode === 'liveness' ? 1 : 0),
    }
  }
  return stretch
}

const port = parentPort
port?.on('message', (message: SeedRange | 'end') => {
  if (message === 'end') port.close()
  else void play(message).then((stretch) => port.postMessage(stretch))
})
