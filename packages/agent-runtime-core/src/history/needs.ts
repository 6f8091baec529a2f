import type { Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'
import { retryKey } from './retry-key.ts'

export function forkNeeds(needs: Needs, { taskId, change }: Pick<Write<'fork'>, 'taskId' | 'change'>): void {
  const task = needs.named(taskId)
  if (task !== undefined) {
    needs.want('histories', task.id, task)
    needs.want('children', task.id, task.id)
    needs.pipeline(task.id)
  }
  if (change.taskId !== undefined) needs.explicitId(change.taskId)
  if (change.idempotencyKey !== undefined) needs.key(change.idempotencyKey)
}

export function retryManyNeeds(needs: Needs, { taskIds, again }: Write<'retryMany'>): void {
  for (const taskId of taskIds)
    forkNeeds(needs, { taskId, change: again === true ? {} : { idempotencyKey: retryKey(taskId) } })
}
