import { type EncodeOptions, StepNotSerializable, type ValueCodec } from '@ku0/agent-runtime-core'

/**
 * The text of a step's result. What cannot be stored as it is, and is a result of a model's SDK, is stored as the plain data that it holds:
 * those of the AI SDK are instances of classes whose fields are getters. Throws as `encode`. Source: `docs/semantics.md 7.4`.
 */
export function encodeStepResult(values: ValueCodec, value: unknown, options: EncodeOptions): string {
  try {
    return values.encode(value, options)
  } catch (error) {
    if (!(error instanceof StepNotSerializable)) throw error
    if (!holdsSdkResult(value)) throw withWayOut(error)
    return values.encode(plain(value, 0), options)
  }
}

function withWayOut({ step, path, details, cause }: StepNotSerializable): StepNotSerializable {
  const reason = `${String(details['reason'])} (the toStorable of the step can turn it into data)`
  return new StepNotSerializable({ step, path, reason, ...(cause === undefined ? {} : { cause }) })
}

/** A call of a model tells why it ended and what it used; what embeds tells the embeddings. They are told by that, not by their class. */
function holdsSdkResult(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  try {
    if (isPlain(value)) return false
    const it = value as Readonly<Record<string, unknown>>
    const isCall = typeof it['finishReason'] === 'string' && typeof it['usage'] === 'object'
    return isCall || ('usage' in it && ('embedding' in it || 'embeddings' in it))
  } catch {
    return false
  }
}

const MAX_DEPTH = 32
/** What they hold of the request and the answer repeats the prompt, or is no data. */
const left = new Set(['request', 'rawResponse', 'requestBody', 'body', 'constructor'])

/** Own fields and getters of classes; functions are left out. What is deeper than anything such a result holds is refused by the codec. */
function plain(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return value
  if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1))
  if (value instanceof Date || value instanceof Uint8Array || value instanceof Error) return value
  if (value instanceof Map || value instanceof Set) return value
  const fields: Record<string, unknown> = {}
  for (const name of namesOf(value)) {
    const field = (value as Record<string, unknown>)[name]
    if (left.has(name) || typeof field === 'function') continue
    fields[name] = plain(field, depth + 1)
  }
  return fields
}

function namesOf(value: object): Set<string> {
  const names = new Set(Object.keys(value))
  if (isPlain(value)) return names
  for (let at: unknown = Object.getPrototypeOf(value); isClass(at); at = Object.getPrototypeOf(at))
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if ('get' in property && property.get !== undefined) names.add(name)
  return names
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

function isClass(prototype: unknown): prototype is object {
  return prototype !== null && prototype !== Object.prototype
}
