import {
  addUse,
  budgetAmount,
  type BudgetField,
  budgetFields,
  type BudgetSum,
  type BudgetTerms,
  fieldOver,
  mapSum,
  noUse,
  usedOf,
} from './budget.ts'
import { isFinal } from '../task/states.ts'
import type { UsageSum } from './usage.ts'
import type { Objection } from '../submit/verdict.ts'
import { notice } from '../lease/fence.ts'
import type { BudgetRow } from './row.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** A hard line that was crossed, or is reached: whose budget, of what, and how much is used. */
export interface Crossed {
  readonly budget: BudgetRow
  readonly field: BudgetField
  readonly used: number
}

/** The budgets that a task draws on, its own first. */
export function budgetsOf(ws: WorkingSet, task: Pick<TaskRow, 'budget'>): readonly BudgetRow[] {
  const rows: BudgetRow[] = []
  for (let next = task.budget; next !== null; next = rows.at(-1)?.above ?? null) rows.push(ws.budget(next))
  return rows
}

/** The budget of a task that is new; `above`: the one that its parent draws on. */
export function openBudget(ws: WorkingSet, task: number, above: number | null, terms: BudgetTerms): void {
  const { limits, soft } = terms
  ws.budgets.put(task, {
    task,
    above,
    limits,
    soft,
    used: noUse,
    own: noUse,
    startedAt: null,
    dueAt: null,
    asked: null,
    asks: 0,
  })
}

/** Wall time runs from the first start of the task that the budget was given to. */
export function beginBudget(ws: WorkingSet, task: TaskRow): void {
  if (task.budget !== task.id) return
  const row = ws.budget(task.id)
  if (row.startedAt === null) ws.budgets.put(row.task, timed({ ...row, startedAt: ws.now.at }))
}

/** When the wall time of a budget that has begun reaches its next line. */
export function timed(row: BudgetRow): BudgetRow {
  const { startedAt, limits, soft, asked } = row
  const lines = [limits.wallMs, asked === null ? soft.wallMs : undefined].filter((line) => line !== undefined)
  const dueAt = startedAt === null || lines.length === 0 ? null : startedAt + Math.min(...lines)
  return { ...row, dueAt }
}

/** Whether a budget that the task draws on asks, and nobody has answered; the nearest one. */
export function askingOf(ws: WorkingSet, task: TaskRow): BudgetRow | undefined {
  return budgetsOf(ws, task).find(({ asked }) => asked !== null)
}

/**
 * Charges a task's usage to every budget above it. Budgets that pass a soft line ask. Returns the hard lines
 * that were crossed, the nearest first; the caller has to act on them. Source: `docs/semantics.md 11.5`.
 */
export function debit(
  ws: WorkingSet,
  task: TaskRow,
  charged: UsageSum | undefined,
  steps: number,
): readonly Crossed[] {
  if (task.budget === null) return none
  const spent = { ...noUse, ...charged, steps }
  const crossed: Crossed[] = []
  for (const row of budgetsOf(ws, task)) {
    const used = addUse(row.used, spent)
    const next = { ...row, used, own: row.task === task.id ? addUse(row.own, spent) : row.own }
    ws.budgets.put(row.task, next)
    const field = fieldOver(next.limits, used)
    if (field !== undefined) crossed.push({ budget: next, field, used: usedOf(used, field) })
    else askIfPassed(ws, next, task)
  }
  tellAsked(ws, task)
  return crossed
}

const none: readonly Crossed[] = []

/** Tells the holder to park at its next step boundary while a budget asks. */
function tellAsked(ws: WorkingSet, task: TaskRow): void {
  const lease = ws.leaseOf(task)
  if (lease !== undefined && askingOf(ws, task) !== undefined) notice(ws, lease, 'yield')
}

