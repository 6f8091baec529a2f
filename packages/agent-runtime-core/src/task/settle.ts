import type { EventType } from '../event/event.ts'
import type { FailureKind } from './failure-kind.ts'
import { canonical } from '../codec/codec.ts'
import { decideExpiry } from '../lease/expiry.ts'
import { isRetryWait } from '../history/replay.ts'
import { backOffText, block } from '../quota/back-off.ts'
import { askingOf, type Crossed, debit, spentOf } from '../budget/debit.ts'
import { parkForBudget } from '../budget/answer.ts'
import { cancel, cancelChildren } from './cancel.ts'
import { isHandOver } from '../recovery/hand-over.ts'
import { tellParent } from '../child/spawn.ts'
import type { Fenced, LeaseEndReason } from '../lease/lease.ts'
import type { Write } from '../store/port.ts'
import type { Settlement } from './settlement.ts'
import { charge, chargedText } from '../budget/account.ts'
import { breach, markUnhealthy, routeOf } from '../route/observe.ts'
import { exceed, exceededText } from '../budget/exceed.ts'
import { endLease, type Held, heldByWorker, liveLease, notice } from '../lease/fence.ts'
import { hold } from '../queue/stream.ts'
import { chargeQuotas } from '../quota/hold.ts'
import { type Requeue, requeue } from './requeue.ts'
import { taskOver } from './task-over.ts'
import { lostText } from '../supervision/lost-text.ts'
import { superviseEnd, type Verdict } from '../supervision/restart.ts'
import { startAnew } from '../supervision/start-child.ts'
import { supervisedIn } from '../supervision/supervision.ts'
import type { LeaseRow } from '../lease/row.ts'
import type { TaskRow } from './row.ts'
import { CALLER } from '../lease/caller.ts'
import { spend } from '../budget/spend.ts'
import { dropWaits } from '../wait/signal.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** The holder reports how its attempt ended. Source: `docs/semantics.md 1.1, 4.4`. */
export function settle(ws: WorkingSet, it: Write<'settle'>): Fenced {
  const { leaseId, settlement, charged } = it
  const live = liveLease(ws, leaseId)
  if (live === undefined) {
    if (isSameSettlement(ws, leaseId, settlement)) return 'ok'
    ws.staleWrites++
    return 'stale'
  }
  const goesBack = settlement.as === 'retry' || settlement.as === 'rate_limited'
  if (goesBack && heldByWorker(ws, leaseId) === undefined) return 'stale'
  const { lease } = live
  chargeQuotas(ws, live.task, charged)
  const charging = charge(ws, live.task, charged)
  const crossed = debit(ws, charging, charged, 0)
  const task = ws.taskNow(charging)
  const own = crossed.find(({ budget }) => budget.task === task.id)
  const ended =
    settlement.as === 'failed'
      ? spentEnd(ws, task, settlement)
      : own === undefined
        ? settlement
        : exceededEnd(ws, task, own, settlement)
  endPass(ws, { lease, task }, ended, it)
  block(ws, it.backOff)
  exceed(ws, crossed, task)
  return 'ok'
}

/** A line that the last charge crosses ends the task all the same: what it was to return is in the details. */
function exceededEnd(ws: WorkingSet, task: TaskRow, crossed: Crossed, settlement: Settlement): Settlement {
  const output = settlement.as === 'completed' ? { output: settlement.output } : {}
  return { as: 'failed', kind: 'budget_exceeded', error: exceededText(ws, task, crossed, output) }
}

/** A handler that could not go on because nothing is left, and did not catch that, ends as at a hard line: with what it has done. */
function spentEnd(
  ws: WorkingSet,
  task: TaskRow,
  settlement: Extract<Settlement, { as: 'failed' }>,
): Settlement {
  const spent = settlement.spent === true ? spentOf(ws, task) : undefined
  if (spent === undefined) return settlement
  const error = exceededText(ws, task, spent, { cause: settlement.error })
  return { ...settlement, kind: 'budget_exceeded', error }
}

