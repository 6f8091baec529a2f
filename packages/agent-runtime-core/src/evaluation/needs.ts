import type { Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'

/** The evaluation of the key, and the number of agents if this is the agent's first. */
export function evaluationNeeds(needs: Needs, { agentId, key }: Write<'evaluate'>): void {
  if (key !== undefined) needs.evaluation(agentId, key)
  if (needs.base.reputationOf(agentId) !== undefined) return
  needs.want('reputations', agentId, agentId)
  needs.want('counts', 'agents', 'agents')
}
