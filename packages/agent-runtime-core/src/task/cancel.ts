import { isFinal } from './states.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import { tellParent } from '../child/spawn.ts'
import { dequeue, hold } from '../queue/stream.ts'
import { endLease, notice } from '../lease/fence.ts'
import { taskOver } from './task-over.ts'
import type { ChildRow } from '../child/row.ts'
import type { TaskRow } from './row.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/**
 * The logical state becomes `canceled` in this commit; the handler is aborted afterwards. For final and
 * unknown tasks: `false`, no event. Source: Track AA, Scheduling Rules; `docs/semantics.md 5.1-5.3` and C3.
 */
export function cancel(ws: WorkingSet, it: { taskId: string; reason?: string }): OutcomeOf<'cancel'> {
  const task = ws.taskNamed(it.taskId)
  if (task === undefined) return { canceled: false }
  if (isFinal(task.state)) return { canceled: false, state: task.state }
  cancelChildren(ws, task, `its parent was canceled${it.reason === undefined ? '' : `: ${it.reason}`}`)
  cancelOne(ws, ws.taskNow(task), it.reason)
  return { canceled: true, state: 'canceled' }
}

/** Each as {@link cancel} does. One that ended with another of them counts, too. Source: `docs/semantics.md 5.8`. */
export function cancelMany(
  ws: WorkingSet,
  { taskIds, states, reason }: Omit<Write<'cancelMany'>, 'kind'>,
): OutcomeOf<'cancelMany'> {
  const isMeant = ({ state }: TaskRow) => !isFinal(state) && (states?.includes(state) ?? true)
  const open = taskIds.filter((taskId) => {
    const task = ws.taskNamed(taskId)
    return task !== undefined && isMeant(task)
  })
  for (const taskId of open) cancel(ws, { taskId, ...(reason === undefined ? {} : { reason }) })
  return { canceled: new Set(open).size }
}

/**
 * A task that is over, or is about to be, has no open children: those that do not outlive it are canceled, with all below them, the
 * deepest first, so that none of them wakes the one above. Source: `docs/semantics.md 5.5`.
 */
export function cancelChildren(ws: WorkingSet, task: { readonly id: number }, reason: string): void {
  const open = [...ws.childrenOf(task).values()]
  for (const child of open) ws.putChild({ ...child, state: 'closed' })
  cancelFamilies(ws, open, reason)
}

/** The open children of a branch that was given up, of those with these keys: they would not outlive the task either. */
export function childrenToDrop(
  ws: WorkingSet,
  task: { readonly id: number },
  keys: readonly string[] = [],
): readonly ChildRow[] {
  const wanted = new Set(keys)
  if (wanted.size === 0) return []
  return [...ws.childrenOf(task).values()].filter(({ key, policy }) => policy === 'cancel' && wanted.has(key))
}

/** They are canceled and forgotten: when the branch is run again, it spawns its own. Source: `docs/semantics.md 5.5, 12.3`. */
export function dropChildren(
  ws: WorkingSet,
  children: readonly ChildRow[],
  reason = 'its branch was given up',
): void {
  for (const child of children) ws.putChild({ ...child, state: 'dropped' })
  cancelFamilies(
    ws,
    children.filter(({ task }) => !isFinal(ws.taskNow({ id: task }).state)),
    reason,
  )
}

function cancelFamilies(ws: WorkingSet, children: readonly ChildRow[], reason: string): void {
  const below: number[] = []
  const stack = children.filter(({ policy }) => policy === 'cancel')
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    below.push(next.task)
    for (const child of ws.childrenOf({ id: next.task }).values()) {
      ws.putChild({ ...child, state: 'closed' })
      if (child.policy === 'cancel') stack.push(child)
    }
  }
  for (const id of below.toReversed()) cancelOne(ws, ws.taskNow({ id }), reason)
}

/** A task that is not over, and has no open children any more. */
function cancelOne(ws: WorkingSet, task: TaskRow, reason: string | undefined): void {
  const lease = ws.leaseOf(task)
  const row = ws.move(
    task,
    { state: 'canceled', lease: null, finishedAt: ws.now.at, dueAt: null, waitReason: null },
    'task.canceled',
    `{"from":"${task.state}"` +
      (lease === undefined ? '' : `,"leaseId":"${ws.ids.lease(lease.id)}"`) +
      (reason === undefined ? '}' : `,"reason":${JSON.stringify(reason)}}`),
    lease === undefined ? undefined : ['lease.released'],
  )
  if (task.state === 'queued') {
    dequeue(ws, task)
    hold(ws, task, 'queued', 'none')
  } else if (task.state === 'running') {
    if (lease === undefined) throw new Error(`running task ${task.id} has no lease`)
    endLease(ws, lease, 'canceled', 'canceled', row.seq)
    hold(ws, task, 'running', 'none')
    notice(ws, lease, 'canceled', reason)
  }
  taskOver(ws, row, 'none')
  ws.count('canceled')
  if (task.state === 'running' || task.state === 'waiting') ws.count(task.state, -1)
  const why = reason === undefined ? '' : `"reason":${JSON.stringify(reason)},`
  tellParent(ws, row, { state: 'canceled', text: `{${why}"state":"canceled"}`, blob: null })
}
