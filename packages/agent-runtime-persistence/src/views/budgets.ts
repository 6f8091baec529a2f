import type { BudgetRecord, Reads } from '@ku0/agent-runtime-core'
import {
  type BudgetFound,
  budgetRecordOf,
  type BudgetRow,
  type Instant,
  type TaskRow,
} from '@ku0/agent-runtime-core/transition'
import type { StoredTables } from '../sqlite/stored-tables.ts'

/** Reads budgets as people see them. Source: `docs/semantics.md 11.5`. */
export function prepareBudgets({ load, ids }: StoredTables, now: () => Instant) {
  function nameOf(task: number): string {
    return load.task(task)?.explicitId ?? ids.task(task)
  }

  function found(row: BudgetRow): BudgetFound {
    const task = load.task(row.task)
    return { row, taskId: task?.explicitId ?? ids.task(row.task), finishedAt: task?.finishedAt ?? null }
  }

  function recordOf(row: BudgetRow): BudgetRecord {
    const above: BudgetFound[] = []
    for (let at = aboveOf(row); at !== undefined; at = aboveOf(at)) above.push(found(at))
    return budgetRecordOf([found(row), ...above], {
      askedBy: row.asked === null ? '' : nameOf(row.asked.by),
      parked: load.parked(row.task).length,
      at: now().at,
    })
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
