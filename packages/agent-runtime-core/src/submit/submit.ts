import type { BudgetTerms } from '../budget/budget.ts'
import { type Admission, decideAdmission, wantsRoom } from './admission.ts'
import type { RejectionReason } from '../event/event.ts'
import { MICRO } from '../budget/usage.ts'
import { accountPromise } from './promise.ts'
import type { Receipt, Submission } from './submission.ts'
import type { Objection } from './verdict.ts'
import { canonical } from '../codec/codec.ts'
import { budgetsOf, cutToLeft, exhausted, openBudget, sumText } from '../budget/debit.ts'
import { circuitRefusal, swarmRoute, takeProbe } from '../route/observe.ts'
import { exceededCredits } from '../ledger/afford.ts'
import { enqueue, streamFor } from '../queue/stream.ts'
import { exceededQuota, quotaKeysFor, takeQuotas } from '../quota/hold.ts'
import type { AccountRow } from '../budget/row.ts'
import type { TaskRow } from '../task/row.ts'
import { agentTaken, joinSwarm, swarmRefusal } from '../swarm/agents.ts'
import type { WorkingSet } from '../transition/working-set.ts'

const noChain = new Uint8Array(32)

/** Admits or rejects each submission, in order. Source: Track AA, Scheduling Rules; `docs/semantics.md 2`. */
export function submit(ws: WorkingSet, tasks: readonly Submission[]): Receipt[] {
  return tasks.map((task) => submitOne(ws, task))
}

/** `parent`: the task that spawned it. */
export function submitOne(ws: WorkingSet, it: Submission, parent: number | null = null): Receipt {
  return admit(ws, it, parent, reject)
}

/**
 * The same for a call that waits for room: undefined without room, and nothing is recorded then. Source:
 * `docs/semantics.md 5.5`.
 */
export function submitIfRoom(ws: WorkingSet, it: Submission, parent: number): Receipt | undefined {
  return admit(ws, it, parent, (set, refused, refusal) =>
    wantsRoom(refusal) ? undefined : reject(set, refused, refusal),
  )
}

/** A submission for which there is no room, and of which nothing is recorded. */
export interface NoRoom {
  readonly full: { readonly reason: RejectionReason; readonly message: string }
}

/** The same for one of many, the others of which can wait until there is room. */
export function submitWhileRoom(ws: WorkingSet, it: Submission): Receipt | NoRoom {
  return admit<Receipt | NoRoom>(ws, it, null, (set, refused, refusal) =>
    wantsRoom(refusal)
      ? { full: { reason: refusal.reason, message: refusal.message } }
      : reject(set, refused, refusal),
  )
}

/** The same past all limits, for work that has its place already. */
export function submitPast(ws: WorkingSet, it: Submission, parent: number): Receipt {
  return enter(ws, it, parent)
}

function admit<R>(
  ws: WorkingSet,
  it: Submission,
  parent: number | null,
  refuse: (ws: WorkingSet, it: Submission, refusal: Refusal) => R,
): Receipt | R {
  const taken = it.refused === undefined ? takenBefore(ws, it) : undefined
  if (taken !== undefined) return taken

  const spawning = parent === null ? undefined : ws.taskNow({ id: parent })
  const dueAt = dueTime(it, ws.now.at)
  const keys = quotaKeysFor(ws, it)
  const admission = decideAdmission({
    lane: it.lane,
    // A task that its caller runs is never queued.
    depth: it.held === true ? 0 : ws.depth,
    delayed: dueAt !== null,
    delayedCount: ws.delayed,
    limits: ws.config,
    refused: it.refused,
    tripped: () => tripped(ws, it, dueAt !== null),
    clients: ws.shares?.crowdedBy(it.client ?? ''),
    exhaustedBudget: () => exhausted(ws, { budget: spawning?.budget ?? null }),
    exceededCredits: () => exceededCredits(ws, it),
    exceededQuota: () => exceededQuota(ws, keys, it, spawning),
  })
  if (!admission.accepted) return refuse(ws, it, admission)
  return enter(ws, it, parent)
}

