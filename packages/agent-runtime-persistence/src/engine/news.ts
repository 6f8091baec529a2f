import type { WorkingSet } from '@ku0/agent-runtime-core/transition'

/**
 * Which other processes a commit may concern, so that the rest need not look at it: all; those that have room for a task, or follow events; those that
 * follow events; none. Whoever does not look now reads it with whatever it looks at next.
 */
export type News = 'all' | 'takers' | 'followers' | 'none'

/** Whom the changes of `process` concern. Where it cannot be told, they concern all. */
export function newsOf(ws: WorkingSet, process: number): News {
  if (concernsAll(ws, process)) return 'all'
  // Others may take what is queued, also where this commit only made room under a quota. They promote what is due if this process dies.
  if (ws.depth > 0 || changesTimes(ws)) return 'takers'
  return ws.events.length + ws.outputs.length > 0 ? 'followers' : 'none'
}

function concernsAll(ws: WorkingSet, process: number): boolean {
  const { schedules, budgets, accessTokens, base } = ws
  if (schedules.changed.size + budgets.changed.size + accessTokens.changed.size + ws.pruned.length > 0)
    return true
  for (const row of ws.workers.changed.values()) if (row.process !== process) return true
  for (const row of ws.leases.changed.values()) if (row.process !== process) return true
  for (const { id } of ws.tasks.changed.values()) {
    const lease = base.tasks.get(id)?.lease ?? null
    if (lease !== null && base.leases.get(lease)?.process !== process) return true
  }
  return false
}

function changesTimes(ws: WorkingSet): boolean {
  for (const { dueAt } of ws.tasks.changed.values()) if (dueAt !== null) return true
  return false
}
