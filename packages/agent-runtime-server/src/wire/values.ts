import { decode, encode, invalid, parseJson, RuntimeError } from '@ku0/agent-runtime-core'

/**
 * A value of a user as JSON. Plain data is itself; what JSON lacks (a Date, a Map, `undefined`) is in the form of the codec, such as
 * `{"$ku0":["Date",1700000000000]}`.
 */
export function valueToJson(value: unknown): unknown {
  return isPlain(value, 0) ? value : parseJson(encode(value, { what: 'a value' }))
}

/** The value of JSON in that form. Throws `invalid_argument` where a tag of the codec is malformed. */
export function valueFromJson(json: unknown, place: string): unknown {
  if (json === undefined || isPlain(json, 0)) return json
  try {
    return decode(JSON.stringify(json))
  } catch (error) {
    if (error instanceof RangeError) throw invalid(`${place}: it is nested too deeply`)
    throw invalid(
      `${place}: ${error instanceof RuntimeError ? error.message : 'a value in the form of the codec'}`,
    )
  }
}

/** Whether JSON says it as it is. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean'
  if (value === null) return true
  if (depth > MAX_PLAIN_DEPTH) return false
  if (Array.isArray(value)) return value.every((item) => isPlain(item, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.entries(value).every(([key, item]) => key !== '$ku0' && isPlain(item, depth + 1))
}

const MAX_PLAIN_DEPTH = 64
