import assert from 'node:assert/strict'
import type { ChildPolicy, Lane } from '@ku0/agent-runtime-core'
import type { ReferenceModel } from '@ku0/agent-runtime-conformance'
import { Command, leaseOf, placeOf } from './model-command.ts'
import { count, type Real } from './model-real.ts'

/** A holder submits a child, or gets the one that it has under the key. */
export class Spawn extends Command {
  readonly which: number
  readonly key: string
  readonly policy: ChildPolicy
  readonly lane: Lane
  readonly type: string
  constructor(which: number, key: string, policy: ChildPolicy, lane: Lane, type: string) {
    super()
    this.which = which
    this.key = key
    this.policy = policy
    this.lane = lane
    this.type = type
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lease = leaseOf(model, this.which)
    const { key, policy, lane, type } = this
    const call = { key, position: placeOf(key) }
    const before = model.tasks.length
    const names = key === 'c3' ? { model: 'big', labels: { run: '1' } } : {}
    const expected = model.spawn(lease, { ...call, policy, lane, type, input: '1', names })
    const submission = { lane, type, input: '1', ...names }
    const leaseId = real.leaseId(lease)
    const outcome = await real.scene.write({ kind: 'spawn', leaseId, ...call, policy, submission })
    if (expected === 'stale') assert.deepEqual(outcome, { fenced: 'stale' })
    else if (expected.as === 'refused') {
      const { receipt } = outcome as Extract<typeof outcome, { as: 'refused' }>
      assert.deepEqual([receipt.sequence, receipt.reason], [expected.sequence, expected.reason])
    } else if (expected.as === 'spawned') {
      const { child } = outcome as Extract<typeof outcome, { as: 'spawned' }>
      if (model.tasks.length > before) real.taskIds.set(expected.sequence, child.taskId)
      assert.equal(child.taskId, real.taskIds.get(expected.sequence))
    }
    const isNew = model.tasks.length > before
    count(
      expected === 'stale'
        ? 'stale spawn'
        : expected.as === 'refused'
          ? 'spawn refused'
          : isNew
            ? 'spawn'
            : 'spawned before',
    )
  }
}

/** A child that runs completes, and its parent hears of it. */
export class EndChild extends Command {
  readonly which: number
  constructor(which: number) {
    super()
    this.which = which
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const running = model.leases.filter(({ state, task }) => state === 'running' && task.parent !== undefined)
    const lease = running[this.which % Math.max(1, running.length)]
    if (lease === undefined) return
    const expected = model.settle(lease, { as: 'completed', value: '1' })
    const settlement = { as: 'completed', output: '1' } as const
    assert.equal(
      await real.scene.write({ kind: 'settle', leaseId: real.leaseId(lease), settlement }),
      expected,
    )
    count('child completed')
  }
}
