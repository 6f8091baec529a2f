import { settleQuotas } from '../quota/hold.ts'
import { payWithoutShares } from '../ledger/pay.ts'
import type { TaskRow } from './row.ts'
import { workEnded } from '../profile/work-ended.ts'
import { clearWaits } from '../wait/signal.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/**
 * A task has reached its final state, whichever way, and no longer holds a slot or a place in a queue: whatever else it had is given
 * back or settled. `how`: the report of its end about its route. Source: `docs/semantics.md 1.1`.
 */
export function taskOver(ws: WorkingSet, task: TaskRow, how: 'success' | 'failure' | 'none'): void {
  settleQuotas(ws, task)
  if (ws.shares === undefined) payWithoutShares(ws, task)
  else ws.shares.settle(task)
  workEnded(ws, task, how, true)
  clearWaits(ws, task)
}
