/**
 * Whether `await` would wait for a value. A value that cannot be read is not thenable, and is refused like
 * any other invalid value.
 */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return false
  try {
    return typeof (value as { readonly then?: unknown }).then === 'function'
  } catch {
    return false
  }
}
