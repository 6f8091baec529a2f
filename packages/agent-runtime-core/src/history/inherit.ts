import { supervisedIn, supervisorTerms } from '../supervision/supervision.ts'
import { isHandOver } from '../recovery/hand-over.ts'
import { isEscalation } from '../recovery/escalation.ts'
import { parseJson } from '../codec/parse-json.ts'
import { childName, isPatience, patientFor } from '../child/child.ts'
import { canonical } from '../codec/codec.ts'
import type { StartedStep } from '../step/doubt.ts'
import { isLimit, isRetryWait } from './replay.ts'
import type { EventData } from '../event/event.ts'
import { idempotencyKey } from '../submit/idempotency.ts'
import type { Write } from '../store/port.ts'
import type { Submission } from '../submit/submission.ts'
import type { History, MemoRow } from './row.ts'
import type { TaskRow } from '../task/row.ts'
import { deliver } from '../wait/signal.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** The parts that a new task can have of the one that it is a fork of. */
export interface Past {
  readonly source: TaskRow
  readonly memos: readonly Memo[]
  readonly doubts: readonly StartedStep[]
  readonly rejections: readonly Memo[]
  /** The ends of children by the memos of their spawns. */
  readonly ends: ReadonlyMap<Memo, ChildEnded>
}

export function pastOf(ws: WorkingSet, source: TaskRow, history: Readable, isRetry: boolean): Past {
  const { memos, ...past } = readMemos(ws, source, history.memos)
  return {
    source,
    memos: isRetry ? withoutWhatFailedIt(source, history, memos) : memos,
    doubts: history.doubts,
    ...past,
  }
}

/**
 * The child of `retryOf` under the same key, if it failed or was canceled and had the same type and input: with another input its steps would
 * have other results. Source: `docs/semantics.md 6.3`.
 */
export function childToRetry(ws: WorkingSet, retryOf: string, it: ChildAgain): Past | undefined {
  const before = childBefore(ws, retryOf, it)
  // The log of a pipeline belongs to its task: it begins anew, with a log of its own.
  if (before === undefined || ws.pipelines.get(before.source.id) !== undefined) return undefined
  const { source, history } = before
  const { state } = source
  return state === 'failed' || state === 'canceled' ? pastOf(ws, source, history, true) : undefined
}

/** The same for a child of a supervisor that completed: it is not run again. A permanent one has no end that stays. Source: `docs/semantics.md 14.2`. */
export function childToKeep(ws: WorkingSet, retryOf: string, it: ChildAgain): TaskRow | undefined {
  const restart = supervisedIn(it.key)?.restart
  if (restart === undefined || restart === 'permanent') return undefined
  const source = childBefore(ws, retryOf, it)?.source
  return source?.state === 'completed' ? source : undefined
}

type ChildAgain = Pick<Write<'spawn'>, 'key' | 'submission'>

/** The child that a task had under a key, if it had the same type and input. */
function childBefore(
  ws: WorkingSet,
  parentId: string,
  { key, submission }: ChildAgain,
): { readonly source: TaskRow; readonly history: Readable } | undefined {
  const id = ws.child(ws.taskNumber(parentId) ?? 0, key)?.task ?? 0
  const source = ws.task(id)
  const history = ws.base.histories.get(id)
  if (source === undefined || history === undefined || 'fault' in history) return undefined
  const { type, input } = submissionOf(history.submission)
  return type === submission.type && input === submission.input ? { source, history } : undefined
}

/** Gives a new task what is kept of another. */
export function inheritFrom(
  ws: WorkingSet,
  { source, memos, doubts, rejections, ends }: Past,
  id: number,
  edits: Write<'fork'>['edits'] = {},
): void {
  const told = memos.flatMap((memo) => ends.get(memo) ?? [])
  const open = doubts
    .filter((doubt) => decisionOver(memos, doubt) === undefined)
    .map((doubt) => doubtMemo(ws, source, doubt, { rejections, edits }))
  const own = [...memos, ...open].toSorted((a, b) => a.seq - b.seq)
  const inherited = [...own, ...rejectionsOver(own, rejections), ...told].toSorted((a, b) => a.seq - b.seq)
  inheritAll(ws, source, id, inherited, edits)
}

/** The submission, from its event; the id and the key belong to the other task. */
export function submissionOf(text: string): Submission {
  const it = parseJson(text) as EventData['task.queued']
  const kept = Object.entries(it).filter(([name]) => inherited.has(name))
  return { ...Object.fromEntries(kept), input: canonical(it.input) } as unknown as Submission
}

