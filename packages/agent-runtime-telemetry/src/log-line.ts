import { inspect } from 'node:util'

/** Fields of a line, in their order. */
export type Bindings = Readonly<Record<string, unknown>>

/** One line of JSON, its end included. A value that JSON cannot hold is written as text, so that no value costs a line. */
export function lineOf(
  head: Bindings,
  bindings: Bindings,
  given: object | string,
  message: string | undefined,
): string {
  return `${textOf({ ...head, ...bindings, ...fieldsOf(given), ...messageOf(given, message) })}\n`
}

function fieldsOf(given: unknown): Bindings {
  if (given instanceof Error) return { err: given }
  return typeof given === 'object' && given !== null ? Object.fromEntries(readableEntries(given)) : {}
}

function messageOf(given: unknown, message: string | undefined): { readonly msg?: string } {
  if (message !== undefined) return { msg: message }
  if (given instanceof Error) return { msg: given.message }
  return typeof given === 'string' ? { msg: given } : {}
}

/** A getter that throws is a field that says so. */
function readableEntries(given: object): (readonly [string, unknown])[] {
  return Object.keys(given).map((key) => {
    try {
      return [key, (given as Bindings)[key]] as const
    } catch {
      return [key, '[unreadable]'] as const
    }
  })
}

function textOf(fields: Bindings): string {
  try {
    return wellFormed(JSON.stringify(fields, plain))
  } catch {
    const entries = Object.entries(fields).map(([key, value]) => [key, storable(value)] as const)
    return wellFormed(JSON.stringify(Object.fromEntries(entries)))
  }
}

/** A value as JSON takes it; a circle and what throws when it is looked at become text. */
function storable(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value, plain) ?? 'null') as unknown
  } catch {
    try {
      return inspect(value, { depth: 2, breakLength: Infinity })
    } catch {
      return '[unreadable]'
    }
  }
}

function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (!(value instanceof Error)) return value
  const { name, message, stack, cause } = value
  return {
    ...Object.fromEntries(Object.entries(value)),
    type: name,
    message,
    stack,
    ...(cause === undefined ? {} : { cause }),
  }
}

/** Lines go to terminals: no character of a value moves the cursor or ends the line. JSON escapes those below a space itself. */
function wellFormed(json: string): string {
  return json.replace(/[\u007f-\u009f\u2028\u2029]/g, escaped)
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
