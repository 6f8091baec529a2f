import { cancel } from '../task/cancel.ts'
import { failAnywhere } from '../task/fail-anywhere.ts'
import { isFinal } from '../task/states.ts'
import { conclude } from '../wait/conclude.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import type { TaskRow } from '../task/row.ts'
import type { WaitRow } from '../wait/row.ts'
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
    const next = lost === undefined ? startable(ws, supervisor) : undefined
    if (lost !== undefined) giveUp(ws, supervisor, lost)
    else if (next !== undefined)
      conclude(ws, supervisor.task, { wait: next, outcome: 'fired', at: ws.now.at })
    else if (supervisor.terms.endsWith === 'children' && isDone(ws, supervisor))
      conclude(ws, supervisor.task, { wait: supervisor.wait, outcome: 'fired', at: ws.now.at })
  }
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

/** One that a pass runs looks for itself, when it comes to wait. */
function isDone(ws: WorkingSet, { task }: Supervisor): boolean {
  return isWaiting(task) && hasNoChildLeft(ws, task, ws.waitsOf(task))
}

/** The wait of a child that can start now. */
function startable(ws: WorkingSet, { task }: Supervisor): WaitRow | undefined {
  return isWaiting(task) ? ws.waitsOf(task).find((wait) => isAfterOver(ws, task, wait)) : undefined
}

function isWaiting({ state, waitReason }: TaskRow): boolean {
  return state === 'waiting' && waitReason !== 'divergence' && waitReason !== 'budget'
}
