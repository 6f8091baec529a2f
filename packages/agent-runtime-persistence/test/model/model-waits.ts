import assert from 'node:assert/strict'
import {
  type ModelLease,
  type ModelRequest,
  type ModelTask,
  pendingApprovals,
  type ReferenceModel,
} from '@ku0/agent-runtime-conformance'
import { Command, leaseOf, memosOf, pick } from './model-command.ts'
import { count, type Real } from './model-real.ts'

// Commands of waits, and of tasks that were parked.

const supervised = 'supervised' as const
const spotCheck = 'spot_check' as const

export class Suspend extends Command {
  readonly which: number
  readonly asked: readonly ModelRequest[]
  readonly stay: boolean
  constructor(which: number, asked: readonly ModelRequest[], stay: boolean) {
    super()
    this.which = which
    this.asked = asked
    this.stay = stay
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lease = leaseOf(model, this.which)
    // A key is used once: what has ended is not asked for again, unless a rejection made it void.
    const over = new Set(lease?.task.ended.map(({ key }) => key))
    const asked = this.asked.filter(({ key }) => !over.has(key))
    if (asked.length === 0) return
    const before = lease?.task.rejections.length ?? 0
    const children = lease?.task.children.size ?? 0
    const voided = memosOf(lease?.task)
    const expected = model.suspend(lease, asked, this.stay)
    if ((lease?.task.rejections.length ?? 0) > before) count('sent back by what had come')
    if (expected !== 'stale' && lease?.task.state === 'failed') count('failed by what had come')
    else count('child made void', children - (lease?.task.children.size ?? 0))
    if (memosOf(lease?.task) < voided) count('made void')
    const waits = asked.map(({ delayMs, approval, ...wait }) => ({
      ...wait,
      ...(delayMs === undefined ? {} : { delayMs }),
      ...(approval === undefined
        ? {}
        : { approval: { ...approval, artifact: '1', mode: approval.asked ? supervised : spotCheck } }),
    }))
    const outcome = await real.scene.write({
      kind: 'suspend',
      leaseId: real.leaseId(lease),
      waits,
      stay: this.stay,
    })
    if (expected === 'stale') assert.deepEqual(outcome, { fenced: 'stale' })
    else {
      const { suspended, resolved } = outcome as Extract<typeof outcome, { fenced: 'ok' }>
      assert.deepEqual({ suspended, resolved: resolved.map(({ key }) => key) }, expected)
    }
    count(
      expected === 'stale'
        ? 'stale wait'
        : expected.suspended
          ? 'wait'
          : expected.resolved.length > 0
            ? 'over at once'
            : 'stay',
    )
  }
}

export class Signal extends Command {
  readonly which: number
  readonly name: string
  readonly value: string
  constructor(which: number, name: string, value: string) {
    super()
    this.which = which
    this.name = name
    this.value = value
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const task = pick<ModelTask>(
      model.tasks,
      this.which,
      ({ state }) => state === 'waiting' || state === 'running',
    )
    const wasWaiting = task?.state === 'waiting'
    const expected = model.signal(task, this.name, this.value)
    const taskId = real.taskId(task)
    assert.deepEqual(
      await real.scene.write({ kind: 'signal', taskId, name: this.name, value: this.value }),
      expected,
    )
    count(
      !expected.delivered
        ? 'signal in vain'
        : wasWaiting && expected.state === 'queued'
          ? 'woken'
          : 'signal kept',
    )
  }
}

export class Diverge extends Command {
  readonly which: number
  constructor(which: number) {
    super()
    this.which = which
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    // Mostly one that somebody is asked about: a verdict may come while it is parked.
    const isAsked = ({ state, task }: ModelLease) => state === 'running' && pendingApprovals(task).length > 0
    const asked = model.leases.some(isAsked)
    const lease = asked ? pick(model.leases, this.which, isAsked) : leaseOf(model, this.which)
    const expected = model.diverge(lease)
    const divergence = { kind: 'missing_step', key: 'a', position: 0, expected: 'a' } as const
    assert.equal(
      await real.scene.write({ kind: 'diverge', leaseId: real.leaseId(lease), divergence }),
      expected,
    )
    count(expected === 'ok' ? 'parked' : 'stale parking')
  }
}

export class Unpark extends Command {
  readonly which: number
  constructor(which: number) {
    super()
    this.which = which
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const task = pick<ModelTask>(model.tasks, this.which, ({ parked }) => parked === 'divergence')
    const expected = model.unpark(task)
    const taskId = real.taskId(task)
    assert.deepEqual(await real.scene.write({ kind: 'resume', taskId }), expected)
    count(expected.resumed ? 'unparked' : 'unparked in vain')
  }
}
