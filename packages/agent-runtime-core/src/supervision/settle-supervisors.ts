import { cancel } from '../task/cancel.ts'
import { failAnywhere } from '../task/fail-anywhere.ts'
import { isFinal } from '../task/states.ts'
import { conclude } from '../wait/conclude.ts'
import { isWaiting } from '../wait/wait.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { hasNoChildLeft, isAfterOver, openChildren, type Supervisor, supervisorOf } from './standing.ts'

/**
 * Supervisors whose children ended since the last look: those that were lost a child fail, with all that is left, the last one first;
 * those with a child that can start now go on, and those that have none left. Source: `docs/semantics.md 14.2`.
 */
export function settleSupervisors(ws: WorkingSet): void {
  // One that fails may be the child of another.
  for (let looked = ws.nextSupervisor(); looked !== undefined; looked = ws.nextSupervisor()) {
    const [id, lost] = looked
    const supervisor = supervisorOf(ws, { id })
    if (supervisor === undefined || isFinal(supervisor.task.state)) continue
    if (lost === undefined) goOn(ws, supervisor)
    else giveUp(ws, supervisor, lost)
  }
}

/** It starts a child that waited for others, or ends with the last of its children. One that a pass runs looks for itself, when it comes to wait. */
function goOn(ws: WorkingSet, { task, terms, wait }: Supervisor): void {
  if (!isWaiting(task)) return
  const waits = ws.waitsOf(task)
  const isDone = terms.endsWith === 'children' && hasNoChildLeft(ws, task, waits)
  const over = waits.find((it) => isAfterOver(ws, task, it)) ?? (isDone ? wait : undefined)
  if (over !== undefined) conclude(ws, task, { wait: over, outcome: 'fired', at: ws.now.at })
}

function giveUp(ws: WorkingSet, { task }: Supervisor, error: string): void {
  for (const { row } of openChildren(ws, task).toReversed())
    cancel(ws, { taskId: ws.taskId(row.task), reason: 'its supervisor has failed' })
  failAnywhere(ws, ws.taskNow(task), {
    kind: 'escalated',
    error,
    why: 'its parent has failed',
    route: 'none',
  })
}
