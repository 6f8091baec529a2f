import {
  isRetryWait,
  childName,
  type FailureKind,
  type LeaseEndReason,
  type LeaseState,
} from '@ku0/agent-runtime-core'
import { asChild, closeChildren, sendBackChildren } from './children.ts'
import { giveBack } from './quotas.ts'
import type {
  ModelQuota,
  ModelLease,
  ModelRequest,
  ModelSignal,
  ModelSubmission,
  ModelTask,
  ModelWait,
  OverWait,
} from './records.ts'
import type { ModelShares } from './shares.ts'
import { inOrder, refusal, sendBack, sendsBack, valueOf } from './waits.ts'

// How the reference model moves a task from state to state, and who hears of it. Source: `docs/semantics.md 1.1`.

/** A task that was accepted. */
export function queue(
  it: ModelSubmission,
  sequence: number,
  dueAt: number | undefined,
  parent: ModelTask | undefined,
  { quotas = [], shares }: { readonly quotas?: ModelQuota[]; readonly shares?: ModelShares | undefined } = {},
): ModelTask {
  const { key, delayMs: _, taskId: __, ...submission } = it
  const { lane, type, input, names = {}, tokens = 0, client = '', cost = 1 } = submission
  const account = { client, cost: cost * 1e6, used: 0, charge: undefined, place: undefined, queuedAt: 0 }
  return {
    sequence,
    lane,
    type,
    input,
    key,
    submission,
    isHeld: false,
    state: 'queued',
    attempt: 1,
    crashes: 0,
    fence: 0,
    dueAt,
    lease: undefined,
    told: undefined,
    said: undefined,
    parked: false,
    budget: undefined,
    account,
    shares,
    recorded: 0,
    memos: new Map(),
    waits: [],
    signals: [],
    ended: [],
    intents: [],
    approvedSeq: 0,
    rejections: [],
    failedOf: [],
    events: ['task.queued'],
    parent,
    names,
    tokens,
    used: 0,
    quotas,
    children: new Map(),
  }
}

/** The pass ends, and its task waits. */
export function park(lease: ModelLease): void {
  const { task } = lease
  end(lease, 'completed', 'waiting')
  task.state = 'waiting'
  task.events.push('task.waiting')
}

export function requeue(
  lease: ModelLease,
  reason: 'expired' | 'retry' | 'rate_limited' | 'yielded' | 'drained',
  now: number,
  dueAt?: number,
): void {
  const { task } = lease
  const isRise = reason === 'expired' || reason === 'retry'
  if (isRise) task.attempt += 1
  if (reason === 'retry') tryAnew(task)
  end(lease, isRise || reason === 'rate_limited' ? 'failed' : 'canceled', reason)
  task.dueAt = dueAt
  putBack(task, now)
  task.events.push('task.requeued')
}

/** Its steps have all their tries again. */
function tryAnew(task: ModelTask): void {
  for (const list of [task.waits, task.ended] as { readonly key: string }[][])
    list.splice(0, list.length, ...list.filter(({ key }) => !isRetryWait(key)))
}

export function complete(task: ModelTask, output: string, now: number): void {
  finish(task, 'completed', 'completed', `{"output":${output},"state":"completed"}`, now)
}

export function fail(
  task: ModelTask,
  error: string,
  kind: FailureKind,
  now: number,
  reason: LeaseEndReason = 'failed',
): void {
  finish(task, 'failed', reason, `{"error":${error},"kind":"${kind}","state":"failed"}`, now)
}

export function cancel(task: ModelTask, now: number): void {
  finish(task, 'canceled', 'canceled', '{"state":"canceled"}', now)
}

/** The children that their parent has given up, and so gets nothing of. */
export function cancelAll(children: readonly ModelTask[], now: number): void {
  for (const child of children) cancel(child, now)
}

/** A wait begins; a request for approval is an event of its own. */
export function begin(task: ModelTask, { delayMs, approval, ...wait }: ModelRequest, now: number): ModelWait {
  const dueAt = delayMs === undefined ? undefined : now + delayMs
  if (approval === undefined) return { ...wait, dueAt }
  const { asked, maxRetries, onReject, onTimeout } = approval
  const request = task.events.push('approval.requested')
  return { ...wait, dueAt, terms: { asked, maxRetries, onReject, onTimeout, request } }
}

/** A signal that has come wakes the task that waits for its name, or is kept. */
export function deliver(task: ModelTask, signal: ModelSignal): void {
  task.signals.push(signal)
  const wait = inOrder(task.waits).find(({ name }) => name === signal.name)
  if (task.state === 'waiting' && !task.parked && wait !== undefined)
    conclude(task, { wait, outcome: signal.outcome, at: signal.at, signal }, signal.at)
}

/** A wait of a waiting task is over: it goes on, or fails because nobody approved. */
export function conclude(task: ModelTask, it: OverWait, now: number): void {
  const error = refusal(task, it)
  if (error !== undefined) return fail(task, error, 'not_approved', now)
  endWait(task, it, task.events.push('task.resumed'), now)
  putBack(task, now)
}

/** It is queued, and counts as that for its client unless it is to come later. */
export function putBack(task: ModelTask, now: number): void {
  if (task.dueAt === undefined) task.shares?.arrive(task, now)
  task.state = 'queued'
}

/** The event `seq` says how a wait ended. */
export function endWait(task: ModelTask, it: OverWait, seq: number, now: number): void {
  const { wait, outcome, signal } = it
  task.waits.splice(task.waits.indexOf(wait), 1)
  if (signal !== undefined) task.signals.splice(task.signals.indexOf(signal), 1)
  if (outcome === 'fail' || sendsBack(it)) {
    sendBack(task, it, seq)
    return cancelAll(sendBackChildren(task, task.approvedSeq), now)
  }
  const { key, kind, position } = wait
  task.ended.push({ key, kind, position, outcome, value: valueOf(it), seq })
  if (outcome === 'approved' || outcome === 'passed') task.approvedSeq = seq
}

/** With it end its children, unless they may outlive it; then its parent gets its end. */
function finish(
  task: ModelTask,
  state: 'completed' | 'failed' | 'canceled',
  reason: LeaseEndReason,
  told: string,
  now: number,
): void {
  cancelAll(closeChildren(task), now)
  const isFailure = state === 'failed' && reason === 'failed' && task.lease !== undefined
  task.said ??= state === 'completed' ? 'success' : isFailure ? 'failure' : 'none'
  if (task.lease !== undefined) end(task.lease, state, reason)
  task.state = state
  task.told = told
  giveBack(task, now)
  task.shares?.settle(task)
  task.dueAt = undefined
  task.parked = false
  task.waits.length = 0
  task.signals.length = 0
  task.events.push(`task.${state}`)
  const child = asChild(task)
  if (task.parent === undefined || child === undefined) return
  child.isOpen = false
  child.ended = task.parent.events.push('child.ended')
  deliver(task.parent, { name: childName(child.key), value: told, at: now, outcome: 'received' })
}

function end(lease: ModelLease, state: LeaseState, reason: LeaseEndReason): void {
  lease.state = state
  lease.endReason = reason
  lease.task.lease = undefined
}
