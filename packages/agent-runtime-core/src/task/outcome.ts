import type { ErrorRecord } from '../error/record.ts'
import type { FailureKind } from '../event/event.ts'
import { MIN_RETRY_AFTER_MS, type RateLimited } from '../quota/rate-limited.ts'
import { type Backoff, decideBackoff } from './backoff.ts'

/** How a pass through a handler ended. */
export type HandlerEnd =
  | { readonly as: 'returned'; readonly output: string }
  /** `waits`: by key, the waits whose end the error reports. */
  | {
      readonly as: 'threw'
      readonly error: ErrorRecord
      readonly waits?: readonly string[]
      readonly rateLimit?: RateLimited | undefined
      /** It could not go on because a budget is used up. */
      readonly spent?: true | undefined
    }
  /** The runtime ended it by a rule of its own. The retry policy is asked for those that another try may end otherwise. */
  | { readonly as: 'stopped'; readonly kind: Exclude<FailureKind, 'error'>; readonly error: ErrorRecord }

/** How often a task is tried. */
export interface RetryPolicy {
  /** Tries in all, the first included. */
  readonly attempts: number
  readonly backoff: Backoff
}

/** The facts that decide the outcome, besides the end itself. */
export interface OutcomeCase {
  /** The task's attempt, from 1. It rises on retry and on expiry. */
  readonly attempt: number
  /** How many of the rises were expiries: they are not retries. */
  readonly crashes: number
  /** Without one, the first failure is final. */
  readonly retry?: RetryPolicy | undefined
  /** A number in [0, 1), for the jitter of the back-off. */
  readonly random: number
}

/** What happens to the task. */
export type Outcome =
  | { readonly as: 'completed'; readonly output: string }
  | {
      readonly as: 'failed'
      readonly kind: FailureKind
      readonly error: ErrorRecord
      readonly waits?: readonly string[]
    }
  | { readonly as: 'retry'; readonly error: ErrorRecord; readonly delayMs: number }
  /** A provider refused it for now: it goes on in the same attempt. */
  | { readonly as: 'rate_limited'; readonly error: ErrorRecord; readonly delayMs: number }

/**
 * The outcome of a task whose handler has ended. An error that the handler threw, a timeout, an output
 * that its schema refused, and a crash of its own thread or process are tried again by the retry policy, as long as tries are left and the error does
 * not say that trying again cannot help. A provider's refusal for now is tried again without counting.
 * Source: `docs/semantics.md 1.1, 2.8, 7.7, 8.8` and C17.
 */
export function decideOutcome(end: HandlerEnd, task: OutcomeCase): Outcome {
  switch (end.as) {
    case 'returned':
      return { as: 'completed', output: end.output }
    case 'stopped':
      return end.kind === 'timeout' || end.kind === 'invalid_output' || end.kind === 'crashed'
        ? decideFailure(end, end.kind, task)
        : { as: 'failed', kind: end.kind, error: end.error }
    case 'threw':
      return end.rateLimit === undefined || isFinalError(end.error)
        ? decideFailure(end, kindOf(end.error), task)
        : { as: 'rate_limited', error: end.error, delayMs: waitFor(end.rateLimit) }
  }
}

/** How long what a provider refused waits before it is run again. Source: `docs/semantics.md 2.8`. */
export function waitFor({ retryAfterMs }: RateLimited): number {
  return Math.max(MIN_RETRY_AFTER_MS, retryAfterMs)
}

function decideFailure(
  { error, waits }: { readonly error: ErrorRecord; readonly waits?: readonly string[] },
  kind: FailureKind,
  { attempt, crashes, retry, random }: OutcomeCase,
): Outcome {
  const tries = attempt - crashes
  // Each try would get the same end of the wait again.
  if (retry === undefined || waits !== undefined || isFinalError(error) || tries >= retry.attempts) {
    return { as: 'failed', kind, error, ...(waits === undefined ? {} : { waits }) }
  }
  return { as: 'retry', error, delayMs: decideBackoff(retry.backoff, tries, random) }
}

/** Whether an error, or a cause of it, says that trying again cannot help. Source: `docs/semantics.md 7.7`. */
export function isFinalError(error: ErrorRecord): boolean {
  if (error.retryable === false) return true
  for (let at: ErrorRecord | undefined = error; at !== undefined; at = at.cause)
    if (at.name === 'NonRetryableError') return true
  return false
}

/** An error by which the runtime refused what the handler did keeps its kind, wherever it was thrown. */
function kindOf(error: ErrorRecord): FailureKind {
  switch (error.code) {
    case 'invalid_output':
      return 'invalid_output'
    case 'payload_too_large':
    case 'limit_exceeded':
      return 'limit_exceeded'
    default:
      return 'error'
  }
}
