/** Doors at which handlers wait, so that a fault can be placed exactly inside a step. */
export interface Gates {
  open(gate: string): void
  /** Resolves when the gate is open. Rejects with the signal's reason when that comes first. */
  pass(gate: string, signal?: AbortSignal): Promise<void>
}

/** Gates of one process, some of them open from the start. */
export function createGates(opened: readonly string[]): Gates {
  const open = new Set(opened)
  const waiting = new Map<string, Set<() => void>>()
  return {
    open(gate) {
      open.add(gate)
      for (const go of waiting.get(gate) ?? []) go()
      waiting.delete(gate)
    },
    async pass(gate, signal) {
      if (open.has(gate)) return
      signal?.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const queue = waiting.get(gate) ?? new Set()
      waiting.set(gate, queue.add(resolve))
      const onAbort = () => reject(signal?.reason as Error)
      signal?.addEventListener('abort', onAbort, { once: true })
      try {
        await promise
      } finally {
        queue.delete(resolve)
        signal?.removeEventListener('abort', onAbort)
      }
    },
  }
}
