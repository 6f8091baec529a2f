/**
 * Remembers which wait an error tells the end of: a signal or approval whose time ran out, a request that was rejected. A retry of a task
 * that such an error ended asks anew. Source: `docs/semantics.md 6.3`.
 */
export function endOfWait<E extends Error>(key: string, error: E): E {
  keys.set(error, key)
  return error
}

/** The waits that an error tells the end of, by itself or by its causes, and those of an AggregateError all. */
export function waitsBehind(error: unknown): readonly string[] {
  const found = new Set<string>()
  const seen = new Set<object>()
  const left: unknown[] = [error]
  for (let at = left.shift(); seen.size < MAX_LOOKED_AT; at = left.shift()) {
    if (at === undefined && left.length === 0) break
    try {
      if (!(at instanceof Error) || seen.has(at)) continue
      seen.add(at)
      const key = keys.get(at)
      if (key !== undefined) found.add(key)
      left.push(at.cause, ...(at instanceof AggregateError ? at.errors : []))
    } catch {
      // Whatever was thrown may be a proxy or have getters that throw: it tells of no wait.
    }
  }
  return [...found]
}

const keys = new WeakMap<Error, string>()
/** Causes may go round in a circle of their own making. */
const MAX_LOOKED_AT = 100
