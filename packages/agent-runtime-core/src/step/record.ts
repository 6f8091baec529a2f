import type { OutcomeOf, Write, Writes } from '../store/port.ts'
import type { Fenced } from '../lease/lease.ts'
import { backOffText, block } from '../quota/back-off.ts'
import { debit } from '../budget/debit.ts'
import { childrenToDrop, dropChildren } from '../task/cancel.ts'
import { chargedText, charging } from '../budget/account.ts'
import { exceed } from '../budget/exceed.ts'
import { held } from '../lease/fence.ts'
import { chargeQuotas } from '../quota/hold.ts'
import type { ChildRow } from '../child/row.ts'
import { READY_KEY } from '../supervision/supervision.ts'
import { dropWaits } from '../wait/signal.ts'
import type { WorkingSet } from '../transition/working-set.ts'

/** A step's result, its memo. A key that has one already answers with it and writes nothing. Source: `docs/semantics.md 7.1, 7.2`. */
export function recordStep(ws: WorkingSet, it: Write<'recordStep'>): OutcomeOf<'recordStep'> {
  const live = held(ws, it.leaseId)
  if (live === undefined) return { fenced: 'stale' }
  const { task } = live
  const memo = memoOf(ws, task.id, it.key)
  if (memo !== undefined) return { fenced: 'ok', memo }

  const result = ws.inline(it.result)
  const children = childrenToDrop(ws, task, it.dropsChildren)
  chargeQuotas(ws, task, it.charged)
  const row = ws.move(
    task,
    { steps: task.steps + 1, ...charging(task, it.charged) },
    'step.completed',
    `{${branchesText(it)}${chargedText(it.charged)}${dropsText(it.drops, children)}"durationMs":${it.durationMs}` +
      (it.inputHash === undefined ? '' : `,"inputHash":"${it.inputHash}"`) +
      `,"key":${JSON.stringify(it.key)}${it.nested === true ? ',"nested":true' : ''},"position":${it.position},"result":${result.text}}`,
    undefined,
    result.blob,
  )
  if (it.drops !== undefined) dropWaits(ws, row, it.drops)
  dropChildren(ws, children)
  ws.remember(task.id, it.key, row.seq)
  if (it.key === READY_KEY && task.parent !== null) ws.superviseLater(task.parent)
  exceed(ws, debit(ws, ws.taskNow(row), it.charged, 1), row)
  return { fenced: 'ok' }
}

function branchesText({ branches, branchKeys }: Write<'recordStep'>): string {
  const keys = branchKeys === undefined ? '' : `"branchKeys":${JSON.stringify(branchKeys)},`
  return branches === undefined ? '' : `${keys}"branches":"${branches}",`
}

/** The stored result of a key that has its memo. */
export function memoOf(ws: WorkingSet, task: number, key: string): string | undefined {
  const seq = ws.memos.get(task)?.get(key) ?? ws.base.memos.get(task)?.get(key) ?? 0
  return seq > 0 ? memoText(ws, task, seq) : undefined
}

/**
 * The stored result of the memo at `seq`; the store has put blobs back into the events it loaded. No key before it reads like its name:
 * quotes in a text are escaped.
 */
function memoText(ws: WorkingSet, task: number, seq: number): string {
  const fresh = ws.events.find((event) => event.task === task && event.seq === seq)
  if (fresh !== undefined && fresh.blob !== null) return ws.blobs.get(fresh.blob) ?? ''
  const text = fresh?.data ?? ws.base.events.get(`${task}:${seq}`)
  if (text === undefined) throw new Error(`memo ${task}:${seq} was not loaded`)
  return text.slice(text.indexOf('"result":') + 9, -1)
}

/** The intent of a step, before it runs. Source: `docs/semantics.md 7.6`. */
export function startStep(ws: WorkingSet, it: Write<'startStep'>): Fenced {
  const live = held(ws, it.leaseId)
  if (live === undefined) return 'stale'
  const input = it.inputHash === undefined ? '' : `"inputHash":"${it.inputHash}",`
  ws.move(
    live.task,
    {},
    'step.started',
    `{${input}"key":${JSON.stringify(it.key)},"position":${it.position}}`,
  )
  return 'ok'
}

/** A step that failed, finally or until its next retry. Source: `docs/semantics.md 7.2, 7.7`. */
export function failStep(ws: WorkingSet, it: Write<'failStep'>): Fenced {
  const live = held(ws, it.leaseId)
  if (live === undefined) return 'stale'
  const error = ws.inline(it.error)
  const children = childrenToDrop(ws, live.task, it.dropsChildren)
  chargeQuotas(ws, live.task, it.charged)
  const row = ws.move(
    live.task,
    charging(live.task, it.charged),
    'step.failed',
    `{${backOffText(ws, it.backOff)}${chargedText(it.charged)}${dropsText(it.drops, children)}"durationMs":${it.durationMs},"error":${error.text},"key":${JSON.stringify(it.key)},"position":${it.position}` +
      (it.retry === undefined ? '}' : `,"retry":${it.retry}}`),
    undefined,
    error.blob,
  )
  if (it.drops !== undefined) dropWaits(ws, row, it.drops)
  dropChildren(ws, children)
  block(ws, it.backOff)
  exceed(ws, debit(ws, ws.taskNow(row), it.charged, 0), row)
  return 'ok'
}

function dropsText(waits: readonly string[] | undefined, children: readonly ChildRow[]): string {
  const keys = children.map(({ key }) => key)
  return (
    (waits === undefined ? '' : `"dropped":${JSON.stringify(waits)},`) +
    (keys.length === 0 ? '' : `"droppedChildren":${JSON.stringify(keys)},`)
  )
}

/** The newest checkpoint replaces the one before; the event keeps its hash and size. */
export function checkpoint(ws: WorkingSet, it: { leaseId: string; data: string }): Fenced {
  const live = held(ws, it.leaseId)
  if (live === undefined) return 'stale'
  const row = ws.move(live.task, {}, 'checkpoint.created', checkpointText(it.data, ws.around.sha256Hex))
  ws.checkpoints.set(row.id, { task: row.id, seq: row.seq, data: it.data, at: ws.now.at })
  return 'ok'
}

/** The part of a checkpoint that its event keeps. */
export function checkpointText(data: string, sha256Hex: (text: string) => string): string {
  return `{"hash":"${sha256Hex(data)}","size":${data.length}}`
}

/** Chunks of the task's output stream, numbered from 1 in their own sequence. Source: `docs/semantics.md 9`. */
export function appendOutput(ws: WorkingSet, it: Writes['appendOutput']['fields']): Fenced {
  const live = held(ws, it.leaseId)
  if (live === undefined) return 'stale'
  const { id, attempt } = live.task
  let seq = ws.outputCounts.get(id) ?? 0
  const round = it.round ?? null
  for (const data of it.chunks) ws.outputs.push({ task: id, seq: ++seq, attempt, at: ws.now.at, data, round })
  ws.outputCounts.put(id, seq)
  return 'ok'
}

/** The handler's report of its progress; presence, not an event. */
export function progress(ws: WorkingSet, it: { leaseId: string; progress: string }): Fenced {
  const live = held(ws, it.leaseId)
  if (live === undefined) return 'stale'
  ws.putLease({ ...live.lease, progress: it.progress, progressAt: ws.now.leaseAt })
  return 'ok'
}
