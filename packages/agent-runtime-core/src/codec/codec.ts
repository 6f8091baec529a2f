import { toBase64 } from './base64.ts'
import type { RegisteredCodec, Seal, ValueReader } from './class-codec.ts'
import { parseJson } from './parse-json.ts'
import { revive } from './revive.ts'
import { TAG, Writer } from './write.ts'
import { PayloadTooLarge, RuntimeError, StepNotSerializable } from '../error/errors.ts'
import { show } from '../check/show.ts'
import { exceeds, sizeOf } from './text-size.ts'

export { exceeds, sizeOf }

/** Options of {@link encode}: the name in its messages, and its limits. */
export interface EncodeOptions {
  /** The owner of the value, for errors: `step 'list files'`. */
  readonly what: string
  /** The most bytes of UTF-8 that the text may have. Default: {@link MAX_TEXT_LENGTH}. */
  readonly maxBytes?: number
}

/** The deepest nesting of a value: a number has depth 0, `[[]]` has 2. Source: `docs/reliability.md` T19. */
export const MAX_DEPTH = 64

/** No text grows longer than this, whatever it is allowed to. */
const MAX_TEXT_LENGTH = 268_435_456

/**
 * A value as canonical JSON text: keys sorted by code unit, no spaces. Plain data is plain JSON. A value that JSON lacks is an object whose only key is `$ku0`:
 *
 *     Date {"$ku0":["Date",1700000000000]}   undefined {"$ku0":["undefined"]}   BigInt {"$ku0":["BigInt","12"]}
 *     Map {"$ku0":["Map",[["k",1]]]}         NaN, Infinity, -Infinity, -0 {"$ku0":["Number","NaN"]}
 *     Set {"$ku0":["Set",[1,2]]}             Uint8Array {"$ku0":["Uint8Array","AQI="]}
 *     Error {"$ku0":["Error",{"message":"…","name":"TypeError"}]}, beside them its cause and own properties
 *     an instance of a class with a codec {"$ku0":["Codec",name,version,data]}; sealed text {"$ku0":["Sealed","AQI="]}
 *     an object of the user's with a key `$ku0`: {"$ku0":["Object",{"$ku0":…,"other":…}]}
 *
 * `decode(encode(x))` equals `x`, `undefined` properties, keys such as `__proto__`, NUL and lone surrogates
 * included, with these exceptions: keys come back sorted; the stack of an error, and its class unless it is a built-in
 * one (`name` stays); an object without a prototype gets the ordinary one; two references to one object
 * become two objects; getters become their values; properties that are not enumerable, or are set on an
 * array, Map, Set, Date or Uint8Array, are dropped.
 *
 * Throws `StepNotSerializable`, naming `what` and the path, for functions, symbols (as keys too), class
 * instances, promises, streams, holes in arrays, getters that throw, cycles and depths above
 * {@link MAX_DEPTH}; `PayloadTooLarge` above `maxBytes`. Source: `docs/semantics.md 7.4, 7.5`.
 */
export function encode(value: unknown, options: EncodeOptions): string {
  return encodeWith(undefined, value, options)
}

function encodeWith(
  codecs: ReadonlyMap<unknown, RegisteredCodec> | undefined,
  value: unknown,
  options: EncodeOptions,
): string {
  const maxBytes = Math.min(options.maxBytes ?? MAX_TEXT_LENGTH, MAX_TEXT_LENGTH)
  const writer = new Writer(options.what, maxBytes, MAX_DEPTH, true, codecs)
  const text = writer.text(value)
  if (exceeds(text, maxBytes)) {
    throw new PayloadTooLarge({ what: options.what, limit: maxBytes, size: sizeOf(text) })
  }
  return text
}

/**
 * The value of a text that {@link encode} wrote. Every object is a new one with the ordinary prototype.
 * Throws `invalid_encoding` for text that is not JSON, for an unknown or malformed tag, and for tagged data
 * that is nested too deeply, and `value_unreadable` for an instance of a class with a codec, and for sealed text: see {@link valueCodec}.
 */
