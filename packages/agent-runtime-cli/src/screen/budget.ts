import type { BudgetRecord } from '@ku0/agent-runtime'
import type { Line } from './printer.ts'
import { table } from './table.ts'
import { count, dated } from './words.ts'

/** A budget: its limits, what is used and what is left of each. */
export function budgetLines({
  taskId,
  limits,
  soft,
  used,
  left,
  asks,
  parked,
}: BudgetRecord): readonly Line[] {
  const fields = Object.keys(limits) as (keyof typeof limits)[]
  return [
    `budget of task ${taskId}${asks === undefined ? '' : `: asks for more ${asks.field} since ${dated(asks.at)}; ${count(parked)} parked`}`,
    ...table(
      ['', 'LIMIT', 'USED', 'LEFT', 'ASKS AT'],
      fields.map((field) => [
        field,
        ...[limits, used, left, soft].map((amounts) =>
          amounts[field] === undefined ? '' : count(amounts[field]),
        ),
      ]),
    ),
  ]
}
