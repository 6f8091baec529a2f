import type { Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'
import { addUse, type BudgetUse, fieldOver, noUse } from './budget.ts'

export function answerBudgetNeeds(needs: Needs, { taskId }: Write<'answerBudget'>): void {
  const task = needs.named(taskId)
  if (task !== undefined) needs.treesAsking(task)
}

/** Where what is used in this flush may cross a hard line, all that may end of it is needed. */
export function crossingNeeds(needs: Needs, operations: readonly Write[]): void {
  const { base } = needs
  if (base.budgets.size === 0) return
  const spending = new Map<number, { use: BudgetUse; readonly by: Set<number> }>()
  for (const it of operations) {
    const charged = 'charged' in it ? it.charged : undefined
    const steps = it.kind === 'recordStep' ? 1 : 0
    if (!('leaseId' in it) || (charged === undefined && steps === 0)) continue
    const lease = needs.leaseKnown(it.leaseId)
    const task = lease === undefined ? undefined : base.tasks.get(lease.task)
    if (task === undefined) continue
    for (let next = task.budget; next !== null; next = base.budgets.get(next)?.above ?? null) {
      const known = spending.get(next) ?? { use: noUse, by: new Set<number>() }
      known.use = addUse(known.use, { tokens: 0, money: 0, cost: 0, ...charged, steps })
      known.by.add(task.id)
      spending.set(next, known)
    }
  }
  for (const [budget, { use, by }] of spending) {
    const row = base.budgets.get(budget)
    if (row === undefined || fieldOver(row.limits, addUse(row.used, use)) === undefined) continue
    // Where its task is over, those that outlived it end by themselves.
    for (const task of [budget, ...by]) needs.tree(task)
  }
}
