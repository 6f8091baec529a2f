import type { LeaseRow } from '../lease/row.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** The live lease under which a task that was just moved to `running` runs, from now on. Source: `docs/semantics.md 1.4, C1`. */
export function grantLease(
  ws: WorkingSet,
  { id: task, attempt, fence }: TaskRow,
  id: number,
  worker: number,
): LeaseRow {
  const { leaseAt } = ws.now
  const lease: LeaseRow = {
    id,
    task,
    worker,
    process: ws.workers.get(worker)?.process ?? ws.base.process,
    attempt,
    fence,
    state: 'running',
    acquiredAt: leaseAt,
    expiresAt: leaseAt + ws.config.leaseTtlMs,
    lastHeartbeatAt: leaseAt,
    endedAt: null,
    endReason: null,
    endSeq: null,
    yieldAskedAt: null,
    abortAcknowledgedAt: null,
    abortGraceExpiredAt: null,
    progress: null,
    progressAt: null,
  }
  ws.putLease(lease)
  ws.count('running')
  return lease
}
