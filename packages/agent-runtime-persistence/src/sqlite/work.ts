import { canonical, circuitStates } from '@ku0/agent-runtime-core'
import {
  type CircuitRow,
  type SwarmRow,
  type UsageRow,
  type WorkingSet,
} from '@ku0/agent-runtime-core/transition'
import type { Queries } from '../views/queries.ts'
import type { Statements } from './statements.ts'
import { storedObject } from './stored.ts'
import { putInto } from './put.ts'

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

/** Writes those that a flush changed. */
export function prepareWorkApply(db: Statements): (ws: WorkingSet) => void {
  const putCircuit = db.prepare(putInto('circuit', 'route'))
  const deleteCircuit = db.prepare('DELETE FROM circuit WHERE route = ?')
  const putUsage = db.prepare(putInto('usage', 'task'))
  const deleteUsage = db.prepare('DELETE FROM usage WHERE task = ?')
  const putSwarm = db.prepare(putInto('swarm', 'name'))
  const deleteSwarm = db.prepare('DELETE FROM swarm WHERE name = ?')

  return ({ circuits, usages, swarms }) => {
    for (const [route, row] of circuits.changed) {
      if (row === undefined) deleteCircuit.run(route)
      else
        putCircuit.run(
          route,
          circuitStates.indexOf(row.state),
          row.scar,
          row.scarAt,
          row.openedAt,
          row.probeAt,
          Number(row.unhealthy),
          row.probe,
        )
    }
    for (const [task, row] of usages.changed) {
      if (row === undefined) {
        deleteUsage.run(task)
        continue
      }
      const { task: _, route, swarm, agent, lease, ...data } = row
      putUsage.run(task, route, swarm, agent, lease, canonical(data))
    }
    for (const [name, row] of swarms.changed) {
      if (row === undefined) deleteSwarm.run(name)
      else putSwarm.run(name, canonical(row.terms), row.spentUs, row.spawned, row.createdAt)
    }
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
