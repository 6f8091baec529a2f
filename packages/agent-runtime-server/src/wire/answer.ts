import type { Explanation, RuntimeEvent } from '@ku0/agent-runtime'
import { isoOf, isTimeName } from './times.ts'
import { hidesMessages, REDACTED, type Redaction, type ValueName, valueNames } from './redaction.ts'
import { valueToJson } from './values.ts'

/** Makes the JSON of an answer from a record of the library. */
export type ToJson = (record: unknown) => unknown

/**
 * Records as they are answered: moments are ISO 8601, values of users are redacted and in the form of the codec. The data of events
 * keeps its numbers, because it is what the hashes are over.
 */
export function toJsonWith(redact: Redaction): ToJson {
  /** Branches have a result each. */
  const clean = (name: ValueName, record: object, value: unknown): unknown => {
    const rest = redact(name, value)
    if (name !== 'result' || !('branchKeys' in record) || !isTable(rest)) return rest
    return Object.fromEntries(Object.entries(rest).map(([key, item]) => [key, redact(name, item)]))
  }
  /** The end of a child and a verdict have a user's value inside a value of the runtime's own. */
  const cleanOwn = (value: unknown): unknown => {
    const rest = redact('value', value)
    if (!isTable(rest)) return rest
    return Object.fromEntries(
      Object.entries(rest).map(([key, item]) => [key, isEnding(key) ? redact(key, item) : item]),
    )
  }
  const loggedOf = (item: Logged): Logged => ({ ...item, data: redact('data', item.data) })
  const dataOf = ({ type, data }: RuntimeEvent): unknown => {
    if (!isTable(data)) return data
    const cleaned = Object.entries(data).map(([key, item]) => {
      if (!isValueName(key)) return [key, item] as const
      return [
        key,
        key === 'value' && !isOfUser(type, data) ? cleanOwn(item) : clean(key, data, item),
      ] as const
    })
    return Object.fromEntries(cleaned)
  }
  const isSecret = hidesMessages(redact)
  const toJson = (record: unknown): unknown => {
    if (Array.isArray(record)) return record.map(toJson)
    if (typeof record !== 'object' || record === null) return record
    const json: Record<string, unknown> = {}
    for (const [key, item] of Object.entries(isEvent(record) ? factsOf(record, dataOf) : record)) {
      if (item === undefined) continue
      if (isTimeName(key) && typeof item === 'number') json[key] = isoOf(item)
      else if (key === 'data' && isLogged(item)) json[key] = valueToJson(redact(key, loggedOf(item)))
      else if (isValueName(key)) json[key] = valueToJson(clean(key, record, item))
      // Why a task is as it is, in words: they have the messages of errors in them.
      else if (isSecret && key === 'summary' && typeof item === 'string' && mayQuoteErrors(record))
        json[key] = REDACTED
      else if (isSecret && reasons.has(key)) json[key] = toJson(withoutMessages(item))
      else json[key] = keyedByUsers.has(key) ? item : toJson(item)
    }
    return json
  }
  return toJson
}

/** Tables whose keys are names of users: labels, and counts by the types of a pipeline's events. */
const keyedByUsers: ReadonlySet<string> = new Set(['labels', 'published', 'taken', 'unread'])

/** Errors in short: of a task or a try that failed, and of its steps. */
const reasons: ReadonlySet<string> = new Set(['failure', 'stepFailures'])

/** Whether the words about a task may have the message of an error in them. */
function mayQuoteErrors(record: object): boolean {
  const { state, stepFailures, divergence, requeued } = record as Partial<Explanation>
  const isUnderWay = state === 'queued' || state === 'running' || state === 'waiting'
  return (
    !isUnderWay ||
    stepFailures !== undefined ||
    divergence !== undefined ||
    requeued?.last.failure !== undefined
  )
}

function withoutMessages(record: unknown): unknown {
  if (Array.isArray(record)) return record.map(withoutMessages)
  if (typeof record !== 'object' || record === null) return record
  return Object.fromEntries(
    Object.entries(record).map(([key, item]) => [key, key === 'message' ? REDACTED : withoutMessages(item)]),
  )
}

function isEnding(name: string): name is ValueName {
  return name === 'value' || name === 'output' || name === 'error'
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function isValueName(name: string): name is ValueName {
  return names.has(name)
}

const names: ReadonlySet<string> = new Set(valueNames)

/** An event of the library parses its data when it is asked for, so that is no field of its own. */
function isEvent(record: object): record is RuntimeEvent {
  return 'seq' in record && 'type' in record && 'hash' in record && 'data' in record
}

function factsOf(event: RuntimeEvent, dataOf: (event: RuntimeEvent) => unknown): object {
  const { type, taskId, seq, at, hash, elsewhere } = event
  return { type, taskId, seq, at, data: dataOf(event), hash, elsewhere }
}

interface Logged {
  readonly data: unknown
}

/** Whether a value has the form in which a pipeline emits the events of its stages: their data is a user's value inside it. */
function isLogged(value: unknown): value is Logged {
  return isTable(value) && 'data' in value && 'stage' in value && 'type' in value
}

/** Whether the `value` in the data of an event is one that a user sent: of a signal, as it came and as it ended a wait. */
function isOfUser(type: string, data: object): boolean {
  return type === 'signal.received' || ('kind' in data && data.kind === 'signal')
}
