import { RuntimeError } from '../error/errors.ts'
import { isLimit } from '../history/replay.ts'
import { chargeQuotas } from '../quota/hold.ts'
import { spend } from '../budget/spend.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import type { UsageSum } from '../budget/usage.ts'
import { waitReasonOf, type WaitRequest } from './wait.ts'
import type { WaitRecord } from './schema.ts'
import { countVerdict, openApproval, outcomeAtTimeout, sendsBack } from '../approval/review.ts'
import { chargedText, charging } from '../budget/account.ts'
import { conclude } from './conclude.ts'
import { endLease, type Held, heldByWorker } from '../lease/fence.ts'
import { hold } from '../queue/stream.ts'
import type { TaskRow } from '../task/row.ts'
import type { WaitRow } from './row.ts'
import { workEnded } from '../profile/work-ended.ts'
import { type Over, resolutionOf, valueOf } from './signal.ts'
import { isStageWaitOver } from '../pipeline/standing.ts'
import { hasNoChildLeft, isAfterOver } from '../supervision/standing.ts'
import { supervisorTerms } from '../supervision/supervision.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** Ends the pass at its waits, unless one of them is over already. Source: `docs/semantics.md 12.3, 12.4`. */
export function suspend(ws: WorkingSet, it: Write<'suspend'>): OutcomeOf<'suspend'> {
  const live = heldByWorker(ws, it.leaseId)
  if (live === undefined) return { fenced: 'stale' }
  const before = ws.waitsOf(live.task)
  const known = new Set(before.map(({ key }) => key))
  const fresh = it.waits.filter(({ key }) => !known.has(key)).map((request) => begun(ws, live.task, request))
  // Waits of an earlier pass that this one has not reached count too: the handler may ask for any of them.
  const open = [...before, ...fresh]
  const over = [
    ...whatIsOver(ws, live.task, open),
    ...staged(ws, live.task, open),
    ...supervised(ws, live.task, open, it.stay),
  ]

  const back = over.find(({ wait, outcome }) => sendsBack(wait, outcome))
  if (back !== undefined || (over.length === 0 && !it.stay)) {
    ws.putWaits(live.task, open)
    park(ws, live, open, it.charged)
    if (back !== undefined) {
      conclude(ws, ws.taskNow(live.task), back)
      if (back.taken !== undefined) ws.takeSignal(live.task, back.taken)
    }
    spend(ws, live.task, it.charged)
    return { fenced: 'ok', suspended: true, resolved: [] }
  }
  const ended = new Set(over.map(({ wait }) => wait.key))
  let task = ws.taskNow(live.task)
  for (const wait of fresh) if (wait.kind !== 'approval' && !ended.has(wait.key)) task = start(ws, task, wait)
  const resolved = over.map((ending) => {
    task = resolve(ws, task, ending)
    return recordOf(ws, task, ending)
  })
  const left = open.filter(({ key }) => !ended.has(key))
  if (ended.size > 0 || fresh.length > 0) ws.putWaits(task, left)
  for (const { taken } of over) if (taken !== undefined) ws.takeSignal(task, taken)
  return { fenced: 'ok', suspended: false, resolved }
}

/** A waiting task whose time has come goes on; of several that are due, by the earliest. Source: `docs/semantics.md 12.3`. */
export function wake(ws: WorkingSet, task: TaskRow): void {
  const due = ws.waitsOf(task).filter(({ dueAt }) => dueAt !== null && dueAt <= ws.now.at)
  const [first] = due.toSorted(
    (a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0) || a.position - b.position || limitsLast(a, b),
  )
  if (first === undefined) throw new Error(`task ${task.id} is due and none of its waits is`)
  conclude(ws, task, { wait: first, outcome: outcomeWhenDue(first), at: first.dueAt ?? 0 })
}

function begun(ws: WorkingSet, task: TaskRow, it: WaitRequest): WaitRow {
  const dueAt = it.dueAt ?? (it.delayMs === undefined ? null : Math.ceil(ws.now.at + it.delayMs))
  if (it.approval !== undefined) return openApproval(ws, ws.taskNow(task), it, it.approval, dueAt)
  const { key, position, kind } = it
  return { task: task.id, key, position, kind, name: it.name ?? null, dueAt, terms: null }
}

/** The waits that need no waiting, in the order in which they ended: what came in time beats the patience for it. */
function whatIsOver(ws: WorkingSet, task: TaskRow, asked: readonly WaitRow[]): Over[] {
  const unread = [...ws.signalsOf(task)]
  const over: Over[] = []
  for (const wait of asked.toSorted((a, b) => a.position - b.position)) {
    const { name, dueAt, terms } = wait
    const index = unread.findIndex((it) => it.name === name)
    const kept = unread[index]
    if (terms?.asked === false) over.push({ wait, outcome: 'passed', at: ws.now.at })
    else if (kept !== undefined && (dueAt === null || kept.at <= dueAt)) {
      unread.splice(index, 1)
      over.push({ wait, outcome: kept.outcome, at: kept.at, taken: kept })
    } else if (dueAt !== null && dueAt <= ws.now.at) {
      over.push({ wait, outcome: outcomeWhenDue(wait), at: dueAt })
    }
  }
  return over.toSorted(
    (a, b) => a.at - b.at || a.wait.position - b.wait.position || limitsLast(a.wait, b.wait),
  )
}

