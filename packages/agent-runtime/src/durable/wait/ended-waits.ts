/**
 * Remembers which wait's end an error reports: a signal or approval that timed out, or a request that was
 * rejected. A retry of a task that failed with such an error waits again. Source: `docs/semantics.md 6.3`.
 */
export function endOfWait<E extends Error>(key: string, error: E): E {
  keys.set(error, key)
  return error
}

/**
 * The waits whose end an error reports, itself or through its causes; for an AggregateError, those of all its
 * errors.
 */
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
      // The thrown value may be a proxy or have getters that throw: then it reports no wait.
    }
  }
  return [...found]
}

const keys = new WeakMap<Error, string>()
/** Causes may form a cycle. */
const MAX_LOOKED_AT = 100
