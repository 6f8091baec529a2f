import { parseJson } from '../codec/parse-json.ts'
import { canonical } from '../codec/codec.ts'
import { TAG } from '../codec/write.ts'
import type { StartedStep } from '../step/doubt.ts'
import { branchLimitKey } from './replay.ts'
import type { EventData } from '../event/event.ts'
import { isFinal } from '../task/states.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import type { Receipt, Submission } from '../submit/submission.ts'
import type { MemoRow } from './row.ts'
import type { WaitKind } from '../wait/wait.ts'
import { type NoRoom, submitOne, submitWhileRoom } from '../submit/submit.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { decisionOver, inheritFrom, isStep, type Memo, pastOf, submissionOf } from './inherit.ts'

/**
 * A new task with the submission of another and the memos it had before a step; the other stays as it is. Source:
 * `docs/semantics.md 1.2, 6.3`.
 */
export function fork(ws: WorkingSet, it: Omit<Write<'fork'>, 'kind'>): OutcomeOf<'fork'> {
  return forkBy(ws, it, submitOne)
}

/** The retry of one of many tasks. One for which there is no room leaves no trace. */
export function retryWhileRoom(
  ws: WorkingSet,
  taskId: string,
  change: Write<'fork'>['change'],
): OutcomeOf<'fork'> | NoRoom {
  return forkBy(ws, { taskId, edits: {}, onlyOver: true, change }, submitWhileRoom)
}

function forkBy<R extends Receipt | NoRoom>(
  ws: WorkingSet,
  it: Omit<Write<'fork'>, 'kind'>,
  submit: (ws: WorkingSet, it: Submission) => R,
): OutcomeOf<'fork'> | Exclude<R, Receipt> {
  const source = ws.taskNamed(it.taskId)
  const history = source === undefined ? undefined : ws.base.histories.get(source.id)
  if (source === undefined || history === undefined || source.state === 'rejected')
    return { as: 'unknown_task' }
  const isParked = source.waitReason === 'divergence'
  if (it.onlyOver && !isParked && (!isFinal(source.state) || source.state === 'completed'))
    return { as: 'not_over', state: source.state }

  if ('fault' in history) return { as: 'edited', fault: history.fault }
  if ((JSON.parse(history.submission) as EventData['task.queued']).held === true) return { as: 'held' }

  if (ws.pipelines.get(source.id) !== undefined) return { as: 'pipeline' }

  const past = pastOf(ws, source, history, it.onlyOver)
  const { memos } = past
  const from = it.fromStep === undefined ? undefined : callOf(memos, it.fromStep)
  if (it.fromStep !== undefined && from === undefined)
    return { as: 'unknown_step', key: it.fromStep, ...doubtOf(history.doubts, it.fromStep) }
  const isBefore = ({ position }: { readonly position: number }) =>
    from === undefined || position < from.data.position
  const kept = memos.filter(({ data }) => isBefore(data))
  const doubts = history.doubts.filter(isBefore)
  const steps = [
    ...kept
      .filter(({ type }) => isStep(type))
      .map(({ seq, data: { key, position } }) => ({ key, position, seq })),
    ...doubts,
  ]
  for (const key of Object.keys(it.edits)) {
    const step = steps.find((known) => known.key === key)
    if (step === undefined)
      return { as: 'not_editable', key, ...recordedAs(history.memos, key), ...doubtOf(history.doubts, key) }
    const decision = decisionOver(kept, step)
    if (decision !== undefined) return { as: 'inside_decision', key, decision }
    const wrong = wrongDecision(kept, key, it.edits[key] ?? 'null')
    if (wrong !== undefined) return { as: 'no_decision', key, ...wrong }
  }

  const forkedAt = canonical([source.id, it.fromStep ?? null, it.edits])
  const asRetry = it.onlyOver ? { asRetry: true as const } : {}
  const change = { ...it.change, ...asRetry, forkOf: it.taskId, forkedAt }
  const receipt: Receipt | NoRoom = submit(
    ws,
    namedAnew(ws, { ...submissionOf(history.submission), ...change }),
  )
  if ('full' in receipt) return receipt as Exclude<R, Receipt>
  if (receipt.accepted && !receipt.deduplicated)
    inheritFrom(ws, { ...past, memos: kept, doubts }, receipt.sequence, it.edits)
  return { as: 'submitted', receipt }
}

/** An agent stays one of its swarm; beside itself, which lives, it has a name of its own. */
function namedAnew(ws: WorkingSet, it: Submission): Submission {
  if (it.swarm === undefined || it.agent === undefined) return it
  const isTaken = ws.agentsOf(it.swarm).some(({ agent }) => agent === it.agent)
  return isTaken ? { ...it, agent: `${it.agent} ${ws.ids.task(ws.nextTask)}` } : it
}

/** A step or a wait by its key; a race or an all whose time was over has the memo of its limit only. */
function callOf(memos: readonly Memo[], key: string): Memo | undefined {
  return (
    memos.find(({ data }) => data.key === key) ?? memos.find(({ data }) => data.key === branchLimitKey(key))
  )
}

/**
 * The form that an edit of a decision must have; undefined if it is not an edit of a decision, or already has
 * the form.
 */
function wrongDecision(
  kept: readonly Memo[],
  key: string,
  edit: string,
): { readonly branches: 'race' | 'all'; readonly names: readonly string[] } | undefined {
  const memo = kept.find(({ type, data }) => isStep(type) && data.key === key)
  const branches = memo?.data.branches
  if (memo === undefined || branches === undefined) return undefined
  const given: unknown = parseJson(edit)
  const keys = propertiesOf(given)
  if (branches === 'race') {
    const isWon =
      keys?.length === 2 &&
      keys.includes('value') &&
      typeof (given as { winner?: unknown }).winner === 'string'
    return isWon ? undefined : { branches, names: [] }
  }
  // The content of a long result is stored elsewhere.
  const result = (memo.data as EventData['step.completed']).result
  const names = memo.blob === null ? propertiesOf(result) : undefined
  if (keys === undefined) return { branches, names: names ?? [] }
  const isSame =
    names === undefined || (keys.length === names.length && names.every((name) => keys.includes(name)))
  return isSame ? undefined : { branches, names }
}

/** The keys of a plain object in the codec's form. */
function propertiesOf(value: unknown): readonly string[] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const keys = Object.keys(value)
  if (!keys.includes(TAG)) return keys
  const [tag, own] = (value as { [TAG]: readonly unknown[] })[TAG]
  return tag === 'Object' ? Object.keys(own as object) : undefined
}

function doubtOf(doubts: readonly StartedStep[], key: string): { readonly inDoubt?: true } {
  return doubts.some((doubt) => doubt.key === key) ? { inDoubt: true } : {}
}

function recordedAs(rows: readonly MemoRow[], key: string): { readonly recorded?: 'step' | WaitKind } {
  for (const { type, data } of rows) {
    const memo = JSON.parse(data) as { readonly key?: string; readonly kind?: WaitKind }
    if (memo.key === key) return { recorded: isStep(type) ? 'step' : (memo.kind ?? 'child') }
  }
  return {}
}
