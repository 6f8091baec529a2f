import { endsWithRejection, TIMEOUT_VERDICT } from '../approval/approval.ts'
import { isChildName } from '../child/child.ts'
import type { EventType } from '../event/event.ts'
import type { WaitReason } from './wait.ts'
import { isFinal } from '../task/states.ts'
import type { OutcomeOf, Write } from '../store/port.ts'
import { isWaiting, type WaitOutcome, waitReasonOf } from './wait.ts'
import { isEscalation } from '../recovery/escalation.ts'
import { ESCALATES } from '../recovery/past-failure.ts'
import { countVerdict, escalatesNow, sendsBack } from '../approval/review.ts'
import { enqueue, hold } from '../queue/stream.ts'
import type { SignalRow, WaitRow } from './row.ts'
import type { TaskRow } from '../task/row.ts'
import { RESTART_NAME } from '../supervision/supervision.ts'
import { storedText, type WorkingSet } from '../transition/working-set.ts'

/** A signal wakes the task that waits for it, or is kept until it does. Source: `docs/semantics.md 12.4`. */
export function signal(ws: WorkingSet, it: Write<'signal'>): OutcomeOf<'signal'> {
  const task = ws.taskNamed(it.taskId)
  if (task === undefined) return { delivered: false }
  if (isFinal(task.state)) return { delivered: false, state: task.state }
  const unread = ws.signalsOf(task).filter(({ name }) => !isChildName(name) && name !== RESTART_NAME)
  if (unread.length >= ws.config.maxSignals) return { delivered: false, state: task.state, full: true }

  const awaited = ws.waitsOf(task).some(({ name }) => name === it.name)
  const fields = `"name":${JSON.stringify(it.name)}`
  const row = deliver(ws, task, {
    event: 'signal.received',
    fields,
    name: it.name,
    value: ws.inline(it.value),
  })
  return { delivered: true, state: row.state, awaited }
}

/** The subject of a wait. */
export interface Arrival {
  /** The event that it becomes. */
  readonly event: EventType
  /** The fields of the event's data, in canonical form; `value` follows them. */
  readonly fields: string
  readonly name: string
  readonly value: ReturnType<WorkingSet['inline']>
  /** How it ends the wait; `received` by default. */
  readonly outcome?: SignalRow['outcome']
}

/**
 * An arrival ends the wait of the task that waits for it, or is kept until a task waits for it. Source:
 * `docs/semantics.md 12.4`.
 */
export function deliver(
  ws: WorkingSet,
  task: TaskRow,
  arrival: Arrival,
  end: (ws: WorkingSet, task: TaskRow, over: Over) => void = resume,
): TaskRow {
  const { event, fields, name, value, outcome = 'received' } = arrival
  const row = ws.move(task, {}, event, `{${fields},"value":${value.text}}`, undefined, value.blob)
  const arrived: SignalRow = {
    task: row.id,
    seq: row.seq,
    name,
    at: ws.now.at,
    value: value.text,
    blob: value.blob,
    outcome,
  }
  const wait = isWaiting(row) ? ws.waitsOf(row).find((it) => it.name === name) : undefined
  if (wait === undefined) ws.keepSignal(row, arrived)
  else end(ws, row, { wait, outcome, at: ws.now.at, taken: arrived })
  return ws.taskNow(row)
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

/** How a wait ended. `fail`: the task fails of it. */
export interface Over {
  readonly wait: WaitRow
  readonly outcome: WaitOutcome | 'fail'
  readonly at: number
  readonly taken?: SignalRow
}

/** Back to the queue, past its limits, like a requeue; quotas are taken again. Source: `docs/semantics.md 2.3, 12.3`. */
export function resume(ws: WorkingSet, task: TaskRow, over: Over): void {
  const { wait, outcome, taken } = over
  const escalates = escalatesNow(ws, task, wait, outcome)
  const gone = sendsBack(wait, outcome) ? waitsSentBack(ws, task, escalates) : []
  const row = ws.move(
    task,
    { state: 'queued', waitReason: null, dueAt: null, queuedAt: ws.now.at },
    'task.resumed',
    `{${gone.length === 0 ? '' : `"dropped":${JSON.stringify(gone.map(({ key }) => key))},`}${escalates ? `${ESCALATES},` : ''}${resolutionOf(ws, task, over, waitReasonOf[wait.kind])}}`,
    undefined,
    taken?.blob ?? null,
  )
  countVerdict(ws, row, wait, outcome)
  ws.putWaits(
    row,
    ws.waitsOf(row).filter((it) => it.key !== wait.key && !gone.includes(it)),
  )
  for (const unread of ws.signalsOf(row))
    if (gone.some(({ name }) => name === unread.name)) ws.takeSignal(row, unread)
  ws.count('waiting', -1)
  hold(ws, row, 'none', 'queued')
  enqueue(ws, ws.taskNow(row))
}

/** The waits that a rejection leaves nothing to wait for: with one that a person is asked about, the question about a failure before it, too. */
function waitsSentBack(ws: WorkingSet, task: TaskRow, escalates: boolean): readonly WaitRow[] {
  const { approvedSeq } = ws.verdictsOf(task)
  return ws
    .waitsOf(task)
    .filter((wait) => endsWithRejection(wait, approvedSeq) || (escalates && isEscalation(wait.key)))
}

/** How a wait ended, as its event says it. */
export function resolutionOf(
  ws: WorkingSet,
  task: TaskRow,
  { wait, outcome, taken }: Over,
  reason?: WaitReason,
): string {
  const { key, kind, name, position } = wait
  const value = valueOf(outcome, taken)
  return (
    `"key":${JSON.stringify(key)},"kind":"${kind}",` +
    (name === null ? '' : `"name":${JSON.stringify(name)},`) +
    `"outcome":"${outcome}","position":${position}` +
    (reason === undefined ? '' : `,"reason":"${reason}"`) +
    (sendsBack(wait, outcome) ? `,"since":${ws.verdictsOf(task).approvedSeq}` : '') +
    (value === undefined ? '' : `,"value":${value}`)
  )
}

/** The value that arrived; for an approval that nobody answered, the verdict for that case. */
export function valueOf(outcome: Over['outcome'], taken: SignalRow | undefined): string | undefined {
  if (taken !== undefined) return storedText(taken)
  return outcome === 'approved' || outcome === 'rejected' ? TIMEOUT_VERDICT : undefined
}
