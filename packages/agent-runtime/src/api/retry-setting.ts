import type { Backoff } from '@ku0/agent-runtime-core'

/** How often something is tried in all, and how long the waits between the tries are. */
export interface RetrySetting {
  /** Tries in all, the first one included: a whole number, 1 or more. */
  readonly attempts: number
  /** The defaults are `initialMs` 1000, `factor` 2, `maxMs` 60 000, `jitter` 0.2. */
  readonly backoff?: BackoffSetting | undefined
}

/** The waits between tries, as far as they are given. */
export type BackoffSetting = { readonly [K in keyof Backoff]?: Backoff[K] | undefined }
