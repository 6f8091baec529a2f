import assert from 'node:assert/strict'
import { isFinal, type OutcomeOf } from '@ku0/agent-runtime-core'
import {
  doubtsOf,
  type ModelFork,
  type ModelForked,
  type ModelTask,
  type ReferenceModel,
} from '@ku0/agent-runtime-conformance'
import { Command, pick } from './model-command.ts'
import { count, type Real } from './model-real.ts'

/** A fork whose keys are told by numbers, of what the task has. */
interface Drawn extends Pick<ModelFork, 'onlyOver' | 'change'> {
  readonly from: number | undefined
  readonly edits: readonly (readonly [key: number, value: string])[]
}

/** A task is forked, or tried again as a new one. */
export class Fork extends Command {
  readonly which: number
  readonly drawn: Drawn
  constructor(which: number, drawn: Drawn) {
    super()
    this.which = which
    this.drawn = drawn
  }
  async act(model: ReferenceModel, real: Real): Promise<void> {
    const { onlyOver, change } = this.drawn
    const could = model.tasks.filter(({ state }) => !onlyOver || (isFinal(state) && state !== 'completed'))
    const rare = could.filter(isRare)
    const rich = rare.length > 0 && this.which % 4 === 0 ? rare : could.filter(hasMuch)
    const task =
      rich.length > 0 && this.which % 2 === 0
        ? rich[this.which % rich.length]
        : pick<ModelTask>(model.tasks, this.which, (it) => could.includes(it) && it.memos.size > 0)
    const it = forkOf(task, this.drawn)
    const { from, edits } = it
    const before = model.tasks.length
    const expected = model.fork(task, it)
    const { key, ...rest } = change
    const outcome = await real.scene.write({
      kind: 'fork',
      taskId: real.taskId(task),
      ...(from === undefined ? {} : { fromStep: from }),
      edits,
      onlyOver,
      change: { ...rest, ...(key === undefined ? {} : { idempotencyKey: key }) },
    })
    assert.deepEqual(withoutWords(outcome), expected)
    const made = model.tasks.length > before ? model.tasks.at(-1) : undefined
    if (outcome.as === 'submitted' && made !== undefined)
      real.taskIds.set(made.sequence, outcome.receipt.taskId)
    if (task !== undefined && made !== undefined) countFork(it, task, made)
    else if (expected.as === 'submitted')
      count(`fork: ${expected.receipt.accepted ? 'known' : expected.receipt.reason}`)
    else count(`fork: ${expected.as}`)
  }
}

/** It was sent back and went on, or may have failed of a wait. */
function isRare(task: ModelTask): boolean {
  const sentBackAt = task.rejections.at(-1)?.seq ?? Infinity
  const wentOn = [...task.memos.values(), ...task.ended].some(({ seq }) => seq > sentBackAt)
  return wentOn || (task.state === 'failed' && task.ended.some(isThrown))
}

/** What not every task has. */
function hasMuch(task: ModelTask): boolean {
  const hasDone = [...task.children.values()].some(({ ended }) => ended !== undefined)
  return hasDone || task.memos.size > 1 || doubtsOf(task).length > 0
}

function isThrown({ outcome }: ModelTask['ended'][number]): boolean {
  return outcome === 'timed_out' || outcome === 'rejected'
}

/** By keys, now and then of what it has not. */
function forkOf(task: ModelTask | undefined, { from, edits, ...rest }: Drawn): ModelFork {
  const steps = task === undefined ? [] : [...task.memos.keys(), ...doubtsOf(task).map(({ key }) => key)]
  const ended = task?.ended.map(({ key }) => key) ?? []
  const keys = [...steps, ...(task?.children.keys() ?? []), ...ended]
  const nth = (list: readonly string[], n: number) => (n === 0 ? 'none' : (list[n % list.length] ?? 'none'))
  return {
    ...rest,
    from: from === undefined ? undefined : nth(keys, from),
    edits: Object.fromEntries(
      edits.flatMap(([n, to]) => (steps.length === 0 ? [] : [[nth(n < 9 ? steps : ended, n), to]])),
    ),
  }
}

/** Receipts without what they say to humans, and without ids that stand for sequences. */
function withoutWords(outcome: OutcomeOf<'fork'>): ModelForked | OutcomeOf<'fork'> {
  if (outcome.as !== 'submitted') return outcome
  const { receipt } = outcome
  const { accepted, sequence } = receipt
  return accepted
    ? { as: 'submitted', receipt: { accepted, sequence, deduplicated: receipt.deduplicated } }
    : { as: 'submitted', receipt: { accepted, sequence, reason: receipt.reason } }
}

function countFork({ onlyOver, from, edits }: ModelFork, task: ModelTask, made: ModelTask): void {
  count(onlyOver ? 'retried' : 'forked')
  if (from !== undefined) count('forked from a step')
  if (Object.keys(edits).length > 0) count('edited')
  if (made.children.size > 0) count('child inherited')
  if (made.rejections.length > 0) count('rejection inherited')
  if (made.intents.length > 0) count('doubt inherited')
  if (made.ended.length > 0) count('wait inherited')
  if (task.submission.forkedAt !== undefined) count('fork of a fork')
  if (onlyOver && task.ended.filter(isThrown).length > made.ended.filter(isThrown).length) count('asked anew')
}
