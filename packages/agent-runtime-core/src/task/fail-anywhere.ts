import { parseJson } from '../codec/parse-json.ts'
import type { FailureKind } from './failure-kind.ts'
import { tellParent } from '../child/spawn.ts'
import { endLease, notice } from '../lease/fence.ts'
import { dequeue, hold } from '../queue/stream.ts'
import { cancelChildren } from './cancel.ts'
import type { TaskRow } from './row.ts'
import { taskOver } from './task-over.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** Why a task fails that did not report so itself. */
export interface FailedFromOutside {
  readonly kind: FailureKind
  readonly error: string
  /** The reason that its children get. */
  readonly why: string
  /** The report of a lease's end about the task's route. */
  readonly route: 'failure' | 'none'
}

/** The task fails wherever it stands, those below it first. */
export function failAnywhere(
  ws: WorkingSet,
  before: TaskRow,
  { kind, error, why, route }: FailedFromOutside,
): void {
  cancelChildren(ws, before, why)
  const task = ws.taskNow(before)
  const lease = ws.leaseOf(task)
  const value = ws.inline(error)
  const began =
    lease === undefined ? '' : `"durationMs":${Math.max(0, ws.now.at - (task.startedAt ?? ws.now.at))},`
  const row = ws.move(
    task,
    { state: 'failed', lease: null, finishedAt: ws.now.at, dueAt: null, waitReason: null },
    'task.failed',
    `{${began}"error":${value.text},"kind":"${kind}"` +
      (lease === undefined ? '}' : `,"leaseId":"${ws.ids.lease(lease.id)}"}`),
    lease === undefined ? undefined : ['lease.released'],
    value.blob,
  )
  if (task.state === 'queued') {
    dequeue(ws, task)
    hold(ws, task, 'queued', 'none')
  } else if (lease !== undefined) {
    endLease(ws, lease, 'failed', 'failed', row.seq)
    hold(ws, task, 'running', 'none')
    notice(ws, lease, 'failed', messageIn(error))
  }
  taskOver(ws, row, lease === undefined ? 'none' : route)
  ws.count('failed')
  if (task.state === 'running' || task.state === 'waiting') ws.count(task.state, -1)
  const text = `{"error":${value.text},"kind":"${kind}","state":"failed"}`
  tellParent(ws, row, { state: 'failed', text, blob: value.blob })
}

function messageIn(error: string): string {
  return (parseJson(error) as { readonly message: string }).message
}
