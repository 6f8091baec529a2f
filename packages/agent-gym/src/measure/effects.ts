import type { LedgerEntry } from '../work/ledger.ts'
import type { Run, TaskFact } from './measurements.ts'

/**
 * Effects that happened once too often: the same step twice under one lease, or again after its memo had been stored. A step
 * that was under way when its lease ended may run again under the next one; that is what its idempotency key is for.
 */
export function duplicateEffects(run: Pick<Run, 'tasks' | 'ledger'>): readonly LedgerEntry[] {
  const tasks = tasksById(run)
  const seen = new Set<string>()
  return run.ledger.filter((entry) => {
    const { taskId, stepKey, fencingToken } = entry
    const name = `${taskId} ${stepKey} ${fencingToken}`
    const twice = seen.has(name)
    seen.add(name)
    const memo = memoTokens(tasks.get(taskId)).get(stepKey)
    return twice || (memo !== undefined && memo < fencingToken)
  })
}

/** Steps that a completed task must have taken and that no witness saw, as `n stepKey`; of a child as `parent key stepKey`. */
export function missingEffects(run: Run): readonly string[] {
  const seen = new Set(run.ledger.map(({ taskId, stepKey }) => `${taskId} ${stepKey}`))
  const stepKeysOf = plannedSteps(run)
  return run.tasks
    .filter(({ state }) => state === 'completed')
    .flatMap((task) =>
      stepKeysOf(task)
        .filter((key) => !seen.has(`${task.taskId} ${key}`))
        .map((key) => `${task.n ?? task.group} ${key}`),
    )
}

/** Effects that belong to no task or to no step of it. Of a child the store knows the steps. */
export function strayEffects(run: Run): readonly LedgerEntry[] {
  const tasks = tasksById(run)
  const stepKeysOf = plannedSteps(run)
  const known = new Map(run.tasks.map((task) => [task.taskId, new Set(stepKeysOf(task))]))
  return run.ledger.filter(({ taskId, stepKey }) => {
    const task = tasks.get(taskId)
    const isOfChild = task?.parent != null && memoTokens(task).has(stepKey)
    return known.get(taskId)?.has(stepKey) !== true && !isOfChild
  })
}

/** The steps that the plan has of a task, or of the children of its parent. */
function plannedSteps(run: Run): (task: TaskFact) => readonly string[] {
  const tasks = tasksById(run)
  const planned = new Map(run.workload.map((task) => [task.n, task]))
  return ({ n, parent }) =>
    n === null
      ? (planned.get(tasks.get(parent ?? '')?.n ?? 0)?.childStepKeys ?? [])
      : (planned.get(n)?.stepKeys ?? [])
}

/** Effects of one pass that came in another order than its steps are called. */
export function reorderedEffects(run: Run): readonly LedgerEntry[] {
  const tasks = tasksById(run)
  const planned = new Map(
    run.workload
      .filter(({ sequential }) => sequential)
      .map((task) => [task.n, task.childStepKeys ?? task.stepKeys]),
  )
  const last = new Map<string, number>()
  return run.ledger.filter(({ taskId, stepKey, fencingToken }) => {
    const task = tasks.get(taskId)
    const place = planned.get(task?.n ?? tasks.get(task?.parent ?? '')?.n ?? 0)?.indexOf(stepKey) ?? -1
    if (place === -1) return false
    const pass = `${taskId} ${fencingToken}`
    const before = last.get(pass) ?? -1
    last.set(pass, Math.max(before, place))
    return place < before
  })
}

/** Effects whose step carried another idempotency key before. */
export function changedIdempotencyKeys(run: Pick<Run, 'ledger'>): readonly LedgerEntry[] {
  const first = new Map<string, string>()
  return run.ledger.filter(({ taskId, stepKey, idempotencyKey }) => {
    const name = `${taskId} ${stepKey}`
    const known = first.get(name)
    if (known === undefined) first.set(name, idempotencyKey)
    return known !== undefined && known !== idempotencyKey
  })
}

/** Effects of a holder whose task had already taken effect under a later lease. */
export function lateEffects(run: Run): readonly LedgerEntry[] {
  const newest = new Map<string, number>()
  return run.ledger.filter(({ taskId, fencingToken }) => {
    const known = newest.get(taskId) ?? 0
    newest.set(taskId, Math.max(known, fencingToken))
    return fencingToken < known
  })
}

/** Under which fencing token each step's memo was stored. */
function memoTokens(task: TaskFact | undefined): ReadonlyMap<string, number> {
  if (task === undefined) return new Map()
  const known = memoCache.get(task)
  if (known !== undefined) return known
  const memos = new Map<string, number>()
  let token = 0
  for (const { type, data } of task.events) {
    if (type === 'task.started') token = Number(data['fencingToken'])
    else if (type === 'step.completed') memos.set(String(data['key']), token)
  }
  memoCache.set(task, memos)
  return memos
}
const memoCache = new WeakMap<TaskFact, ReadonlyMap<string, number>>()

function tasksById(run: Pick<Run, 'tasks'>): ReadonlyMap<string, TaskFact> {
  return new Map(run.tasks.map((task) => [task.taskId, task]))
}
