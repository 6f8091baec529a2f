import { httpFactsIn, type HttpFacts, restoreHttpFacts } from './http.ts'
import { isErrorCode, isRetryable } from './codes.ts'
import { NonRetryableError, RuntimeError } from './errors.ts'
import { textOf } from '../check/show.ts'

/** A failure as plain data: what is stored, logged and sent. Strings are cut, so its size is bounded. */
export interface ErrorRecord extends Partial<HttpFacts> {
  readonly name: string
  readonly message: string
  /** A code of the runtime's list, or the thrower's own (`ENOENT`). */
  readonly code?: string
  readonly stack?: string
  /** Absent when the error does not say: the retry policy decides. */
  readonly retryable?: boolean
  readonly cause?: ErrorRecord
  /** The runtime's own data about a failure that it decided. */
  readonly details?: Readonly<Record<string, unknown>>
}

/** How much of an error is kept. Lengths are bytes of UTF-8. */
export interface ErrorLimits {
  /** The limit of the message, at each level. */
  readonly messageBytes: number
  /** The limit of the stack, at each level. */
  readonly stackBytes: number
  /** Levels of `cause` below the first. */
  readonly causes: number
}

/** The limits of {@link describeError} by default: under 120 KiB in all. */
export const errorLimits: ErrorLimits = { messageBytes: 16_384, stackBytes: 4_096, causes: 4 }

/**
 * Describes any thrown value. Never throws itself: values that are not errors, getters that throw, revoked
 * proxies, endless messages and circular causes all give a record. An object with a string `message` counts
 * as an error, from any realm. If there are several `errors` and no cause, the first error is used as the
 * cause. `retryable` follows the code for the runtime's codes, and otherwise the error's own boolean property
 * of that name. For an HTTP client's error, `status` and the relevant `headers` are kept, never the request,
 * the body or the credentials. Source: `docs/reliability.md` G10.
 */
export function describeError(error: unknown, limits: Partial<ErrorLimits> = {}): ErrorRecord {
  return describe(error, { ...errorLimits, ...limits }, 0)
}

/**
 * The error of a record, to be thrown again: with its name, message, code, stack and causes. A code that is
 * not the runtime's becomes `handler_failed` and stays in `details.code`. Its class is {@link RuntimeError},
 * or {@link NonRetryableError} for that code; the other classes carry data that a record does not have.
 * `status` and `headers` are where they were in the described error.
 */
export function toRuntimeError(record: ErrorRecord): RuntimeError {
  const code = isErrorCode(record.code) ? record.code : 'handler_failed'
  const options = {
    details: {
      ...record.details,
      ...(record.code === undefined || record.code === code ? {} : { code: record.code }),
    },
    ...(record.cause === undefined ? {} : { cause: toRuntimeError(record.cause) }),
  }
  const error =
    code === 'non_retryable'
      ? new NonRetryableError(record.message, options)
      : new RuntimeError(code, record.message, options)
  const { status, headers, places } = record
  if (status !== undefined)
    restoreHttpFacts(error, { status, ...(headers && { headers }), ...(places && { places }) })
  if (error.name !== record.name) setHidden(error, 'name', record.name)
  setHidden(error, 'stack', record.stack ?? `${record.name}: ${record.message}`)
  return error
}

function describe(error: unknown, limits: ErrorLimits, depth: number): ErrorRecord {
  const own = read(error, 'message')
  if (typeof own !== 'string') {
    return { name: 'NonError', message: cut(textOf(error), limits.messageBytes) }
  }
  const name = nameOf(error)
  const code = codeIn(error)
  const stack = read(error, 'stack')
  const retryable = retryableOf(error, code)
  const cause = depth < limits.causes ? causeOf(error) : undefined
  return {
    name: cut(name, 255),
    message: cut(own, limits.messageBytes),
    ...(typeof code === 'string' && code !== '' ? { code: cut(code, 255) } : {}),
    ...(typeof stack === 'string' ? { stack: cut(stack, limits.stackBytes) } : {}),
    ...(retryable === undefined ? {} : { retryable }),
    ...httpFactsIn(error),
    ...(cause === undefined ? {} : { cause: describe(cause, limits, depth + 1) }),
  }
}

/** Many classes of errors have no name of their own: then it is that of the class. */
function nameOf(error: unknown): string {
  const name = read(error, 'name')
  const ofClass = read(read(error, 'constructor'), 'name')
  // An error that was restored keeps its name, whatever its class is now.
  const isRestored = error instanceof RuntimeError && Object.hasOwn(error, 'name')
  if (typeof name === 'string' && name !== '' && (name !== 'Error' || isRestored)) return name
  return typeof ofClass === 'string' && ofClass !== '' && ofClass !== 'Object' ? ofClass : 'Error'
}

function retryableOf(error: unknown, code: unknown): boolean | undefined {
  const byCode = isErrorCode(code) ? isRetryable(code) : undefined
  if (byCode !== undefined) return byCode
  const own = read(error, 'retryable')
  return typeof own === 'boolean' ? own : undefined
}

/**
 * The code of a thrown value: the thrower's own also where {@link toRuntimeError} has put it into the details. It puts none of the runtime's there: such a one
 * is somebody else's, like that of a wrapped answer.
 */
export function codeIn(error: unknown): unknown {
  const code = read(error, 'code')
  if (code !== 'handler_failed') return code
  const own = read(read(error, 'details'), 'code')
  return typeof own === 'string' && own !== '' && !isErrorCode(own) ? own : code
}

function causeOf(error: unknown): unknown {
  const cause = read(error, 'cause')
  return cause ?? read(read(error, 'errors'), 0)
}

/** A property, or undefined if it does not exist or reading it throws. */
export function read(holder: unknown, key: string | number): unknown {
  if ((typeof holder !== 'object' && typeof holder !== 'function') || holder === null) return undefined
  try {
    return (holder as Record<string | number, unknown>)[key]
  } catch {
    return undefined
  }
}

/**
 * The longest beginning of `text` within `maxBytes` of UTF-8, a sign that it was cut included; no character
 * is split.
 */
function cut(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text
  const sign = '… (cut)'
  const room = maxBytes - 9
  let bytes = 0
  let kept = 0
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
    if (bytes > maxBytes) return text.slice(0, kept) + sign
    if (bytes <= room) kept += character.length
  }
  return text
}

function setHidden(error: Error, key: 'name' | 'stack', value: string): void {
  Object.defineProperty(error, key, { value, writable: true, configurable: true })
}
