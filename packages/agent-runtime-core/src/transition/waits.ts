import { isChildName } from '../child.ts'
import type { EventType, WaitReason } from '../event.ts'
import { isFinal } from '../states.ts'
import type { OutcomeOf, Write } from '../store.ts'
import { type WaitOutcome, type WaitRecord, waitReasonOf, type WaitRequest } from '../wait.ts'
import { enqueue, hold } from './queue.ts'
import type { SignalRow, TaskRow, WaitRow } from './rows.ts'
import { endLease, held, type Held } from './fence.ts'
import { storedText, type WorkingSet } from './working-set.ts'

/** Ends the pass at its waits, unless one of them is over already. Source: `docs/semantics.md 12.3, 12.4`. */
export function suspend(ws: WorkingSet, it: Write<'suspend'>): OutcomeOf<'suspend'> {
  const live = held(ws, it.leaseId)
  if (live === undefined) return { fenced: 'stale' }
  const before = ws.waitsOf(live.task)
  const known = new Set(before.map(({ key }) => key))
  const fresh = it.waits.filter(({ key }) => !known.has(key)).map((request) => begun(ws, live.task, request))
  // Those of an earlier pass that this one has not come to yet count too: whatever ends, the handler may want to know.
  const open = [...before, ...fresh]
  const over = whatIsOver(ws, live.task, open)

  if (over.length === 0 && !it.stay) {
    ws.putWaits(live.task, open)
    park(ws, live, open)
    return { fenced: 'ok', suspended: true, resolved: [] }
  }
  const ended = new Set(over.map(({ wait }) => wait.key))
  let { task } = live
  for (const wait of fresh) if (!ended.has(wait.key)) task = start(ws, task, wait)
  const resolved = over.map(({ wait, outcome, taken }) => {
    task = resolve(ws, task, wait, outcome, taken)
    return recordOf(ws, task, wait, outcome, taken)
  })
  const left = open.filter(({ key }) => !ended.has(key))
  if (ended.size > 0 || fresh.length > 0) ws.putWaits(task, left)
  for (const { taken } of over) if (taken !== undefined) ws.takeSignal(task, taken)
  return { fenced: 'ok', suspended: false, resolved }
}

/** A signal wakes the task that waits for it, or is kept until it does. Source: `docs/semantics.md 12.4`. */
export function signal(ws: WorkingSet, it: Write<'signal'>): OutcomeOf<'signal'> {
  const number = ws.taskNumber(it.taskId)
  const task = number === undefined ? undefined : ws.task(number)
  if (task === undefined) return { delivered: false }
  if (isFinal(task.state)) return { delivered: false, state: task.state }
  const unread = ws.signalsOf(task).filter(({ name }) => !isChildName(name))
  if (unread.length >= ws.config.maxSignals) return { delivered: false, state: task.state, full: true }

  const fields = `"name":${JSON.stringify(it.name)}`
  const row = deliver(ws, task, {
    event: 'signal.received',
    fields,
    name: it.name,
    value: ws.inline(it.value),
  })
  return { delivered: true, state: row.state }
}

/** What a wait may be for. */
export interface Arrival {
  /** The event that it becomes. */
  readonly event: EventType
  /** Of the event's data, in canonical form; `value` follows them. */
  readonly fields: string
  readonly name: string
  readonly value: ReturnType<WorkingSet['inline']>
}

/** What has come wakes the task that waits for it, or is kept until the task does. Source: `docs/semantics.md 12.4`. */
export function deliver(ws: WorkingSet, task: TaskRow, { event, fields, name, value }: Arrival): TaskRow {
  const row = ws.move(task, {}, event, `{${fields},"value":${value.text}}`, undefined, value.blob)
  const arrived: SignalRow = {
    task: row.id,
    seq: row.seq,
    name,
    at: ws.now.at,
    value: value.text,
    blob: value.blob,
  }
  const wait = row.state === 'waiting' ? ws.waitsOf(row).find((it) => it.name === name) : undefined
  if (wait === undefined) ws.keepSignal(row, arrived)
  else resume(ws, row, wait, 'received', arrived)
  return ws.taskNow(row)
}

/** A waiting task whose time has come goes on; of several that are due, by the earliest. Source: `docs/semantics.md 12.3`. */
export function wake(ws: WorkingSet, task: TaskRow): void {
  const due = ws.waitsOf(task).filter(({ dueAt }) => dueAt !== null && dueAt <= ws.now.at)
  const [first] = due.toSorted((a, b) => (a.dueAt ?? 0) - (b.dueAt ?? 0) || a.position - b.position)
  if (first === undefined) throw new Error(`task ${task.id} is due and none of its waits is`)
  resume(ws, task, first, first.kind === 'timer' ? 'fired' : 'timed_out')
}

/** The task has no use for these waits any more. */
export function dropWaits(ws: WorkingSet, task: TaskRow, keys: readonly string[]): void {
  const open = ws.waitsOf(task)
  const left = open.filter(({ key }) => !keys.includes(key))
  if (left.length < open.length) ws.putWaits(task, left)
}

/** A task that is over waits for nothing and takes no signal. */
export function clearWaits(ws: WorkingSet, task: TaskRow): void {
  if (task.waits === 0) return
  ws.putWaits(task, [])
  for (const unread of ws.signalsOf(task)) ws.takeSignal(task, unread)
}

