import { stageIn } from '../pipeline/pipeline.ts'
import type { Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'

export function spawnNeeds(
  needs: Needs,
  { leaseId, key, submission, retryOf, after = [] }: Write<'spawn'>,
): void {
  const lease = needs.held(leaseId)
  if (lease === undefined) return
  needs.child(lease.task, key)
  if (stageIn(key) !== undefined) needs.pipeline(lease.task)
  for (const sibling of after) needs.sibling(lease.task, sibling)
  if (submission.taskId !== undefined) needs.explicitId(submission.taskId)
  if (retryOf === undefined) return
  const before = needs.named(retryOf)
  const child = before === undefined ? undefined : needs.child(before.id, key)
  const row = child === undefined ? undefined : needs.task(child)
  if (row === undefined) return
  needs.want('histories', row.id, row)
  needs.want('children', row.id, row.id)
  needs.pipeline(row.id)
}
