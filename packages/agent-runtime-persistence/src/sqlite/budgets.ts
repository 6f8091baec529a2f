import {
  addUse,
  budgetAmount,
  budgetAmounts,
  type BudgetField,
  type BudgetRecord,
  type BudgetRow,
  type BudgetUse,
  type Instant,
  mapSum,
  type Reads,
  type TaskRow,
} from '@ku0/agent-runtime-core'
import type { SqliteTables } from './tables.ts'

/** Reads budgets as people see them. Source: `docs/semantics.md 11.5`. */
export function prepareBudgets(tables: SqliteTables, now: () => Instant) {
  const { load, ids } = tables

  function nameOf(task: number): string {
    return load.task(task)?.explicitId ?? ids.task(task)
  }

  function recordOf(row: BudgetRow): BudgetRecord {
    const owner = load.task(row.task)
    const wallMs = row.startedAt === null ? 0 : Math.max(0, (owner?.finishedAt ?? now().at) - row.startedAt)
    const usedOf = (field: BudgetField) => (field === 'wallMs' ? wallMs : row.used[field])
    const { asked } = row
    return {
      taskId: nameOf(row.task),
      limits: budgetAmounts(row.limits),
      soft: budgetAmounts(row.soft),
      used: { ...inUnits(row.used), wallMs },
      left: budgetAmounts(mapSum(row.limits, (field, limit) => Math.max(0, limit - usedOf(field)))),
      children: inUnits(addUse(row.used, negated(row.own))),
      ...(row.above === null ? {} : { above: nameOf(row.above) }),
      ...(asked === null ? {} : { asks: { ...asked, by: nameOf(asked.by) } }),
      parked: load.parked(row.task).length,
    }
  }

  return {
    /** The one that a task draws on first. */
    of(task: TaskRow): BudgetRecord | undefined {
      const row = task.budget === null ? undefined : load.budget(task.budget)
      return row === undefined ? undefined : recordOf(row)
    },
    /** The nearest of those that a task draws on that asks. */
    askingAbove(task: TaskRow): BudgetRecord | undefined {
      for (let next = task.budget; next !== null;) {
        const row = load.budget(next)
        if (row === undefined) return undefined
        if (row.asked !== null) return recordOf(row)
        next = row.above
      }
      return undefined
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