function endPass(
  ws: WorkingSet,
  { lease, task }: Held,
  settlement: Settlement,
  { leaseId, charged, backOff }: Write<'settle'>,
): void {
  switch (settlement.as) {
    case 'completed': {
      const output = ws.inline(settlement.output)
      const data = `{${chargedText(charged)}"durationMs":${durationOf(ws, task)},"leaseId":"${leaseId}","output":${output.text}}`
      const end = { state: 'completed', text: `{"output":${output.text},"state":"completed"}` } as const
      finish(ws, task, lease, end, data, 'completed', released, output.blob)
      ws.count('completed')
      ws.count('running', -1)
      return
    }
    case 'failed': {
      fail(ws, task, lease, settlement, 'failed', released, { charged, backOff })
      blameRoute(ws, task, settlement.breach)
      return
    }
    case 'retry': {
      const attempt = task.attempt + 1
      const dueAt = settlement.delayMs > 0 ? ws.now.at + settlement.delayMs : null
      dropBackOffs(ws, task)
      requeue(ws, ws.taskNow(task), lease, {
        reason: 'retry',
        attempt,
        crashes: task.crashes,
        dueAt,
        error: settlement.error,
        charged,
        backOff,
        recovery: settlement.recovery,
        interrupted: settlement.interrupted,
      })
      blameRoute(ws, task, settlement.breach)
      return
    }
    case 'rate_limited': {
      const { error, delayMs } = settlement
      const { attempt, crashes } = task
      const dueAt = ws.now.at + delayMs
      requeue(ws, task, lease, { reason: 'rate_limited', attempt, crashes, dueAt, error, charged, backOff })
      return
    }
  }
}

/** A limit of its work was broken: its route is to blame. */
function blameRoute(ws: WorkingSet, task: TaskRow, by: 'hard' | 'deadline' | undefined): void {
  if (by === 'hard') breach(ws, routeOf(ws, task))
  if (by === 'deadline') markUnhealthy(ws, routeOf(ws, task))
}

/** The holder gives its task back, same attempt. Source: `docs/semantics.md 1.1, 3.6, 5.6`. */
export function release(
  ws: WorkingSet,
  { leaseId, reason, charged }: Omit<Write<'release'>, 'kind'>,
): Fenced {
  const live = heldByWorker(ws, leaseId)
  if (live === undefined) return 'stale'
  const { lease } = live
  chargeQuotas(ws, live.task, charged)
  const task = charge(ws, live.task, charged)
  const asking = reason === 'yielded' ? askingOf(ws, task) : undefined
  if (asking !== undefined) parkForBudget(ws, { task, lease }, asking, charged)
  else
    requeue(ws, task, lease, { reason, charged, attempt: task.attempt, crashes: task.crashes, dueAt: null })
  spend(ws, task, charged)
  return 'ok'
}

/** A lease whose holder fell silent, or is proven dead, ends; its task goes back or fails as poisoned. Source: `docs/semantics.md` C7, C17. */
export function expire(ws: WorkingSet, lease: LeaseRow, reason: 'expired' | 'owner_dead'): void {
  const task = ws.task(lease.task)
  if (task === undefined || lease.state !== 'running')
    throw new Error(`lease ${lease.id} has no running task`)
  const verdict = decideExpiry(task, ws.config.maxCrashes)
  ws.count('expired')
  if (lease.worker === CALLER) {
    const crashes = task.crashes + 1
    const error = `{"code":"lease_lost","message":"whoever held its lease is gone, and nobody else can run it","name":"RuntimeError"}`
    fail(ws, { ...task, crashes }, lease, { kind: 'lease_lost', error }, reason, expired)
    return notice(ws, lease, 'lost', reason)
  }
  if (verdict.to === 'failed') {
    const error = `{"code":"poisoned","message":"the task lost its lease to crashes ${verdict.crashes} times (maxCrashes ${ws.config.maxCrashes})","name":"RuntimeError"}`
    fail(ws, { ...task, crashes: verdict.crashes }, lease, { kind: 'poisoned', error }, reason, expired)
  } else {
    requeue(ws, task, lease, { reason, attempt: verdict.attempt, crashes: verdict.crashes, dueAt: null })
  }
  notice(ws, lease, 'lost', reason)
}

/** The runtime ends a live lease by a rule of its own. */
export function failHeld(ws: WorkingSet, { task, lease }: Held, kind: FailureKind, error: string): void {
  fail(ws, ws.taskNow(task), lease, { kind, error }, 'failed', released)
}

const released: readonly EventType[] = ['lease.released']
const expired: readonly EventType[] = ['lease.expired']

/** Starting such a task again would end it again: what it lacks comes from outside. */
const beyondRestart: ReadonlySet<FailureKind> = new Set(['budget_exceeded', 'not_approved'])

function fail(
  ws: WorkingSet,
  task: TaskRow,
  lease: LeaseRow,
  { kind, error, waits, refused }: Omit<Extract<Settlement, { as: 'failed' }>, 'as'>,
  endReason: LeaseEndReason,
  also: readonly EventType[],
  said: Pick<Requeue, 'charged' | 'backOff'> = {},
): void {
  const isBeyond = refused === true || beyondRestart.has(kind)
  const above = isBeyond ? undefined : superviseEnd(ws, task, 'failed')
  if (above?.as === 'again')
    return startAgain(ws, task, lease, { error, reason: endReason, restartedBy: above.by, ...said })
  const value = ws.inline(error)
  const data =
    `{${backOffText(ws, said.backOff)}${chargedText(said.charged)}"durationMs":${durationOf(ws, task)},"error":${value.text},"kind":"${kind}","leaseId":"${ws.ids.lease(lease.id)}"` +
    (waits === undefined ? '}' : `,"waits":${JSON.stringify(waits)}}`)
  const end = { state: 'failed', text: `{"error":${value.text},"kind":"${kind}","state":"failed"}` } as const
  finish(ws, task, lease, end, data, endReason, also, value.blob)
  ws.count('failed')
  ws.count('running', -1)
}

