import {
  assertOptions,
  delayRule,
  eventCatalogue,
  type EventType,
  flagRule,
  hasMethods,
  instead,
  invalid,
  isName,
  isRecord,
  isLane,
  type Lane,
  lanes,
  listOf,
  namesRule,
  paperEvents,
  rejectionReasons,
  type Rule,
  type Rules,
  show,
  signalRule,
  type TaskFilter,
  taskStates,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import type { PipelineEventsOptions } from '../api/pipelines.ts'
import type { Receipt } from '../api/receipts.ts'
import { labelsRule } from './submit-rules.ts'
import type { LeaseObserver } from '../api/leases.ts'
import type {
  CancelFilter,
  CancelManyOptions,
  PruneOptions,
  CancelOptions,
  FollowOptions,
  ListFilter,
  OutputOptions,
  QueueSelection,
  RetryFilter,
  RetryManyOptions,
  WaitOptions,
} from '../api/client.ts'
import type { StopOptions } from '../api/stop.ts'

const lanesRule = listOf(`a list of ${lanes.join(', ')}`, isLane)
const selectionRules: Rules<QueueSelection> = { types: namesRule, lanes: lanesRule }

/**
 * The task id of a call's argument, which is an id or a receipt. Throws `invalid_argument` for anything else.
 */
export function taskIdOf(call: string, task: unknown): string {
  if (isName(task)) return task
  if (isReceipt(task)) return task.taskId
  throw invalid(`${call}: a receipt, or a task id of 1 to 255 characters; given ${shown(task)}`)
}

/** Throws `invalid_argument` unless it may be the id of a worker. */
export function assertWorkerId(call: string, workerId: unknown): asserts workerId is string {
  if (!isName(workerId))
    throw invalid(`${call}: the id of a worker, a text of 1 to 255 characters; given ${shown(workerId)}`)
}

/** The types and lanes that a pause is about. Throws `invalid_argument` unless there is one. */
export function queueSelectionOf(
  call: string,
  given: QueueSelection | undefined,
): { readonly types: readonly string[]; readonly lanes: readonly Lane[] } {
  assertOptions(call, given, selectionRules)
  const { types = [], lanes: named = [] } = given ?? {}
  if (types.length + named.length > 0) return { types, lanes: named }
  throw invalid(`${call}: ${selectionExample}; given ${shown(given)}`)
}

const selectionExample = "a task type or a lane at least, such as { types: ['digest'] }"

/** Whether a value is a receipt of a submission. */
function isReceipt(value: unknown): value is Receipt {
  if (!isRecord(value) || !isName(value['taskId'])) return false
  const { accepted, reason, message } = value
  if (accepted === true) return true
  return accepted === false && reasons.includes(reason) && typeof message === 'string'
}

/**
 * Throws `invalid_argument` unless the pattern matches the name of an event and the listener is a function.
 */
export function assertSubscription(pattern: unknown, listener: unknown): void {
  if (typeof pattern !== 'string' || !selectsSome(pattern)) {
    const suggestion = typeof pattern === 'string' ? instead(pattern, eventTypes) : ''
    throw invalid(
      `on: the name of an event, a pattern such as 'task.*', or '*'; given ${show(pattern)}${suggestion}`,
    )
  }
  if (typeof listener !== 'function') throw invalid(`on: a listener, a function; given ${show(listener)}`)
}

/** Throws `invalid_argument` for an object without a method of a lease observer. */
export function assertObserver(observer: unknown): asserts observer is LeaseObserver {
  const methods = ['onLeaseAcquired', 'onHeartbeat', 'onLeaseReleased', 'onLeaseExpired']
  if (methods.some((name) => hasMethods(observer, name))) return
  throw invalid(
    `observe: an object with one or more of the methods ${methods.join(', ')}; given ${show(observer)}`,
  )
}

/** The filter of a list for the store. Throws `invalid_argument` for an invalid filter. */
export function filterOf(filter: ListFilter): TaskFilter {
  assertOptions('list', filter, listRules)
  const { states, ...rest } = filter
  if (states === undefined) return rest
  return { ...rest, states: states.map((state) => (state === 'cancelled' ? 'canceled' : state)) }
}

export const waitRules: Rules<WaitOptions> = { signal: signalRule, timeoutMs: delayRule }
export const followRules: Rules<FollowOptions> = {
  after: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  live: flagRule,
  signal: signalRule,
}
export const pipelineRules: Rules<PipelineEventsOptions> = {
  ...followRules,
  check: flagRule,
  types: [
    'a list of types of events',
    (types) => Array.isArray(types) && types.every((type) => typeof type === 'string'),
  ],
}

export const outputRules: Rules<OutputOptions> = { ...followRules, check: flagRule }
export const stopRules: Rules<StopOptions> = { drain: flagRule, graceMs: delayRule }
export const cancelRules: Rules<CancelOptions> = {
  reason: ['a string', (value) => typeof value === 'string'],
}
export const cancelManyRules: Rules<CancelManyOptions> = {
  ...cancelRules,
  expect: wholeNumber(0, Number.MAX_SAFE_INTEGER),
}
export const pruneRules: Rules<PruneOptions> = { dryRun: flagRule, signal: signalRule }
const parentRule: Rule = [
  'a task id, or null for tasks that are no child',
  (value) => value === null || isName(value),
]
const openStates: readonly unknown[] = ['queued', 'running', 'waiting']
const submissionRules = {
  client: ['the name of a client', isName],
  labels: labelsRule,
} satisfies Rules<Pick<ListFilter, 'client' | 'labels'>>
export const cancelFilterRules: Rules<CancelFilter> = {
  states: listOf(`a list of ${openStates.join(', ')}`, (state) => openStates.includes(state)),
  types: namesRule,
  lanes: lanesRule,
  parent: parentRule,
  ...submissionRules,
}
export const retryManyRules: Rules<RetryManyOptions> = {
  expect: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  children: flagRule,
  again: flagRule,
}
const overStates: readonly unknown[] = ['failed', 'canceled']
export const retryFilterRules: Rules<RetryFilter> = {
  ...cancelFilterRules,
  states: listOf(`a list of ${overStates.join(', ')}`, (state) => overStates.includes(state)),
}
const listRules: Rules<ListFilter> = {
  states: listOf(`a list of ${taskStates.join(', ')}`, (state) => stateNames.has(state)),
  types: namesRule,
  lanes: lanesRule,
  parent: parentRule,
  ...submissionRules,
  values: flagRule,
  limit: wholeNumber(1, 1_000),
  cursor: wholeNumber(0, Number.MAX_SAFE_INTEGER),
}

export const leasesRules: Rules<{ readonly limit?: number | undefined }> = {
  limit: wholeNumber(1, 10_000),
}

const reasons: readonly unknown[] = rejectionReasons
const stateNames: ReadonlySet<unknown> = new Set([...taskStates, 'cancelled'])
const eventTypes = Object.keys(eventCatalogue) as EventType[]

function selectsSome(pattern: string): boolean {
  if (pattern === '*' || Object.hasOwn(paperEvents, pattern)) return true
  const prefix = /^(.+)[.:]\*$/.exec(pattern)?.[1]
  return eventTypes.some((type) => (prefix === undefined ? type === pattern : type.startsWith(`${prefix}.`)))
}

function shown(value: unknown): string {
  const text = show(value)
  return text === 'a promise' ? 'a promise: await it first' : text
}
