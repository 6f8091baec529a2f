import assert from 'node:assert/strict'
import type { ReferenceModel } from '@ku0/agent-runtime-conformance'
import { Command, pick } from './model-command.ts'
import { count, type Real } from './model-real.ts'

/** The type whose tasks break hard limits: nothing else has its circuit. */
export const FRAGILE = 'fragile'

/** A holder breaks a hard limit: the circuit of its task's type opens. */
export class Breach extends Command {
  readonly which: number
  constructor(which: number) {
    super()
    this.which = which
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const fragile = model.leases.filter(({ task }) => task.type === FRAGILE)
    const lease = pick(fragile, this.which, ({ state }) => state === 'running')
    if (lease === undefined) return
    const [kind, value] = ['hard_limit', '{"message":"too much"}'] as const
    const isProbe = model.circuits.get(FRAGILE)?.probe === lease.task && lease.state === 'running'
    const expected = model.settle(lease, { as: 'failed', kind, value, breach: 'hard' })
    const leaseId = real.leaseId(lease)
    const settlement = { as: 'failed', kind, error: value, breach: 'hard' } as const
    assert.equal(await real.scene.write({ kind: 'settle', leaseId, settlement }), expected)
    if (expected === 'ok') count(isProbe ? 'breach of a probe' : 'breach')
  }
}