/**
 * A supervisor with a child that can start now waits for nothing. Neither does one whose children have all ended; but one that stays may be about to
 * start the first.
 */
function supervised(ws: WorkingSet, task: TaskRow, open: readonly WaitRow[], stay: boolean): Over[] {
  const startable = open.filter((wait) => isAfterOver(ws, task, wait))
  const isDone = startable.length === 0 && !stay && hasNoChildLeft(ws, task, open)
  const done = isDone ? open.filter(({ key }) => supervisorTerms(key)?.endsWith === 'children') : []
  return [...startable, ...done].map((wait) => ({ wait, outcome: 'fired', at: ws.now.at }))
}

/** A stage for which events have come meanwhile, or room, waits for nothing. */
function staged(ws: WorkingSet, task: TaskRow, open: readonly WaitRow[]): Over[] {
  return open
    .filter((wait) => isStageWaitOver(ws, task, wait))
    .map((wait) => ({ wait, outcome: 'fired', at: ws.now.at }))
}

/** A wait that ends at the very moment of its time limit has ended in time. */
function limitsLast(a: WaitRow, b: WaitRow): number {
  return Number(isLimit(a.key)) - Number(isLimit(b.key))
}

function outcomeWhenDue({ kind, terms }: WaitRow): Over['outcome'] {
  if (kind === 'timer') return 'fired'
  return terms === null ? 'timed_out' : outcomeAtTimeout(terms)
}

function start(ws: WorkingSet, task: TaskRow, { key, kind, name, position, dueAt }: WaitRow): TaskRow {
  const due = dueAt === null ? '' : `"dueAt":${dueAt},`
  return ws.move(task, {}, 'wait.started', `{${due}${fieldsOf({ key, kind, name, position })}}`)
}

function resolve(ws: WorkingSet, task: TaskRow, over: Over): TaskRow {
  const data = `{${resolutionOf(ws, task, over)}}`
  const row = ws.move(task, {}, 'wait.resolved', data, undefined, over.taken?.blob ?? null)
  countVerdict(ws, row, over.wait, over.outcome)
  return row
}

/** The lease ends, the slot and the quotas are free. */
function park(ws: WorkingSet, { lease }: Held, waits: readonly WaitRow[], charged?: UsageSum): void {
  const task = ws.taskNow({ id: lease.task })
  chargeQuotas(ws, task, charged)
  const ordered = waits.toSorted((a, b) => a.position - b.position)
  // A time limit says when it is waited no longer, not for what.
  const first = ordered.find(({ key }) => !isLimit(key)) ?? ordered[0]
  if (first === undefined)
    throw new RuntimeError('invalid_argument', 'suspend: no wait was given, and the task has no open wait')
  const timed = ordered.filter(({ dueAt }) => dueAt !== null).toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const dueAt = timed.length === 0 ? null : Math.min(...timed.map((wait) => wait.dueAt ?? 0))
  const times = timed.map((wait) => `${JSON.stringify(wait.key)}:${wait.dueAt}`).join(',')
  const row = ws.move(
    task,
    {
      state: 'waiting',
      lease: null,
      waitReason: waitReasonOf[first.kind],
      dueAt,
      ...charging(task, charged),
    },
    'task.waiting',
    `{${chargedText(charged)}${times === '' ? '' : `"dueAt":{${times}},`}"leaseId":"${ws.ids.lease(lease.id)}","reason":"${waitReasonOf[first.kind]}",` +
      `"waits":[${ordered.map((wait) => `{${fieldsOf(wait)}}`).join(',')}]}`,
    ['lease.released'],
  )
  endLease(ws, lease, 'completed', 'waiting', row.seq)
  workEnded(ws, row, 'success', false)
  hold(ws, row, 'running', 'none')
  ws.count('running', -1)
  ws.count('waiting')
}

function fieldsOf({
  key,
  kind,
  name,
  position,
}: Pick<WaitRow, 'key' | 'kind' | 'name' | 'position'>): string {
  const named = name === null ? '' : `"name":${JSON.stringify(name)},`
  return `"key":${JSON.stringify(key)},"kind":"${kind}",${named}"position":${position}`
}

function recordOf(ws: WorkingSet, task: TaskRow, { wait, outcome, taken }: Over): WaitRecord {
  const { key, kind, position } = wait
  if (outcome === 'fail') throw new Error(`wait '${key}' of task ${task.id} failed the task`)
  const value = taken === undefined ? valueOf(outcome, taken) : ws.textOf(taken)
  return {
    key,
    kind,
    position,
    outcome,
    seq: task.seq,
    at: ws.now.at,
    ...(value === undefined ? {} : { value }),
  }
}
