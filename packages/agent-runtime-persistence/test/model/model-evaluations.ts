import assert from 'node:assert/strict'
import { dimensions, domainWeights, type Scores } from '@ku0/agent-runtime-core'
import type { ReferenceModel } from '@ku0/agent-runtime-conformance'
import { Command } from './model-command.ts'
import { count, type Real } from './model-real.ts'

/** An evaluation; its score is that of every dimension, and so its composite. */
export class Evaluate extends Command {
  readonly agentId: string
  readonly composite: number
  readonly key: string | undefined
  constructor(agentId: string, composite: number, key: string | undefined) {
    super()
    this.agentId = agentId
    this.composite = composite
    this.key = key
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const { agentId, composite, key } = this
    const expected = model.evaluate(agentId, composite, key)
    const scores = Object.fromEntries(dimensions.map((dimension) => [dimension, composite])) as Scores
    const told = await real.scene.write({
      kind: 'evaluate',
      agentId,
      domain: 'default',
      weights: domainWeights.default,
      scores,
      missing: [],
      ...(key === undefined ? {} : { key }),
    })
    const { as } = told
    const said =
      told.as === 'full' ? { as } : { as, seq: told.evaluation.seq, deduplicated: told.deduplicated }
    assert.deepEqual(said, expected)
    count(
      as === 'recorded'
        ? expected.deduplicated === true
          ? 'evaluated before'
          : 'evaluated'
        : `evaluation ${as}`,
    )
    if ((expected.seq ?? 0) > 3) count('evaluation forgotten')
  }
}
