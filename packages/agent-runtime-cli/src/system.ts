import { randomBytes } from 'node:crypto'
import { setTimeout as after } from 'node:timers/promises'

/** The clock, the timers and the chance of a command. */
export interface System {
  /** Epoch ms. */
  readonly now: () => number
  /** Resolves after so many ms, or at once when the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** A new text that nobody can guess: 43 characters. */
  readonly secret: () => string
}

export const realSystem: System = {
  now: () => Date.now(),
  secret: () => randomBytes(32).toString('base64url'),
  sleep: async (ms, signal) => {
    try {
      await after(ms, undefined, { signal })
    } catch (error) {
      if (!signal.aborted) throw error
    }
  },
}
