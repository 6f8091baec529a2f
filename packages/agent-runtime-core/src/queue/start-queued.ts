import type { AccountRow } from '../budget/row.ts'
import type { LeaseRow } from '../lease/row.ts'
import { startQuotas } from '../quota/hold.ts'
import { lanes } from '../task/lane.ts'
import type { TaskRow } from '../task/row.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { grantLease } from './grant.ts'
import type { StreamRow } from './row.ts'
import { dequeue, hold } from './stream.ts'

/** A queued task starts on a worker, under a lease. `chargeOf`: what the start adds to its client's share. */
export function startQueued(
  ws: WorkingSet,
  task: TaskRow,
  stream: StreamRow,
  { worker, workerId }: { readonly worker: number; readonly workerId: string },
  chargeOf: (task: TaskRow, dispatch: number) => AccountRow | null,
): { readonly task: TaskRow; readonly lease: LeaseRow } {
  const { at } = ws.now
  const id = ws.nextLease++
  const fence = Math.max(task.fence, ws.around.fenceFloor) + 1
  dequeue(ws, task)
  hold(ws, task, 'queued', 'running')
  const reserved = { ...task, ...startQuotas(ws, task, stream) }
  const account = chargeOf(reserved, id)
  const charge = account?.charge === reserved.account?.charge ? '' : `"charge":${account?.charge},`
  const held = account?.reserved === reserved.account?.reserved ? '' : `"reserved":${account?.reserved},`
  const row = ws.move(
    task,
    { state: 'running', lease: id, fence, startedAt: at, account },
    'task.started',
    `{"attempt":${task.attempt},${charge}"dispatch":${id},"fencingToken":${fence},"lane":"${lanes[stream.laneRank]}","leaseId":"${ws.ids.lease(id)}",${held}"type":${JSON.stringify(stream.type)},"waitMs":${Math.max(0, at - task.queuedAt)},"workerId":${JSON.stringify(workerId)}}`,
    acquired,
  )
  return { task: row, lease: grantLease(ws, row, id, worker) }
}

const acquired = ['lease.acquired'] as const
