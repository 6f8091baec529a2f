import { settleQuotas } from './quotas.ts'
import type { TaskRow } from './rows.ts'
import { workEnded } from './usage.ts'
import { clearWaits } from './waits.ts'
import type { WorkingSet } from './working-set.ts'

/**
 * A task has come to its final state, whichever way, and no longer holds a slot or a place in a queue: whatever else it had is given
 * back or settled. `how`: what its end says of its route. Source: `docs/semantics.md 1.1`.
 */
export function taskOver(ws: WorkingSet, task: TaskRow, how: 'success' | 'failure' | 'none'): void {
  settleQuotas(ws, task)
  ws.shares?.settle(task)
  workEnded(ws, task, how, true)
  clearWaits(ws, task)
}
