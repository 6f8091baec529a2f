import {
  addUse,
  budgetAmount,
  budgetAmounts,
  type BudgetField,
  budgetFields,
  type BudgetSum,
  type BudgetUse,
} from './budget.ts'
import type { BudgetRecord } from './schema.ts'
import type { BudgetRow } from './row.ts'

/** A budget and the task that it was given to. */
export interface BudgetFound {
  readonly row: BudgetRow
  readonly taskId: string
  readonly finishedAt: number | null
}

/**
 * A budget as people see it. `chain`: it and those above it, the nearest first; `askedBy`: the task that has passed its soft line, where
 * it asks; `parked`: tasks that are parked for it or for one below. Source: `docs/semantics.md 11.5`.
 */
export function budgetRecordOf(
  [own, ...above]: readonly [BudgetFound, ...BudgetFound[]],
  { askedBy, parked, at }: { readonly askedBy: string; readonly parked: number; readonly at: number },
): BudgetRecord {
  const { row, taskId } = own
  const [next] = above
  return {
    taskId,
    limits: budgetAmounts(row.limits),
    soft: budgetAmounts(row.soft),
    used: { ...inUnits(row.used), wallMs: wallMsOf(own, at) },
    left: budgetAmounts(leftOf([own, ...above], at)),
    children: inUnits(addUse(row.used, negated(row.own))),
    ...(next === undefined ? {} : { above: next.taskId }),
    ...(row.asked === null ? {} : { asks: { ...row.asked, by: askedBy } }),
    parked,
  }
}

function wallMsOf({ row: { startedAt }, finishedAt }: BudgetFound, at: number): number {
  return startedAt === null ? 0 : Math.max(0, (finishedAt ?? at) - startedAt)
}

/** The amounts that can still be used: the least that this budget and those above it allow. */
function leftOf(chain: readonly BudgetFound[], at: number): BudgetSum {
  const left: Partial<Record<BudgetField, number>> = {}
  for (const [index, found] of chain.entries()) {
    const { limits, used } = found.row
    // Time above ends with its task.
    const isOver = index > 0 && found.finishedAt !== null
    for (const field of budgetFields) {
      const limit = limits[field]
      if (limit === undefined || (field === 'wallMs' && isOver)) continue
      const rest = Math.max(0, limit - (field === 'wallMs' ? wallMsOf(found, at) : used[field]))
      left[field] = Math.min(left[field] ?? rest, rest)
    }
  }
  return left
}

function inUnits({ tokens, money, cost, steps }: BudgetUse): BudgetUse {
  return { tokens, money: budgetAmount('money', money), cost: budgetAmount('cost', cost), steps }
}

function negated({ tokens, money, cost, steps }: BudgetUse): BudgetUse {
  return { tokens: -tokens, money: -money, cost: -cost, steps: -steps }
}
