import {
  addUse,
  budgetAmount,
  budgetAmounts,
  type BudgetField,
  budgetFields,
  type BudgetRecord,
  type BudgetSum,
  type BudgetUse,
  type Reads,
} from '@ku0/agent-runtime-core'
import { type BudgetRow, type Instant, type TaskRow } from '@ku0/agent-runtime-core/transition'
import type { SqliteTables } from './tables.ts'

/** Reads budgets as people see them. Source: `docs/semantics.md 11.5`. */
export function prepareBudgets(tables: SqliteTables, now: () => Instant) {
  const { load, ids } = tables

  function nameOf(task: number): string {
    return load.task(task)?.explicitId ?? ids.task(task)
  }

  function recordOf(row: BudgetRow): BudgetRecord {
    const { asked } = row
    return {
      taskId: nameOf(row.task),
      limits: budgetAmounts(row.limits),
      soft: budgetAmounts(row.soft),
      used: { ...inUnits(row.used), wallMs: wallMsOf(row) },
      left: budgetAmounts(leftOf(row)),
      children: inUnits(addUse(row.used, negated(row.own))),
      ...(row.above === null ? {} : { above: nameOf(row.above) }),
      ...(asked === null ? {} : { asks: { ...asked, by: nameOf(asked.by) } }),
      parked: load.parked(row.task).length,
    }
  }

  function wallMsOf({ task, startedAt }: BudgetRow): number {
    if (startedAt === null) return 0
    return Math.max(0, (load.task(task)?.finishedAt ?? now().at) - startedAt)
  }

  /** What can be used yet: the least of what this budget and those above it allow. */
  function leftOf(row: BudgetRow): BudgetSum {
    const left: Partial<Record<BudgetField, number>> = {}
    for (let at: BudgetRow | undefined = row; at !== undefined; at = aboveOf(at)) {
      const { limits, used } = at
      // Time above ends with its task.
      const isOver = at !== row && load.task(at.task)?.finishedAt !== null
      for (const field of budgetFields) {
        const limit = limits[field]
        if (limit === undefined || (field === 'wallMs' && isOver)) continue
        const rest = Math.max(0, limit - (field === 'wallMs' ? wallMsOf(at) : used[field]))
        left[field] = Math.min(left[field] ?? rest, rest)
      }
    }
    return left
  }

  function aboveOf({ above }: BudgetRow): BudgetRow | undefined {
    return above === null ? undefined : load.budget(above)
  }

  return {
    /** The one that a task draws on first. */
    of(task: TaskRow): BudgetRecord | undefined {
      const row = task.budget === null ? undefined : load.budget(task.budget)
      return row === undefined ? undefined : recordOf(row)
    },
    /** The nearest of those that a task draws on that asks. */
    askingAbove(task: TaskRow): BudgetRecord | undefined {
      let row = task.budget === null ? undefined : load.budget(task.budget)
      while (row !== undefined && row.asked === null) row = aboveOf(row)
      return row === undefined ? undefined : recordOf(row)
    },
    /** Those that ask. Where the task is over and nothing is parked there is nothing to answer. */
    asking({ limit, after = 0 }: Reads['budgets']['fields']): Reads['budgets']['answer'] {
      const rows = load.budgetsAsking(after, limit + 1)
      const page = rows.slice(0, limit)
      const cursor = rows.length > limit ? page.at(-1)?.task : undefined
      const open = page.filter(({ task }) => {
        return (load.task(task)?.finishedAt ?? null) === null || load.parked(task).length > 0
      })
      return { budgets: open.map(recordOf), ...(cursor === undefined ? {} : { cursor }) }
    },
  }
}

function inUnits({ tokens, money, cost, steps }: BudgetUse): BudgetUse {
  return { tokens, money: budgetAmount('money', money), cost: budgetAmount('cost', cost), steps }
}

function negated({ tokens, money, cost, steps }: BudgetUse): BudgetUse {
  return { tokens: -tokens, money: -money, cost: -cost, steps: -steps }
}