function begun(ws: WorkingSet, task: TaskRow, it: WaitRequest): WaitRow {
  const dueAt = it.dueAt ?? (it.delayMs === undefined ? null : Math.ceil(ws.now.at + it.delayMs))
  return { task: task.id, key: it.key, position: it.position, kind: it.kind, name: it.name ?? null, dueAt }
}

interface Over {
  readonly wait: WaitRow
  readonly outcome: WaitOutcome
  readonly at: number
  readonly taken?: SignalRow
}

/** The waits that need no waiting, in the order in which they ended: a signal that came in time beats its patience. */
function whatIsOver(ws: WorkingSet, task: TaskRow, asked: readonly WaitRow[]): Over[] {
  const unread = [...ws.signalsOf(task)]
  const over: Over[] = []
  for (const wait of asked.toSorted((a, b) => a.position - b.position)) {
    const { kind, name, dueAt } = wait
    const index = name === null ? -1 : unread.findIndex((it) => it.name === name)
    const kept = unread[index]
    if (kept !== undefined && (dueAt === null || kept.at <= dueAt)) {
      unread.splice(index, 1)
      over.push({ wait, outcome: 'received', at: kept.at, taken: kept })
    } else if (dueAt !== null && dueAt <= ws.now.at) {
      over.push({ wait, outcome: kind === 'timer' ? 'fired' : 'timed_out', at: dueAt })
    }
  }
  return over.toSorted((a, b) => a.at - b.at || a.wait.position - b.wait.position)
}

function start(ws: WorkingSet, task: TaskRow, { key, kind, name, position, dueAt }: WaitRow): TaskRow {
  const due = dueAt === null ? '' : `"dueAt":${dueAt},`
  return ws.move(task, {}, 'wait.started', `{${due}${fieldsOf({ key, kind, name, position })}}`)
}

function resolve(
  ws: WorkingSet,
  task: TaskRow,
  wait: WaitRow,
  outcome: WaitOutcome,
  taken: SignalRow | undefined,
): TaskRow {
  return ws.move(
    task,
    {},
    'wait.resolved',
    `{${resolutionOf(wait, outcome, taken)}}`,
    undefined,
    taken?.blob ?? null,
  )
}

/** The lease ends, the slot and the quotas are free. */
function park(ws: WorkingSet, { lease }: Held, waits: readonly WaitRow[]): void {
  const task = ws.taskNow({ id: lease.task })
  const ordered = waits.toSorted((a, b) => a.position - b.position)
  const [first] = ordered
  if (first === undefined) throw new Error(`task ${task.id} cannot wait for nothing`)
  const timed = ordered.filter(({ dueAt }) => dueAt !== null).toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const dueAt = timed.length === 0 ? null : Math.min(...timed.map((wait) => wait.dueAt ?? 0))
  const times = timed.map((wait) => `${JSON.stringify(wait.key)}:${wait.dueAt}`).join(',')
  const row = ws.move(
    task,
    { state: 'waiting', lease: null, waitReason: waitReasonOf[first.kind], dueAt },
    'task.waiting',
    `{${times === '' ? '' : `"dueAt":{${times}},`}"leaseId":"${ws.ids.lease(lease.id)}","reason":"${waitReasonOf[first.kind]}",` +
      `"waits":[${ordered.map((wait) => `{${fieldsOf(wait)}}`).join(',')}]}`,
    ['lease.released'],
  )
  endLease(ws, lease, 'completed', 'waiting', row.seq)
  hold(ws, row, 'running', 'none')
  ws.count('running', -1)
  ws.count('waiting')
}

/** Back to the queue, past its limits, like a requeue; quotas are taken anew. Source: `docs/semantics.md 2.3, 12.3`. */
function resume(ws: WorkingSet, task: TaskRow, wait: WaitRow, outcome: WaitOutcome, taken?: SignalRow): void {
  const row = ws.move(
    task,
    { state: 'queued', waitReason: null, dueAt: null, queuedAt: ws.now.at },
    'task.resumed',
    `{${resolutionOf(wait, outcome, taken, waitReasonOf[wait.kind])}}`,
    undefined,
    taken?.blob ?? null,
  )
  ws.putWaits(
    row,
    ws.waitsOf(row).filter(({ key }) => key !== wait.key),
  )
  ws.count('waiting', -1)
  hold(ws, row, 'none', 'queued')
  enqueue(ws, ws.taskNow(row))
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

function resolutionOf(
  { key, kind, name, position }: WaitRow,
  outcome: WaitOutcome,
  taken: SignalRow | undefined,
  reason?: WaitReason,
): string {
  return (
    `"key":${JSON.stringify(key)},"kind":"${kind}",` +
    (name === null ? '' : `"name":${JSON.stringify(name)},`) +
    `"outcome":"${outcome}","position":${position}` +
    (reason === undefined ? '' : `,"reason":"${reason}"`) +
    (taken === undefined ? '' : `,"value":${storedText(taken)}`)
  )
}

function recordOf(
  ws: WorkingSet,
  task: TaskRow,
  { key, kind, position }: WaitRow,
  outcome: WaitOutcome,
  taken: SignalRow | undefined,
): WaitRecord {
  const value = taken === undefined ? undefined : ws.textOf(taken)
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
