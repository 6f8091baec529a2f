import assert from 'node:assert/strict'
import type { ChildPolicy } from '@ku0/agent-runtime-core'
import {
  lineOf,
  type ModelSubmission,
  type ModelTask,
  type ReferenceModel,
} from '@ku0/agent-runtime-conformance'
import { Command, leaseOf, pick, placeOf } from './model-command.ts'
import { count, type Real } from './model-real.ts'

// Commands of budgets.

type Terms = NonNullable<ModelSubmission['budget']>

/** A task with a budget. */
export class SubmitWithBudget extends Command {
  readonly terms: Terms
  constructor(terms: Terms) {
    super()
    this.terms = terms
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const submission = { lane: 'normal', type: 'a', input: '1' } as const
    const expected = model.submit({ ...submission, budget: this.terms })
    const receipt = await real.scene.submit({ ...submission, budget: this.terms })
    assert.deepEqual([receipt.accepted, receipt.sequence], [expected.accepted, expected.sequence])
    if (receipt.accepted) real.taskIds.set(receipt.sequence, receipt.taskId)
    if (receipt.accepted) count('budget')
  }
}

/** A child, which may have a budget of its own. */
export class SpawnWithBudget extends Command {
  readonly which: number
  readonly key: string
  readonly policy: ChildPolicy
  readonly terms: Terms | undefined
  constructor(which: number, key: string, policy: ChildPolicy, terms: Terms | undefined) {
    super()
    this.which = which
    this.key = key
    this.policy = policy
    this.terms = terms
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lease = leaseOf(model, this.which)
    const { key, policy, terms } = this
    const call = { key, position: placeOf(key) }
    const budget = terms === undefined ? {} : { budget: terms }
    const submission = { lane: 'interactive', type: 'b', input: '1' } as const
    const before = model.tasks.length
    const expected = model.spawn(lease, { ...submission, ...call, policy, ...budget })
    const outcome = await real.scene.write({
      kind: 'spawn',
      leaseId: real.leaseId(lease),
      ...call,
      policy,
      submission: { ...submission, ...budget },
    })
    if (expected === 'stale') assert.deepEqual(outcome, { fenced: 'stale' })
    else assert.equal('as' in outcome ? outcome.as : undefined, expected.as)
    if ('as' in outcome && outcome.as === 'spawned' && model.tasks.length > before)
      real.taskIds.set(model.tasks.at(-1)?.sequence ?? 0, outcome.child.taskId)
    if ('as' in outcome && outcome.as === 'refused') count(`spawn refused: ${outcome.receipt.reason}`)
    else if ('as' in outcome) count(outcome.as === 'over_budget' ? 'over budget' : 'spawn')
  }
}

/** Somebody answers a budget: one that asks, or not. */
export class Answer extends Command {
  readonly which: number
  readonly how: 'continue' | 'stop'
  readonly steps: number
  constructor(which: number, how: 'continue' | 'stop', steps: number) {
    super()
    this.which = which
    this.how = how
    this.steps = steps
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const task = pick<ModelTask>(
      model.tasks,
      this.which,
      ({ parked, budget }) => parked === 'budget' || budget?.asked !== undefined,
    )
    const expected = model.answer(task, this.how, this.steps)
    const outcome = await real.scene.write({
      kind: 'answerBudget',
      taskId: real.taskId(task),
      answer:
        this.how === 'stop'
          ? { as: 'stop' }
          : { as: 'continue', raise: this.steps === 0 ? {} : { steps: this.steps } },
    })
    const { as } = outcome
    const told =
      as === 'answered'
        ? { as, resumed: outcome.resumed }
        : as === 'not_asked'
          ? { as, asked: outcome.asked }
          : { as }
    assert.deepEqual(told, expected)
    if (as !== 'answered') count('answer in vain')
    else count(this.how)
    if (as === 'answered' && outcome.resumed > 0) count('put back')
  }
}

/** Time passes to the very edge of a line of wall time. */
export class AdvanceToLine extends Command {
  readonly edge: number
  constructor(edge: number) {
    super()
    this.edge = edge
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const lines = model.tasks
      .flatMap(({ budget }) => (budget === undefined ? [] : [lineOf(budget)]))
      .filter((line) => Number.isFinite(line) && line + this.edge > model.now)
    if (lines.length === 0) return
    const ms = Math.min(...lines) + this.edge - model.now
    model.advance(ms)
    real.environment.clock.advanceBy(ms)
    await real.scene.cancel('nobody')
    count('line of time')
  }
}