export function decode(text: string): unknown {
  return decodeWith(undefined, text)
}

function decodeWith(reader: ValueReader | undefined, text: string): unknown {
  // JSON.parse takes a number, too, for the text of one.
  if (typeof text !== 'string')
    throw new RuntimeError('invalid_encoding', `a stored value must be a string, not ${show(text)}`)
  let parsed: unknown
  try {
    parsed = parseJson(text)
  } catch (cause) {
    throw new RuntimeError('invalid_encoding', `a stored value is not JSON: ${show(text)}`, { cause })
  }
  return text.includes(`"${TAG}"`) ? revive(parsed, MAX_NESTING, reader) : parsed
}

/** How a program writes and reads values: {@link encode} and {@link decode}, with its codecs and its seal. */
export interface ValueCodec {
  readonly encode: (value: unknown, options: EncodeOptions) => string
  /** Throws `value_unreadable`, too, if a codec or the seal is missing or fails. */
  readonly decode: (text: string) => unknown
  /**
   * An object with a fixed set of names as {@link encode} writes it, each of its values sealed by itself, so that the names stay readable. The values
   * of the names in `open` are not sealed.
   */
  readonly encodeFields: (
    fields: Readonly<Record<string, unknown>>,
    options: EncodeOptions & { readonly open?: readonly string[] },
  ) => string
}

/** Values without codecs of classes and without a seal. */
export const plainValues: ValueCodec = { encode, decode, encodeFields: encode }

/** Values with the codecs of classes, by prototype, and a seal for what is stored. Throws nothing: what it is given was checked. */
export function valueCodec(codecs: readonly RegisteredCodec[], seal?: Seal): ValueCodec {
  if (codecs.length === 0 && seal === undefined) return plainValues
  const byPrototype = new Map(codecs.map((codec) => [codec.prototype, codec]))
  const reader: ValueReader = { byName: new Map(codecs.map((codec) => [codec.name, codec])), seal }
  const read = (text: string) => decodeWith(reader, text)
  const open: ValueCodec['encode'] = (value, options) => encodeWith(byPrototype, value, options)
  if (seal === undefined) return { encode: open, decode: read, encodeFields: open }
  const sealed: ValueCodec['encode'] = (value, options) => {
    const text = `{"${TAG}":["Sealed","${toBase64(seal.seal(open(value, options)))}"]}`
    return withinLimit(text, options)
  }
  return {
    encode: sealed,
    decode: read,
    encodeFields: (fields, { open: unsealed = [], ...options }) => {
      const names = Object.keys(fields).toSorted()
      const each = names.map((name) => {
        const write = unsealed.includes(name) ? open : sealed
        return `${JSON.stringify(name)}:${write(fields[name], options)}`
      })
      const text = `{${each.join(',')}}`
      return withinLimit(names.includes(TAG) ? `{"${TAG}":["Object",${text}]}` : text, options)
    },
  }
}

/** Limits count what is stored. */
function withinLimit(text: string, { what, maxBytes = MAX_TEXT_LENGTH }: EncodeOptions): string {
  if (exceeds(text, maxBytes)) throw new PayloadTooLarge({ what, limit: maxBytes, size: sizeOf(text) })
  return text
}

/**
 * The canonical JSON of plain data: keys sorted by code unit, no spaces; `undefined` properties are left out,
 * -0 is 0. An encoded value that was parsed as JSON comes out as it went in. Throws `invalid_argument` for
 * everything JSON cannot say. Source: `docs/semantics.md 6.2`.
 */
export function canonical(value: unknown): string {
  try {
    return new Writer('canonical JSON', MAX_TEXT_LENGTH, MAX_NESTING, false).text(value)
  } catch (cause) {
    if (!(cause instanceof StepNotSerializable)) throw cause
    throw new RuntimeError('invalid_argument', `not plain data: ${cause.message}`, { cause })
  }
}

/** The deepest JSON of a value of {@link MAX_DEPTH}: a Map takes four levels of it for one. */
const MAX_NESTING = MAX_DEPTH * 8
