import { beginBudgets } from '../budget/answer.ts'
import { askingOf } from '../budget/debit.ts'
import type { LeaseRow } from '../lease/row.ts'
import { lacksCredits } from '../ledger/afford.ts'
import { mayStart } from '../quota/hold.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import type { Needs } from '../transition/needs.ts'
import type { WorkingSet } from '../transition/working-set.ts'
import { RESERVED } from '../wait/wait.ts'
import { ownWorker } from '../worker/registry.ts'
import type { WorkerRow } from '../worker/row.ts'
import { isPaused } from './pause.ts'
import type { ClaimRefusal } from './port.ts'
import { startQueued } from './start-queued.ts'
import { streamOf } from './stream.ts'

export function claimTaskNeeds(needs: Needs, { taskId }: Write<'claimTask'>): void {
  needs.named(taskId)
}

/** Gives a worker of this process one certain task, whatever stands before it in the queue. Source: `docs/semantics.md 4.12`. */
export function claimTask(
  ws: WorkingSet,
  { taskId, workerId }: Write<'claimTask'>,
  running: Iterable<LeaseRow>,
): OutcomeOf<'claimTask'> {
  const task = ws.taskNamed(taskId)
  const refused = (why: ClaimRefusal) => ({ as: 'refused', why }) as const
  if (task === undefined) return refused('unknown')
  if (task.state !== 'queued') return refused('not_queued')
  if (task.dueAt !== null) return refused('not_due')
  const stream = ws.stream(streamOf(task))
  const worker = ownWorker(ws, workerId)
  if (stream.type.startsWith(RESERVED)) return refused('reserved')
  if (worker === undefined || !hasRoom(ws, worker, running)) return refused('no_room')
  if (isPaused(ws, stream)) return refused('paused')
  if (!mayStart(ws, stream.quotaKeys, task)) return refused('no_quota')
  if (askingOf(ws, task) !== undefined) return refused('no_budget')
  if (lacksCredits(ws, stream, task)) return refused('no_credits')
  const { lease } = startQueued(ws, task, stream, { worker: worker.id, workerId }, (reserved, dispatch) =>
    ws.shares === undefined ? reserved.account : ws.shares.charge(reserved, stream, dispatch),
  )
  ws.shares?.replace(ws.stream(stream.id))
  beginBudgets(ws, [ws.taskNow(task)])
  return { as: 'claimed', leaseId: ws.ids.lease(lease.id), attempt: task.attempt }
}

function hasRoom(ws: WorkingSet, worker: WorkerRow, running: Iterable<LeaseRow>): boolean {
  if (worker.draining || worker.drainAsked) return false
  const live = new Set<number>()
  for (const lease of [...running, ...ws.leases.changed.values()])
    if (lease.worker === worker.id && ws.isHeld(lease)) live.add(lease.id)
  return live.size < worker.capacity
}
