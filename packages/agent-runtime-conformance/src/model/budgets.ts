import { isFinal } from '@ku0/agent-runtime-core'
import { fail, putBack } from './moves.ts'
import type { ModelAmounts, ModelBudget, ModelSubmission, ModelTask } from './records.ts'

// The reference model's rules of budgets: of steps and of wall time. Source: `docs/semantics.md 11.5`.

/** Stands for the error of a task that a budget ended. */
export const BUDGET_ERROR = '{"code":"budget_exceeded"}'

/** The budgets that a task draws on, its own first. */
export function budgetsOf(task: ModelTask | undefined): readonly ModelBudget[] {
  const found: ModelBudget[] = []
  for (let at = task; at !== undefined; at = at.parent) if (at.budget !== undefined) found.push(at.budget)
  return found
}

export function giveBudget(task: ModelTask, { limits, soft }: NonNullable<ModelSubmission['budget']>): void {
  task.budget = {
    task,
    limits: { ...limits },
    soft: { ...soft },
    used: 0,
    startedAt: undefined,
    asked: undefined,
    asks: 0,
  }
}

export function isAsked(task: ModelTask): boolean {
  return budgetsOf(task).some(({ asked }) => asked !== undefined)
}

/** Whether nothing may be begun below a task. */
export function isExhausted(task: ModelTask | undefined, now: number): boolean {
  return budgetsOf(task).some((budget) => Math.min(...Object.values(leftOf(budget, now))) <= 0)
}

/** Whether amounts are more than what is left of a budget that the task draws on. */
export function exceedsLeft(budgets: readonly ModelBudget[], amounts: ModelAmounts, now: number): boolean {
  return budgets.some((budget) => {
    const left = leftOf(budget, now)
    return fields.some((field) => (amounts[field] ?? 0) > (left[field] ?? Infinity))
  })
}

/** A step of the task was recorded. */
export function spend(task: ModelTask, now: number): void {
  const crossed: ModelBudget[] = []
  for (const budget of budgetsOf(task)) {
    budget.used += 1
    if (budget.used > (budget.limits.steps ?? Infinity)) crossed.push(budget)
    else if (budget.used >= (budget.soft.steps ?? Infinity)) ask(budget, 'steps')
  }
  exceed(crossed, task, now)
}

/** The lines that wall time has reached, in their order. */
export function passTime(tasks: readonly ModelTask[], now: number): void {
  const due = tasks
    .flatMap(({ budget }) => (budget === undefined || lineOf(budget) > now ? [] : [budget]))
    .toSorted((a, b) => lineOf(a) - lineOf(b) || a.task.sequence - b.task.sequence)
  for (const budget of due) {
    if (isFinal(budget.task.state)) continue
    if (used(budget, 'wallMs', now) >= (budget.limits.wallMs ?? Infinity)) exceed([budget], budget.task, now)
    else ask(budget, 'wallMs')
  }
}

export function lineOf({ startedAt = Infinity, limits, soft, asked }: ModelBudget): number {
  const line = asked === undefined ? (soft.wallMs ?? Infinity) : Infinity
  return startedAt + Math.min(line, limits.wallMs ?? Infinity)
}

/** The answer to the nearest budget that asks. */
export function answer(
  task: ModelTask,
  how: 'continue' | 'stop',
  steps: number,
  { tasks, now }: { readonly tasks: readonly ModelTask[]; readonly now: number },
): { readonly as: string; readonly asked?: boolean; readonly resumed?: number } {
  const budgets = budgetsOf(task)
  if (budgets.length === 0) return { as: 'no_budget' }
  const parkedFor = (budget: ModelBudget) =>
    tasks.filter((it) => it.parked === 'budget' && budgetsOf(it).includes(budget))
  const budget = budgets.find(
    (one) => one.asked !== undefined && (!isFinal(one.task.state) || parkedFor(one).length > 0),
  )
  if (budget === undefined) return { as: 'not_asked', asked: budgets.some(({ asks }) => asks > 0) }
  const owner = budget.task
  const parked = parkedFor(budget)
  if (how === 'stop') {
    budget.asked = undefined
    for (const it of isFinal(owner.state) ? parked : [owner])
      if (!isFinal(it.state)) fail(it, BUDGET_ERROR, 'budget_exceeded', now)
    return { as: 'answered', resumed: 0 }
  }
  if (steps > 0) {
    if (budget.limits.steps === undefined) return { as: 'unlimited' }
    const raised = budget.limits.steps + steps
    if (exceedsLeft(budgetsOf(owner.parent), { steps: raised - budget.used }, now))
      return { as: 'over_budget' }
    budget.limits.steps = raised
    if (budget.soft.steps !== undefined) budget.soft.steps += steps
  }
  for (const field of fields)
    if ((budget.soft[field] ?? Infinity) <= used(budget, field, now)) delete budget.soft[field]
  budget.asked = undefined
  if (!isFinal(owner.state)) owner.events.push('budget.continued')
  const resumed = parked.filter((it) => !isAsked(it))
  for (const it of resumed) {
    it.parked = false
    putBack(it, now)
    it.events.push('task.resumed')
  }
  return { as: 'answered', resumed: resumed.length }
}

const fields = ['steps', 'wallMs'] as const

function used({ used: steps, startedAt }: ModelBudget, field: 'steps' | 'wallMs', now: number): number {
  return field === 'steps' ? steps : now - (startedAt ?? now)
}

/** The time of a task that is over passes no more. */
function leftOf(budget: ModelBudget, now: number): ModelAmounts {
  const { limits, task } = budget
  const left: ModelAmounts = {}
  if (limits.steps !== undefined) left.steps = limits.steps - budget.used
  if (limits.wallMs !== undefined && !isFinal(task.state))
    left.wallMs = limits.wallMs - used(budget, 'wallMs', now)
  return left
}

function ask(budget: ModelBudget, field: 'steps' | 'wallMs'): void {
  if (budget.asked !== undefined || isFinal(budget.task.state)) return
  budget.asked = field
  budget.asks += 1
  budget.task.events.push('budget.asked')
}

/** Their tasks end, the uppermost first; when all of those are over already, the one that crossed the lines does. */
function exceed(crossed: readonly ModelBudget[], by: ModelTask, now: number): void {
  const owners = crossed.map(({ task }) => task).filter(({ state }) => !isFinal(state))
  const ends = owners.length > 0 || crossed.length === 0 ? owners.toReversed() : [by]
  for (const task of ends) if (!isFinal(task.state)) fail(task, BUDGET_ERROR, 'budget_exceeded', now)
}
