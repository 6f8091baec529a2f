import assert from 'node:assert/strict'
import type { Lane, QuotaNames } from '@ku0/agent-runtime-core'
import { BLOCK_MS, type ReferenceModel } from '@ku0/agent-runtime-conformance'
import { Command, leaseOf, placeOf } from './model-command.ts'
import { count, type Real } from './model-real.ts'

// Commands of quotas: submissions that name what is limited, charges, and providers that refuse.

export class SubmitNamed extends Command {
  readonly lane: Lane
  readonly names: QuotaNames
  readonly tokens: number
  readonly delayMs: number
  constructor(lane: Lane, names: QuotaNames, tokens: number, delayMs: number) {
    super()
    this.lane = lane
    this.names = names
    this.tokens = tokens
    this.delayMs = delayMs
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const { lane, names, tokens, delayMs } = this
    const work = { lane, type: 'a', input: '1' }
    const expected = model.submit({ ...work, names, tokens, delayMs })
    const { model: named, tools, client, labels } = names
    const receipt = await real.scene.submit({
      ...work,
      tokens,
      ...(named === undefined ? {} : { model: named }),
      ...(tools === undefined ? {} : { tools }),
      ...(client === undefined ? {} : { client }),
      ...(labels === undefined ? {} : { labels }),
      ...(delayMs === 0 ? {} : { delayMs }),
    })
    const { accepted, sequence } = receipt
    const detail = accepted ? { deduplicated: receipt.deduplicated } : { reason: receipt.reason }
    assert.deepEqual({ accepted, sequence, ...detail }, expected)
    if (receipt.accepted) real.taskIds.set(receipt.sequence, receipt.taskId)
    count(receipt.accepted ? 'named' : receipt.reason)
  }
}

export class Spend extends Command {
  readonly which: number
  readonly key: string
  readonly tokens: number
  constructor(which: number, key: string, tokens: number) {
    super()
    this.which = which
    this.key = key
    this.tokens = tokens
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const { key, tokens } = this
    const lease = leaseOf(model, this.which)
    const expected = model.step(lease, { key, position: placeOf(key) }, '1', [], { tokens })
    const outcome = await real.scene.write({
      kind: 'recordStep',
      leaseId: real.leaseId(lease),
      key,
      position: placeOf(key),
      durationMs: 1,
      result: '1',
      charged: { tokens, money: 0, cost: 0 },
    })
    assert.deepEqual(outcome, expected === 'stale' ? { fenced: 'stale' } : { fenced: 'ok', ...expected })
    if (expected !== 'stale' && lease !== undefined && lease.task.quotas.length > 0) count('spent')
  }
}

/** A provider refuses, and the task gives up or comes again. */
export class Refuse extends Command {
  readonly which: number
  readonly keys: readonly string[]
  readonly tokens: number
  readonly isLast: boolean
  constructor(which: number, keys: readonly string[], tokens: number, isLast: boolean) {
    super()
    this.which = which
    this.keys = keys
    this.tokens = tokens
    this.isLast = isLast
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const { keys, tokens } = this
    const lease = leaseOf(model, this.which)
    const wasLive = lease?.state === 'running'
    const expected = this.isLast
      ? model.settle(lease, { as: 'failed', kind: 'error', value: '{}' }, { tokens }, keys)
      : model.settle(lease, { as: 'rate_limited', value: '{}', delayMs: BLOCK_MS }, { tokens }, keys)
    const outcome = await real.scene.write({
      kind: 'settle',
      leaseId: real.leaseId(lease),
      settlement: this.isLast
        ? { as: 'failed', kind: 'error', error: '{}' }
        : { as: 'rate_limited', error: '{}', delayMs: BLOCK_MS },
      charged: { tokens, money: 0, cost: 0 },
      backOff: { keys, retryAfterMs: BLOCK_MS },
    })
    assert.equal(outcome, expected)
    if (wasLive && outcome === 'ok') count('blocked', keys.length)
  }
}
