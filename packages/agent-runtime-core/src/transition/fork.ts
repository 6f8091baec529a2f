import { childName, isPatience } from '../child.ts'
import { canonical } from '../codec.ts'
import type { EventData } from '../event.ts'
import { isFinal } from '../states.ts'
import type { OutcomeOf, Submission, Write } from '../store.ts'
import type { MemoRow, TaskRow } from './rows.ts'
import type { WaitKind } from '../wait.ts'
import { submitOne } from './submit.ts'
import { deliver } from './waits.ts'
import type { WorkingSet } from './working-set.ts'

/**
 * A new task with the submission of another and the memos it had before a step; the other stays as it is. Source:
 * `docs/semantics.md 1.2, 6.3`.
 */
export function fork(ws: WorkingSet, it: Write<'fork'>): OutcomeOf<'fork'> {
  const number = ws.taskNumber(it.taskId)
  const source = number === undefined ? undefined : ws.task(number)
  const history = number === undefined ? undefined : ws.base.histories.get(number)
  if (source === undefined || history === undefined || source.state === 'rejected')
    return { as: 'unknown_task' }
  const isParked = source.waitReason === 'divergence'
  if (it.onlyOver && !isParked && (!isFinal(source.state) || source.state === 'completed'))
    return { as: 'not_over', state: source.state }

  const { memos, ends } = readMemos(ws, source, history.memos)
  const from = it.fromStep === undefined ? undefined : memos.find(({ data }) => data.key === it.fromStep)
  if (it.fromStep !== undefined && from === undefined) return { as: 'unknown_step', key: it.fromStep }
  const kept = from === undefined ? memos : memos.filter(({ data }) => data.position < from.data.position)
  const stray = Object.keys(it.edits).find(
    (key) => !kept.some(({ data, type }) => isStep(type) && data.key === key),
  )
  if (stray !== undefined) return { as: 'not_editable', key: stray, ...recordedAs(history.memos, stray) }

  const receipt = submitOne(ws, { ...submissionOf(history.submission), ...it.change, forkOf: it.taskId })
  if (receipt.accepted && !receipt.deduplicated)
    for (const memo of kept) {
      const end = ends.get(memo)
      if (end === undefined) inherit(ws, receipt.sequence, memo, it.edits)
      else inheritChild(ws, source, receipt.sequence, memo, end)
    }
  return { as: 'submitted', receipt }
}

function recordedAs(rows: readonly MemoRow[], key: string): { readonly recorded?: 'step' | WaitKind } {
  for (const { type, data } of rows) {
    const memo = JSON.parse(data) as { readonly key?: string; readonly kind?: WaitKind }
    if (memo.key === key) return { recorded: isStep(type) ? 'step' : (memo.kind ?? 'child') }
  }
  return {}
}

/** The data of the events that are memos. */
type MemoData = (EventData['step.completed'] | EventData['wait.resolved'] | EventData['child.spawned']) & {
  reason?: string
  dropped?: string[]
  droppedChildren?: string[]
}

/**
 * The memos that a fork can have. Of the children only those that completed: the others are spawned anew, as a step that failed is run
 * anew. That they ended is told again, so what was waited for on their behalf is not kept.
 */
function readMemos(
  ws: WorkingSet,
  source: TaskRow,
  rows: readonly MemoRow[],
): { readonly memos: readonly Memo[]; readonly ends: ReadonlyMap<Memo, MemoRow> } {
  const completed = new Map<string, MemoRow>()
  const memos: Memo[] = []
  for (const row of rows) {
    const data = JSON.parse(row.data) as MemoData | EventData['child.ended']
    if ((data as MemoData).reason === 'divergence') continue
    if (row.type !== 'child.ended') memos.push({ ...row, data: data as MemoData })
    else if ((data as EventData['child.ended']).state === 'completed') completed.set(data.key, row)
  }
  const ends = new Map<Memo, MemoRow>()
  const kept = memos.filter((memo) => {
    if (!isChild(memo.type)) return !('kind' in memo.data) || !isForChild(memo.data)
    const end = completed.get(memo.data.key)
    const child = ws.child(source.id, memo.data.key)
    // One that was dropped has no row, or that of the child that came after it.
    if (end === undefined || child?.seq !== memo.seq) return false
    ends.set(memo, end)
    return true
  })
  return { memos: kept, ends }
}

function isForChild({ kind, key }: EventData['wait.resolved']): boolean {
  return kind === 'child' || isPatience(key)
}

interface Memo extends Omit<MemoRow, 'data'> {
  readonly data: MemoData
}

function isChild(type: MemoRow['type']): boolean {
  return type === 'child.spawned' || type === 'child.inherited'
}

/** It did not run for this task, and it is over: the new task has its end as if it had just come. */
function inheritChild(ws: WorkingSet, source: TaskRow, id: number, { data }: Memo, end: MemoRow): void {
  const { key, policy, position } = data as EventData['child.spawned']
  const before = ws.child(source.id, key)
  if (before === undefined) throw new Error(`child ${key} of task ${source.id} was not loaded`)
  const row = ws.move(ws.taskNow({ id }), {}, 'child.inherited', canonical(data))
  const { seq } = row
  ws.putChild({ parent: id, key, task: before.task, position, policy, seq, state: 'closed' })
  const cut = end.data.indexOf(',"value":')
  deliver(ws, ws.taskNow({ id }), {
    event: 'child.ended',
    fields: end.data.slice(1, cut),
    name: childName(key),
    value: { text: end.data.slice(cut + 9, -1), blob: end.blob },
  })
}

function isStep(type: MemoRow['type']): boolean {
  return type === 'step.completed' || type === 'step.inherited'
}

function inherit(
  ws: WorkingSet,
  id: number,
  { type, data, blob }: Memo,
  edits: Write<'fork'>['edits'],
): void {
  const task = ws.taskNow({ id })
  const { reason: _, dropped: __, droppedChildren: ___, ...own } = data
  if (!isStep(type)) {
    ws.move(task, {}, 'wait.inherited', canonical(own), undefined, blob)
    return
  }
  const edit = Object.hasOwn(edits, own.key) ? edits[own.key] : undefined
  const value = edit === undefined ? undefined : ws.inline(edit)
  const text =
    value === undefined
      ? canonical(own)
      : canonical({ ...own, result: null }).replace(/null}$/, `${value.text}}`)
  const row = ws.move(
    task,
    { steps: task.steps + 1 },
    'step.inherited',
    text,
    undefined,
    value === undefined ? blob : value.blob,
  )
  ws.remember(id, own.key, row.seq)
}

/** What was submitted, from the event that says so; its id and its key stay the other task's. */
function submissionOf(text: string): Submission {
  const { type, lane, input, client, labels, model, timeoutMs, tokens, tools, trace } = JSON.parse(
    text,
  ) as EventData['task.queued']
  return {
    type,
    lane,
    input: canonical(input),
    ...(client === undefined ? {} : { client }),
    ...(labels === undefined ? {} : { labels }),
    ...(model === undefined ? {} : { model }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(tools === undefined ? {} : { tools }),
    ...(trace === undefined ? {} : { trace }),
  }
}
