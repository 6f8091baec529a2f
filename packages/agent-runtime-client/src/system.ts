/** Waits; rejects with the signal's reason when that is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>()
  const stop = () => over.reject(signal?.reason)
  if (signal?.aborted === true) stop()
  const handle = setTimeout(over.resolve, ms)
  signal?.addEventListener('abort', stop, { once: true })
  return over.promise.finally(() => {
    clearTimeout(handle)
    signal?.removeEventListener('abort', stop)
  })
}

/** Ms since some fixed moment. */
export function monotonic(): number {
  return performance.now()
}
