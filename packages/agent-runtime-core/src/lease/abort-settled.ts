import type { Write } from '../store/port.ts'
import { chargedText, charging } from '../budget/account.ts'
import type { LeaseRow } from './row.ts'
import { spend } from '../budget/spend.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/**
 * The physical stop behind a lease that ended from outside: the handler has stopped, or has outlived its grace and is
 * reported as leaked, or was ended with its thread or process. Source: `docs/semantics.md 5.4` and C3.
 */
export function abortSettled(ws: WorkingSet, it: Write<'abortSettled'>): boolean {
  const lease = ws.leaseNamed(it.leaseId)
  if (lease === undefined || lease.state === 'running') return false
  if (lease.abortAcknowledgedAt !== null) return false
  if (it.how === 'leaked' && lease.abortGraceExpiredAt !== null) return false
  const { leaseAt } = ws.now
  ws.putLease({
    ...lease,
    ...(it.how === 'acknowledged' ? {} : { abortGraceExpiredAt: lease.abortGraceExpiredAt ?? leaseAt }),
    ...(it.how === 'leaked' ? {} : { abortAcknowledgedAt: leaseAt }),
  })
  if (it.how !== 'acknowledged') tell(ws, lease, it.how, it)
  chargeLate(ws, lease, it)
  return true
}

function tell(ws: WorkingSet, lease: LeaseRow, how: 'leaked' | 'killed', it: Write<'abortSettled'>): void {
  const task = ws.task(lease.task)
  if (task !== undefined)
    ws.move(task, {}, `task.${how}`, `{"afterMs":${Math.round(it.afterMs)},"leaseId":"${it.leaseId}"}`)
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
