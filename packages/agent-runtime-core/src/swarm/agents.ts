import { decideSpawn, sharedRest, swarmPressure } from './shedding.ts'
import type { RejectionReason } from '../event/event.ts'
import { laneRank } from '../task/lane.ts'
import type { Receipt, Submission } from '../submit/submission.ts'
import type { Objection } from '../submit/verdict.ts'
import { circuitRefusal, swarmRoute } from '../route/observe.ts'
import type { SwarmRow } from './row.ts'
import type { UsageRow } from '../profile/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** Why a swarm does not take an agent. Source: `docs/semantics.md 10.6`. */
export function swarmRefusal(
  ws: WorkingSet,
  { swarm: name, share = {} }: Submission,
): (Objection & { readonly reason: RejectionReason }) | undefined {
  const swarm = name === undefined ? undefined : ws.swarm(name)
  if (name === undefined || swarm === undefined) return undefined
  const { maxAgents, threshold } = swarm.terms
  const agents = ws.agentsOf(name).map(asAgent)
  const verdict = decideSpawn(agents, { maxAgents, threshold })
  if (verdict === 'swarm_full')
    return {
      reason: verdict,
      message: `the swarm '${name}' has ${agents.length} agents, and maxAgents is ${maxAgents}; spawn one when another has ended`,
      verdict: { by: 'swarm', swarm: name, limit: 'maxAgents', max: maxAgents, value: agents.length },
    }
  if (verdict === 'swarm_overloaded') {
    const { mean } = swarmPressure(agents)
    return {
      reason: verdict,
      message: `the mean pressure of the swarm '${name}' is ${shown(mean)}, above its threshold ${threshold}; spawn later`,
      verdict: { by: 'swarm', swarm: name, limit: 'threshold', max: threshold, value: mean },
    }
  }
  const refusal = circuitRefusal(ws, swarmRoute(name))
  if (refusal !== undefined) return { reason: 'circuit_open', ...refusal }
  const rest = restOf(ws, swarm)
  for (const amount of ['cpuTimeUs', 'memoryBytes'] as const) {
    const left = Math.max(0, rest[amount])
    const asked = share[amount]
    if (left === 0 || (asked ?? 0) > left)
      return {
        reason: 'budget_exceeded',
        message: `the swarm '${name}' has ${left} of its shared ${amount} left${asked === undefined ? '' : `, and ${asked} were asked for`}`,
        verdict: {
          by: 'swarm',
          swarm: name,
          limit: amount,
          left,
          ...(asked === undefined ? {} : { asked }),
        },
      }
  }
  return undefined
}

/** Its swarm is not there, or an agent that is alive already has the name. */
export function agentTaken(ws: WorkingSet, { swarm, agent }: Submission): Receipt | undefined {
  if (swarm === undefined) return undefined
  if (ws.swarm(swarm) === undefined)
    return {
      accepted: false,
      taskId: '',
      sequence: 0,
      reason: 'not_found',
      message: `the swarm '${swarm}' does not exist any more; create it again`,
    }
  const other = ws.agentsOf(swarm).find((it) => it.agent === agent)
  if (other === undefined) return undefined
  const taskId = ws.taskId(other.task)
  return {
    accepted: false,
    taskId,
    sequence: other.task,
    reason: 'already_exists',
    message: `the swarm '${swarm}' already has an agent ${JSON.stringify(agent)}: task ${taskId}`,
  }
}

/** The agent that was admitted counts from now on. */
export function joinSwarm(ws: WorkingSet, it: Submission, task: number): void {
  const swarm = it.swarm === undefined ? undefined : ws.swarm(it.swarm)
  if (swarm === undefined || it.profile === undefined) return
  ws.putSwarm({ ...swarm, spawned: swarm.spawned + 1 })
  ws.putUsage({
    ...unused,
    task,
    route: it.type,
    terms: it.profile,
    swarm: swarm.name,
    agent: it.agent ?? '',
    laneRank: laneRank[it.lane],
    order: swarm.spawned + 1,
    promisedCpuUs: it.share?.cpuTimeUs ?? null,
    promisedMemoryBytes: it.share?.memoryBytes ?? null,
  })
}

/** An agent has ended: what CPU time it took stays spent. */
export function leaveSwarm(ws: WorkingSet, usage: UsageRow): void {
  const swarm = ws.swarmOf(usage)
  if (swarm !== undefined) ws.putSwarm({ ...swarm, spentUs: swarm.spentUs + usage.computeUs })
}

/** The rest of the budget that a swarm's agents share. */
export function restOf(
  ws: WorkingSet,
  { name, terms, spentUs }: SwarmRow,
): { readonly cpuTimeUs: number; readonly memoryBytes: number } {
  return sharedRest(ws.agentsOf(name).map(shareOf), terms.sharedBudget, spentUs)
}

/** An agent's part of a shared budget. */
export function shareOf(it: UsageRow) {
  const { memoryBytes, promisedCpuUs, promisedMemoryBytes } = it
  return { computeUs: it.computeUs, memoryBytes, promisedCpuUs, promisedMemoryBytes }
}

/** A task's usage before its first report. */
export const unused = {
  lease: null,
  swarm: null,
  agent: null,
  laneRank: 1,
  order: 0,
  promisedCpuUs: null,
  promisedMemoryBytes: null,
  computeUs: 0,
  memoryBytes: 0,
  pressure: 0,
  reports: 0,
  reportedAt: null,
  progress: null,
  errorRate: null,
  saturation: null,
  warned: false,
} as const

/** An agent as decisions see it. */
export function asAgent({ task, laneRank: rank, order, pressure }: UsageRow) {
  return { task, laneRank: rank, order, pressure }
}

/** A pressure for people. */
export function shown(pressure: number): string {
  return pressure.toFixed(3)
}
