import { setTimeout as after } from 'node:timers/promises'

/** The clock and the timers of a command. */
export interface System {
  /** Epoch ms. */
  readonly now: () => number
  /** Resolves after so many ms, or at once when the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

export const realSystem: System = {
  now: () => Date.now(),
  sleep: async (ms, signal) => {
    try {
      await after(ms, undefined, { signal })
    } catch (error) {
      if (!signal.aborted) throw error
    }
  },
}
