import { canonical } from '../codec.ts'
import type { EventData } from '../event.ts'
import { isFinal } from '../states.ts'
import type { OutcomeOf, Submission, Write } from '../store.ts'
import type { MemoRow } from './rows.ts'
import { submitOne } from './submit.ts'
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

  const memos = history.memos
    .map((memo) => ({ ...memo, data: JSON.parse(memo.data) as MemoData }))
    .filter(({ data }) => data.reason !== 'divergence')
  const from = it.fromStep === undefined ? undefined : memos.find(({ data }) => data.key === it.fromStep)
  if (it.fromStep !== undefined && from === undefined) return { as: 'unknown_step', key: it.fromStep }
  const kept = from === undefined ? memos : memos.filter(({ data }) => data.position < from.data.position)
  const stray = Object.keys(it.edits).find(
    (key) => !kept.some(({ data, type }) => isStep(type) && data.key === key),
  )
  if (stray !== undefined) return { as: 'unknown_step', key: stray }

  const receipt = submitOne(ws, { ...submissionOf(history.submission), ...it.change, forkOf: it.taskId })
  if (receipt.accepted && !receipt.deduplicated)
    for (const memo of kept) inherit(ws, receipt.sequence, memo, it.edits)
  return { as: 'submitted', receipt }
}

/** The data of the events that are memos. */
type MemoData = (EventData['step.completed'] | EventData['wait.resolved']) & {
  reason?: string
  dropped?: string[]
}

interface Memo extends Omit<MemoRow, 'data'> {
  readonly data: MemoData
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
  const { reason: _, dropped: __, ...own } = data
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
