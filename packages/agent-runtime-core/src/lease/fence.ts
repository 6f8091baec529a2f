import { isExpired } from './expiry.ts'
import type { LeaseEndReason, LeaseNotice } from './lease.ts'
import type { LeaseState } from '../task/states.ts'
import { CALLER } from './caller.ts'
import type { LeaseRow } from './row.ts'
import type { TaskRow } from '../task/row.ts'
import { leaseOver } from '../profile/work-ended.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { isOwn } from '../worker/is-own.ts'

/** A live lease and its task: what every write of a holder must find first. */
export interface Held {
  readonly lease: LeaseRow
  readonly task: TaskRow
}

/**
 * The fence: the lease behind an id if it is live right now, else undefined, and the stale write is counted.
 * Source: `docs/semantics.md 4.2, 4.4`.
 */
export function held(ws: WorkingSet, leaseId: string): Held | undefined {
  const found = liveLease(ws, leaseId)
  if (found === undefined) ws.staleWrites++
  return found
}

/**
 * The same for a write of a worker's pass: the task of a caller's lease cannot go back to the queue, nor
 * wait. Source: `docs/semantics.md 10.1`.
 */
export function heldByWorker(ws: WorkingSet, leaseId: string): Held | undefined {
  const found = held(ws, leaseId)
  if (found?.lease.worker !== CALLER) return found
  ws.staleWrites++
  return undefined
}

/** The same without counting: for callers that have another use for a lease that has ended. */
export function liveLease(ws: WorkingSet, leaseId: string): Held | undefined {
  const lease = ws.leaseNamed(leaseId)
  if (lease === undefined || lease.state !== 'running' || isExpired(lease.expiresAt, ws.now.leaseAt))
    return undefined
  const task = ws.task(lease.task)
  if (task === undefined || task.state !== 'running' || task.lease !== lease.id) return undefined
  return { lease, task }
}

/** Ends a lease with what ended it. */
export function endLease(
  ws: WorkingSet,
  lease: LeaseRow,
  state: Exclude<LeaseState, 'running'>,
  endReason: LeaseEndReason,
  endSeq: number,
): void {
  ws.putLease({ ...lease, state, endReason, endSeq, endedAt: ws.now.leaseAt })
  leaseOver(ws, lease)
}

/** Tells the holder, if it lives in this process, that its lease ended from outside. Others find out on their next look. */
export function notice(
  ws: WorkingSet,
  lease: LeaseRow,
  verdict: LeaseNotice['verdict'],
  reason?: string,
): void {
  if (!isOwn(ws.base, lease.process)) return
  ws.notices.push({
    leaseId: ws.ids.lease(lease.id),
    taskId: ws.taskId(lease.task),
    verdict,
    ...(reason === undefined ? {} : { reason }),
  })
}
