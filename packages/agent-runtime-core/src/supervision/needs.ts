import type { Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'
import type { TaskRow } from '../task/row.ts'
import { childRestarts, supervisedKey } from './supervision.ts'

export function startChildNeeds(needs: Needs, { taskId, id, submission }: Write<'startChild'>): void {
  const task = needs.named(taskId)
  if (task !== undefined) {
    childrenOfId(needs, task, id)
    needs.want('children', task.id, task.id)
  }
  if (submission.taskId !== undefined) needs.explicitId(submission.taskId)
}

export function restartChildNeeds(needs: Needs, { taskId, id }: Write<'restartChild'>): void {
  const task = needs.named(taskId)
  if (task === undefined) return
  for (const child of childrenOfId(needs, task, id)) {
    const row = needs.task(child)
    if (row !== undefined) needs.want('histories', row.id, row)
  }
}

function childrenOfId(needs: Needs, task: TaskRow, id: string): readonly number[] {
  return childRestarts.flatMap((restart) => needs.child(task.id, supervisedKey({ id, restart })) ?? [])
}
