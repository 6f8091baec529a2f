import type { EventType, RequeueReason } from '../event/event.ts'
import { canonical } from '../codec/codec.ts'
import { backOffText } from '../quota/back-off.ts'
import type { BackOff } from '../quota/quota.ts'
import type { Recovered } from '../recovery/decide.ts'
import type { UsageSum } from '../budget/usage.ts'
import { chargedText } from '../budget/account.ts'
import { endLease } from '../lease/fence.ts'
import { enqueue, hold } from '../queue/stream.ts'
import { fallBack } from '../recovery/fall-back.ts'
import type { LeaseRow } from '../lease/row.ts'
import type { TaskRow } from './row.ts'
import { dropWaits } from '../wait/signal.ts'
import { supervisorTerms } from '../supervision/supervision.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** How a running task goes back to the queue. */
export interface Requeue {
  readonly reason: RequeueReason
  readonly attempt: number
  readonly crashes: number
  readonly dueAt: number | null
  readonly error?: string
  readonly charged?: UsageSum | undefined
  readonly backOff?: BackOff | undefined
  readonly recovery?: Recovered | undefined
  readonly interrupted?: true | undefined
  /** The supervisor that starts it again. */
  readonly restartedBy?: string | undefined
}

/** The lease ends, and the task is in the queue again. Source: `docs/semantics.md 1.1`. */
export function requeue(ws: WorkingSet, task: TaskRow, lease: LeaseRow, it: Requeue): void {
  const error = it.error === undefined ? undefined : ws.inline(it.error)
  const dropped = it.recovery?.task === undefined ? [] : waitsOfHandler(ws, task)
  const data =
    `{"attempt":${it.attempt},${backOffText(ws, it.backOff)}${chargedText(it.charged)}` +
    (dropped.length === 0 ? '' : `"dropped":${JSON.stringify(dropped)},`) +
    (it.dueAt === null ? '' : `"dueAt":${it.dueAt},`) +
    (error === undefined ? '' : `"error":${error.text},`) +
    (it.interrupted === undefined ? '' : `"interrupted":true,`) +
    `"leaseId":"${ws.ids.lease(lease.id)}","reason":"${it.reason}"` +
    (it.recovery === undefined ? '' : `,"recovery":${canonical(it.recovery)}`) +
    (it.restartedBy === undefined ? '}' : `,"restartedBy":${JSON.stringify(it.restartedBy)}}`)
  const also =
    it.reason === 'expired' || it.reason === 'owner_dead'
      ? expired
      : it.reason === 'yielded'
        ? preempted
        : it.recovery === undefined
          ? released
          : recovered
  const model = it.recovery?.model
  const row = ws.move(
    task,
    {
      state: 'queued',
      stream: model === undefined ? task.stream : fallBack(ws, task, model),
      lease: null,
      attempt: it.attempt,
      crashes: it.crashes,
      dueAt: it.dueAt,
      queuedAt: it.dueAt ?? ws.now.at,
    },
    'task.requeued',
    data,
    also,
    error?.blob ?? null,
  )
  if (dropped.length > 0) dropWaits(ws, row, dropped)
  endLease(ws, lease, ...leaseEnd(it.reason), row.seq)
  // Into the new stream first: its client has always had a task queued.
  enqueue(ws, ws.taskNow(row))
  if (row.stream === task.stream) hold(ws, row, 'running', 'queued')
  else {
    hold(ws, row, 'none', 'queued')
    hold(ws, task, 'running', 'none')
  }
  ws.count('requeued')
  ws.count('running', -1)
  if (it.reason === 'yielded') ws.count('preempted')
}

/** Another task has the work from now on: a wait of the handler would act on that one. A supervisor's own wait is no handler's. */
function waitsOfHandler(ws: WorkingSet, task: TaskRow): readonly string[] {
  return ws.waitsOf(task).flatMap(({ key }) => (supervisorTerms(key) === undefined ? [key] : []))
}

function leaseEnd(reason: RequeueReason): ['failed' | 'canceled', RequeueReason] {
  const isNoFailure = reason === 'yielded' || reason === 'drained' || reason === 'restarted'
  return [isNoFailure ? 'canceled' : 'failed', reason]
}

const released: readonly EventType[] = ['lease.released']
const expired: readonly EventType[] = ['lease.expired']
const preempted: readonly EventType[] = ['lease.released', 'task.preempted']
const recovered: readonly EventType[] = ['lease.released', 'task.recovered']
