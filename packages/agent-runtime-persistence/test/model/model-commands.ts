import assert from 'node:assert/strict'
import type { Lane, Settlement } from '@ku0/agent-runtime-core'
import {
  hold,
  type ModelSettlement,
  type ModelTask,
  type ModelWorker,
  type ReferenceModel,
} from '@ku0/agent-runtime-conformance'
import { Command, leaseOf, pick, placeOf } from './model-command.ts'
import { count, type Real } from './model-real.ts'

// Commands of tasks, workers and time.

export class Submit extends Command {
  readonly lane: Lane
  readonly type: string
  readonly input: string
  readonly key: string | undefined
  readonly delayMs: number
  constructor(lane: Lane, type: string, input: string, key: string | undefined, delayMs: number) {
    super()
    this.lane = lane
    this.type = type
    this.input = input
    this.key = key
    this.delayMs = delayMs
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const { lane, type, input, key, delayMs } = this
    const named = key === undefined ? {} : { key }
    const expected = model.submit({ lane, type, input, delayMs, ...named })
    const receipt = await real.scene.submit({
      lane,
      type,
      input,
      ...(delayMs === 0 ? {} : { delayMs }),
      ...(key === undefined ? {} : { idempotencyKey: key }),
    })
    const { accepted, sequence } = receipt
    const detail = accepted ? { deduplicated: receipt.deduplicated } : { reason: receipt.reason }
    assert.deepEqual({ accepted, sequence, ...detail }, expected)
    if (receipt.accepted) real.taskIds.set(receipt.sequence, receipt.taskId)
    count(receipt.accepted ? (receipt.deduplicated ? 'deduplicated' : 'accepted') : receipt.reason)
    if (receipt.accepted && model.circuits.has(type)) count('probe')
  }
}

export class Register extends Command {
  readonly capacity: number
  readonly types: readonly string[]
  constructor(capacity: number, types: readonly string[]) {
    super()
    this.capacity = capacity
    this.types = types
  }
  override check(model: Readonly<ReferenceModel>): boolean {
    return model.workers.length < 4
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const workerId = `w${9 - model.workers.length}`
    model.register(workerId, this.capacity, this.types)
    await real.scene.worker(workerId, this.capacity, this.types)
  }
}

/** A task that its caller runs. */
export class Hold extends Command {
  readonly lane: Lane
  readonly type: string
  constructor(lane: Lane, type: string) {
    super()
    this.lane = lane
    this.type = type
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lease = model.hold(this.lane, this.type)
    const held = await hold(real.scene, { lane: this.lane, type: this.type })
    assert.equal(held.sequence, lease.task.sequence)
    real.taskIds.set(held.sequence, held.taskId)
    real.leaseIds.set(lease.dispatch, held.leaseId)
    count('held')
  }
}

export class Leave extends Command {
  readonly which: number
  readonly how: 'drain' | 'remove'
  constructor(which: number, how: 'drain' | 'remove') {
    super()
    this.which = which
    this.how = how
  }
  override check(model: Readonly<ReferenceModel>): boolean {
    return model.workers.length > 1
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const worker = model.workers[this.which % model.workers.length] as ModelWorker
    if (!worker.registered) return
    model[this.how](worker)
    const workerIds = [worker.workerId]
    await real.scene.write(
      this.how === 'drain' ? { kind: 'drainWorkers', workerIds } : { kind: 'removeWorkers', workerIds },
    )
    count(this.how)
  }
}

export class Free extends Command {
  readonly which: number
  constructor(which: number) {
    super()
    this.which = which
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const ended = model.leases.filter(
      ({ state, slotBack, worker }) =>
        state !== 'running' && !slotBack && worker !== undefined && model.workers.includes(worker),
    )
    const lease = ended[this.which % Math.max(1, ended.length)]
    if (lease?.worker === undefined) return
    model.free(lease)
    real.scene.free(lease.worker.workerId)
  }
}

export class Step extends Command {
  readonly which: number
  readonly key: string
  readonly value: string
  readonly drops: readonly string[]
  constructor(which: number, key: string, value: string, drops: readonly string[]) {
    super()
    this.which = which
    this.key = key
    this.value = value
    this.drops = drops
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lease = leaseOf(model, this.which)
    const open = [...(lease?.task.children.values() ?? [])].filter(({ isOpen }) => isOpen).length
    const expected = model.step(lease, { key: this.key, position: placeOf(this.key) }, this.value, this.drops)
    const left = [...(lease?.task.children.values() ?? [])].filter(({ isOpen }) => isOpen).length
    count('child dropped', open - left)
    const outcome = await real.scene.write({
      kind: 'recordStep',
      leaseId: real.leaseId(lease),
      key: this.key,
      position: placeOf(this.key),
      durationMs: 1,
      result: this.value,
      ...(this.drops.length === 0 ? {} : { dropsChildren: this.drops }),
    })
    assert.deepEqual(outcome, expected === 'stale' ? { fenced: 'stale' } : { fenced: 'ok', ...expected })
    count(expected === 'stale' ? 'stale step' : expected.memo === undefined ? 'step' : 'memo')
  }
}

