import { parseJson } from '../codec/parse-json.ts'
import { budgetAmount, type BudgetField } from './budget.ts'
import { canonical } from '../codec/codec.ts'
import type { EventData } from '../event/event.ts'
import { isFinal } from '../task/states.ts'
import { sizeOf } from '../codec/text-size.ts'
import { RESERVED } from '../wait/wait.ts'
import type { Crossed } from './debit.ts'
import { failAnywhere } from '../task/fail-anywhere.ts'
import type { BudgetRow } from './row.ts'
import type { MemoRow } from '../history/row.ts'
import type { TaskRow } from '../task/row.ts'
import { blobReference, type WorkingSet } from '../transition/working-set.ts'

/**
 * Hard lines were crossed: the tasks whose budgets they are fail, with all below them, the uppermost first. Where all of those are
 * over, and only tasks that outlived them still use their budgets, the one that crossed the lines fails. Source: `docs/semantics.md 11.5`.
 */
export function exceed(ws: WorkingSet, crossed: readonly Crossed[], by: TaskRow): void {
  const [nearest] = crossed
  if (nearest === undefined) return
  const isOver = ({ id }: { readonly id: number }) => isFinal(ws.taskNow({ id }).state)
  if (crossed.every(({ budget }) => isOver({ id: budget.task }))) {
    const task = ws.taskNow(by)
    if (!isFinal(task.state)) end(ws, task, exceededText(ws, task, nearest))
    return
  }
  for (const line of crossed.toReversed()) {
    const owner = ws.taskNow({ id: line.budget.task })
    if (!isFinal(owner.state)) end(ws, owner, exceededText(ws, owner, line))
  }
}

/**
 * Somebody answered a budget that asked: enough. Its task fails with the tasks that end with it. A parked task that outlives it fails by itself:
 * nothing asks any more, so that nobody could send it on.
 */
export function stop(
  ws: WorkingSet,
  budget: BudgetRow,
  { field, used }: { readonly field: BudgetField; readonly used: number },
  parked: readonly TaskRow[],
): void {
  const owner = ws.taskNow({ id: budget.task })
  for (const { id } of [owner, ...parked]) {
    const task = ws.taskNow({ id })
    if (!isFinal(task.state))
      end(ws, task, exceededText(ws, task, { budget, field, used }, { stopped: true }))
  }
}

/** That it used up too much speaks against its route only where it was what it ran that did. */
function end(ws: WorkingSet, task: TaskRow, error: string): void {
  const why = 'a budget above it was exceeded'
  failAnywhere(ws, task, { kind: 'budget_exceeded', error, why, route: 'failure' })
}

/**
 * The error of a task that was ended for a budget, with what it had done by then; `output`: what it was about to return, `cause`: the
 * error that it failed of because nothing was left.
 */
export function exceededText(
  ws: WorkingSet,
  task: TaskRow,
  { budget, field, used }: Crossed,
  how: How = {},
): string {
  const { stopped = false, output, cause } = how
  const limit = budgetAmount(field, budget.limits[field] ?? 0)
  const amount = budgetAmount(field, used)
  const taskId = ws.taskId(budget.task)
  const message = messageOf(how, field, {
    whose: `the budget of task ${taskId}`,
    amounts: `${amount} of ${limit} ${field}`,
  })
  const { partial, omitted } = partialOf(ws, task, output)
  const details = {
    budget: taskId,
    field,
    limit,
    used: amount,
    stopped,
    partial,
    ...(omitted === 0 ? {} : { omitted }),
    ...(output === undefined ? {} : { output: parseJson(output) }),
  }
  return canonical({
    code: 'budget_exceeded',
    details,
    message,
    name: 'RuntimeError',
    retryable: false,
    ...(cause === undefined ? {} : { cause: parseJson(cause) }),
  })
}

interface How {
  readonly stopped?: boolean
  readonly output?: string
  readonly cause?: string
}

function messageOf(
  { stopped = false, cause }: How,
  field: BudgetField,
  { whose, amounts }: { readonly whose: string; readonly amounts: string },
): string {
  if (stopped) return `${whose} was stopped at its soft line (${amounts})`
  if (cause !== undefined) return `${whose} is used up: ${amounts}`
  // All of a limit may be used, but time that is over is over.
  return field === 'wallMs' ? `${whose} is out of time: ${amounts}` : `${whose} is exceeded: ${amounts}`
}

/**
 * The results of a task's steps and children, in their order, as far as they fit into `maxPayloadBytes`; those that do not are
 * counted.
 */
function partialOf(
  ws: WorkingSet,
  task: TaskRow,
  output: string | undefined,
): { readonly partial: readonly Partial[]; readonly omitted: number } {
  const partial: Partial[] = []
  let omitted = 0
  let room = ws.config.maxPayloadBytes - (output === undefined ? 0 : sizeOf(output))
  for (const memo of memosOf(ws, task)) {
    const found = resultIn(ws, memo)
    if (found === undefined) continue
    const size = sizeOf(found.text) + sizeOf(found.key)
    if (size > room) omitted += 1
    else {
      room -= size
      partial.push({ key: found.key, result: parseJson(found.text) })
    }
  }
  return { partial, omitted }
}

interface Partial {
  readonly key: string
  readonly result: unknown
}

/** The memos that were loaded, and those of this flush. */
function memosOf(ws: WorkingSet, { id }: TaskRow): readonly MemoRow[] {
  const history = ws.base.histories.get(id)
  const known = history === undefined || 'fault' in history ? [] : history.memos
  return [...known, ...ws.events.filter(({ task }) => task === id)]
}

function resultIn(ws: WorkingSet, { type, data, blob }: MemoRow): { key: string; text: string } | undefined {
  if (type !== 'step.completed' && type !== 'step.inherited' && type !== 'child.ended') return undefined
  const { key } = parseJson(data) as { readonly key: string }
  if (key.startsWith(RESERVED)) return undefined
  const whole = blob === null ? data : withBlob(ws, data, blob)
  if (type !== 'child.ended') {
    const { result } = parseJson(whole) as EventData['step.completed']
    return { key, text: canonical(result) }
  }
  const { value } = parseJson(whole) as EventData['child.ended']
  return value.state === 'completed' ? { key, text: canonical(value.output) } : undefined
}

function withBlob(ws: WorkingSet, data: string, blob: string): string {
  const text = ws.blobs.get(blob)
  if (text === undefined) return data
  return data.replace(blobReference(blob, text.length), () => text)
}
