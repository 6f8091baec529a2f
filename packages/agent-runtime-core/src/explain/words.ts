import { keyText } from '../step/key-text.ts'
import { marketStageIn } from '../market/market.ts'
import type { PipelineCase } from '../pipeline/log.ts'
import { stageIn } from '../pipeline/pipeline.ts'
import { slotShortageText, type SlotShortage } from '../pipeline/slots.ts'
import { stageWaitText } from '../pipeline/words.ts'
import { afterIn, supervisorTerms } from '../supervision/supervision.ts'
import { isDoubt } from '../step/doubt.ts'
import { isEscalation } from '../recovery/escalation.ts'
import { isHandOver } from '../recovery/hand-over.ts'
import { childKeyOf, isPatience } from '../child/child.ts'
import type { BudgetRecord } from '../budget/schema.ts'
import { describeDivergence } from '../history/divergence.ts'
import type { Divergence } from '../history/divergence-schema.ts'
import { RETRY_KEY } from '../history/replay.ts'
import type { Recovered } from '../recovery/decide.ts'
import type { ErrorSummary, OpenChildren, Requeues } from '../store/explanation.ts'
import type { TaskRecord } from '../task/schema.ts'
import type { OpenWait } from '../wait/schema.ts'
import { RESERVED } from '../wait/wait.ts'

/** Why a task that was started before is due at a time. */
export function sinceText(last: Requeues['last'] | undefined): string {
  if (last?.backOff !== undefined)
    return `: the provider of ${last.backOff.keys.join(', ')} refused it until then`
  if (last?.reason !== 'retry') return ''
  const after = last.failure === undefined ? '' : `: ${last.failure.message}`
  return `${last.recovery === undefined ? ', to be tried again' : `, ${recoveryText(last.recovery)}`}${after}`
}

/** The words for the decision of a table of recovery about a failure. */
function recoveryText({ category, strategy, model, task }: Recovered): string {
  const after = `after a failure of category ${category}`
  switch (strategy) {
    case 'human_escalation':
      return `to ask a person whether it goes on ${after}`
    case 'fallback_agent':
      return task === undefined
        ? `to be tried with model ${String(model)} ${after}`
        : `to be handed over to '${task}' ${after}`
    case 'restart':
      return `to be started anew ${after}`
    case 'retry_with_feedback':
    case 'retry_with_backoff':
      return `to be tried again ${after}`
  }
}

/**
 * Words for the waits of a waiting task. `asks`: the budget that asks. `failureOf`: the last failure of the step with
 * that key, if it has failed. `pipeline`: the one that it is a stage of. `shortage`: the slots that the tasks of its own stages have to share. `advice`: what to
 * do about tasks of its stages, or of its pipeline, that are held back.
 */
export function waitingText(
  record: Extract<TaskRecord, { state: 'waiting' }>,
  asks: BudgetRecord | undefined,
  children: OpenChildren | undefined,
  failureOf: (step: string) => ErrorSummary | undefined,
  pipeline?: PipelineCase,
  shortage?: SlotShortage,
  advice?: string,
): string {
  if (record.waitingFor === 'budget') return budgetText(record.taskId, asks)
  if (record.divergence !== undefined) return parkedText(record.divergence)
  const notes = [shortage && slotShortageText(shortage), advice]
  const told = notes.flatMap((note) => (note === undefined ? [] : `; ${note}`)).join('')
  return `waits for ${waitsText(record.waits, children, failureOf, pipeline)}${idleText(record.waits, children)}${told}`
}

/** Words for a few waits of a child; undefined for many. `pipeline`: the one that it is a stage of. */
export function childWaitText(
  waits: readonly OpenWait[],
  pipeline: PipelineCase | undefined,
): string | undefined {
  if (waits.length === 0 || waits.length > MAX_OF_CHILD) return undefined
  return `waits for ${waitsText(waits, undefined, () => undefined, pipeline)}`
}

/** More waits of a child are read by nobody. */
export const MAX_OF_CHILD = 3

/** The children that are waited for and that no running process could ever start. */
function idleText(waits: readonly OpenWait[], children: OpenChildren | undefined): string {
  const keys = new Set(waits.flatMap(({ kind, name = '' }) => (kind === 'child' ? [childKeyOf(name)] : [])))
  const idle = (children?.first ?? []).filter(({ key, waitsFor }) => waitsFor === 'worker' && keys.has(key))
  const types = [...new Set(idle.map(({ type }) => type))]
  return types.length === 0 ? '' : `; no worker runs type ${types.join(' or ')}`
}

function budgetText(taskId: string, asks: BudgetRecord | undefined): string {
  const answer = 'answer it with budgets.continue or budgets.stop'
  if (asks?.asks === undefined)
    return `is parked: the budget of a task above it has passed a soft line; ${answer}`
  const { field, by } = asks.asks
  const whose = asks.taskId === taskId ? 'its budget' : `the budget of task ${asks.taskId}`
  const passed = by === taskId ? '' : `, and task ${by} crossed it`
  return `is parked: ${whose} has passed its soft line (${asks.used[field]} of ${asks.limits[field]} ${field} used${passed}); ${answer}`
}

