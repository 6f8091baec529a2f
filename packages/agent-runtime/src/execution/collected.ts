/**
 * Marks an object whose fields are values that the store has already, each of which was within `maxPayloadBytes`: as the output of a
 * task it is not held to that again as a whole. Source: `docs/semantics.md 7.5`.
 */
export function collected<T extends object>(values: T): T {
  marked.add(values)
  return values
}

export function isCollected(value: unknown): boolean {
  return typeof value === 'object' && value !== null && marked.has(value)
}

const marked = new WeakSet<object>()