function enter(ws: WorkingSet, it: Submission, parent: number | null): Receipt {
  const above = parent === null ? null : ws.taskNow({ id: parent }).budget
  const dueAt = dueTime(it, ws.now.at)
  const keys = quotaKeysFor(ws, it)

  const stream = streamFor(ws, it, keys)
  const budget =
    it.budget?.cut === true ? cutToLeft(ws, budgetsOf(ws, { budget: above }), it.budget) : it.budget
  const input = ws.inline(it.input)
  const id = ws.nextTask++
  if (budget !== undefined) openBudget(ws, id, above, budget)
  const task = ws.move(
    {
      ...newTask,
      id,
      stream: stream.id,
      submittedAt: ws.now.at,
      queuedAt: ws.now.at,
      dueAt,
      tokens: it.tokens ?? 0,
      explicitId: it.taskId ?? null,
      parent,
      account: accountFor(it),
      budget: budget === undefined ? above : id,
    },
    {},
    'task.queued',
    submissionText(it, input.text, dueAt, budget),
    undefined,
    input.blob,
  )
  if (it.held !== true) enqueue(ws, task)
  takeQuotas(ws, task, keys)
  if (it.taskId !== undefined) ws.explicitIds.put(it.taskId, id)
  if (it.idempotencyKey !== undefined)
    ws.keys.put(it.idempotencyKey, { key: it.idempotencyKey, task: id, payloadHash: payloadHash(ws, it) })
  admitted(ws, it, id)
  ws.count('submitted')
  return { accepted: true, taskId: it.taskId ?? ws.ids.task(id), sequence: id, deduplicated: false }
}

function accountFor({ cost, outOfCredits, labels }: Submission): AccountRow | null {
  const promised = accountPromise(labels)
  if (cost === undefined && outOfCredits === undefined && promised === undefined) return null
  return {
    cost: Math.round((cost ?? 1) * MICRO),
    used: null,
    charge: null,
    place: null,
    ...(outOfCredits === undefined ? {} : { outOfCredits }),
    ...(promised === undefined ? {} : { promised }),
  }
}

/** The refusal by a route's circuit or a swarm. Source: `docs/semantics.md 2.1, 10.3, 10.6`. */
function tripped(
  ws: WorkingSet,
  it: Submission,
  isDelayed: boolean,
): (Objection & { readonly reason: RejectionReason }) | undefined {
  const refusal = circuitRefusal(ws, it.type, isDelayed)
  return refusal === undefined ? swarmRefusal(ws, it) : { reason: 'circuit_open', ...refusal }
}

/** It may be the one that finds out whether its route is well again, and an agent counts from now on. */
function admitted(ws: WorkingSet, it: Submission, id: number): void {
  takeProbe(ws, it.type, id)
  if (it.swarm === undefined) return
  takeProbe(ws, swarmRoute(it.swarm), id)
  joinSwarm(ws, it, id)
}

const newTask: Omit<
  TaskRow,
  | 'id'
  | 'stream'
  | 'submittedAt'
  | 'queuedAt'
  | 'dueAt'
  | 'tokens'
  | 'explicitId'
  | 'parent'
  | 'account'
  | 'budget'
> = {
  state: 'queued',
  attempt: 1,
  fence: 0,
  lease: null,
  crashes: 0,
  steps: 0,
  waits: 0,
  seq: 0,
  tail: noChain,
  startedAt: null,
  finishedAt: null,
  waitReason: null,
}

/** The answer to a submission that becomes no record, such as one whose key or id was used before; undefined for others. Source: `docs/semantics.md 2.7, 12.0`. */
function takenBefore(ws: WorkingSet, it: Submission): Receipt | undefined {
  const key = it.idempotencyKey
  const bound = key === undefined ? undefined : ws.keys.get(key)
  if (bound !== undefined) {
    const taskId = ws.taskId(bound.task)
    if (bound.payloadHash === payloadHash(ws, it))
      return { accepted: true, taskId, sequence: bound.task, deduplicated: true }
    return {
      accepted: false,
      taskId,
      sequence: bound.task,
      reason: 'idempotency_conflict',
      message: `idempotency key ${JSON.stringify(key)} belongs to task ${taskId}, which has another type or input, or is another fork; use a new key`,
    }
  }
  const agent = agentTaken(ws, it)
  if (agent !== undefined) return agent
  if (it.taskId === undefined) return undefined
  // An id of the store's own making belongs to the task of that number, or will.
  const sequence = ws.taskNumber(it.taskId)
  if (sequence === undefined) return undefined
  return {
    accepted: false,
    taskId: it.taskId,
    sequence,
    reason: 'already_exists',
    message: `the task id ${JSON.stringify(it.taskId)} is taken: choose another one, or leave taskId out; an idempotencyKey is for work that may be submitted twice`,
  }
}

