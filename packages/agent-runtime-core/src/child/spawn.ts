import { childName } from './child.ts'
import type { ChildRecord } from './schema.ts'
import { type FinalState, isFinal } from '../task/states.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import { budgetsOf, excessOf, exhausted } from '../budget/debit.ts'
import { held } from '../lease/fence.ts'
import type { ChildRow } from './row.ts'
import type { TaskRow } from '../task/row.ts'
import { childToKeep, childToRetry, inheritFrom } from '../history/inherit.ts'
import { submitIfRoom, submitOne } from '../submit/submit.ts'
import { deliver, dropWaits } from '../wait/signal.ts'
import { streamOf } from '../queue/stream.ts'
import { lostText } from '../supervision/lost-text.ts'
import { beginStage, endStage } from '../pipeline/standing.ts'
import { isHandOver } from '../recovery/hand-over.ts'
import { isThere } from '../supervision/standing.ts'
import { supervisedIn } from '../supervision/supervision.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** A holder submits a child, or gets the one that it has under the key. Source: `docs/semantics.md 5.5`. */
export function spawn(ws: WorkingSet, it: Write<'spawn'>): OutcomeOf<'spawn'> {
  const live = held(ws, it.leaseId)
  if (live === undefined) return { fenced: 'stale' }
  const { task } = live
  const before = ws.child(task.id, it.key)
  if (before !== undefined) return { fenced: 'ok', as: 'spawned', child: recordOf(ws, before) }
  if (it.after?.some((sibling) => !isThere(ws, task, sibling))) return { fenced: 'ok', as: 'not_yet' }
  const kept = it.retryOf === undefined ? undefined : childToKeep(ws, it.retryOf, it)
  if (kept !== undefined)
    return { fenced: 'ok', as: 'spawned', child: recordOf(ws, keep(ws, task, it, kept)) }
  // A task that has too many children can still be handed over.
  if (ws.childrenOf(task).size >= ws.config.maxChildren && !isHandOver(it.key))
    return { fenced: 'ok', as: 'full' }

  const { budget } = it.submission
  const excess =
    budget === undefined || budget.cut === true || exhausted(ws, task) !== undefined
      ? undefined
      : excessOf(ws, budgetsOf(ws, task), budget.limits)
  if (excess !== undefined) return { fenced: 'ok', as: 'over_budget', ...excess }
  const parentId = ws.taskId(task.id)
  const retried = it.retryOf === undefined ? undefined : childToRetry(ws, it.retryOf, it)
  const fork = retried === undefined ? {} : { forkOf: ws.taskId(retried.source.id), asRetry: true as const }
  const submission = { ...it.submission, ...fork, parentId }
  const receipt =
    it.inLine === true ? submitIfRoom(ws, submission, task.id) : submitOne(ws, submission, task.id)
  if (receipt === undefined) return { fenced: 'ok', as: 'no_room' }
  if (!receipt.accepted) return { fenced: 'ok', as: 'refused', receipt }
  if (retried !== undefined) inheritFrom(ws, retried, receipt.sequence)
  const { key, position, policy } = it
  const taskId = JSON.stringify(receipt.taskId)
  const wait = ws.waitsOf(task).find((open) => open.key === it.drops)
  const dropped = wait === undefined ? '' : `"dropped":[${JSON.stringify(wait.key)}],`
  const row = ws.move(
    task,
    {},
    'child.spawned',
    `{${dropped}"key":${JSON.stringify(key)},"policy":"${policy}","position":${position},"taskId":${taskId},"type":${JSON.stringify(it.submission.type)}}`,
  )
  if (wait !== undefined) dropWaits(ws, row, [wait.key])
  const child = { parent: task.id, key, task: receipt.sequence, position, policy, seq: row.seq } as const
  ws.putChild({ ...child, state: 'open' })
  beginStage(ws, task.id, key, receipt.sequence)
  return { fenced: 'ok', as: 'spawned', child: recordOf(ws, { ...child, state: 'open' }) }
}

/** The retry of a supervisor has a child that completed, as it is: it ran for the supervisor before. Source: `docs/semantics.md 14.2`. */
function keep(
  ws: WorkingSet,
  task: TaskRow,
  { key, position, policy, submission }: Write<'spawn'>,
  child: TaskRow,
): ChildRow {
  const taskId = JSON.stringify(ws.taskId(child.id))
  const { seq } = ws.move(
    task,
    {},
    'child.inherited',
    `{"key":${JSON.stringify(key)},"policy":"${policy}","position":${position},"taskId":${taskId},"type":${JSON.stringify(submission.type)}}`,
  )
  const row: ChildRow = { parent: task.id, key, task: child.id, position, policy, seq, state: 'closed' }
  ws.putChild(row)
  return row
}

/**
 * A task has ended: its parent learns of it in the same commit, unless the parent has ended or has dropped
 * the child. Source: `docs/semantics.md 5.5`.
 */
export function tellParent(
  ws: WorkingSet,
  task: TaskRow,
  end: { readonly state: FinalState; readonly text: string; readonly blob: string | null },
): void {
  if (task.parent === null) return
  const parent = ws.taskNow({ id: task.parent })
  const child = ws.childrenOf(parent).get(task.id)
  if (child === undefined || isFinal(parent.state)) return
  ws.putChild({ ...child, state: 'closed' })
  if (end.state === 'completed') endStage(ws, parent.id, child.key)
  const name = childName(child.key)
  const fields = `"key":${JSON.stringify(child.key)},"name":${JSON.stringify(name)},"state":"${end.state}","taskId":${JSON.stringify(ws.taskId(task.id))}`
  const supervised = supervisedIn(child.key)
  if (supervised === undefined) {
    deliver(ws, ws.taskNow(parent), {
      event: 'child.ended',
      fields,
      name,
      value: { text: end.text, blob: end.blob },
    })
    return
  }
  // Nobody waits for one of them alone: what follows is up to the supervisor.
  ws.move(ws.taskNow(parent), {}, 'child.ended', `{${fields},"value":${end.text}}`, undefined, end.blob)
  const isLost = end.state === 'failed' && supervised.restart !== 'temporary'
  ws.superviseLater(parent.id, isLost ? lostText(ws, parent, supervised.id, end) : undefined)
}

/** A child as its parent remembers it. */
export function recordOf(ws: WorkingSet, { key, position, policy, seq, task: id }: ChildRow): ChildRecord {
  const { type } = ws.stream(streamOf(ws.taskNow({ id })))
  return { key, position, policy, seq, taskId: ws.taskId(id), type }
}
