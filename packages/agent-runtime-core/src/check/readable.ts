/**
 * Whether a value is an object, and no list, whose own fields can all be read: a getter may throw, and a proxy whatever it is asked.
 * Never throws.
 */
export function isReadable(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  try {
    for (const name of Object.keys(value)) void (value as Record<string, unknown>)[name]
    return !Array.isArray(value)
  } catch {
    return false
  }
}

/** `instanceof` that never throws, as it does for a proxy that was revoked: whatever a program throws is looked at with it. */
export function isA<T>(value: unknown, Class: abstract new (...given: never[]) => T): value is T {
  try {
    return value instanceof Class
  } catch {
    return false
  }
}

/** Whether a value is a list. Never throws, as `Array.isArray` does for a proxy that was revoked. */
export function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value)
  } catch {
    return false
  }
}

/** Whether `value` has all of these methods, of whichever class it is. Never throws. */
export function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  if (typeof value !== 'object' || value === null) return false
  try {
    return names.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
  } catch {
    return false
  }
}
