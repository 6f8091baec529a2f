/** The failure of a store as a promise: it rejects when the store has failed permanently. */
export interface Failing {
  readonly tell: (error: Error) => void
  readonly failed: Promise<never>
}

export function failing(): Failing {
  const { promise, reject } = Promise.withResolvers<never>()
  // Whoever waits for it says so; until then it may fail unheard.
  promise.catch(() => undefined)
  return { tell: reject, failed: promise }
}
