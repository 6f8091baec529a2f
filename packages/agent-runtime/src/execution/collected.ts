/**
 * Marks an object whose fields are values that the store already has, each within `maxPayloadBytes`: as the
 * output of a task, the object as a whole is not checked against that limit again. Source: `docs/semantics.md
 * 7.5`.
 */
export function collected<T extends object>(values: T): T {
  marked.add(values)
  return values
}

export function isCollected(value: unknown): boolean {
  return typeof value === 'object' && value !== null && marked.has(value)
}

const marked = new WeakSet<object>()
