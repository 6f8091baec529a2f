import type { Write } from '../store/port.ts'
import { chargedText, charging } from '../budget/account.ts'
import type { LeaseRow } from './row.ts'
import { spend } from '../budget/spend.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/**
 * The physical stop behind a lease that ended from outside: the handler has stopped, or has outlived its grace and is
 * reported as leaked. Source: `docs/semantics.md 5.4` and C3.
 */
export function abortSettled(ws: WorkingSet, it: Write<'abortSettled'>): boolean {
  const number = ws.ids.leaseNumber(it.leaseId)
  const lease = number === undefined ? undefined : ws.lease(number)
  if (lease === undefined || lease.state === 'running') return false
  if (it.how === 'acknowledged') {
    if (lease.abortAcknowledgedAt !== null) return false
    ws.putLease({ ...lease, abortAcknowledgedAt: ws.now.leaseAt })
    chargeLate(ws, lease, it)
    return true
  }
  if (lease.abortGraceExpiredAt !== null || lease.abortAcknowledgedAt !== null) return false
  ws.putLease({ ...lease, abortGraceExpiredAt: ws.now.leaseAt })
  const task = ws.task(lease.task)
  if (task !== undefined)
    ws.move(task, {}, 'task.leaked', `{"afterMs":${Math.round(it.afterMs)},"leaseId":"${it.leaseId}"}`)
  chargeLate(ws, lease, it)
  return true
}

/**
 * Its usage counts, although its lease has ended; its client's share was settled before. Source:
 * `docs/semantics.md 11.5`.
 */
function chargeLate(
  ws: WorkingSet,
  lease: LeaseRow,
  { leaseId, charged }: Pick<Write<'abortSettled'>, 'leaseId' | 'charged'>,
): void {
  const task = charged === undefined ? undefined : ws.task(lease.task)
  if (task !== undefined) {
    ws.move(task, charging(task, charged), 'task.charged', `{${chargedText(charged)}"leaseId":"${leaseId}"}`)
    spend(ws, task, charged)
  }
}
