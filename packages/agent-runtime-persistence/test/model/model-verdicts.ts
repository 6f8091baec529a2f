import assert from 'node:assert/strict'
import { type ModelTask, pendingApprovals, type ReferenceModel } from '@ku0/agent-runtime-conformance'
import { Command, leaseOf, memosOf, pick, placeOf } from './model-command.ts'
import { count, type Real } from './model-real.ts'

// Commands of approvals, and of steps that may be in doubt.

/** A human says something to a request: to an open one, or to one of long ago. */
export class Resolve extends Command {
  readonly which: number
  readonly verdict: 'approved' | 'rejected'
  readonly value: string
  constructor(which: number, verdict: 'approved' | 'rejected', value: string) {
    super()
    this.which = which
    this.verdict = verdict
    this.value = value
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const task = pick<ModelTask>(model.tasks, this.which, (it) => pendingApprovals(it).length > 0)
    const open = task === undefined ? [] : pendingApprovals(task)
    const request = open[this.which % Math.max(1, open.length)]?.terms?.request ?? this.which
    const from = task?.state
    const wasParked = (task?.parked ?? false) !== false
    const children = task?.children.size ?? 0
    const voided = memosOf(task)
    const expected = model.resolve(task, request, this.verdict, this.value)
    const taskId = real.taskId(task)
    const { verdict, value } = this
    assert.deepEqual(
      await real.scene.write({ kind: 'resolveApproval', taskId, request, verdict, value }),
      expected,
    )
    count(expected.as === 'not_open' ? 'verdict in vain' : `${verdict} while ${wasParked ? 'parked' : from}`)
    if (expected.as === 'resolved' && wasParked) count('verdict while parked')
    if (expected.state === 'failed') count('the last rejection')
    else count('child made void', children - (task?.children.size ?? 0))
    if (memosOf(task) < voided) count('made void')
  }
}

/** The intent of a step. */
export class Intend extends Command {
  readonly which: number
  readonly key: string
  constructor(which: number, key: string) {
    super()
    this.which = which
    this.key = key
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lease = leaseOf(model, this.which)
    const { key } = this
    const call = { key, position: placeOf(key) }
    const expected = model.intend(lease, call)
    const step = { leaseId: real.leaseId(lease), ...call }
    assert.equal(await real.scene.write({ kind: 'startStep', ...step }), expected)
    count(expected === 'stale' ? 'stale intent' : 'intent')
  }
}

/** How a try of a step failed; with the step goes the branch that it is. */
export class FailStep extends Command {
  readonly which: number
  readonly key: string
  readonly failed: 'error' | 'timeout'
  readonly drops: readonly string[]
  constructor(which: number, key: string, failed: 'error' | 'timeout', drops: readonly string[]) {
    super()
    this.which = which
    this.key = key
    this.failed = failed
    this.drops = drops
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lease = leaseOf(model, this.which)
    const { key, failed, drops } = this
    const call = { key, position: placeOf(key) }
    const open = lease?.task.children.size ?? 0
    const expected = model.failStep(lease, call, failed, drops)
    count('child dropped', open - (lease?.task.children.size ?? 0))
    const error =
      failed === 'timeout' ? '{"code":"timeout","message":"m","name":"n"}' : '{"message":"m","name":"n"}'
    const step = { leaseId: real.leaseId(lease), ...call, durationMs: 1, error }
    const dropsChildren = drops.length === 0 ? {} : { dropsChildren: drops }
    assert.equal(await real.scene.write({ kind: 'failStep', ...step, ...dropsChildren }), expected)
    count(expected === 'stale' ? 'stale failure' : 'failed try')
  }
}
