/**
 * The place of a call, captured at the call and turned into text only on demand: capturing costs about a
 * microsecond, the text twenty.
 */
export interface Place {
  readonly stack?: string
}

/** The place of the call of `callee`, which is on the stack. */
export function placeOf(callee: (...args: never[]) => unknown): Place {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 1
  const place = {}
  Error.captureStackTrace(place, callee)
  Error.stackTraceLimit = limit
  return place
}

/** `/src/handler.ts:12:20`; without a stack, a phrase for that. */
export function nameOfPlace({ stack = '' }: Place): string {
  const frame = /^\s*at (?:.*\((.*)\)|(.*))$/m.exec(stack)
  return (frame?.[1] ?? frame?.[2])?.replace(/^async /, '').replace(/^file:\/\//, '') ?? 'an unknown place'
}
