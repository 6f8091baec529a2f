import type { Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'

export function forkNeeds(needs: Needs, { taskId, change }: Write<'fork'>): void {
  const task = needs.named(taskId)
  if (task !== undefined) {
    needs.want('histories', task.id, task)
    needs.want('children', task.id, task.id)
  }
  if (change.taskId !== undefined) needs.explicitId(change.taskId)
  if (change.idempotencyKey !== undefined) needs.key(change.idempotencyKey)
}
