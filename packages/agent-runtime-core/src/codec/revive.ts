import { fromBase64 } from './base64.ts'
import { hiddenFields, TAG } from './write.ts'
import { decoderOf, unreadable, unseal, type ValueReader } from './class-codec.ts'
import { parseJson } from './parse-json.ts'
import { RuntimeError } from '../error/errors.ts'
import { show } from '../check/show.ts'

/**
 * Restores what is tagged, down to so many levels, in place: the parsed JSON is ours alone, and where it has
 * a key `__proto__` that is an ordinary property of its own.
 */
export function revive(value: unknown, levels: number, reader?: ValueReader): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (levels <= 0) throw malformed('it is nested too deeply')
  if (Array.isArray(value)) return reviveArray(value, levels, reader)
  const object = value as Record<string, unknown>
  if (!Object.hasOwn(object, TAG)) return reviveEntries(object, levels, reader)
  if (Object.keys(object).length > 1) throw malformed('a tag stands beside other keys')
  return untag(object[TAG], levels - 1, reader)
}

function reviveArray(array: unknown[], levels: number, reader?: ValueReader): unknown[] {
  for (const [i, item] of array.entries()) {
    if (typeof item === 'object') array[i] = revive(item, levels - 1, reader)
  }
  return array
}

function reviveEntries(
  object: Record<string, unknown>,
  levels: number,
  reader?: ValueReader,
): Record<string, unknown> {
  for (const key of Object.keys(object)) {
    const property = object[key]
    if (typeof property === 'object') object[key] = revive(property, levels - 1, reader)
  }
  return object
}

function untag(tagged: unknown, levels: number, reader?: ValueReader): unknown {
  if (!Array.isArray(tagged)) throw malformed('a tag is not an array')
  const [tag, body] = tagged as unknown[]
  if (tag === 'Codec') return decoded(tagged, levels, reader)
  const length = tag === 'undefined' ? 1 : 2
  if (tagged.length !== length) throw malformed(`the tag ${show(tag)} has the wrong length`)
  switch (tag) {
    case 'undefined':
      return undefined
    case 'Number':
      if (numbers.has(body)) return numbers.get(body)
      break
    case 'BigInt':
      if (typeof body === 'string' && /^-?\d+$/.test(body)) return BigInt(body)
      break
    case 'Date':
      if (body === null || typeof body === 'number') return new Date(body ?? Number.NaN)
      break
    case 'Uint8Array':
      if (typeof body === 'string') {
        const bytes = fromBase64(body)
        if (bytes !== undefined) return bytes
      }
      break
    case 'Sealed':
      if (typeof body === 'string') return unsealed(body, levels, reader)
      break
    case 'Set':
      if (Array.isArray(body)) return new Set(reviveArray(body, levels - 1, reader))
      break
    case 'Map':
      if (Array.isArray(body) && body.every(isPair))
        return new Map(reviveArray(body, levels - 1, reader) as [unknown, unknown][])
      break
    case 'Object':
      if (isRecord(body)) return reviveEntries(body, levels - 1, reader)
      break
    case 'Error':
      if (isRecord(body)) return reviveError(reviveEntries(body, levels - 1, reader))
      break
    default:
  }
  throw malformed(`the tag ${show(tag)} holds ${show(body)}`)
}

/** `["Codec", name, version, data]`, by the program's codec for it. */
function decoded(tagged: unknown[], levels: number, reader: ValueReader | undefined): unknown {
  const [, name, version, data] = tagged
  if (tagged.length !== 4 || typeof name !== 'string' || !Number.isSafeInteger(version))
    throw malformed('the tag "Codec" has no name, version and data')
  const decode = decoderOf(reader, name, version as number)
  const body = revive(data, levels - 1, reader)
  return decode(body, version as number)
}

/** `["Sealed", bytes]`: another text, sealed by the program. */
function unsealed(body: string, levels: number, reader: ValueReader | undefined): unknown {
  const bytes = fromBase64(body)
  if (bytes === undefined) throw malformed('the tag "Sealed" holds no bytes')
  const text = unseal(reader, bytes)
  let parsed: unknown
  try {
    parsed = parseJson(text)
  } catch (cause) {
    throw unreadable('what payloadCodec.decrypt returned is not what was encrypted', cause)
  }
  return revive(parsed, levels - 1, reader)
}

function reviveError(fields: Record<string, unknown>): Error {
  const { name, message } = fields
  if (typeof name !== 'string' || typeof message !== 'string')
    throw malformed('an error has no name or message')
  const isAggregate = name === 'AggregateError'
  const error = isAggregate ? new AggregateError([], message) : new (errorClasses.get(name) ?? Error)(message)
  define(error, 'stack', `${name}: ${message}`, false)
  if (error.name !== name) define(error, 'name', name, false)
  for (const [key, value] of Object.entries(fields)) {
    if (key !== 'name' && key !== 'message') define(error, key, value, !hiddenFields.includes(key))
  }
  return error
}

const numbers = new Map<unknown, number>([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['-0', -0],
])
const errorClasses = new Map(
  [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map((type) => [
    type.name,
    type,
  ]),
)

function malformed(reason: string): RuntimeError {
  return new RuntimeError('invalid_encoding', `a stored value was not written by the codec: ${reason}`)
}

function define(target: object, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(target, key, { value, enumerable, writable: true, configurable: true })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isPair(value: unknown): value is [unknown, unknown] {
  return Array.isArray(value) && value.length === 2
}
