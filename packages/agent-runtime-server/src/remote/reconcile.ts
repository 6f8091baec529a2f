import type { LeaseNotice } from '@ku0/agent-runtime-core'
import type { Hello } from '@ku0/agent-runtime-persistence/lines'
import type { HostEnd, SessionEnd } from './ends.ts'
import { assertWriteAllowed } from './permission.ts'

/**
 * Brings a process that comes, or comes back, and the store to one state. Its workers are registered; leases that it never got go back to the queue at once, and it learns which have ended. A restart of the server is no other case than a cut.
 */
export async function reconcile(
  host: HostEnd,
  session: SessionEnd,
  { workers, leases }: Hello,
): Promise<readonly LeaseNotice[]> {
  const { lines, store } = host
  if (workers.length === 0) return []
  const register = {
    kind: 'registerWorkers',
    workers: workers.map(({ workerId, capacity, types, lanes, settings }) => ({
      workerId,
      capacity,
      types,
      ...(lanes === undefined ? {} : { lanes }),
      ...(settings === undefined ? {} : { settings }),
    })),
  } as const
  assertWriteAllowed(session, host, register)
  for (const { workerId } of workers) {
    session.work.addWorker(workerId)
    host.own(session, workerId)
  }
  await lines.register(register.workers)
  const draining = workers.flatMap(({ workerId, draining: drains }) => (drains ? [workerId] : []))
  if (draining.length > 0) await store.write({ kind: 'drainWorkers', workerIds: draining })

  const held = await lines.held(workers.map(({ workerId }) => workerId))
  const live = new Map(held.map((lease) => [lease.leaseId, lease]))
  const known = new Set(leases.map(({ leaseId }) => leaseId))
  const notices: LeaseNotice[] = []
  for (const { leaseId, taskId } of leases) {
    const lease = live.get(leaseId)
    if (lease !== undefined) {
      session.work.claimed(lease)
      if (lease.yields) notices.push({ leaseId, taskId, verdict: 'yield' })
      continue
    }
    notices.push(await endOf(host, session, leaseId, taskId))
  }
  // It was given these and never heard of them.
  await Promise.all(
    held
      .filter(({ leaseId }) => !known.has(leaseId))
      .map(({ leaseId }) => store.write({ kind: 'release', leaseId, reason: 'drained' })),
  )
  for (const { workerId, demand } of workers)
    if (demand !== undefined) lines.demand(workerId, demand.credit, demand.given)
  return notices
}

/** The end of a lease that ended while no event arrived. A late write under it is answered, if it was this process's. */
async function endOf(
  { store }: HostEnd,
  { work }: SessionEnd,
  leaseId: string,
  taskId: string,
): Promise<LeaseNotice> {
  const lease = (await store.read({ kind: 'leases', taskId })).find((it) => it.leaseId === leaseId)
  if (lease === undefined || !work.hasWorker(lease.workerId)) return { leaseId, taskId, verdict: 'lost' }
  work.claimed(lease)
  const verdict =
    lease.endReason === 'canceled' ? 'canceled' : lease.endReason === 'failed' ? 'failed' : 'lost'
  return { leaseId, taskId, verdict, ...(lease.endReason === undefined ? {} : { reason: lease.endReason }) }
}
