import type { FailureKind } from './failure-kind.ts'
import type { Recovered } from '../recovery/decide.ts'

/** How a holder ends its lease. `rate_limited`: it is tried again, in the same attempt. */
export type Settlement =
  | { readonly as: 'completed'; readonly output: string }
  | {
      readonly as: 'failed'
      readonly kind: FailureKind
      readonly error: string
      /**
       * By key, the waits whose end the error reports: a retry of the task waits again. Source:
       * `docs/semantics.md 6.3`.
       */
      readonly waits?: readonly string[]
      /**
       * It ran past its deadline, or above a hard limit: its route is updated in the same commit. Source:
       * `docs/semantics.md 10.3`.
       */
      readonly breach?: 'deadline' | 'hard'
      /**
       * It could not go on because a budget is used up: if nothing is left of one, it ends as at a hard line.
       * Source: `docs/semantics.md 11.5`.
       */
      readonly spent?: true
      /** A person has said no to another try: no supervisor starts it again. Source: `docs/semantics.md 14.1, 14.3`. */
      readonly refused?: true
    }
  | {
      readonly as: 'retry'
      readonly error: string
      readonly delayMs: number
      /** The same for a try that ran past its deadline, or above a hard limit. */
      readonly breach?: 'deadline' | 'hard'
      /** The decision of a table of recovery; with a model, the task has that model from now on. Source: `docs/semantics.md 14.3`. */
      readonly recovery?: Recovered
      /** The pass came to nothing: neither a failure nor a try. */
      readonly interrupted?: true
    }
  | { readonly as: 'rate_limited'; readonly error: string; readonly delayMs: number }
