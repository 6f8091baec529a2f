import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { wake } from '../wait/suspend.ts'
import { dequeue, enqueue } from './stream.ts'

/**
 * Tasks whose time has come: delayed ones count in the depth from now on and, like a requeue, pass the limits; waiting ones go on.
 * Source: `docs/semantics.md 2.2, 12.3`.
 */
export function promote(ws: WorkingSet, due: readonly TaskRow[]): void {
  for (const { id } of due) {
    const task = ws.task(id)
    if (task === undefined || task.dueAt === null || task.dueAt > ws.now.at) continue
    if (task.state === 'waiting') wake(ws, task)
    if (task.state !== 'queued') continue
    dequeue(ws, task)
    const row = { ...task, dueAt: null, queuedAt: task.dueAt }
    ws.tasks.put(row.id, row)
    enqueue(ws, row)
  }
}
