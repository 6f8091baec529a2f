import { isEscalation } from '../recovery/escalation.ts'
import { approvalName, type ApprovalTerms } from './approval.ts'
import type { ApprovalRequest } from './request.ts'
import type { WaitOutcome, WaitRequest } from '../wait/wait.ts'
import type { SignalRow, WaitRow } from '../wait/row.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** A wait for a human's verdict begins: the event that says what is asked, and the open wait. Source: `docs/semantics.md 12.1, 12.3`. */
export function openApproval(
  ws: WorkingSet,
  task: TaskRow,
  { key, position }: WaitRequest,
  { artifact, asked, mode, draw, maxRetries, onReject, onTimeout, escalates }: ApprovalRequest,
  dueAt: number | null,
): WaitRow {
  const value = ws.inline(artifact)
  const row = ws.move(
    task,
    {},
    'approval.requested',
    `{"artifact":${value.text},"asked":${asked}` +
      (draw === undefined ? '' : `,"draw":${draw}`) +
      (dueAt === null ? '' : `,"dueAt":${dueAt}`) +
      `,"key":${JSON.stringify(key)},"maxRetries":${maxRetries},"mode":"${mode}","position":${position}}`,
    undefined,
    value.blob,
  )
  const terms = {
    asked,
    maxRetries,
    onReject,
    onTimeout,
    request: row.seq,
    ...(escalates === undefined ? {} : { escalates }),
  }
  return { task: task.id, key, position, kind: 'approval', name: approvalName(key), dueAt, terms }
}

/** How an approval ends whose patience is over. `fail` fails the task. */
export function outcomeAtTimeout({ onTimeout }: ApprovalTerms): WaitOutcome | 'fail' {
  switch (onTimeout) {
    case 'throw':
      return 'timed_out'
    case 'approve':
      return 'approved'
    case 'reject':
      return 'rejected'
    case 'fail':
      return 'fail'
  }
}

/** Whether this end of an approval sends the task back to its last approval. Source: `docs/semantics.md 12.2`. */
export function sendsBack({ terms }: WaitRow, outcome: WaitOutcome | 'fail'): boolean {
  return outcome === 'fail' || (outcome === 'rejected' && terms?.onReject === 'rerun')
}

/**
 * A verdict counts from the event on in which its wait ended: a wait that a rejection leaves nothing of is forgotten. A person who lets a task go on
 * after a failure has approved nothing of its work.
 */
export function countVerdict(
  ws: WorkingSet,
  task: TaskRow,
  wait: WaitRow,
  outcome: WaitOutcome | 'fail',
): void {
  if (isEscalation(wait.key)) return
  const before = ws.verdictsOf(task)
  if (outcome === 'approved' || outcome === 'passed')
    ws.verdicts.put(task.id, { approvedSeq: task.seq, rejections: 0 })
  else if (sendsBack(wait, outcome)) {
    ws.verdicts.put(task.id, { ...before, rejections: before.rejections + 1 })
    ws.forget(task.id, before.approvedSeq)
  }
}

/** Why a task fails that nobody approved; undefined while it is to try again. */
export function refusalOf(
  ws: WorkingSet,
  task: TaskRow,
  { key, terms }: WaitRow,
  outcome: WaitOutcome | 'fail',
  taken: SignalRow | undefined,
): string | undefined {
  const { rejections } = ws.verdictsOf(task)
  if (outcome === 'fail') return errorText(`nobody answered the request for approval '${key}' in time`)
  if (outcome !== 'rejected' || terms === null || terms.onReject === 'throw') return undefined
  if (terms.escalates === true) return undefined
  if (rejections < terms.maxRetries) return undefined
  const feedback = taken === undefined ? undefined : feedbackIn(ws.textOf(taken))
  const said = feedback === undefined ? '' : `: ${feedback}`
  return errorText(
    `'${key}' was rejected ${timesText(rejections + 1)} since the last approval (maxRetries ${terms.maxRetries})${said}`,
  )
}

/** Whether this rejection is one more than is allowed, so that a person is asked what becomes of the task. */
export function escalatesNow(
  ws: WorkingSet,
  task: TaskRow,
  { terms }: WaitRow,
  outcome: WaitOutcome | 'fail',
): boolean {
  if (outcome !== 'rejected' || terms?.escalates !== true || terms.onReject === 'throw') return false
  return ws.verdictsOf(task).rejections >= terms.maxRetries
}

function timesText(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function errorText(message: string): string {
  return `{"code":"not_approved","message":${JSON.stringify(message)},"name":"RuntimeError"}`
}

function feedbackIn(value: string): string | undefined {
  const { feedback } = JSON.parse(value) as { feedback?: unknown }
  return typeof feedback === 'string' ? feedback : undefined
}