/** A supervisor starts it again, with its memos and all its tries. Source: `docs/semantics.md 14.2`. */
function startAgain(
  ws: WorkingSet,
  task: TaskRow,
  lease: LeaseRow,
  {
    reason: ended,
    ...it
  }: Pick<Requeue, 'error' | 'restartedBy' | 'charged' | 'backOff'> & { reason: LeaseEndReason },
): void {
  const reason = ended === 'expired' || ended === 'owner_dead' ? ended : 'retry'
  if (reason === 'retry') dropBackOffs(ws, task)
  // Its own handler has the work again.
  for (const child of ws.childrenOf(task).values())
    if (isHandOver(child.key))
      cancel(ws, { taskId: ws.taskId(child.task), reason: 'a supervisor has started its parent again' })
  const { crashes } = task
  requeue(ws, { ...ws.taskNow(task), crashes }, lease, {
    ...it,
    reason,
    attempt: task.attempt + 1,
    crashes,
    dueAt: null,
  })
}

/** The steps have all their tries again. */
function dropBackOffs(ws: WorkingSet, task: TaskRow): void {
  const backOffs = ws.waitsOf(task).filter(({ key }) => isRetryWait(key))
  dropWaits(
    ws,
    task,
    backOffs.map(({ key }) => key),
  )
}

function finish(
  ws: WorkingSet,
  task: TaskRow,
  lease: LeaseRow,
  end: { readonly state: 'completed' | 'failed'; readonly text: string },
  data: string,
  endReason: LeaseEndReason,
  also: readonly EventType[],
  blob: string | null,
): void {
  const { state } = end
  const above = state === 'completed' ? superviseEnd(ws, task, 'completed') : undefined
  cancelChildren(ws, task, `its parent has ${state}`)
  const changes = { state, lease: null, finishedAt: ws.now.at }
  const row = ws.move(task, changes, `task.${state}`, data, also, blob)
  endLease(ws, lease, state, endReason, row.seq)
  hold(ws, row, 'running', 'none')
  // A crash says nothing of the work.
  taskOver(ws, row, state === 'completed' ? 'success' : endReason === 'failed' ? 'failure' : 'none')
  tellParent(ws, row, { ...end, blob })
  if (above !== undefined) takeItsPlace(ws, row, above, { ...end, blob })
}

/** A permanent child completed: its supervisor starts it again, or fails because it has done so too often. */
function takeItsPlace(
  ws: WorkingSet,
  task: TaskRow,
  { as }: Verdict,
  end: { readonly text: string; readonly blob: string | null },
): void {
  const { parent } = task
  if (as === 'leave' || parent === null) return
  const child = ws.allChildren({ id: parent }).find((row) => row.task === task.id)
  const seat = child && supervisedIn(child.key)
  if (child === undefined || seat === undefined) return
  if (as === 'again' && startAnew(ws, { id: parent }, child) !== undefined) return
  ws.superviseLater(parent, lostText(ws, { id: parent }, seat.id, end))
}

function durationOf(ws: WorkingSet, task: TaskRow): number {
  return Math.max(0, ws.now.at - (task.startedAt ?? ws.now.at))
}

/** Whether an ended lease was ended by this very settlement: then its sender asked twice and gets the first answer. */
function isSameSettlement(ws: WorkingSet, leaseId: string, it: Settlement): boolean {
  const lease = ws.leaseNamed(leaseId)
  if (lease === undefined) return false
  const text =
    ws.events.find((event) => event.task === lease.task && event.seq === lease.endSeq)?.data ??
    ws.base.events.get(`${lease.task}:${lease.endSeq}`)
  if (text === undefined) return false
  const data = JSON.parse(text) as { output?: unknown; error?: unknown; kind?: string; restartedBy?: string }
  const isRestart = it.as === 'failed' && lease.endReason === 'retry' && data.restartedBy !== undefined
  if (isRestart) return sameValue(ws, data.error, it.error)
  if (lease.endReason !== it.as) return false
  if (it.as === 'completed') return sameValue(ws, data.output, it.output)
  return sameValue(ws, data.error, it.error) && (it.as !== 'failed' || data.kind === it.kind)
}

function sameValue(ws: WorkingSet, stored: unknown, text: string): boolean {
  const inline = canonical(stored)
  return inline === text || inline === `{"$blob":"${ws.around.sha256Hex(text)}","size":${text.length}}`
}
