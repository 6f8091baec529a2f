import assert from 'node:assert/strict'
import type { ModelTask, ReferenceModel } from '@ku0/agent-runtime-core/testing'
import { Command, count, leaseOf, pick, type Real } from './model-commands.ts'

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
    const task = pick<ModelTask>(model.tasks, this.which, (it) => model.pending(it).length > 0)
    const open = task === undefined ? [] : model.pending(task)
    const request = open[this.which % Math.max(1, open.length)]?.terms?.request ?? this.which
    const from = task?.state
    const voided = task === undefined ? 0 : task.memos.size + task.intents.length
    const expected = model.resolve(task, request, this.verdict, this.value)
    const taskId = task === undefined ? 'nobody' : (real.taskIds.get(task.sequence) ?? '')
    const { verdict, value } = this
    assert.deepEqual(
      await real.scene.write({ kind: 'resolveApproval', taskId, request, verdict, value }),
      expected,
    )
    count(expected.as === 'not_open' ? 'verdict in vain' : `${verdict} while ${from}`)
    if (expected.state === 'failed') count('the last rejection')
    if (task !== undefined && task.memos.size + task.intents.length < voided) count('made void')
  }
}

/** The intent of a step, or how a try of it ended. */
export class Intend extends Command {
  readonly which: number
  readonly key: string
  readonly failed: 'error' | 'timeout' | undefined
  constructor(which: number, key: string, failed: 'error' | 'timeout' | undefined) {
    super()
    this.which = which
    this.key = key
    this.failed = failed
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lease = leaseOf(model, this.which)
    const { key, failed } = this
    const expected = model.intend(lease, key, failed)
    const step = { leaseId: real.leaseId(lease), key, position: 0 }
    const error =
      failed === 'timeout' ? '{"code":"timeout","message":"m","name":"n"}' : '{"message":"m","name":"n"}'
    const outcome =
      failed === undefined
        ? await real.scene.write({ kind: 'startStep', ...step })
        : await real.scene.write({ kind: 'failStep', ...step, durationMs: 1, error })
    assert.equal(outcome, expected)
    count(expected === 'stale' ? 'stale intent' : failed === undefined ? 'intent' : 'failed try')
  }
}
