import { circuitStates } from '@ku0/agent-runtime-core'
import type { CircuitRow, SwarmRow, UsageRow } from '@ku0/agent-runtime-core/transition'
import type { Queries } from '../views/queries.ts'
import { storedObject } from './stored.ts'

/** Reads circuits, usages and swarms: all there are, which is none in most stores. */
export function prepareWorkLoad(db: Queries) {
  const circuits = db
    .prepare<[], unknown[]>(
      'SELECT route, state, scar, scar_at, opened_at, probe_at, unhealthy, probe FROM circuit ORDER BY route',
    )
    .raw()
  const usages = db
    .prepare<[], unknown[]>('SELECT task, route, swarm, agent, lease, data FROM usage ORDER BY task')
    .raw()
  const swarms = db
    .prepare<[], unknown[]>('SELECT name, terms, spent_us, spawned, created_at FROM swarm ORDER BY name')
    .raw()
  return {
    circuits: () => circuits.all().map(circuitOf),
    usages: () => usages.all().map(usageOf),
    swarms: () => swarms.all().map(swarmOf),
  }
}

function circuitOf([route, state, scar, scarAt, openedAt, probeAt, unhealthy, probe]: unknown[]): CircuitRow {
  return {
    route,
    state: circuitStates[state as number],
    scar,
    scarAt,
    openedAt,
    probeAt,
    unhealthy: unhealthy === 1,
    probe,
  } as CircuitRow
}

function usageOf([task, route, swarm, agent, lease, data]: unknown[]): UsageRow {
  const used: object = storedObject(data as string, 'usage.data')
  return { task, route, swarm, agent, lease, ...used } as UsageRow
}

function swarmOf([name, terms, spentUs, spawned, createdAt]: unknown[]): SwarmRow {
  return {
    name,
    terms: storedObject(terms as string, 'swarm.terms'),
    spentUs,
    spawned,
    createdAt,
  } as SwarmRow
}
