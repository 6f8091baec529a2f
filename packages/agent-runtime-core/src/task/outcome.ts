import type { ErrorRecord } from '../error/record.ts'
import type { FailureKind } from './failure-kind.ts'
import { categoriesOf, categoryOfKind } from '../recovery/categories.ts'
import { decideRecovery, type Recovered } from '../recovery/decide.ts'
import type { FailureCategory, RecoveryPolicy } from '../recovery/recovery.ts'
import { MIN_RETRY_AFTER_MS, type RateLimited } from '../quota/rate-limited.ts'
import { type Backoff, decideBackoff, defaultBackoff } from './backoff.ts'

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
      /** The causes of all its parts; by default those that the error's record shows. */
      readonly categories?: readonly FailureCategory[] | undefined
    }
  /** It came to nothing, and that says nothing of the work: its memos could not be read, or the task that it was handed over to still works. */
  | { readonly as: 'interrupted'; readonly error: ErrorRecord }
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
  /** Without one, `retry` alone decides. */
  readonly recovery?: RecoveryPolicy | undefined
  /** The model that the task has now. */
  readonly model?: string | undefined
  /** It was handed over to another task before. */
  readonly hasHandedOver?: boolean | undefined
  /** So many of its attempts count as no tries; see `PastFailures`. */
  readonly triesBefore?: number | undefined
  /** A number in [0, 1), for the jitter of the back-off. */
  readonly random: number
}

/** The consequence for the task. */
export type Outcome =
  | { readonly as: 'completed'; readonly output: string }
  | {
      readonly as: 'failed'
      readonly kind: FailureKind
      readonly error: ErrorRecord
      readonly waits?: readonly string[]
    }
  | {
      readonly as: 'retry'
      readonly error: ErrorRecord
      readonly delayMs: number
      /** The decision of a table of recovery. */
      readonly recovery?: Recovered
      /** Nothing was decided, and nothing has failed. */
      readonly interrupted?: true
    }
  /** A provider refused it for now: it goes on in the same attempt. */
  | { readonly as: 'rate_limited'; readonly error: ErrorRecord; readonly delayMs: number }

/** How often a task with a table of recovery is tried that names no retry policy. Source: `docs/semantics.md 14.3`. */
const defaultRecoveryRetry: RetryPolicy = { attempts: 3, backoff: defaultBackoff }

/**
 * The outcome of a task whose handler has ended. An error that the handler threw, a timeout, an output
 * that its schema refused, and a crash of its own thread or process are tried again by the retry policy, as long as tries are left and the error does
 * not say that trying again cannot help. With a table of recovery, the table decides about each kind of failure. A provider's refusal
 * for now is tried again without counting. Source: `docs/semantics.md 1.1, 2.8, 7.7, 8.8, 14.3` and C17.
 */
export function decideOutcome(end: HandlerEnd, task: OutcomeCase): Outcome {
  switch (end.as) {
    case 'returned':
      return { as: 'completed', output: end.output }
    case 'interrupted': {
      const { backoff } = task.retry ?? defaultRecoveryRetry
      const delayMs = decideBackoff(backoff, triesOf(task), task.random)
      return { as: 'retry', error: end.error, delayMs, interrupted: true }
    }
    case 'stopped':
      if (task.recovery !== undefined) return recovered(end, end.kind, task, task.recovery)
      return end.kind === 'timeout' || end.kind === 'invalid_output' || end.kind === 'crashed'
        ? decideFailure(end, end.kind, task)
        : { as: 'failed', kind: end.kind, error: end.error }
    case 'threw':
      if (end.rateLimit === undefined || isFinalError(end.error))
        return task.recovery === undefined
          ? decideFailure(end, kindOf(end.error), task)
          : recovered(end, kindOf(end.error), task, task.recovery)
      return { as: 'rate_limited', error: end.error, delayMs: waitFor(end.rateLimit) }
  }
}

function triesOf({ attempt, crashes, triesBefore = 0 }: OutcomeCase): number {
  return attempt - crashes - triesBefore
}

/** An end that the work has come to. */
type Failed = Exclude<HandlerEnd, { as: 'returned' | 'interrupted' }>

/** The same by a table. An error that reports the end of a wait would come again, and a budget stays used up: both are final. */
function recovered(end: Failed, kind: FailureKind, task: OutcomeCase, policy: RecoveryPolicy): Outcome {
  const { retry = defaultRecoveryRetry, random, model, hasHandedOver = false } = task
  const { error } = end
  const waits = end.as === 'threw' ? end.waits : undefined
  const further =
    waits !== undefined || (end.as === 'threw' && end.spent === true)
      ? undefined
      : decideRecovery({
          kind,
          categories: categoriesIn(end),
          isFinal: isFinalError(error),
          tries: triesOf(task),
          retry,
          policy,
          model,
          hasHandedOver,
          random,
        })
  if (further === undefined) return { as: 'failed', kind, error, ...(waits === undefined ? {} : { waits }) }
  return { as: 'retry', error, ...further }
}

function categoriesIn(end: Failed): readonly FailureCategory[] {
  if (end.as === 'threw') return end.categories ?? categoriesOf(end.error)
  const category = categoryOfKind(end.kind)
  return category === undefined ? [] : [category]
}

/** How long what a provider refused waits before it is run again. Source: `docs/semantics.md 2.8`. */
export function waitFor({ retryAfterMs }: RateLimited): number {
  return Math.max(MIN_RETRY_AFTER_MS, retryAfterMs)
}

function decideFailure(
  { error, waits }: { readonly error: ErrorRecord; readonly waits?: readonly string[] },
  kind: FailureKind,
  task: OutcomeCase,
): Outcome {
  const { retry, random } = task
  const tries = triesOf(task)
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
    case 'gateway_unreachable':
      return 'gateway_unreachable'
    default:
      return 'error'
  }
}