const inherited: ReadonlySet<string> = new Set<keyof Submission>([
  'type',
  'lane',
  'client',
  'labels',
  'model',
  'timeoutMs',
  'tokens',
  'cost',
  'budget',
  'tools',
  'trace',
  'swarm',
  'agent',
  'oversight',
  'outOfCredits',
  'profile',
  'share',
])

/** The race or all, decided, in a branch of which the step ran: branches have the position of the call around them. */
export function decisionOver(
  kept: readonly Memo[],
  step: { readonly position: number; readonly seq: number },
): string | undefined {
  return kept.findLast(
    ({ seq, data }) => data.branches !== undefined && data.position === step.position && seq > step.seq,
  )?.data.key
}

export interface Memo extends Omit<MemoRow, 'data'> {
  readonly data: MemoData
}

/** The data of the events that are memos. */
type MemoData = (
  | EventData['step.completed']
  | EventData['wait.resolved']
  | EventData['child.spawned']
  | EventData['doubt.inherited']
) & {
  reason?: string
  since?: number
  branches?: 'race' | 'all'
  dropped?: string[]
  droppedChildren?: string[]
}

export function isStep(type: MemoRow['type']): boolean {
  return type === 'step.completed' || type === 'step.inherited'
}

/** A history that can be trusted. */
type Readable = Exclude<History, { readonly fault: unknown }>

/**
 * A task that failed because of the end of a wait would fail again at once: that wait begins again, and so do those that ended likewise
 * after it, unless something was recorded since. It is the one that the failure names; where that names none, the last memo, if no step
 * failed after it. A wait that a handler got over stays, with all that it did since.
 */
function withoutWhatFailedIt(
  source: TaskRow,
  { failedOf, lastFailure }: Readable,
  memos: readonly Memo[],
): readonly Memo[] {
  if (source.state !== 'failed') return memos
  const last = memos.at(-1)
  // A signal or approval that the failure names came, with a value that did not fit its schema.
  const isEnd = (memo: Memo) =>
    isThrown(memo) ||
    ('kind' in memo.data &&
      (memo.data.kind === 'signal' || memo.data.kind === 'approval') &&
      failedOf.includes(memo.data.key))
  const first =
    memos.find((memo) => isEnd(memo) && failedOf.includes(memo.data.key)) ??
    (last !== undefined && isThrown(last) && last.seq > lastFailure ? last : undefined)
  if (first === undefined) return memos
  const wentOn = Math.max(lastFailure, ...memos.filter((memo) => !isEnd(memo)).map(({ seq }) => seq))
  const isGotOver = (memo: Memo) =>
    memo !== first && !failedOf.includes(memo.data.key) && memo.seq < Math.max(first.seq, wentOn)
  return memos.filter((memo) => !isEnd(memo) || isGotOver(memo))
}

/** Whether the wait's end is thrown as an error. */
function isThrown({ data }: Memo): boolean {
  if (!('kind' in data)) return false
  return (
    data.outcome === 'timed_out' || data.outcome === 'rejected' || isPatience(data.key) || isLimit(data.key)
  )
}

/** A step in doubt, as the fork has it: still in doubt, under the key by which its effect is known; or over, with the result that is given for it. */
function doubtMemo(
  ws: WorkingSet,
  source: TaskRow,
  it: StartedStep,
  { rejections, edits }: { readonly rejections: readonly Memo[]; readonly edits: Write<'fork'>['edits'] },
): Memo {
  const { inDoubt: _, seq, ...doubt } = it
  const { key, position, inputHash } = doubt
  const input = inputHash === undefined ? {} : { inputHash }
  if (Object.hasOwn(edits, key)) {
    const data = { ...input, durationMs: 0, key, position, result: null }
    return { seq, type: 'step.inherited', data, blob: null }
  }
  const taskId = ws.taskId(source.id)
  const generation = rejections.filter((rejection) => rejection.seq < seq).length
  const effectKey = doubt.effectKey ?? idempotencyKey(ws.around, taskId, key, inputHash ?? null, generation)
  return { seq, type: 'doubt.inherited', data: { ...doubt, effectKey }, blob: null }
}

/**
 * The rejections after which something kept was recorded. A rejection that counts from an approval that is
 * not kept had ended before it is asked for again.
 */
function rejectionsOver(kept: readonly Memo[], rejections: readonly Memo[]): readonly Memo[] {
  const last = kept.at(-1)?.seq ?? 0
  const starts = new Set([0, ...kept.filter(({ data }) => isApproval(data)).map(({ seq }) => seq)])
  return rejections.filter(({ seq, data }) => seq < last && starts.has(data.since ?? 0))
}

