import { expiryOrder, isExpired } from './expiry.ts'
import type { LeaseRow } from './row.ts'
import type { WorkerRow } from '../worker/row.ts'
import { expire } from '../task/settle.ts'
import type { WorkingSet } from '../transition/working-set.ts'

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
    if (worker.registered) ws.workers.put(worker.id, { ...worker, lastSeenAt: leaseAt })
}
