import { canonical, circuitStates, dimensions, type Scores } from '@ku0/agent-runtime-core'
import type { WorkingSet } from '@ku0/agent-runtime-core/transition'
import { valuesOf } from '../sqlite/ledger.ts'
import type { Statement } from './batch.ts'
import { deleted, inserted, put, type Row } from './write.ts'

export function workOf({ circuits, usages, swarms }: WorkingSet): Statement[] {
  const circuitRows: Row[] = []
  const usageRows: Row[] = []
  const swarmRows: Row[] = []
  const gone = { circuit: [] as Row[], usage: [] as Row[], swarm: [] as Row[] }
  for (const [route, row] of circuits.changed)
    if (row === undefined) gone.circuit.push([route])
    else
      circuitRows.push([
        route,
        circuitStates.indexOf(row.state),
        row.scar,
        row.scarAt,
        row.openedAt,
        row.probeAt,
        Number(row.unhealthy),
        row.probe,
      ])
  for (const [number, row] of usages.changed) {
    if (row === undefined) {
      gone.usage.push([number])
      continue
    }
    const { task, route, swarm, agent, lease, ...data } = row
    usageRows.push([task, route, swarm, agent, lease, canonical(data)])
  }
  for (const [name, row] of swarms.changed)
    if (row === undefined) gone.swarm.push([name])
    else swarmRows.push([name, canonical(row.terms), row.spentUs, row.spawned, row.createdAt])
  return [
    ...deleted('circuit', ['route'], gone.circuit),
    ...put('circuit', ['route'], circuitRows),
    ...deleted('usage', ['task'], gone.usage),
    ...put('usage', ['task'], usageRows),
    ...deleted('swarm', ['name'], gone.swarm),
    ...put('swarm', ['name'], swarmRows),
  ]
}

/** What is more than `maxEvaluationsKept` of an agent goes, the oldest first. */
export function evaluationsOf(ws: WorkingSet): Statement[] {
  const rows = ws.evaluations.map((it) => [
    it.agent,
    it.seq,
    it.at,
    it.domain,
    scoresText(it.scores),
    JSON.stringify(it.missing),
    it.composite,
    it.reputation,
    it.distance,
    it.change,
    it.taskId,
    it.key,
  ])
  const standing: Row[] = []
  const excess: Row[] = []
  for (const it of ws.reputations.values()) {
    standing.push([
      it.agent,
      it.reputation,
      it.evaluations,
      scoresText(it.average),
      scoresText(it.latest),
      it.lastAt,
    ])
    const most = it.evaluations - ws.config.maxEvaluationsKept
    if (most > 0) excess.push([it.agent, most])
  }
  return [
    ...inserted('evaluation', rows),
    ...put('reputation', ['agent'], standing),
    ...deleted('evaluation', ['agent', 'seq'], excess, '<='),
  ]
}

/** As `prepareLedgerApply` does in a file. */
export function ledgerOf({ ledger, closedLedgers, folds }: WorkingSet): Statement[] {
  const closed = Array.from(closedLedgers, (name): Row => [name])
  const folded = Array.from(folds.values(), (it) => it.folded)
  const openings = Array.from(folds.values(), (it) => it.opening)
  return [
    ...deleted('ledger', ['client'], closed),
    ...deleted('folded', ['client'], closed),
    ...deleted(
      'ledger',
      ['client', 'seq'],
      folded.map(({ client, entries }) => [client, entries]),
      '<=',
    ),
    ...put(
      'folded',
      ['client'],
      folded.map(({ client, entries, hash }) => [client, entries, hash]),
    ),
    ...inserted('ledger', [...openings, ...ledger].map(valuesOf)),
  ]
}

function scoresText(scores: Scores): string {
  return JSON.stringify(dimensions.map((dimension) => scores[dimension]))
}
