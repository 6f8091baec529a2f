import type { Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'

export function reportNeeds(needs: Needs, { leaseId }: Write<'report'>): void {
  const lease = needs.held(leaseId)
  if (lease !== undefined) needs.familyOf(lease.task)
}
