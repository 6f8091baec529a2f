import type { ExecutionConfig } from '../config/schema.ts'
import type { UsageRow } from '../profile/row.ts'
import { circuitStateAt, healthyCircuit } from '../route/circuit.ts'
import type { CircuitRow } from '../route/row.ts'
import { lanes } from '../task/lane.ts'
import { shareOf } from './agents.ts'
import type { SwarmRecord } from './port.ts'
import type { SwarmRow } from './row.ts'
import { sharedRest, swarmPressure } from './shedding.ts'

/** How a swarm stands. `usages` are those of all its agents, and perhaps of others; `idOf` names a task. Source: `docs/semantics.md 10.6`. */
export function swarmRecordOf(
  row: SwarmRow,
  circuit: CircuitRow | undefined,
  usages: readonly UsageRow[],
  idOf: (task: number) => string,
  leaseAt: number,
  config: ExecutionConfig,
): SwarmRecord {
  const own = usages.filter(({ swarm }) => swarm === row.name).toSorted((a, b) => a.order - b.order)
  const rest = sharedRest(own.map(shareOf), row.terms.sharedBudget, row.spentUs)
  return {
    name: row.name,
    terms: row.terms,
    createdAt: row.createdAt,
    spawned: row.spawned,
    agents: own.map((it) => ({
      agent: it.agent ?? '',
      taskId: idOf(it.task),
      lane: lanes[it.laneRank] ?? 'normal',
      pressure: it.pressure,
      computeUs: it.computeUs,
      memoryBytes: it.memoryBytes,
    })),
    pressure: swarmPressure(own),
    rest: { cpuTimeUs: leftOf(rest.cpuTimeUs), memoryBytes: leftOf(rest.memoryBytes) },
    circuit: circuitStateAt(circuit ?? healthyCircuit, leaseAt, config),
  }
}

function leftOf(amount: number): number | null {
  return Number.isFinite(amount) ? Math.max(0, amount) : null
}
