import {
  budgetAmount,
  budgetAmounts,
  type ChildEnd,
  describeDivergence,
  type ErrorRecord,
  keyText,
  PATCH_KEY,
  READY_KEY,
  textOf,
} from '@ku0/agent-runtime-core'
import type { RuntimeEvent } from '../api/events.ts'
import type { TaskHistory } from './task-history.ts'

/**
 * The history as a failed assertion shows it: a first line, then a line per event with the time since the
 * submission.
 */
export function textOfHistory(
  history: Omit<TaskHistory, 'toString'>,
  events: readonly RuntimeEvent[],
): string {
  const { taskId, type, state, attempts, steps } = history
  const begunAt = events[0]?.at ?? 0
  const times = events.map(({ at }) => `+${spanOf(at - begunAt)}`)
  const widest = Math.max(0, ...times.map(({ length }) => length))
  const runs = new Map(steps.map((step) => [step.key, step.runs]))
  const lines = events.map((event, index) =>
    `  ${times[index]?.padStart(widest)}  ${event.type.padEnd(15)}  ${detailOf(event, runs)}`.trimEnd(),
  )
  const tries = attempts === 1 ? 'attempt 1' : `${attempts} attempts`
  return [`${type} ${taskId}: ${state}, ${tries}`, ...lines].join('\n')
}

/** `1d 2h 3m 4.005s`. */
function spanOf(ms: number): string {
  const parts: string[] = []
  let rest = ms
  for (const [unit, size] of units) {
    if (rest < size) continue
    parts.push(`${Math.floor(rest / size)}${unit}`)
    rest %= size
  }
  if (rest > 0 || parts.length === 0) parts.push(rest < 1_000 ? `${rest}ms` : `${rest / 1_000}s`)
  return parts.join(' ')
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const

function detailOf({ type, data, at }: RuntimeEvent, runs: ReadonlyMap<string, number>): string {
  switch (type) {
    case 'task.queued':
      return `${data.lane}${data.dueAt === undefined ? '' : `, due in ${spanOf(data.dueAt - at)}`}, input ${short(data.input)}`
    case 'task.started':
      return `attempt ${data.attempt}`
    case 'task.waiting':
      if (data.divergence !== undefined) return `parked: ${describeDivergence(data.divergence)}`
      if (data.budget !== undefined) return 'parked: its budget needs an answer'
      return data.waits.map((wait) => `for ${waitText(wait, data.dueAt?.[wait.key], at)}`).join(', ')
    case 'wait.started':
      return waitText(data, data.dueAt, at)
    case 'task.resumed':
    case 'wait.resolved':
    case 'wait.inherited': {
      if (data.key === undefined) return 'put back'
      if (data.kind === 'child')
        return `${keyText(data.key)} ${data.outcome === 'received' ? 'has ended' : outcomes[data.outcome]}`
      const value = data.value === undefined ? '' : ` with ${short(data.value)}`
      return `${keyText(data.key)} ${outcomes[data.outcome]}${value}`
    }
    case 'task.requeued':
      return `${data.reason}, attempt ${data.attempt}${data.error === undefined ? '' : ` after ${errorText(data.error)}`}`
    case 'task.completed':
      return short(data.output)
    case 'task.failed':
      return `(${data.kind}) ${errorText(data.error)}`
    case 'task.canceled':
      return data.reason ?? ''
    case 'task.rejected':
      return data.message
    case 'signal.received':
      return `'${data.name}' with ${short(data.value)}`
    case 'child.spawned':
    case 'child.inherited':
      return `'${data.key}', a ${data.type}`
    case 'child.ended':
      return `'${data.key}' ${endText(data.value)}`
    case 'step.completed':
    case 'step.inherited':
      if (data.key.startsWith(PATCH_KEY)) return `patched '${data.key.slice(PATCH_KEY.length)}'`
      if (data.key === READY_KEY) return 'ready'
      return `'${data.key}' = ${short(data.result)}${ranText(runs.get(data.key))}`
    case 'budget.asked':
      return `${budgetAmount(data.field, data.used)} ${data.field} used, soft line at ${budgetAmount(data.field, data.line)}`
    case 'budget.continued': {
      const raised = Object.entries(budgetAmounts(data.raised))
      return raised.length === 0 ? 'as it is' : raised.map(([field, by]) => `${by} more ${field}`).join(', ')
    }
    case 'credits.asked':
      return `${data.client} lacks ${data.missing} of ${data.asked} credits`
    case 'step.started':
      return `'${data.key}'`
    case 'doubt.inherited':
      return `'${data.key}', started ${data.starts === 1 ? 'once' : `${data.starts} times`}`
    case 'step.failed': {
      const next = data.retry === undefined ? '' : `, retry ${data.retry} follows`
      return `'${data.key}' threw ${errorText(data.error)}${next}`
    }
    default:
      return ''
  }
}

const outcomes = {
  fired: 'is over',
  received: 'has its signal',
  timed_out: 'timed out',
  approved: 'was approved',
  rejected: 'was rejected',
  passed: 'passed a spot check',
} as const

function waitText(
  { key, kind, name }: { readonly key: string; readonly kind: string; readonly name?: string },
  dueAt: number | undefined,
  at: number,
): string {
  const signal = kind === 'signal' && name !== undefined && name !== key ? ` (signal '${name}')` : ''
  return `${keyText(key)}${signal}${dueAt === undefined ? '' : `, due in ${spanOf(Math.max(0, dueAt - at))}`}`
}

function endText(end: ChildEnd): string {
  switch (end.state) {
    case 'completed':
      return `completed with ${short(end.output)}`
    case 'failed':
      return `failed (${end.kind}) ${errorText(end.error)}`
    case 'canceled':
      return `was canceled${end.reason === undefined ? '' : `: ${end.reason}`}`
  }
}

/** A single run is not worth a mention. */
function ranText(runs = 0): string {
  return runs > 1 ? `, ran ${runs} times` : ''
}

function errorText(error: unknown): string {
  const { name, message } = error as ErrorRecord
  return cut(`${name}: ${message}`)
}

function short(value: unknown): string {
  return cut(typeof value === 'string' ? JSON.stringify(value) : textOf(value))
}

function cut(text: string): string {
  const line = text.replaceAll('\n', ' ')
  return line.length > 100 ? `${line.slice(0, 99)}…` : line
}
