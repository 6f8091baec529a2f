import {
  circuitStateAt,
  decideCircuit,
  decideLimits,
  healthyCircuit,
  lanes,
  resistanceOf,
  scarNow,
  sharedRest,
  swarmPressure,
  type ExecutionConfig,
  type IdCodec,
  type Reads,
  type RouteRecord,
  type SwarmRecord,
} from '@ku0/agent-runtime-core'
import {
  shareOf,
  swarmRoute,
  type CircuitRow,
  type Instant,
  type SwarmRow,
  type UsageRow,
} from '@ku0/agent-runtime-core/transition'
import type { Load } from './load.ts'

interface RoutesContext {
  readonly tables: { readonly load: Load; readonly ids: IdCodec }
  readonly config: ExecutionConfig
  readonly now: () => Instant
}

/** Answers how routes and swarms stand. Source: `docs/semantics.md 10.3, 10.6`. */
export function prepareRoutes({ tables, config, now }: RoutesContext) {
  const { load, ids } = tables

  return {
    routes: (): Reads['routes']['answer'] => {
      const circuits = new Map(load.work.circuits().map((row) => [row.route, row]))
      const usages = load.work.usages()
      const names = new Set([...circuits.keys(), ...usages.map(({ route }) => route)])
      return [...names]
        .filter((route) => !route.startsWith(swarmRoute('')))
        .toSorted((a, b) => (a < b ? -1 : 1))
        .map((route) =>
          routeRecord(
            route,
            circuits.get(route),
            usages.filter((it) => it.route === route && it.lease !== null),
          ),
        )
    },
    swarms: (name: string | undefined): Reads['swarms']['answer'] => {
      const circuits = new Map(load.work.circuits().map((row) => [row.route, row]))
      const usages = load.work.usages()
      return load.work
        .swarms()
        .filter((row) => name === undefined || row.name === name)
        .map((row) => swarmRecord(row, circuits.get(swarmRoute(row.name)), usages))
    },
  }

  function routeRecord(route: string, row: CircuitRow | undefined, usages: readonly UsageRow[]): RouteRecord {
    const { leaseAt } = now()
    const circuit = row ?? healthyCircuit
    const verdict = decideCircuit(circuit, leaseAt, config)
    const { mean, max } = swarmPressure(usages)
    const scar = scarNow(circuit, leaseAt)
    const overSoft = usages.some((usage) => isOverSoft(usage, leaseAt))
    return {
      route,
      circuit: circuitStateAt(circuit, leaseAt, config),
      healthy: !circuit.unhealthy,
      scar,
      retryAfterMs: verdict.admitted ? 0 : verdict.retryAfterMs,
      leases: usages.length,
      pressure: mean,
      maxPressure: max,
      resistance: resistanceOf({ pressure: mean, scar, overSoft }),
    }
  }

  function isOverSoft({ terms, lease, computeUs, memoryBytes }: UsageRow, leaseAt: number): boolean {
    const since = lease === null ? undefined : load.lease(lease)?.acquiredAt
    const durationMs = leaseAt - (since ?? leaseAt)
    return decideLimits({ cpuTimeUs: computeUs, memoryBytes, durationMs }, terms.limits).as !== 'within'
  }

  function swarmRecord(
    row: SwarmRow,
    circuit: CircuitRow | undefined,
    usages: readonly UsageRow[],
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
        taskId: load.task(it.task)?.explicitId ?? ids.task(it.task),
        lane: lanes[it.laneRank] ?? 'normal',
        pressure: it.pressure,
        computeUs: it.computeUs,
        memoryBytes: it.memoryBytes,
      })),
      pressure: swarmPressure(own),
      rest: { cpuTimeUs: leftOf(rest.cpuTimeUs), memoryBytes: leftOf(rest.memoryBytes) },
      circuit: circuitStateAt(circuit ?? healthyCircuit, now().leaseAt, config),
    }
  }
}

function leftOf(amount: number): number | null {
  return Number.isFinite(amount) ? Math.max(0, amount) : null
}