function parkedText(divergence: Divergence): string {
  const text = describeDivergence(divergence)
  if (divergence.kind === 'value_unreadable')
    return `is parked, ${text}; resume it once its process has the codec or the key`
  return divergence.kind === 'history_edited'
    ? `is parked, ${text}; restore its rows of the table event from a backup, then resume it`
    : `is parked, because its handler took a different path than its recorded history: ${text}; resume it once the code fits`
}

function waitsText(
  waits: readonly OpenWait[],
  children: OpenChildren | undefined,
  failureOf: (step: string) => ErrorSummary | undefined,
  pipeline: PipelineCase | undefined,
): string {
  const keys = waits.flatMap(({ kind, name = '' }) => (kind === 'child' ? [childKeyOf(name)] : []))
  // Its children first: after the condition of one that starts later, they would read as a part of it.
  const ordered = waits.toSorted(
    (a, b) => Number(afterIn(a.key) !== undefined) - Number(afterIn(b.key) !== undefined),
  )
  const others = ordered
    .filter(({ kind, key }) => kind !== 'child' && !isPatience(key))
    .map((wait) => stageWaitText(wait.key, pipeline) ?? waitText(wait, failureOf))
  const more = others.length > MAX_OTHERS ? [`${others.length - MAX_OTHERS} more`] : []
  return [
    ...(keys.length === 0 ? [] : [childrenText(keys, children?.first ?? [])]),
    ...others.slice(0, MAX_OTHERS),
    ...more,
  ].join(' or ')
}

/** Children are counted, and the first few named, with what they do. */
function childrenText(keys: readonly string[], known: OpenChildren['first']): string {
  const [key = ''] = keys
  const only = known.find((child) => child.key === key)
  if (keys.length === 1)
    return `${childName(key, only?.type)}${only === undefined ? '' : ` (task ${only.taskId}, ${childText(only)})`}`
  const named = keys.slice(0, MAX_NAMED).map((name) => {
    const child = known.find((it) => it.key === name)
    return `${shortName(name)}${child === undefined ? '' : ` (${childText(child)})`}`
  })
  const more = keys.length > MAX_NAMED ? ` and ${keys.length - MAX_NAMED} more` : ''
  return `${keys.length} children: ${named.join(', ')}${more}`
}

/** A stage has its own name, and a task that this one was handed over to its type. */
function childName(key: string, type: string | undefined): string {
  if (isHandOver(key)) return type === undefined ? keyText(key) : `'${type}', which it was handed over to`
  return isStage(key) ? keyText(key) : `the child '${key}'`
}

function shortName(key: string): string {
  return isStage(key) || isHandOver(key) ? keyText(key) : `'${key}'`
}

function isStage(key: string): boolean {
  return stageIn(key) !== undefined || marketStageIn(key) !== undefined
}

function childText({ state, waitsFor, summary }: OpenChildren['first'][number]): string {
  if (summary !== undefined) return summary
  if (waitsFor === undefined) return state
  if (state === 'waiting') return `waiting for ${waitsFor}`
  // A slot is what a queued task usually waits for, and the lack of a worker is said for all.
  return ['slot', 'worker', 'delay', 'suspect'].includes(waitsFor)
    ? state
    : `${state}: ${queuedWords(waitsFor)}`
}

function queuedWords(waitsFor: string): string {
  return waitsFor === 'paused' ? 'paused' : `waits for ${waitsFor.replace('quota:', 'the quota ')}`
}

/** More names than that are read by nobody. */
const MAX_NAMED = 5
/** Waits for other things than children are seldom many. */
const MAX_OTHERS = 100

/** The step or child that is tried again at the end of a wait; undefined for another wait. */
export function retriedIn(key: string): string | undefined {
  if (!key.startsWith(RETRY_KEY)) return undefined
  const [, ...tried] = key.slice(RETRY_KEY.length).split('/')
  return tried.join('/')
}

/** The runtime's own timers: before a step is tried again, or a child for which there was no room is submitted again. */
function retryText(
  key: string,
  until: string,
  failureOf: (step: string) => ErrorSummary | undefined,
): string {
  const tried = retriedIn(key) ?? ''
  if (key.startsWith(`${RETRY_KEY}limit-`)) return `the provider that refused ${keyText(tried)}${until}`
  const failure = failureOf(tried)
  return failure === undefined
    ? `room for ${tried.startsWith(RESERVED) ? keyText(tried) : `the child '${tried}'`}${until}`
    : `the next try of ${keyText(tried)}${until} (the last one failed: ${failure.message})`
}

function waitText(
  { key, kind, name, dueAt }: OpenWait,
  failureOf: (step: string) => ErrorSummary | undefined,
): string {
  const until = dueAt === undefined ? '' : ` until ${new Date(dueAt).toISOString()}`
  if (isDoubt(key) || isEscalation(key)) return `an answer to ${keyText(key)}`
  if (supervisorTerms(key) !== undefined) return `its ${keyText(key)}`
  if (afterIn(key) !== undefined) return keyText(key)
  if (kind === 'approval') return `the approval '${key}'${until}`
  if (key.startsWith(RETRY_KEY)) return retryText(key, until, failureOf)
  return kind === 'timer' ? `${keyText(key)}${until}` : `the signal '${name ?? key}'${until}`
}
