import type { TaskRow, WorkingSet } from '@ku0/agent-runtime-core/transition'
import type { Head } from './head.ts'

/** The commits after one, the first of them. Who has missed more reads all that it keeps. */
export const touchedText =
  'SELECT number, touched FROM journal WHERE number > $1::bigint ORDER BY number LIMIT 64'

/**
 * The tasks that the commits between two heads name, by the answer to {@link touchedText}. Undefined where a commit is missing there, or one has
 * changed what its events do not name.
 */
export function touchedTasks(
  rows: readonly (readonly unknown[])[],
  from: Head,
  to: Head,
): ReadonlySet<number> | undefined {
  if (to.untold > from.version || rows.length !== to.number - from.number) return undefined
  const tasks = new Set<number>()
  for (const [, touched] of rows)
    for (const [task] of JSON.parse(touched as string) as readonly (readonly [task: number])[])
      tasks.add(task)
  return tasks
}

/** Whether a flush changes a row that another process may keep, and has no event of its task that tells. */
export function changesUntold(ws: WorkingSet, process: number): boolean {
  for (const row of ws.tasks.changed.values()) {
    const before = ws.base.tasks.get(row.id)
    if (before !== undefined && before.seq === row.seq && isKept(ws, before)) return true
  }
  for (const lease of ws.leases.changed.values())
    if (lease.process !== process && ws.base.leases.has(lease.id) && !isTold(ws, lease.task)) return true
  return false
}

function isTold(ws: WorkingSet, task: number): boolean {
  const row = ws.tasks.changed.get(task)
  return row !== undefined && row.seq !== ws.base.tasks.get(task)?.seq
}

/** By the process that runs it, or by those that know the first tasks of its stream, unless the stream changes, too. */
function isKept(ws: WorkingSet, { lease, state, dueAt, stream }: TaskRow): boolean {
  if (lease !== null) return true
  return state === 'queued' && dueAt === null && stream !== null && !ws.streams.changed.has(stream)
}
