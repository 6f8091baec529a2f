import { cancel } from '../task/cancel.ts'
import { requeue } from '../task/requeue.ts'
import type { TaskRow } from '../task/row.ts'
import { notice } from '../lease/fence.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { decideRestart, type RestartDecision } from './decide.ts'
import {
  forgetRestarts,
  type OpenChild,
  openChildren,
  restartTimes,
  type Supervisor,
  supervisorOf,
} from './standing.ts'
import { RESTART_NAME, supervisedIn } from './supervision.ts'

/** The consequence of the end of a task, as the supervisors above it decide: `again` by the one with this id. */
export type Verdict = { readonly as: 'leave' | 'escalate' } | { readonly as: 'again'; readonly by: string }

/**
 * A task is about to end. Its supervisor decides in this flush whether it starts again; one that has restarted too often has failed
 * itself, and the supervisor above it decides about the whole of it. The others that start again are stopped here; what becomes of the
 * task itself is up to the caller. Source: `docs/semantics.md 14.1, 14.2`.
 */
export function superviseEnd(ws: WorkingSet, task: TaskRow, how: 'completed' | 'failed'): Verdict {
  const supervisor = task.parent === null ? undefined : supervisorOf(ws, { id: task.parent })
  const ended = supervisor && ws.childrenOf(supervisor.task).get(task.id)
  const seat = ended && supervisedIn(ended.key)
  if (supervisor === undefined || seat === undefined || ws.isGivenUp(supervisor.task.id)) return leave

  const children = openChildren(ws, supervisor.task)
  const decision = decideRestart({
    ...supervisor.terms,
    children: children.map(({ id, restart }) => ({ id, restart, isOpen: true })),
    ended: seat.id,
    how,
    times: restartTimes(ws, supervisor.task),
    now: ws.now.at,
  })
  switch (decision.as) {
    case 'leave':
      return leave
    case 'restart': {
      record(ws, supervisor, seat.id, decision)
      const by = ws.taskId(supervisor.task.id)
      for (const child of children.toReversed()) if (decision.stop.includes(child.id)) stopOne(ws, child, by)
      return { as: 'again', by }
    }
    case 'escalate': {
      const above = superviseEnd(ws, supervisor.task, 'failed')
      if (above.as !== 'again') return { as: 'escalate' }
      const count = decision.times.length
      ws.move(
        ws.taskNow(supervisor.task),
        {},
        'supervisor.escalated',
        `{"child":${JSON.stringify(seat.id)},"count":${count},"to":${JSON.stringify(above.by)}}`,
      )
      forgetRestarts(ws, supervisor.task)
      for (const child of children.toReversed()) if (child.row.task !== task.id) stopOne(ws, child, above.by)
      takeBack(ws, supervisor.task, above.by)
      return above
    }
  }
}

/** The restart is an event, and is kept beside the signals for as long as it counts. */
function record(
  ws: WorkingSet,
  { task, terms }: Supervisor,
  id: string,
  { stop, times }: Extract<RestartDecision, { as: 'restart' }>,
): void {
  const row = ws.move(
    ws.taskNow(task),
    {},
    'supervisor.restarted',
    `{"child":${JSON.stringify(id)},"count":${times.length},"stopped":${JSON.stringify(stop)},"strategy":"${terms.strategy}"}`,
  )
  const { seq } = row
  ws.keepSignal(row, {
    task: row.id,
    seq,
    name: RESTART_NAME,
    at: ws.now.at,
    value: null,
    blob: null,
    outcome: 'received',
  })
  forgetRestarts(ws, row, times.length)
}

/** A child goes with another one's restart: a temporary one is gone, the others start again. */
function stopOne(ws: WorkingSet, child: OpenChild, by: string): void {
  const { task: id } = child.row
  if (child.restart === 'temporary')
    cancel(ws, { taskId: ws.taskId(id), reason: `supervisor ${by} stopped it` })
  else renew(ws, { id }, by)
}

/**
 * Starts a task again that did not end, and the tasks that it supervises. All that it holds in a process is gone; its memos, its waits and its place
 * in the queue stay, so that for a task that no process runs there is nothing to do.
 */
function renew(ws: WorkingSet, { id }: { readonly id: number }, by: string): void {
  if (supervisorOf(ws, { id }) !== undefined) {
    if (restartTimes(ws, { id }).length > 0) {
      ws.move(ws.taskNow({ id }), {}, 'supervisor.renewed', `{"by":${JSON.stringify(by)}}`)
      forgetRestarts(ws, { id })
    }
    for (const child of openChildren(ws, { id }).toReversed()) stopOne(ws, child, by)
  }
  takeBack(ws, { id }, by)
}

/** The holder of the task loses its lease, and learns it. */
function takeBack(ws: WorkingSet, { id }: { readonly id: number }, by: string): void {
  const task = ws.taskNow({ id })
  const lease = ws.leaseOf(task)
  if (lease === undefined) return
  const { attempt, crashes } = task
  requeue(ws, task, lease, { reason: 'restarted', attempt, crashes, dueAt: null, restartedBy: by })
  notice(ws, lease, 'lost', 'restarted')
}

const leave: Verdict = { as: 'leave' }
