/** An agent of a swarm, as far as it presses. */
export interface SwarmAgent {
  /** Higher is less urgent. */
  readonly laneRank: number
  /** The order in which they were spawned. */
  readonly order: number
  /** Its scalar pressure, 0 to 1; 0 as long as it has reported nothing. */
  readonly pressure: number
}

/**
 * The combined pressure of a swarm's agents. Source: rfc-0010-workload-profiles, Swarm Pressure Model;
 * `docs/semantics.md 10.6`.
 */
export function swarmPressure(agents: readonly Pick<SwarmAgent, 'pressure'>[]): {
  readonly mean: number
  readonly max: number
} {
  if (agents.length === 0) return { mean: 0, max: 0 }
  const pressures = agents.map(({ pressure }) => pressure)
  return {
    mean: pressures.reduce((sum, pressure) => sum + pressure, 0) / pressures.length,
    max: Math.max(...pressures),
  }
}

export type SwarmVerdict = 'admitted' | 'swarm_full' | 'swarm_overloaded'

/** Whether a swarm takes one more agent. Source: `docs/semantics.md 10.6`. */
export function decideSpawn(
  agents: readonly SwarmAgent[],
  { maxAgents, threshold }: { readonly maxAgents: number; readonly threshold: number },
): SwarmVerdict {
  if (agents.length >= maxAgents) return 'swarm_full'
  return swarmPressure(agents).mean > threshold ? 'swarm_overloaded' : 'admitted'
}

/**
 * The agent that an overloaded swarm does without: of the lowest lane the youngest. One at a time, since the next report shows what is
 * left, and never the last.
 */
export function decideShedding<A extends SwarmAgent>(agents: readonly A[], threshold: number): A | undefined {
  if (agents.length < 2 || swarmPressure(agents).mean <= threshold) return undefined
  return agents.toSorted((a, b) => b.laneRank - a.laneRank || b.order - a.order)[0]
}

/** An agent's part of the shared budget. */
export interface AgentShare {
  /** CPU time so far. */
  readonly computeUs: number
  /** The memory in use now. */
  readonly memoryBytes: number
  /** The amounts that are reserved for it; null if it draws on the rest. */
  readonly promisedCpuUs: number | null
  readonly promisedMemoryBytes: number | null
}

/**
 * The rest of a swarm's budget: CPU time that was spent stays spent, also by agents that have ended; memory is given
 * back. Source: `docs/semantics.md 10.6`.
 */
export function sharedRest(
  agents: readonly AgentShare[],
  total: { readonly totalCpuTimeUs?: number | undefined; readonly totalMemoryBytes?: number | undefined },
  spentCpuUs: number,
): { readonly cpuTimeUs: number; readonly memoryBytes: number } {
  const cpu = agents.reduce((sum, it) => sum + Math.max(it.computeUs, it.promisedCpuUs ?? 0), spentCpuUs)
  const memory = agents.reduce((sum, it) => sum + Math.max(it.memoryBytes, it.promisedMemoryBytes ?? 0), 0)
  return {
    cpuTimeUs: (total.totalCpuTimeUs ?? Number.POSITIVE_INFINITY) - cpu,
    memoryBytes: (total.totalMemoryBytes ?? Number.POSITIVE_INFINITY) - memory,
  }
}
