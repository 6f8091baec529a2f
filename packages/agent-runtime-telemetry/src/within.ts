import type { Timers } from '@ku0/agent-runtime-core'

/** The answer to a question, or undefined when it fails or takes longer than `ms`. Never rejects. */
export function within<T>(timers: Timers, ms: number, ask: () => Promise<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    const timer = timers.after(ms, () => resolve(undefined))
    const settle = (answer: T | undefined) => {
      timer.cancel()
      resolve(answer)
    }
    Promise.resolve()
      .then(ask)
      .then(settle, () => settle(undefined))
  })
}
