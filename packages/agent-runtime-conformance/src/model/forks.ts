import { isRetryWait, childName, type TaskState, type WaitKind } from '@ku0/agent-runtime-core'
import { deliver } from './moves.ts'
import type {
  ModelChild,
  ModelEffect,
  ModelEnd,
  ModelReceipt,
  ModelSubmission,
  ModelTask,
  SubmitNew,
} from './records.ts'
import { doubtsOf } from './waits.ts'

// The reference model's rules of forks; a retry is one that is `onlyOver`. Source: `docs/semantics.md 1.2, 6.3`.

/** A fork as it is asked for. */
export interface ModelFork {
  readonly from: string | undefined
  /** By step. */
  readonly edits: Readonly<Record<string, string>>
  readonly onlyOver: boolean
  readonly change: Partial<Pick<ModelSubmission, 'key' | 'taskId' | 'input' | 'lane'>>
}

/** Its end. */
export type ModelForked =
  | { readonly as: 'unknown_task' | 'held' }
  | { readonly as: 'not_over'; readonly state: TaskState }
  | { readonly as: 'unknown_step'; readonly key: string; readonly inDoubt?: true }
  | {
      readonly as: 'not_editable'
      readonly key: string
      readonly recorded?: 'step' | WaitKind
      readonly inDoubt?: true
    }
  | { readonly as: 'submitted'; readonly receipt: ModelReceipt }

/** The memos that a fork may take along, by the event `seq` of the task that it is forked from. */
type Past = { readonly key: string; readonly position: number; readonly seq: number } & (
  | { readonly as: 'step'; readonly value: string }
  | { readonly as: 'doubt'; readonly starts: number; readonly effect: ModelEffect }
  | { readonly as: 'wait'; readonly end: ModelEnd }
  | { readonly as: 'child'; readonly child: ModelChild }
)

export function fork(
  task: ModelTask | undefined,
  { from, edits, onlyOver, change }: ModelFork,
  submit: SubmitNew,
  now: number,
): ModelForked {
  if (task === undefined) return { as: 'unknown_task' }
  const isOver = task.parked === 'divergence' || task.state === 'failed' || task.state === 'canceled'
  if (onlyOver && !isOver) return { as: 'not_over', state: task.state }
  if (task.isHeld) return { as: 'held' }

  const inDoubt = (key: string) =>
    doubtsOf(task).some((it) => it.key === key) ? { inDoubt: true as const } : {}
  const memos = onlyOver ? withoutWhatFailed(task, memosOf(task)) : memosOf(task)
  const end = from === undefined ? Infinity : memos.find(({ key }) => key === from)?.position
  if (from !== undefined && end === undefined) return { as: 'unknown_step', key: from, ...inDoubt(from) }
  const kept = [...memos, ...openDoubts(task)].filter(({ position }) => position < (end ?? Infinity))
  for (const key of Object.keys(edits))
    if (!kept.some((it) => it.key === key && (it.as === 'step' || it.as === 'doubt')))
      return { as: 'not_editable', key, ...recordedAs(task, key), ...inDoubt(key) }

  const edited = Object.entries(edits).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const forkedAt = JSON.stringify([task.sequence, from ?? null, edited])
  const [receipt, made] = submit({ ...task.submission, ...change, forkedAt })
  if (receipt.accepted && !receipt.deduplicated && made !== undefined)
    inherit(made, task, { kept, edits, now })
  return { as: 'submitted', receipt }
}

/** Its memos, in their order. Steps have all their tries again; only children that are known to have completed count. */
function memosOf({ memos, ended, children }: ModelTask): readonly Past[] {
  const isDone = ({ task, ended: seq }: ModelChild) => task.state === 'completed' && seq !== undefined
  return [
    ...[...memos].map(([key, memo]): Past => ({ as: 'step', key, ...memo })),
    ...ended
      .filter(({ key, kind }) => kind !== 'child' && !isRetryWait(key))
      .map((it): Past => ({ ...pick(it), as: 'wait', end: it })),
    ...[...children.values()].filter(isDone).map((it): Past => ({ ...pick(it), as: 'child', child: it })),
  ].toSorted((a, b) => a.seq - b.seq)
}

function pick({ key, position, seq }: { key: string; position: number; seq: number }) {
  return { key, position, seq }
}

