import type { ExecutionConfig } from '../config/schema.ts'
import { decideLimits } from '../profile/limits.ts'
import { resistanceOf } from '../profile/pressure.ts'
import type { UsageRow } from '../profile/row.ts'
import { swarmPressure } from '../swarm/shedding.ts'
import { circuitStateAt, decideCircuit, healthyCircuit, scarNow } from './circuit.ts'
import { swarmRoute } from './observe.ts'
import type { RouteRecord } from './port.ts'
import type { CircuitRow } from './row.ts'

/**
 * How routes stand, by name: those with a circuit and those with live leases under a profile, swarms aside. `acquiredAt`: when each live
 * lease was granted, by the lease clock, as `leaseAt` is. Source: `docs/semantics.md 10.3`.
 */
export function routeRecords(
  circuits: readonly CircuitRow[],
  usages: readonly UsageRow[],
  acquiredAt: ReadonlyMap<number, number>,
  leaseAt: number,
  config: ExecutionConfig,
): RouteRecord[] {
  const byRoute = new Map(circuits.map((row) => [row.route, row]))
  const names = new Set([...byRoute.keys(), ...usages.map(({ route }) => route)])
  return [...names]
    .filter((route) => !route.startsWith(swarmRoute('')))
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((route) => {
      const live = usages.filter((it) => it.route === route && it.lease !== null)
      const circuit = byRoute.get(route) ?? healthyCircuit
      const verdict = decideCircuit(circuit, leaseAt, config)
      const { mean, max } = swarmPressure(live)
      const scar = scarNow(circuit, leaseAt)
      const overSoft = live.some((usage) => isOverSoft(usage, acquiredAt, leaseAt))
      return {
        route,
        circuit: circuitStateAt(circuit, leaseAt, config),
        healthy: !circuit.unhealthy,
        scar,
        retryAfterMs: verdict.admitted ? 0 : verdict.retryAfterMs,
        leases: live.length,
        pressure: mean,
        maxPressure: max,
        resistance: resistanceOf({ pressure: mean, scar, overSoft }),
      }
    })
}

function isOverSoft(
  { terms, lease, computeUs, memoryBytes }: UsageRow,
  acquiredAt: ReadonlyMap<number, number>,
  leaseAt: number,
): boolean {
  const since = lease === null ? undefined : acquiredAt.get(lease)
  const durationMs = leaseAt - (since ?? leaseAt)
  return decideLimits({ cpuTimeUs: computeUs, memoryBytes, durationMs }, terms.limits).as !== 'within'
}
