import type { UsageSum } from './usage.ts'
import { debit } from './debit.ts'
import { exceed } from './exceed.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/**
 * Charges what a pass used outside of its steps to the budgets above its task, as the last part of the
 * operation. Source: `docs/semantics.md 11.5`.
 */
export function spend(ws: WorkingSet, { id }: { readonly id: number }, charged: UsageSum | undefined): void {
  if (charged === undefined) return
  exceed(ws, debit(ws, ws.taskNow({ id }), charged, 0), ws.taskNow({ id }))
}
