import { durationText } from '../check/duration-text.ts'
import {
  breached,
  type Circuit,
  circuitStateAt,
  decideCircuit,
  healthyCircuit,
  isForgotten,
  isProbe,
  probed,
  probing,
  scarNow,
  scarred,
} from './circuit.ts'
import { type ScarCause, scarOf } from './scar.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import type { Objection } from '../submit/verdict.ts'
import { streamOf } from '../queue/stream.ts'
import { RESERVED } from '../wait/wait.ts'
import type { CircuitRow } from './row.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** The name of the breaker on a whole swarm, among the routes. */
export function swarmRoute(swarm: string): string {
  return `${RESERVED}swarm/${swarm}`
}

/** Why a route takes nothing now; undefined when it does, or nothing is known of it. A delayed task would be a probe of another day. Source: `docs/semantics.md 10.3`. */
export function circuitRefusal(ws: WorkingSet, route: string, isDelayed = false): Objection | undefined {
  const row = circuitNow(ws, route)
  if (row === undefined) return undefined
  const { leaseAt } = ws.now
  const verdict = decideCircuit(row, leaseAt, ws.config)
  if (verdict.admitted && !(verdict.probe && isDelayed)) return undefined
  const prefix = swarmRoute('')
  const swarm = route.startsWith(prefix) ? route.slice(prefix.length) : undefined
  const what = swarm === undefined ? `'${route}'` : `the swarm '${swarm}'`
  const retryAfterMs = verdict.admitted ? 0 : verdict.retryAfterMs
  const state = circuitStateAt(row, leaseAt, ws.config)
  const standing = { state, scar: scarNow(row, leaseAt), retryAfterMs }
  return {
    verdict:
      swarm === undefined ? { by: 'circuit', route, ...standing } : { by: 'circuit', swarm, ...standing },
    message: verdict.admitted
      ? `the circuit of ${what} is half open: its next task is a probe, which must start at once; submit it without a delay`
      : verdict.probing
        ? `the circuit of ${what} is half open: a probe is testing whether it works again; submit later`
        : `the circuit of ${what} is open; submit again in ${durationText(retryAfterMs)}`,
  }
}

/** The task that was admitted is the probe of a circuit that was open. */
export function takeProbe(ws: WorkingSet, route: string, task: number): void {
  const row = circuitNow(ws, route)
  if (row?.state === 'open') ws.putCircuit({ ...probing(row, ws.now.leaseAt), probe: task })
}

/** Work of the route left a scar, if its cause is worth one. */
export function leaveScar(ws: WorkingSet, route: string, cause: ScarCause): number {
  const size = scarOf(cause, ws.config.scarFactor)
  if (size === 0) return size
  const row = scarred(circuitOf(ws, route), size, ws.now.leaseAt, ws.config)
  // If the circuit opens again, a running probe is ignored.
  ws.putCircuit(row.state === 'half_open' ? row : { ...row, probe: null })
  return size
}

/** A hard limit was broken on the route. */
export function breach(ws: WorkingSet, route: string): void {
  ws.putCircuit({ ...breached(circuitOf(ws, route), ws.now.leaseAt), probe: null })
}

/** A lease of the route outlived its time: it is unhealthy until something of it succeeds. */
export function markUnhealthy(ws: WorkingSet, route: string): void {
  ws.putCircuit({ ...circuitOf(ws, route), unhealthy: true })
}

/** How work of the route ended: the probe decides, and any success heals. */
export function routeEnded(
  ws: WorkingSet,
  route: string,
  task: number,
  how: 'success' | 'failure' | 'none',
): void {
  const row = ws.circuit(route)
  if (row === undefined) return
  if (row.state === 'half_open' && row.probe === task)
    keep(ws, { ...probed(row, how, ws.now.leaseAt), probe: null })
  else if (how === 'success' && row.state === 'closed') keep(ws, { ...row, unhealthy: false })
}

/** The type of a task, which is its route. */
export function routeOf(ws: WorkingSet, task: TaskRow): string {
  return ws.stream(streamOf(task)).type
}

/**
 * Un-leased work of a route: with a latency it reports how the work went, without one it asks whether the
 * work may run. Writes nothing unless something changes. Source: `docs/semantics.md 10.1, 10.3`, C11.
 */
export function observeRoute(ws: WorkingSet, it: Write<'observeRoute'>): OutcomeOf<'observeRoute'> {
  const { route, latencyMs, baselineMs } = it
  const before = circuitNow(ws, route)
  const verdict = decideCircuit(before ?? healthyCircuit, ws.now.leaseAt, ws.config)
  let scar = 0
  if (latencyMs === undefined) {
    if (before !== undefined && isProbe(verdict))
      ws.putCircuit({ ...probing(before, ws.now.leaseAt), probe: null })
  } else {
    scar = leaveScar(ws, route, { as: 'slow', actualMs: latencyMs, baselineMs })
    answerProbe(ws, before, scar === 0)
  }
  const row = ws.circuit(route) ?? healthyCircuit
  const after = decideCircuit(row, ws.now.leaseAt, ws.config)
  return {
    admitted: latencyMs === undefined ? verdict.admitted : after.admitted,
    probe: latencyMs === undefined && isProbe(verdict),
    circuit: row.state,
    healthy: !row.unhealthy,
    scar,
    totalScar: scarNow(row, ws.now.leaseAt),
    retryAfterMs: after.admitted ? 0 : after.retryAfterMs,
  }
}

/** Telemetry of un-leased work answers an un-leased probe, also one that nobody asked for. */
function answerProbe(ws: WorkingSet, before: CircuitRow | undefined, isGood: boolean): void {
  if (before === undefined) return
  const { leaseAt } = ws.now
  const isUnderWay = before.state === 'half_open' && before.probe === null
  if (isUnderWay || isProbe(decideCircuit(before, leaseAt, ws.config))) {
    const row = probed(circuitOf(ws, before.route), isGood ? 'success' : 'failure', leaseAt)
    keep(ws, { ...row, probe: null })
  } else if (isGood && before.state === 'closed') keep(ws, { ...before, unhealthy: false })
}

/**
 * The row of a route. A probe that has not started for `circuitOpenMs`, or whose result nobody has reported,
 * is dropped.
 */
function circuitNow(ws: WorkingSet, route: string): CircuitRow | undefined {
  const row = ws.circuit(route)
  if (row?.state !== 'half_open' || hasBegun(ws, row)) return row
  const isGivenUp = ws.now.leaseAt - (row.probeAt ?? 0) >= ws.config.circuitOpenMs
  return isGivenUp ? { ...probed(row, 'none', ws.now.leaseAt), probe: null } : row
}

/** A probe that waits in the queue, behind others or for room in a quota, finds nothing out. */
function hasBegun(ws: WorkingSet, { probe }: CircuitRow): boolean {
  return probe !== null && ws.task(probe)?.state !== 'queued'
}

function circuitOf(ws: WorkingSet, route: string): CircuitRow {
  const healthy: Circuit = healthyCircuit
  return ws.circuit(route) ?? { ...healthy, route, probe: null }
}

/** A row with nothing to remember is removed. */
function keep(ws: WorkingSet, row: CircuitRow): void {
  if (isForgotten(row, ws.now.leaseAt)) ws.dropCircuit(row.route)
  else ws.putCircuit(row)
}
