import { firstLines, invalid, show } from '@ku0/agent-runtime-core'
import type { z } from 'zod'

/**
 * What a call was given, as a copy that is plain data: it cannot change under the store, nor throw when it is read. Throws
 * `invalid_argument` with a line for each field that is wrong.
 */
export function parseGiven<S extends z.ZodType>(call: string, schema: S, given: unknown): z.output<S> {
  let lines: readonly string[]
  try {
    const { success, data, error } = schema.safeParse(given)
    if (success) return data
    lines = error.issues.map(({ path, message }) => `${[call, ...path.map(String)].join(' ')}: ${message}`)
  } catch {
    // A getter threw, or the trap of a proxy.
    throw invalid(`${call}: it cannot be read; given ${show(given)}`)
  }
  throw invalid(firstLines(lines).join('\n'))
}
