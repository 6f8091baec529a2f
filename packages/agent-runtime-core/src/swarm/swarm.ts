import { canonical } from '../codec/codec.ts'
import { decideShedding, swarmPressure } from './shedding.ts'
import { lanes } from '../task/lane.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import { asAgent, shown } from './agents.ts'
import { cancel } from '../task/cancel.ts'
import { breach, swarmRoute } from '../route/observe.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** Makes a swarm, or finds the one of this name and these terms. Source: `docs/semantics.md 10.6`. */
export function putSwarm(ws: WorkingSet, { name, terms }: Write<'putSwarm'>): OutcomeOf<'putSwarm'> {
  const known = ws.swarm(name)
  if (known !== undefined)
    return canonical(known.terms) === canonical(terms)
      ? { as: 'joined' }
      : { as: 'other_terms', terms: known.terms }
  ws.putSwarm({ name, terms, spentUs: 0, spawned: 0, createdAt: ws.now.at })
  return { as: 'created' }
}

/** Its agents are canceled, and it is forgotten. */
export function closeSwarm(ws: WorkingSet, { name }: Write<'closeSwarm'>): OutcomeOf<'closeSwarm'> {
  if (ws.swarm(name) === undefined) return { closed: false, canceled: 0 }
  const agents = ws.agentsOf(name)
  for (const { task } of agents) cancelAgent(ws, task, `the swarm '${name}' was closed`)
  ws.dropSwarm(name)
  ws.dropCircuit(swarmRoute(name))
  return { closed: true, canceled: agents.length }
}

/** Above its threshold a swarm sheds an agent, and its breaker opens. */
export function relieve(ws: WorkingSet, name: string): void {
  const swarm = ws.swarm(name)
  if (swarm === undefined) return
  const agents = ws.agentsOf(name).map(asAgent)
  const { threshold } = swarm.terms
  const { mean } = swarmPressure(agents)
  if (mean <= threshold) return
  breach(ws, swarmRoute(name))
  const shed = decideShedding(agents, threshold)
  if (shed === undefined) return
  const reason = `shed: the swarm '${name}' has a mean pressure of ${shown(mean)}, above its threshold ${threshold}; its youngest agent of the lane ${lanes[shed.laneRank]} was canceled`
  cancelAgent(ws, shed.task, reason)
}

function cancelAgent(ws: WorkingSet, task: number, reason: string): void {
  cancel(ws, { taskId: ws.taskId(task), reason })
}
