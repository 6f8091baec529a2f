import type { Write } from '../store/port.ts'
import { agentNeeds } from '../swarm/needs.ts'
import type { Needs } from '../transition/needs.ts'

export function startLeaseNeeds(needs: Needs, { submission }: Write<'startLease'>): void {
  if (submission.taskId !== undefined) needs.explicitId(submission.taskId)
  agentNeeds(needs, submission)
}