export class Settle extends Command {
  readonly which: number
  readonly settlement: ModelSettlement
  constructor(which: number, settlement: ModelSettlement) {
    super()
    this.which = which
    this.settlement = settlement
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lease = leaseOf(model, this.which)
    const wasLive = lease?.state === 'running'
    const told = lease?.task.parent?.events.length
    const expected = model.settle(lease, this.settlement)
    if (wasLive && told !== lease?.task.parent?.events.length) count('parent told')
    const { leaseId } = { leaseId: real.leaseId(lease) }
    assert.equal(
      await real.scene.write({ kind: 'settle', leaseId, settlement: settlementOf(this.settlement) }),
      expected,
    )
    count(expected === 'stale' ? 'stale settle' : wasLive ? this.settlement.as : 'settled again')
  }
}

/** A holder that did not hear the answer says the same once more. */
export class SettleAgain extends Command {
  readonly which: number
  constructor(which: number) {
    super()
    this.which = which
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const settled = model.leases.filter(({ settlement }) => settlement !== undefined)
    const lease = settled[this.which % Math.max(1, settled.length)]
    if (lease?.settlement === undefined) return
    const said = { delayMs: 0, ...(JSON.parse(lease.settlement) as ModelSettlement) }
    assert.equal(model.settle(lease, said), 'ok')
    const leaseId = real.leaseId(lease)
    assert.equal(await real.scene.write({ kind: 'settle', leaseId, settlement: settlementOf(said) }), 'ok')
    count('settled again')
  }
}

function settlementOf(it: ModelSettlement): Settlement {
  switch (it.as) {
    case 'completed':
      return { as: 'completed', output: it.value }
    case 'failed':
      return {
        as: 'failed',
        kind: it.kind,
        error: it.value,
        ...(it.breach === undefined ? {} : { breach: it.breach }),
        ...(it.waits === undefined ? {} : { waits: it.waits }),
      }
    case 'retry':
    case 'rate_limited':
      return { as: it.as, error: it.value, delayMs: it.delayMs }
  }
}

export class Release extends Command {
  readonly which: number
  readonly reason: 'yielded' | 'drained'
  constructor(which: number, reason: 'yielded' | 'drained') {
    super()
    this.which = which
    this.reason = reason
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lease = leaseOf(model, this.which)
    const expected = model.release(lease, this.reason)
    assert.equal(
      await real.scene.write({ kind: 'release', leaseId: real.leaseId(lease), reason: this.reason }),
      expected,
    )
    count(expected === 'ok' ? 'release' : 'stale release')
  }
}

export class Cancel extends Command {
  readonly which: number
  constructor(which: number) {
    super()
    this.which = which
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const task = pick<ModelTask>(
      model.tasks,
      this.which,
      ({ state }) => state === 'queued' || state === 'running' || state === 'waiting',
    )
    const before = model.tasks.filter(({ state }) => state === 'canceled').length
    const expected = model.cancel(task)
    const canceled = model.tasks.filter(({ state }) => state === 'canceled').length
    if (expected.canceled) count('canceled with its parent', canceled - before - 1)
    const taskId = real.taskId(task)
    assert.deepEqual(await real.scene.cancel(taskId), expected)
    count(expected.canceled ? 'cancel' : 'cancel in vain')
  }
}

/** Time passes while the process sleeps: a stretch, or to the very edge of the next expiry, heartbeat or due time. */
export class Advance extends Command {
  readonly ms: number
  readonly edge: number | undefined
  constructor(ms: number, edge: number | undefined) {
    super()
    this.ms = ms
    this.edge = edge
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const edges = [
      ...model.leases.flatMap(({ state, expiresAt }) => (state === 'running' ? [expiresAt] : [])),
      ...model.tasks
        .flatMap(({ dueAt, waits }) => [dueAt, ...waits.map((wait) => wait.dueAt)])
        .flatMap((at) => at ?? []),
    ].filter((at) => at + (this.edge ?? 0) >= model.now)
    const ms =
      this.edge === undefined || edges.length === 0 ? this.ms : Math.min(...edges) + this.edge - model.now
    const expired = model.leases.filter(({ endReason }) => endReason === 'expired').length
    model.advance(ms)
    count('expired', model.leases.filter(({ endReason }) => endReason === 'expired').length - expired)
    if (this.edge !== undefined && edges.length > 0) count('edge')
    real.environment.clock.advanceBy(ms)
    await real.scene.cancel('nobody')
  }
}

export class Restart extends Command {
  override check(model: Readonly<ReferenceModel>): boolean {
    return model.tasks.length > 0
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    await real.scene.store.close()
    model.restart()
    await real.open()
    count('restart')
  }
}
