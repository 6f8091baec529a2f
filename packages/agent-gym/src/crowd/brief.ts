import { defineTask } from '@ku0/agent-runtime'

/** Takes any input as it is. */
const anything = {
  '~standard': { version: 1, vendor: 'crowd', validate: (value: unknown) => ({ value }) },
} as const

/** The task that a crowd shares; its result is the runtime that ran it. */
export function brief(run: () => Promise<string> | string) {
  return defineTask({ type: 'brief', input: anything }, run)
}

/** Room for all tasks of a crowd at once; the same for all its runtimes, as settings of the store are. */
export const roomy = { queueDepthLimit: 1_000_000, batchBackpressureThreshold: 1_000_000 } as const