/** The data that an idempotency key binds: type and input, and for a fork the place where it begins. */
function payloadHash(ws: WorkingSet, it: Submission): string {
  return ws.around.sha256Hex(`${it.type}\n${it.input}${it.forkedAt === undefined ? '' : `\n${it.forkedAt}`}`)
}

function dueTime(it: Submission, now: number): number | null {
  const due = it.dueAt ?? (it.delayMs === undefined ? now : now + it.delayMs)
  return due > now ? due : null
}

type Refusal = Extract<Admission, { accepted: false }>

/** A rejected submission is still a record; it keeps no payload, but what it was decided on. Source: `docs/semantics.md 1.5, 2.9`. */
function reject(ws: WorkingSet, it: Submission, { reason, message, verdict, ...rest }: Refusal): Receipt {
  const id = ws.nextTask++
  const at = ws.now.at
  ws.move(
    {
      ...newTask,
      id,
      stream: null,
      state: 'rejected',
      submittedAt: at,
      queuedAt: at,
      finishedAt: at,
      dueAt: null,
      tokens: 0,
      explicitId: null,
      parent: null,
      account: null,
      budget: null,
    },
    {},
    'task.rejected',
    `{"lane":"${it.lane}","message":${JSON.stringify(message)},"reason":"${reason}","type":${JSON.stringify(it.type)}${verdict === undefined ? '' : `,"verdict":${canonical(verdict)}`}}`,
  )
  ws.count('rejected')
  const forGood = rest.forGood === true ? { forGood: true as const } : {}
  return { accepted: false, taskId: ws.ids.task(id), sequence: id, reason, message, ...forGood }
}

/** The data of `task.queued`, in canonical JSON. `input` is canonical already. */
function submissionText(
  it: Submission,
  input: string,
  dueAt: number | null,
  budget: BudgetTerms | undefined,
): string {
  let text = '{'
  if (it.agent !== undefined) text += `"agent":${JSON.stringify(it.agent)},`
  if (it.asRetry === true) text += '"asRetry":true,'
  if (budget !== undefined)
    text += `"budget":{"limits":${sumText(budget.limits)},"soft":${sumText(budget.soft)}},`
  if (it.client !== undefined) text += `"client":${JSON.stringify(it.client)},`
  if (it.cost !== undefined) text += `"cost":${it.cost},`
  if (dueAt !== null) text += `"dueAt":${dueAt},`
  if (it.forkOf !== undefined) text += `"forkOf":${JSON.stringify(it.forkOf)},`
  if (it.held === true) text += '"held":true,'
  if (it.idempotencyKey !== undefined) text += `"idempotencyKey":${JSON.stringify(it.idempotencyKey)},`
  text += `"input":${input},`
  if (it.labels !== undefined) text += `"labels":${sortedRecord(it.labels)},`
  text += `"lane":"${it.lane}",`
  if (it.model !== undefined) text += `"model":${JSON.stringify(it.model)},`
  if (it.outOfCredits !== undefined) text += `"outOfCredits":"${it.outOfCredits}",`
  if (it.oversight !== undefined) text += `"oversight":"${it.oversight}",`
  if (it.parentId !== undefined) text += `"parentId":${JSON.stringify(it.parentId)},`
  if (it.profile !== undefined) text += `"profile":${canonical(it.profile)},`
  if (it.schedule !== undefined) text += `"schedule":${JSON.stringify(it.schedule)},`
  if (it.scheduledFor !== undefined) text += `"scheduledFor":${it.scheduledFor},`
  if (it.share !== undefined) text += `"share":${canonical(it.share)},`
  if (it.swarm !== undefined) text += `"swarm":${JSON.stringify(it.swarm)},`
  if (it.timeoutMs !== undefined) text += `"timeoutMs":${it.timeoutMs},`
  if (it.tokens !== undefined) text += `"tokens":${it.tokens},`
  if (it.tools !== undefined && it.tools.length > 0) text += `"tools":${JSON.stringify(it.tools)},`
  if (it.trace !== undefined) text += `"trace":${sortedRecord(it.trace)},`
  return `${text}"type":${JSON.stringify(it.type)}}`
}

function sortedRecord(record: Readonly<Record<string, string>>): string {
  const names = Object.keys(record).toSorted()
  return `{${names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(record[name])}`).join(',')}}`
}
