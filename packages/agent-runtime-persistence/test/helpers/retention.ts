import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { openStore } from '../../src/index.ts'
import { nodeDigest } from './scratch-folder.ts'

export const { config } = parseExecutionConfig({
  maxInlineBytes: 1_000,
  queueDepthLimit: 10_000,
  batchBackpressureThreshold: 10_000,
  shares: {},
  retention: { completed: { ageMs: 120_000 }, failed: 'forever', ledger: { ageMs: 60_000 } },
})

/** A store with such rules, on a clock of its own. */
export async function sceneAt(path: string, seed: string) {
  const environment = { ...createVirtualEnvironment(seed), digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, {
    config,
    environment,
    durability: 'normal',
    thread: false,
  })
  return { store, scene: new Scene(store, config, environment.clock) }
}

/** Rounds of tasks that end at once, two minutes apart; after each, what is old enough is deleted. One task fails in each round, and stays. */
export async function rounds(path: string, count: number, tasks: number): Promise<number> {
  const { store, scene } = await sceneAt(path, 'retention')
  let pruned = 0
  for (let round = 0; round < count; round += 1) {
    for (let n = 0; n < tasks; n += 1) {
      const claim = await scene.running({ client: 'ada', input: JSON.stringify('x'.repeat(2_000)) })
      await scene.settle(
        claim,
        n === 0 ? { as: 'failed', kind: 'error', error: '{}' } : { as: 'completed', output: 'null' },
      )
    }
    await scene.pass(120_001)
    pruned += (await scene.prune()).completed
  }
  await store.close()
  return pruned
}
