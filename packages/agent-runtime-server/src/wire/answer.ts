import type { RuntimeEvent } from '@ku0/agent-runtime'
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
  const shown = (name: ValueName, record: object, value: unknown) => valueToJson(clean(name, record, value))
  const inside = (data: unknown): unknown => {
    if (typeof data !== 'object' || data === null || Array.isArray(data)) return data
    return Object.fromEntries(
      Object.entries(data).map(([key, item]) => [key, isValueName(key) ? clean(key, data, item) : item]),
    )
  }
  /** Branches have a result each. The end of a child and a verdict have a user's value inside a value of the runtime's own. */
  const clean = (name: ValueName, record: object, value: unknown): unknown => {
    const rest = redact(name, value)
    if (!isTable(rest)) return rest
    if (name === 'result' && 'branchKeys' in record)
      return Object.fromEntries(Object.entries(rest).map(([key, item]) => [key, redact(name, item)]))
    if (name !== 'value') return rest
    return Object.fromEntries(
      Object.entries(rest).map(([key, item]) => [key, isEnding(key) ? redact(key, item) : item]),
    )
  }
  const isSecret = hidesMessages(redact)
  const toJson = (record: unknown): unknown => {
    if (Array.isArray(record)) return record.map(toJson)
    if (typeof record !== 'object' || record === null) return record
    const json: Record<string, unknown> = {}
    for (const [key, item] of Object.entries(isEvent(record) ? factsOf(record) : record)) {
      if (item === undefined) continue
      if (isTimeName(key) && typeof item === 'number') json[key] = isoOf(item)
      else if (key === 'data') json[key] = valueToJson(redact('data', inside(item)))
      else if (isValueName(key)) json[key] = shown(key, record, item)
      // Why a task is as it is, in words: they have the messages of errors in them.
      else if (isSecret && key === 'summary' && typeof item === 'string') json[key] = REDACTED
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

function factsOf({ type, taskId, seq, at, data, hash, elsewhere }: RuntimeEvent): object {
  return { type, taskId, seq, at, data, hash, elsewhere }
}
