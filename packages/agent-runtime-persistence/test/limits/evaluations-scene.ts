import { join } from 'node:path'
import { type Dimension, dimensions, domainWeights, type Write } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { onTestFinished } from 'vitest'
import { openStore } from '../../src/index.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { assertClosedStore } from '../helpers/closed-store.ts'

export const { config } = parseExecutionConfig()

/** Processes of one file, one after the other, on one clock. */
export function stage() {
  const path = join(scratchFolder(), 'store.db')
  const environment = { ...createVirtualEnvironment('evaluations'), digest: nodeDigest }
  onTestFinished(() => assertClosedStore(path, config))
  const open = async () => {
    const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
    onTestFinished(() => store.close())
    return new Scene(store, config, environment.clock, { digest: nodeDigest })
  }
  return { path, open }
}

/** A judgement whose every number has digits to lose. */
export function judged(n: number, more: Partial<Write<'evaluate'>> = {}): Write<'evaluate'> {
  const scores = Object.fromEntries(
    dimensions.map((dimension, index) => [dimension, Math.abs(Math.sin(n * 7 + index))]),
  ) as Record<Dimension, number>
  const { legal: weights } = domainWeights
  return { kind: 'evaluate', agentId: 'ada', domain: 'legal', weights, scores, missing: [], ...more }
}

export async function historyOf(scene: Scene) {
  const kept = await scene.read({ kind: 'evaluations', agentId: 'ada', limit: 1_000 })
  return kept.toReversed()
}
