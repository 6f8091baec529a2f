import type { Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'

export function spawnNeeds(needs: Needs, { leaseId, key, submission }: Write<'spawn'>): void {
  const lease = needs.held(leaseId)
  if (lease === undefined) return
  needs.child(lease.task, key)
  if (submission.taskId !== undefined) needs.explicitId(submission.taskId)
}
