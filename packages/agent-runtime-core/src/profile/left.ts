import type { ResourcesLeft } from './profile.ts'
import type { ResourceLimits } from './schema.ts'
import { restOf, shareOf } from '../swarm/agents.ts'
import type { UsageRow } from './row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/**
 * The CPU time and memory that the lease has left, counting the usage that all work with the same budget has
 * reported. Source: `docs/semantics.md 10.6`.
 */
export function leftOf(ws: WorkingSet, usage: UsageRow): ResourcesLeft {
  const { hard = {} } = limitsOf(usage)
  const swarm = ws.swarmOf(usage)
  const own = shareOf(usage)
  // The unused part of its reservation is kept for it, and is not part of the rest.
  const rest = swarm === undefined ? noLimit : restOf(ws, swarm)
  const keptCpu = Math.max(0, (usage.promisedCpuUs ?? 0) - own.computeUs)
  const keptMemory = Math.max(usage.memoryBytes, usage.promisedMemoryBytes ?? 0)
  const cpu = Math.min((hard.cpuTimeUs ?? Infinity) - usage.computeUs, rest.cpuTimeUs + keptCpu)
  const memory = Math.min(hard.memoryBytes ?? Infinity, rest.memoryBytes + keptMemory)
  return { cpuTimeUs: amountOf(cpu), memoryBytes: amountOf(memory) }
}

const noLimit = { cpuTimeUs: Infinity, memoryBytes: Infinity }

function amountOf(amount: number): number | null {
  return Number.isFinite(amount) ? Math.max(0, amount) : null
}

/** Its own limits; an agent that was promised a share of the swarm's budget has no more than that. */
export function limitsOf({ terms, promisedCpuUs, promisedMemoryBytes }: UsageRow): ResourceLimits {
  if (promisedCpuUs === null && promisedMemoryBytes === null) return terms.limits
  const { soft = {}, hard = {} } = terms.limits
  const cpuTimeUs = Math.min(hard.cpuTimeUs ?? Infinity, promisedCpuUs ?? Infinity)
  const memoryBytes = Math.min(hard.memoryBytes ?? Infinity, promisedMemoryBytes ?? Infinity)
  return { soft, hard: { ...hard, cpuTimeUs, memoryBytes } }
}
