import { TIMEOUT_VERDICT } from '../approval/approval.ts'
import { childName } from '../child/child.ts'
import { refusalOf, sendsBack } from '../approval/review.ts'
import { cancelChildren, dropChildren } from '../task/cancel.ts'
import { tellParent } from '../child/spawn.ts'
import { taskOver } from '../task/task-over.ts'
import type { TaskRow } from '../task/row.ts'
import { type Over, resume } from './signal.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/**
 * One of a task's waits has ended: the task goes on, is sent back, or fails because an approval is missing.
 * Source: `docs/semantics.md 12.2`.
 */
export function conclude(ws: WorkingSet, task: TaskRow, over: Over): void {
  const refusal = refusalOf(ws, task, over.wait, over.outcome, over.taken)
  if (refusal !== undefined) return fail(ws, task, refusal, over)
  const { approvedSeq } = ws.verdictsOf(task)
  resume(ws, task, over)
  if (sendsBack(over.wait, over.outcome)) forgetChildren(ws, task, approvedSeq)
}

/**
 * Children spawned since then are void: they are canceled, their ends are not reported any more, and their
 * keys are free again.
 */
function forgetChildren(ws: WorkingSet, task: TaskRow, since: number): void {
  const spawned = ws.allChildren(task).filter(({ seq }) => seq > since)
  const names = new Set(spawned.map(({ key }) => childName(key)))
  for (const unread of ws.signalsOf(task)) if (names.has(unread.name)) ws.takeSignal(task, unread)
  dropChildren(ws, spawned, 'its parent was sent back')
}

/** The cause that ended the last request is recorded with the task's own end: the task gets no verdict any more. */
function fail(ws: WorkingSet, task: TaskRow, error: string, { wait, outcome, taken }: Over): void {
  const verdict =
    outcome === 'fail'
      ? `"key":${JSON.stringify(wait.key)},"kind":"not_approved","outcome":"timed_out"`
      : `"key":${JSON.stringify(wait.key)},"kind":"not_approved","outcome":"rejected"` +
        (taken === undefined ? `,"value":${TIMEOUT_VERDICT}` : '')
  cancelChildren(ws, task, 'its parent has failed')
  const row = ws.move(
    ws.taskNow(task),
    { state: 'failed', finishedAt: ws.now.at, waitReason: null, dueAt: null },
    'task.failed',
    `{"error":${error},${verdict}}`,
  )
  taskOver(ws, row, 'none')
  ws.count('failed')
  ws.count('waiting', -1)
  const text = `{"error":${error},"kind":"not_approved","state":"failed"}`
  tellParent(ws, row, { state: 'failed', text, blob: null })
}
