import { canonical } from '../codec/codec.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import type { Fenced } from '../lease/lease.ts'
import { chargedText, charging } from '../budget/account.ts'
import { endLease, heldByWorker } from '../lease/fence.ts'
import { enqueue, hold } from '../queue/stream.ts'
import { chargeQuotas } from '../quota/hold.ts'
import { spend } from '../budget/spend.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** Parks a task whose code and history differ. Its waits and signals stay, and wake it no more. Source: `docs/semantics.md 6.4`. */
export function diverge(ws: WorkingSet, it: Write<'diverge'>): Fenced {
  const live = heldByWorker(ws, it.leaseId)
  if (live === undefined) return 'stale'
  const { lease, task } = live
  chargeQuotas(ws, task, it.charged)
  const row = ws.move(
    task,
    { state: 'waiting', lease: null, waitReason: 'divergence', dueAt: null, ...charging(task, it.charged) },
    'task.waiting',
    `{${chargedText(it.charged)}"divergence":${canonical(it.divergence)},"leaseId":"${it.leaseId}","reason":"divergence","waits":[]}`,
    ['lease.released', 'task.parked'],
  )
  endLease(ws, lease, 'completed', 'waiting', row.seq)
  hold(ws, row, 'running', 'none')
  ws.count('running', -1)
  ws.count('waiting')
  spend(ws, row, it.charged)
  return 'ok'
}

/**
 * Waits that ended meanwhile are answered when the next pass asks for them. Source: `docs/semantics.md 6.4`.
 */
export function resume(ws: WorkingSet, it: Write<'resume'>): OutcomeOf<'resume'> {
  const task = ws.taskNamed(it.taskId)
  if (task === undefined) return { resumed: false }
  if (task.waitReason !== 'divergence') return { resumed: false, state: task.state }
  const row = ws.move(
    task,
    { state: 'queued', waitReason: null, dueAt: null, queuedAt: ws.now.at },
    'task.resumed',
    '{"reason":"divergence"}',
  )
  ws.count('waiting', -1)
  hold(ws, row, 'none', 'queued')
  enqueue(ws, ws.taskNow(row))
  return { resumed: true, state: 'queued' }
}