/** A soft line that is passed asks once; of a task that is over nobody asks any more. */
function askIfPassed(ws: WorkingSet, row: BudgetRow, by: TaskRow): void {
  const { soft, used } = row
  const field = budgetFields.find((it) => usedOf(used, it) >= (soft[it] ?? Number.POSITIVE_INFINITY))
  if (field !== undefined) ask(ws, row, field, usedOf(used, field), by)
}

/** A budget asks: an event of its owner records it, and the tasks under it park. */
export function ask(ws: WorkingSet, row: BudgetRow, field: BudgetField, used: number, by: TaskRow): void {
  const owner = ws.taskNow({ id: row.task })
  if (row.asked !== null || isFinal(owner.state)) return
  const { at } = ws.now
  ws.budgets.put(row.task, timed({ ...row, asked: { field, at, by: by.id }, asks: row.asks + 1 }))
  ws.move(
    owner,
    {},
    'budget.asked',
    `{"by":${JSON.stringify(ws.taskId(by.id))},"field":"${field}","line":${row.soft[field] ?? 0},"used":${used}}`,
  )
}

/** How much of a field is used by now, including wall time. */
export function usedNow(ws: WorkingSet, { startedAt, used }: BudgetRow, field: BudgetField): number {
  return field === 'wallMs' ? ws.now.at - (startedAt ?? ws.now.at) : used[field]
}

/** The rest of a field, including wall time. */
function leftOf(ws: WorkingSet, row: BudgetRow, field: BudgetField): number {
  const limit = row.limits[field]
  if (limit === undefined) return Number.POSITIVE_INFINITY
  // The time of a task that is over passes no more.
  if (field === 'wallMs' && isFinal(ws.taskNow({ id: row.task }).state)) return Number.POSITIVE_INFINITY
  return Math.max(0, limit - usedNow(ws, row, field))
}

/** The nearest budget that a task draws on of which nothing is left. */
export function spentOf(ws: WorkingSet, task: Pick<TaskRow, 'budget'>): Crossed | undefined {
  for (const budget of budgetsOf(ws, task)) {
    const field = budgetFields.find((it) => leftOf(ws, budget, it) === 0)
    if (field !== undefined) return { budget, field, used: usedNow(ws, budget, field) }
  }
  return undefined
}

/** Why nothing more can be begun below a task: a budget above it has nothing left. */
export function exhausted(ws: WorkingSet, task: Pick<TaskRow, 'budget'>): Objection | undefined {
  const spent = spentOf(ws, task)
  if (spent === undefined) return undefined
  const { budget, field } = spent
  const taskId = ws.taskId(budget.task)
  const limit = budgetAmount(field, budget.limits[field] ?? 0)
  return {
    message: `the budget of task ${taskId} is used up: its limit of ${field} is ${limit}`,
    verdict: { by: 'budget', taskId, field, limit, used: budgetAmount(field, spent.used) },
  }
}

/** The first amount that is more than what is left above, and where. */
export function excessOf(
  ws: WorkingSet,
  above: readonly BudgetRow[],
  amounts: BudgetSum,
): { readonly field: BudgetField; readonly left: number; readonly taskId: string } | undefined {
  for (const row of above)
    for (const field of budgetFields) {
      const left = leftOf(ws, row, field)
      if ((amounts[field] ?? 0) > left) return { field, left, taskId: ws.taskId(row.task) }
    }
  return undefined
}

/** A task type's own budget, cut to what is left above. */
export function cutToLeft(ws: WorkingSet, above: readonly BudgetRow[], terms: BudgetTerms): BudgetTerms {
  const room = (field: BudgetField, amount: number) =>
    above.reduce((least, row) => Math.min(least, leftOf(ws, row, field)), amount)
  const limits = mapSum(terms.limits, room)
  return { limits, soft: mapSum(terms.soft, (field, amount) => Math.min(amount, limits[field] ?? amount)) }
}

/** Canonical JSON of amounts. */
export function sumText(sum: BudgetSum): string {
  const names = budgetFields.filter((field) => sum[field] !== undefined).toSorted()
  return `{${names.map((name) => `"${name}":${sum[name]}`).join(',')}}`
}
