import { isFinal } from '../states.ts'
import type { OutcomeOf } from '../store.ts'
import { dequeue, hold } from './queue.ts'
import { endLease, notice } from './fence.ts'
import { clearWaits } from './waits.ts'
import type { WorkingSet } from './working-set.ts'

/**
 * The logical state becomes `canceled` in this commit; the handler is told afterwards. Final and unknown tasks: `false`, no
 * event. Source: Track AA, Scheduling Rules; `docs/semantics.md 5.1-5.3` and C3.
 */
export function cancel(ws: WorkingSet, it: { taskId: string; reason?: string }): OutcomeOf<'cancel'> {
  const number = ws.taskNumber(it.taskId)
  const task = number === undefined ? undefined : ws.task(number)
  if (task === undefined) return { canceled: false }
  if (isFinal(task.state)) return { canceled: false, state: task.state }

  const lease = task.lease === null ? undefined : ws.lease(task.lease)
  const row = ws.move(
    task,
    { state: 'canceled', lease: null, finishedAt: ws.now.at, dueAt: null, waitReason: null },
    'task.canceled',
    `{"from":"${task.state}"` +
      (lease === undefined ? '' : `,"leaseId":"${ws.ids.lease(lease.id)}"`) +
      (it.reason === undefined ? '}' : `,"reason":${JSON.stringify(it.reason)}}`),
    lease === undefined ? undefined : ['lease.released'],
  )
  if (task.state === 'queued') {
    dequeue(ws, task)
    hold(ws, task, 'queued', 'none')
  } else if (task.state === 'running') {
    if (lease === undefined) throw new Error(`running task ${task.id} has no lease`)
    endLease(ws, lease, 'canceled', 'canceled', row.seq)
    hold(ws, task, 'running', 'none')
    notice(ws, lease, 'canceled', it.reason)
  }
  clearWaits(ws, row)
  ws.count('canceled')
  if (task.state === 'running' || task.state === 'waiting') ws.count(task.state, -1)
  return { canceled: true, state: 'canceled' }
}

/**
 * The physical stop behind a lease that ended from outside: the handler has stopped, or has outlived its grace and is
 * reported as leaked. Source: `docs/semantics.md 5.4` and C3.
 */
export function abortSettled(
  ws: WorkingSet,
  it: { leaseId: string; how: 'acknowledged' | 'leaked'; afterMs: number },
): boolean {
  const number = ws.ids.leaseNumber(it.leaseId)
  const lease = number === undefined ? undefined : ws.lease(number)
  if (lease === undefined || lease.state === 'running') return false
  if (it.how === 'acknowledged') {
    if (lease.abortAcknowledgedAt !== null) return false
    ws.putLease({ ...lease, abortAcknowledgedAt: ws.now.leaseAt })
    return true
  }
  if (lease.abortGraceExpiredAt !== null || lease.abortAcknowledgedAt !== null) return false
  ws.putLease({ ...lease, abortGraceExpiredAt: ws.now.leaseAt })
  const task = ws.task(lease.task)
  if (task !== undefined)
    ws.move(task, {}, 'task.leaked', `{"afterMs":${Math.round(it.afterMs)},"leaseId":"${it.leaseId}"}`)
  return true
}