/** In the order of the source history, so that the first of two answers is the first here too. */
function inheritAll(
  ws: WorkingSet,
  source: TaskRow,
  id: number,
  all: readonly (Memo | ChildEnded)[],
  edits: Write<'fork'>['edits'],
): void {
  let approvedSeq = 0
  for (const memo of all)
    if (memo.type === 'child.ended') tellEnd(ws, id, memo as ChildEnded)
    else if (isChild(memo.type)) inheritChild(ws, source, id, memo)
    else {
      const { data } = memo
      const own = data.since === undefined ? data : { ...data, since: approvedSeq }
      inherit(ws, id, { ...memo, data: own }, edits)
      if (isApproval(data)) approvedSeq = ws.taskNow({ id }).seq
    }
}

/**
 * The memos that a fork can keep. Only completed children are kept: the others are spawned again, as
 * a step that failed runs again. Their end is recorded again, so waits for it are not kept, nor time limits
 * that ended only after it. Steps have all their tries again, so the waits between them are not kept either.
 */
function readMemos(
  ws: WorkingSet,
  source: TaskRow,
  rows: readonly MemoRow[],
): {
  readonly memos: readonly Memo[]
  readonly rejections: readonly Memo[]
  readonly ends: ReadonlyMap<Memo, ChildEnded>
} {
  const completed = new Map<string, ChildEnded>()
  const answered = new Set<string>()
  const rejections: Memo[] = []
  const memos: Memo[] = []
  for (const row of rows) {
    const data = JSON.parse(row.data) as MemoData | EventData['child.ended']
    if ((data as MemoData).reason === 'divergence' || (data as MemoData).reason === 'budget') continue
    if (row.type === 'child.ended') {
      if ((data as EventData['child.ended']).state === 'completed')
        completed.set(data.key, { ...row, type: row.type })
      continue
    }
    const memo: Memo = { ...row, data: data as MemoData }
    if (memo.data.since !== undefined) rejections.push(memo)
    else if (!('kind' in memo.data)) memos.push(memo)
    else if (memo.data.kind === 'child') answered.add(data.key)
    else if (
      !isRetryWait(data.key) &&
      !isEscalation(data.key) &&
      supervisorTerms(data.key) === undefined &&
      !(isPatience(data.key) && answered.has(childName(patientFor(data.key))))
    )
      memos.push(memo)
  }
  const ends = new Map<Memo, ChildEnded>()
  const kept = memos.filter((memo) => {
    if (!isChild(memo.type)) return true
    // A supervisor starts them anew, and a task that was handed over begins with its own handler.
    if (supervisedIn(memo.data.key) !== undefined || isHandOver(memo.data.key)) return false
    const end = completed.get(memo.data.key)
    const child = ws.child(source.id, memo.data.key)
    // One that was dropped has no row, or that of the child that came after it.
    if (end === undefined || child?.seq !== memo.seq) return false
    ends.set(memo, end)
    return true
  })
  return { memos: kept, rejections, ends }
}

function isApproval(data: MemoData): boolean {
  return (
    'kind' in data && data.kind === 'approval' && (data.outcome === 'approved' || data.outcome === 'passed')
  )
}

type ChildEnded = MemoRow & { readonly type: 'child.ended' }

function isChild(type: MemoRow['type']): boolean {
  return type === 'child.spawned' || type === 'child.inherited'
}

/** It did not run for this task, and it is over. */
function inheritChild(ws: WorkingSet, source: TaskRow, id: number, { data }: Memo): void {
  const { key, policy, position } = data as EventData['child.spawned']
  const before = ws.child(source.id, key)
  if (before === undefined) throw new Error(`child ${key} of task ${source.id} was not loaded`)
  const { dropped: _, ...own } = data
  const row = ws.move(ws.taskNow({ id }), {}, 'child.inherited', canonical(own))
  const { seq } = row
  ws.putChild({ parent: id, key, task: before.task, position, policy, seq, state: 'closed' })
}

/** The new task has it as if it had just come. */
function tellEnd(ws: WorkingSet, id: number, { data, blob }: ChildEnded): void {
  const { key } = JSON.parse(data) as EventData['child.ended']
  const cut = data.indexOf(',"value":')
  deliver(ws, ws.taskNow({ id }), {
    event: 'child.ended',
    fields: data.slice(1, cut),
    name: childName(key),
    value: { text: data.slice(cut + 9, -1), blob },
  })
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
    const event = type === 'doubt.inherited' ? type : 'wait.inherited'
    ws.move(task, {}, event, canonical(own), undefined, blob)
    return
  }
  const edit = Object.hasOwn(edits, own.key) ? edits[own.key] : undefined
  const value = edit === undefined ? undefined : ws.inline(edit)
  const text =
    value === undefined
      ? canonical(own)
      : canonical({ ...own, result: null }).replace(/null}$/, () => `${value.text}}`)
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
