/** Whether it is what `await` would wait for; what cannot be read is not, and is refused as a value like any other. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return false
  try {
    return typeof (value as { readonly then?: unknown }).then === 'function'
  } catch {
    return false
  }
}
