import { expiryOrder, isExpired } from '../decide/expiry.ts'
import type { Write } from '../store.ts'
import { dequeue, enqueue } from './queue.ts'
import type { LeaseRow, TaskRow, WorkerRow } from './rows.ts'
import { expire, release } from './settle.ts'
import { wake } from './suspend.ts'
import type { WorkingSet } from './working-set.ts'

/** Ends the leases that have expired, in `(expiresAt, leaseId)` order. Source: Track AA; `docs/semantics.md 3.5, 4.2`. */
export function sweep(ws: WorkingSet, lapsed: readonly LeaseRow[]): void {
  for (const lease of lapsed.toSorted(expiryOrder)) {
    const row = ws.lease(lease.id)
    if (row?.state === 'running' && isExpired(row.expiresAt, ws.now.leaseAt)) expire(ws, row, 'expired')
  }
}

/** Ends at once the leases of processes that are proven gone. Source: `docs/semantics.md 4.10`. */
export function takeOver(ws: WorkingSet, orphans: readonly LeaseRow[]): void {
  for (const lease of orphans.toSorted(expiryOrder)) {
    const row = ws.lease(lease.id)
    if (row?.state === 'running') expire(ws, row, 'owner_dead')
  }
}

/**
 * Tasks whose time has come: delayed ones count in the depth from now on and, like a requeue, pass the limits; waiting ones go on.
 * Source: `docs/semantics.md 2.2, 12.3`.
 */
export function promote(ws: WorkingSet, due: readonly TaskRow[]): void {
  for (const { id } of due) {
    const task = ws.task(id)
    if (task === undefined || task.dueAt === null || task.dueAt > ws.now.at) continue
    if (task.state === 'waiting') wake(ws, task)
    if (task.state !== 'queued') continue
    dequeue(ws, task)
    const row = { ...task, dueAt: null, queuedAt: task.dueAt }
    ws.tasks.set(row.id, row)
    enqueue(ws, row)
  }
}

/**
 * A heartbeat of this process: its live leases last another TTL, its workers were seen now. A lease that has expired at
 * this instant is not renewed. Source: Track AA, Scheduling Rules; `docs/semantics.md 3.2, 4.1-4.3`.
 */
export function renew(ws: WorkingSet, leases: Iterable<LeaseRow>, workers: Iterable<WorkerRow>): void {
  const { leaseAt } = ws.now
  for (const { id } of leases) {
    const lease = ws.lease(id)
    if (lease?.state !== 'running' || isExpired(lease.expiresAt, leaseAt)) continue
    ws.putLease({ ...lease, expiresAt: leaseAt + ws.config.leaseTtlMs, lastHeartbeatAt: leaseAt })
  }
  for (const worker of workers)
    if (worker.registered) ws.workers.set(worker.id, { ...worker, lastSeenAt: leaseAt })
}

/** Workers of this process enter the registry, or state a new capacity. Source: Track AA, AA1; `docs/semantics.md 3.2`. */
export function registerWorkers(ws: WorkingSet, it: Write<'registerWorkers'>): boolean {
  for (const { workerId, capacity, types } of it.workers) {
    const known = ownWorker(ws, workerId)
    const row: WorkerRow = {
      id: known?.id ?? ws.nextWorker++,
      workerId,
      process: ws.base.process,
      capacity: Math.min(capacity, ws.config.maxInFlightPerWorker),
      types,
      draining: false,
      lastSeenAt: ws.now.leaseAt,
      registered: true,
    }
    ws.workers.set(row.id, row)
  }
  return true
}

/** From this commit on the workers are given nothing. Source: `docs/semantics.md 3.2`. */
export function drainWorkers(ws: WorkingSet, it: Write<'drainWorkers'>): boolean {
  for (const workerId of it.workerIds) {
    const row = ownWorker(ws, workerId)
    if (row !== undefined) ws.workers.set(row.id, { ...row, draining: true })
  }
  return true
}

/** The workers leave the registry; what they still hold goes back to the queue. Source: `docs/semantics.md` C6, 5.6. */
export function removeWorkers(
  ws: WorkingSet,
  it: Write<'removeWorkers'>,
  running: Iterable<LeaseRow>,
): boolean {
  const leases = [...running]
  for (const workerId of it.workerIds) {
    const row = ownWorker(ws, workerId)
    if (row === undefined) continue
    for (const lease of leases)
      if (lease.worker === row.id && ws.lease(lease.id)?.state === 'running')
        release(ws, { leaseId: ws.ids.lease(lease.id), reason: 'drained' })
    ws.workers.set(row.id, { ...row, registered: false })
  }
  return true
}

function ownWorker(ws: WorkingSet, workerId: string): WorkerRow | undefined {
  for (const row of ws.workers.values()) if (row.workerId === workerId && row.registered) return row
  for (const row of ws.base.workers.values())
    if (
      row.workerId === workerId &&
      row.process === ws.base.process &&
      (ws.worker(row.id)?.registered ?? false)
    )
      return ws.worker(row.id)
  return undefined
}
