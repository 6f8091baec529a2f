import { READY_KEY } from '../supervision/supervision.ts'
import type { Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'

export function recordStepNeeds(needs: Needs, it: Write<'recordStep'>): void {
  const lease = needs.held(it.leaseId)
  if (lease === undefined) return
  const task = needs.task(lease.task)
  const seq = task === undefined ? 0 : (needs.memos(task)?.get(it.key) ?? 0)
  if (seq > 0) needs.event(lease.task, seq)
  if (it.dropsChildren !== undefined) needs.descendants(lease.task)
  // Others may wait for that.
  if (it.key === READY_KEY && task !== undefined && task.parent !== null) needs.siblingsOf(task.parent)
}

export function failStepNeeds(needs: Needs, it: Write<'failStep'>): void {
  const lease = needs.held(it.leaseId)
  if (lease === undefined) return
  for (const key of it.backOff?.keys ?? []) needs.naming(key)
  if (it.dropsChildren !== undefined) needs.descendants(lease.task)
}

export function appendOutputNeeds(needs: Needs, { leaseId }: Write<'appendOutput'>): void {
  const lease = needs.held(leaseId)
  if (lease !== undefined && !needs.base.outputs.has(lease.task))
    needs.want('outputs', lease.task, lease.task)
}
