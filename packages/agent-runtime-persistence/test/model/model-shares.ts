import assert from 'node:assert/strict'
import type { ClientTier, Lane } from '@ku0/agent-runtime-core'
import type { ModelLease, ReferenceModel } from '@ku0/agent-runtime-conformance'
import { Command, leaseOf, placeOf } from './model-command.ts'
import { count, type Real } from './model-real.ts'

// Commands of clients that share what slots there are.

export class SubmitFor extends Command {
  readonly client: string
  readonly lane: Lane
  readonly type: string
  readonly cost: number
  readonly delayMs: number
  constructor(client: string, lane: Lane, type: string, cost: number, delayMs: number) {
    super()
    this.client = client
    this.lane = lane
    this.type = type
    this.cost = cost
    this.delayMs = delayMs
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const { client, lane, type, cost, delayMs } = this
    const submission = { lane, type, input: '1', cost, ...(client === '' ? {} : { client }) }
    const expected = model.submit({ ...submission, delayMs })
    const receipt = await real.scene.submit({ ...submission, ...(delayMs === 0 ? {} : { delayMs }) })
    assert.deepEqual([receipt.accepted, receipt.sequence], [expected.accepted, expected.sequence])
    if (receipt.accepted) real.taskIds.set(receipt.sequence, receipt.taskId)
    if (receipt.accepted) count('of a client')
  }
}

/** What a client's share goes by is changed, or it is forgotten. */
export class SetClient extends Command {
  readonly name: string
  readonly terms: { readonly credits?: number; readonly tier?: ClientTier }
  constructor(name: string, terms: SetClient['terms']) {
    super()
    this.name = name
    this.terms = terms
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    model.putClient(this.name, this.terms)
    const { as } = await real.scene.write({ kind: 'putClient', name: this.name, ...this.terms })
    assert.equal(as, 'put')
    count('client set')
  }
}

export class RemoveClient extends Command {
  readonly name: string
  constructor(name: string) {
    super()
    this.name = name
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const expected = model.removeClient(this.name)
    const { as } = await real.scene.write({ kind: 'removeClient', name: this.name })
    assert.equal(as, expected)
    count(`client ${as}`)
  }
}

/** A step, or the end of its task, costs something. */
export class Charge extends Command {
  readonly which: number
  readonly key: string | undefined
  readonly cost: number
  constructor(which: number, key: string | undefined, cost: number) {
    super()
    this.which = which
    this.key = key
    this.cost = cost
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const { key } = this
    const lease = leaseOf(model, this.which)
    const leaseId = real.leaseId(lease)
    const cost = this.cost * 1e6
    const charged = { tokens: 0, money: 0, cost }
    if (key === undefined) {
      const expected = model.settle(lease, { as: 'completed', value: '1' }, { cost })
      const settlement = { as: 'completed', output: '1' } as const
      assert.equal(await real.scene.write({ kind: 'settle', leaseId, settlement, charged }), expected)
      if (expected !== 'ok') return
      count('settled at its cost')
      await this.free(model, real, lease)
      return
    }
    const call = { key, position: placeOf(key) }
    const expected = model.step(lease, call, '1', [], { cost })
    const outcome = await real.scene.write({
      kind: 'recordStep',
      leaseId,
      ...call,
      durationMs: 1,
      result: '1',
      charged,
    })
    assert.deepEqual(outcome, expected === 'stale' ? { fenced: 'stale' } : { fenced: 'ok', ...expected })
    if (expected !== 'stale') count('charged')
  }

  /** Its worker has the slot back at once, so that the next may start. */
  private async free(model: ReferenceModel, real: Real, lease: ModelLease | undefined): Promise<void> {
    if (lease?.worker === undefined || lease.slotBack || !model.workers.includes(lease.worker)) return
    await real.scene.idle()
    model.free(lease)
    real.scene.free(lease.worker.workerId)
  }
}
