import type { Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'

/** What its key stands for, and how many agents there are when it is the first of its own. */
export function evaluationNeeds(needs: Needs, { agentId, key }: Write<'evaluate'>): void {
  if (key !== undefined) needs.evaluation(agentId, key)
  if (needs.base.reputationOf(agentId) !== undefined) return
  needs.want('reputations', agentId, agentId)
  needs.want('counts', 'agents', 'agents')
}
