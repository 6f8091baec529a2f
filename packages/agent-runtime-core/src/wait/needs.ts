import { stageWaitIn } from '../pipeline/pipeline.ts'
import { afterIn } from '../supervision/supervision.ts'
import type { Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'

export function suspendNeeds(needs: Needs, { leaseId, waits }: Write<'suspend'>): void {
  const lease = needs.held(leaseId)
  const task = lease === undefined ? undefined : needs.task(lease.task)
  if (task === undefined) return
  // One that begins may be over at once.
  if (waits.some(({ kind }) => kind === 'approval')) needs.verdicts(task)
  needs.signalValues(task, waits)
  const open = [...(needs.base.waits.get(task.id) ?? []), ...waits]
  if (task.parent !== null && open.some(({ key }) => stageWaitIn(key) !== undefined))
    needs.pipeline(task.parent)
  for (const { key } of open) for (const sibling of afterIn(key)?.after ?? []) needs.sibling(task.id, sibling)
}
