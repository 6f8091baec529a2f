import type { Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'

export function settleNeeds(needs: Needs, { leaseId, settlement, backOff }: Write<'settle'>): void {
  const lease = needs.held(leaseId)
  if (lease === undefined) return
  needs.familyOf(lease.task)
  if (settlement.as === 'failed' && settlement.spent === true) needs.tree(lease.task)
  if (backOff !== undefined) for (const key of backOff.keys) needs.naming(key)
  // It may have been settled before.
  if (lease.endSeq !== null) needs.event(lease.task, lease.endSeq)
}

export function cancelNeeds(needs: Needs, { taskId }: Pick<Write<'cancel'>, 'taskId'>): void {
  const task = needs.named(taskId)
  if (task !== undefined) needs.family(task)
}

export function cancelManyNeeds(needs: Needs, { taskIds }: Write<'cancelMany'>): void {
  for (const taskId of taskIds) cancelNeeds(needs, { taskId })
}
