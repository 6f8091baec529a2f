import { routeEnded, routeOf, swarmRoute } from '../route/observe.ts'
import type { LeaseRow } from '../lease/row.ts'
import type { TaskRow } from '../task/row.ts'
import { leaveSwarm } from '../swarm/agents.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** A lease has ended: what it held is given back. */
export function leaseOver(ws: WorkingSet, lease: LeaseRow): void {
  const usage = ws.usage(lease.task)
  if (usage === undefined) return
  if (usage.swarm === null) ws.dropUsage(lease.task)
  else
    ws.putUsage({
      ...usage,
      lease: null,
      memoryBytes: 0,
      pressure: 0,
      reports: 0,
      reportedAt: null,
      warned: false,
    })
}

/**
 * A task has ended, or waits, which counts as a success: its route is updated, and its swarm if the task has
 * ended.
 */
export function workEnded(
  ws: WorkingSet,
  task: TaskRow,
  how: 'success' | 'failure' | 'none',
  isOver: boolean,
): void {
  routeEnded(ws, routeOf(ws, task), task.id, how)
  const usage = ws.usage(task.id)
  if (usage === undefined) return
  if (usage.swarm !== null) routeEnded(ws, swarmRoute(usage.swarm), task.id, how)
  if (!isOver) return
  ws.dropUsage(task.id)
  leaveSwarm(ws, usage)
}
