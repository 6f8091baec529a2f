import { budgetFields, type BudgetSum, mapSum, usedOf } from './budget.ts'
import { isFinal } from '../task/states.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import type { UsageSum } from './usage.ts'
import { ask, askingOf, beginBudget, budgetsOf, excessOf, sumText, timed, usedNow } from './debit.ts'
import { chargedText } from './account.ts'
import { exceed, stop } from './exceed.ts'
import { endLease, type Held } from '../lease/fence.ts'
import { enqueue, hold } from '../queue/stream.ts'
import type { BudgetRow } from './row.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** Budgets whose wall time has reached a line: the soft one asks, the hard one ends the tree. Source: `docs/semantics.md 11.5`. */
export function promoteBudgets(ws: WorkingSet, due: readonly BudgetRow[]): void {
  for (const { task } of due) {
    const row = ws.budget(task)
    if (row.startedAt === null || row.dueAt === null) continue
    const owner = ws.taskNow({ id: task })
    const used = usedNow(ws, row, 'wallMs')
    const isOver = isFinal(owner.state)
    const isExceeded = used >= (row.limits.wallMs ?? Number.POSITIVE_INFINITY)
    if (isOver || isExceeded) ws.budgets.put(task, { ...row, dueAt: null })
    if (isOver) continue
    if (isExceeded) exceed(ws, [{ budget: row, field: 'wallMs', used }], owner)
    else ask(ws, row, 'wallMs', used, owner)
  }
}

/** Tasks that were claimed in this flush: wall time begins, and those whose budget asks are to be given back. */
export function beginBudgets(ws: WorkingSet, tasks: readonly TaskRow[]): ReadonlySet<number> {
  const asked = new Set<number>()
  for (const task of tasks) {
    if (task.budget === null) continue
    beginBudget(ws, task)
    if (askingOf(ws, task) !== undefined) asked.add(task.id)
  }
  return asked
}

/** A task that yields while a budget above it asks waits for the answer, without a slot; what it waits for besides is kept. */
export function parkForBudget(
  ws: WorkingSet,
  { task, lease }: Held,
  budget: BudgetRow,
  charged: UsageSum | undefined,
): void {
  const name = ws.taskId(budget.task)
  const row = ws.move(
    task,
    { state: 'waiting', lease: null, waitReason: 'budget', dueAt: null },
    'task.waiting',
    `{"budget":${JSON.stringify(name)},${chargedText(charged)}"leaseId":"${ws.ids.lease(lease.id)}","reason":"budget","waits":[]}`,
    ['lease.released'],
  )
  endLease(ws, lease, 'completed', 'waiting', row.seq)
  hold(ws, row, 'running', 'none')
  ws.count('running', -1)
  ws.count('waiting')
}

/** The answer to the nearest budget that asks. The first counts. Source: `docs/semantics.md 11.5`. */
export function answerBudget(ws: WorkingSet, it: Write<'answerBudget'>): OutcomeOf<'answerBudget'> {
  const task = ws.taskNamed(it.taskId)
  if (task === undefined) return { as: 'unknown_task' }
  const budgets = budgetsOf(ws, task)
  if (budgets.length === 0) return { as: 'no_budget' }
  const row = budgets.find((budget) => budget.asked !== null && isOpen(ws, budget))
  if (row === undefined || row.asked === null)
    return { as: 'not_asked', asked: budgets.some(({ asks }) => asks > 0) }
  const { field, at } = row.asked
  const taskId = ws.taskId(row.task)
  if (it.answer.as === 'stop') {
    const used = field === 'wallMs' ? at - (row.startedAt ?? at) : usedOf(row.used, field)
    ws.budgets.put(row.task, timed({ ...row, asked: null, dueAt: null }))
    stop(ws, row, { field, used }, parkedFor(ws, row.task))
    return { as: 'answered', taskId, resumed: 0 }
  }
  return goOn(ws, row, it.answer.raise, taskId)
}

/** A budget whose task is over has nobody to answer but what outlived that and is parked. */
function isOpen(ws: WorkingSet, { task }: BudgetRow): boolean {
  return !isFinal(ws.taskNow({ id: task }).state) || parkedFor(ws, task).length > 0
}

function goOn(ws: WorkingSet, row: BudgetRow, raise: BudgetSum, taskId: string): OutcomeOf<'answerBudget'> {
  const unlimited = budgetFields.find(
    (field) => raise[field] !== undefined && row.limits[field] === undefined,
  )
  if (unlimited !== undefined) return { as: 'unlimited', field: unlimited }
  const by = (field: keyof BudgetSum) => raise[field] ?? 0
  const limits = mapSum(row.limits, (field, amount) => amount + by(field))
  const above = row.above === null ? [] : budgetsOf(ws, { budget: row.above })
  const raisedLeft = mapSum(raise, (field) => (limits[field] ?? 0) - usedNow(ws, row, field))
  const excess = excessOf(ws, above, raisedLeft)
  if (excess !== undefined)
    return {
      as: 'over_budget',
      field: excess.field,
      left: excess.left,
      above: excess.taskId,
      limit: limits[excess.field] ?? 0,
      unused: raisedLeft[excess.field] ?? 0,
    }
  const owner = ws.taskNow({ id: row.task })
  // A line that was passed asks no more, unless it was raised beyond what is used.
  const soft: Partial<Record<keyof BudgetSum, number>> = {}
  for (const field of budgetFields) {
    const line = row.soft[field]
    if (line !== undefined && line + by(field) > usedNow(ws, row, field)) soft[field] = line + by(field)
  }
  ws.budgets.put(row.task, timed({ ...row, limits, soft, asked: null }))
  if (!isFinal(owner.state)) ws.move(owner, {}, 'budget.continued', `{"raised":${sumText(raise)}}`)
  return { as: 'answered', taskId, resumed: resumeParked(ws, row.task) }
}

/** Tasks whose budgets ask nothing any more go back to the queue, past its limits, with the same attempt. */
function resumeParked(ws: WorkingSet, budget: number): number {
  let resumed = 0
  for (const { id } of parkedFor(ws, budget)) {
    const task = ws.taskNow({ id })
    if (askingOf(ws, task) !== undefined) continue
    const row = ws.move(
      task,
      { state: 'queued', waitReason: null, dueAt: null, queuedAt: ws.now.at },
      'task.resumed',
      '{"reason":"budget"}',
    )
    ws.count('waiting', -1)
    hold(ws, row, 'none', 'queued')
    enqueue(ws, ws.taskNow(row))
    resumed += 1
  }
  return resumed
}

/** The tasks that are parked for a budget or one below it, those of this flush included. */
function parkedFor(ws: WorkingSet, budget: number): readonly TaskRow[] {
  const ids = [...new Set([...(ws.base.parked.get(budget) ?? []), ...ws.tasks.changed.keys()])].toSorted(
    (a, b) => a - b,
  )
  return ids
    .map((id) => ws.taskNow({ id }))
    .filter((it) => it.waitReason === 'budget' && budgetsOf(ws, it).some(({ task }) => task === budget))
}