/** Its effects are those of the task that began them. */
function openDoubts(task: ModelTask): readonly Past[] {
  return doubtsOf(task).map(({ effect, ...doubt }): Past => {
    const generation = task.rejections.filter(({ seq }) => seq < doubt.seq).length
    return { as: 'doubt', ...doubt, effect: effect ?? { task, generation } }
  })
}

/**
 * A wait that the task failed of begins again, and those that ended likewise after it, unless the task went on since. Where the failure
 * names none it is the last thing that was recorded, if no step failed since.
 */
function withoutWhatFailed(task: ModelTask, memos: readonly Past[]): readonly Past[] {
  const isThrown = (it: Past) =>
    it.as === 'wait' && (it.end.outcome === 'timed_out' || it.end.outcome === 'rejected')
  const isNamed = ({ key }: Past) => task.failedOf.includes(key)
  const lastFailure = task.events.lastIndexOf('step.failed') + 1
  const isLast = (it: Past) => it === memos.at(-1) && it.seq > lastFailure
  const thrown = task.state === 'failed' ? memos.filter(isThrown) : []
  const cause = thrown.find(isNamed) ?? thrown.find(isLast)
  if (cause === undefined) return memos
  const wentOn = Math.max(lastFailure, ...memos.filter((it) => !isThrown(it)).map(({ seq }) => seq))
  const isAfter = ({ seq }: Past) => seq > cause.seq && seq > wentOn
  return memos.filter((it) => !thrown.includes(it) || (it !== cause && !isNamed(it) && !isAfter(it)))
}

function recordedAs({ memos, ended, rejections }: ModelTask, key: string): { recorded?: 'step' | WaitKind } {
  if (memos.has(key)) return { recorded: 'step' }
  const kind = ended.find((it) => it.key === key)?.kind
  if (kind !== undefined) return { recorded: kind }
  return rejections.some((it) => it.key === key) ? { recorded: 'approval' } : {}
}

/** All that is kept, with the rejections that something of it was made under and the ends of the children, in the order that it had. */
function inherit(
  made: ModelTask,
  from: ModelTask,
  { kept, edits, now }: { readonly kept: readonly Past[]; readonly edits: ModelFork['edits']; now: number },
): void {
  const { events } = made
  const last = Math.max(0, ...kept.map(({ seq }) => seq))
  const starts = new Set([0, ...kept.filter(isApproval).map(({ seq }) => seq)])
  const moves = kept.map((it) => ({ seq: it.seq, move: () => take(it) }))
  for (const { key, value, since, seq } of from.rejections)
    if (seq < last && starts.has(since))
      moves.push({
        seq,
        move: () =>
          void made.rejections.push({
            key,
            value,
            since: made.approvedSeq,
            seq: events.push('wait.inherited'),
          }),
      })
  for (const it of kept)
    if (it.as === 'child') moves.push({ seq: it.child.ended ?? 0, move: () => tell(it.key) })
  for (const { move } of moves.toSorted((a, b) => a.seq - b.seq)) move()

  function take(it: Past): void {
    const { key, position } = it
    const edit = edits[key]
    if (it.as === 'step' || (it.as === 'doubt' && edit !== undefined)) {
      const value = edit ?? (it.as === 'step' ? it.value : '')
      made.memos.set(key, { value, position, seq: events.push('step.inherited') })
      made.recorded += 1
    } else if (it.as === 'doubt') {
      const { starts: times, effect } = it
      const seq = events.push('doubt.inherited')
      made.intents.push({ key, position, seq, told: { starts: times, effect } })
    } else if (it.as === 'wait') {
      const seq = events.push('wait.inherited')
      made.ended.push({ ...it.end, seq })
      if (isApproval(it)) made.approvedSeq = seq
    } else {
      const seq = events.push('child.inherited')
      made.children.set(key, { ...it.child, seq, ended: undefined })
    }
  }

  function tell(key: string): void {
    const child = made.children.get(key)
    if (child === undefined) return
    child.ended = events.push('child.ended')
    deliver(made, { name: childName(key), value: child.task.told ?? '', at: now, outcome: 'received' })
  }
}

function isApproval(it: Past): boolean {
  return it.as === 'wait' && (it.end.outcome === 'approved' || it.end.outcome === 'passed')
}
