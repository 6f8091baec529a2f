import type { LeaseRow } from '../lease/row.ts'
import type { Write } from '../store/port.ts'
import type { Submission } from '../submit/submission.ts'
import type { Needs } from '../transition/needs.ts'

/** The agent that has the name already. */
export function agentNeeds(needs: Needs, { swarm, agent }: Submission): void {
  if (swarm === undefined) return
  const taken = needs.agentsOf(swarm).find((usage) => usage.agent === agent)
  if (taken !== undefined) needs.taskWithWaits(taken.task)
}

export function closeSwarmNeeds(needs: Needs, { name }: Write<'closeSwarm'>): void {
  needs.agents(needs.agentsOf(name))
}

/**
 * A report of one agent may end others: one for each report, and more may have ended before, with the leases
 * `ending`.
 */
export function sheddingNeeds(
  needs: Needs,
  operations: readonly Write[],
  ending: readonly (readonly LeaseRow[])[],
): void {
  if (needs.base.swarms.size === 0) return
  const swarms = new Set<string>()
  for (const it of operations) {
    if (it.kind !== 'report') continue
    const lease = needs.leaseKnown(it.leaseId)
    const swarm = lease === undefined ? null : (needs.base.usages.get(lease.task)?.swarm ?? null)
    if (swarm !== null) swarms.add(swarm)
  }
  const most = ending.reduce((sum, leases) => sum + leases.length, operations.length)
  for (const swarm of swarms) needs.agents(needs.agentsOf(swarm).slice(0, most))
}
