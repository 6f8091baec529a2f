import { decideLimits, type Excess } from './limits.ts'
import { pressureOf, scalarPressure } from './pressure.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import { restOf, unused } from '../swarm/agents.ts'
import { breach, leaveScar, routeOf, swarmRoute } from '../route/observe.ts'
import { held, type Held, liveLease } from '../lease/fence.ts'
import { leftOf, limitsOf } from './left.ts'
import type { UsageRow } from './row.ts'
import { failHeld } from '../task/settle.ts'
import { relieve } from '../swarm/swarm.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/**
 * The usage of a lease, reported by its holder or by a measurement. Source: `docs/semantics.md 10.5-10.7`.
 */
export function report(ws: WorkingSet, it: Write<'report'>): OutcomeOf<'report'> {
  const live = held(ws, it.leaseId)
  if (live === undefined) return { fenced: 'stale' }
  const { lease, task } = live
  const elapsedMs = ws.now.leaseAt - lease.acquiredAt
  const usage = used(ws, live, it, elapsedMs)
  ws.putUsage(usage)
  if (it.progress !== undefined) ws.putLease({ ...lease, progress: it.progress, progressAt: ws.now.leaseAt })
  const rest = leftOf(ws, usage)
  const over = sharedExcess(ws, usage)
  const own = { cpuTimeUs: usage.computeUs, memoryBytes: usage.memoryBytes, durationMs: elapsedMs }
  const verdict = over === undefined ? decideLimits(own, limitsOf(usage)) : ({ as: 'hard', ...over } as const)
  if (verdict.as === 'hard') {
    const message = excessText(verdict, usage, over !== undefined)
    const error = `{"code":"budget_exceeded","message":${JSON.stringify(message)},"name":"RuntimeError"}`
    failHeld(ws, live, 'budget_exceeded', error)
    // The agents used it up together: it is not the fault of the agent that reported last, nor of its route.
    breach(ws, over === undefined || usage.swarm === null ? routeOf(ws, task) : swarmRoute(usage.swarm))
    return { fenced: 'ok', verdict: 'hard', pressure: usage.pressure, message, ...rest }
  }
  const warns = verdict.as === 'soft' && !usage.warned
  if (warns) {
    ws.putUsage({ ...usage, warned: true })
    const { amount, limit, used: actual } = verdict
    ws.move(
      ws.taskNow(task),
      {},
      'limit.warned',
      `{"amount":"${amount}","leaseId":"${it.leaseId}","limit":${limit},"used":${actual}}`,
    )
  }
  if (usage.swarm !== null) relieve(ws, usage.swarm)
  return {
    fenced: 'ok',
    verdict: verdict.as,
    pressure: usage.pressure,
    ...(warns ? { message: excessText(verdict, usage, false) } : {}),
    ...rest,
  }
}

/** Work behind a lease, live or ended, that went wrong. Source: `docs/semantics.md` C8, C9. */
export function scar(ws: WorkingSet, it: Write<'scar'>): number {
  // Work that was lost to a crash had nobody to report it. Nothing depends on this write, so it does not
  // count as a stale one.
  if (it.cause.as === 'silent' && liveLease(ws, it.leaseId) === undefined) return 0
  const lease = ws.leaseNamed(it.leaseId)
  const task = lease === undefined ? undefined : ws.task(lease.task)
  return task === undefined ? 0 : leaveScar(ws, routeOf(ws, task), it.cause)
}

/** The row after a report: CPU time is a sum and never falls. */
function used(ws: WorkingSet, { lease, task }: Held, it: Write<'report'>, elapsedMs: number): UsageRow {
  const before: UsageRow = ws.usage(task.id) ?? {
    ...unused,
    task: task.id,
    route: routeOf(ws, task),
    terms: it.terms,
  }
  const { sample } = it
  const computeUs = Math.max(before.computeUs, Math.round(sample.computeUs ?? 0))
  const memoryBytes = Math.round(sample.memoryBytes ?? before.memoryBytes)
  const actual = { latencyMs: elapsedMs, computeUs, memoryBytes }
  return {
    ...before,
    lease: lease.id,
    terms: it.terms,
    computeUs,
    memoryBytes,
    pressure: scalarPressure(pressureOf(actual, it.terms.config)),
    errorRate: sample.errorRate ?? before.errorRate,
    saturation: sample.saturation ?? before.saturation,
    progress: it.share ?? before.progress,
    ...(it.heartbeat ? { reports: before.reports + 1, reportedAt: ws.now.leaseAt } : {}),
  }
}

/**
 * The amount that all agents of a swarm together use too much of. An agent with a reservation answers only for that: the
 * reservation stays, whatever the others do.
 */
function sharedExcess(ws: WorkingSet, usage: UsageRow): Excess | undefined {
  const swarm = ws.swarmOf(usage)
  if (swarm === undefined) return undefined
  const rest = restOf(ws, swarm)
  const { totalCpuTimeUs = 0, totalMemoryBytes = 0 } = swarm.terms.sharedBudget
  if (rest.cpuTimeUs < 0 && usage.promisedCpuUs === null)
    return { amount: 'cpuTimeUs', used: totalCpuTimeUs - rest.cpuTimeUs, limit: totalCpuTimeUs }
  if (rest.memoryBytes < 0 && usage.promisedMemoryBytes === null)
    return { amount: 'memoryBytes', used: totalMemoryBytes - rest.memoryBytes, limit: totalMemoryBytes }
  return undefined
}

function excessText({ amount, used: actual, limit }: Excess, { swarm }: UsageRow, isShared: boolean): string {
  return isShared
    ? `the agents of swarm '${swarm}' together use or reserve ${actual} ${amount}, above the shared limit ${limit}`
    : `${amount} ${actual} is above the limit ${limit}`
}
