import {
  decideBackoff,
  type ErrorRecord,
  isFinalError,
  RETRY_KEY,
  type RateLimited,
  type RetryPolicy,
  waitFor,
} from '@ku0/agent-runtime-core'
import type { Memos } from '../pass/memos.ts'

/** How often a step was to be tried again so far, including earlier passes. */
export interface RetryCount {
  /** Retries by its policy. */
  readonly retries: number
  /** Retries after a refusal of a provider, which do not count as tries of its policy. */
  readonly limits: number
}

/** The wait before the next try of a step. */
export type Retry =
  | { readonly as: 'retry'; readonly number: number }
  | { readonly as: 'limit'; readonly number: number; readonly delayMs: number }

/**
 * The next try after a failure; undefined if the step has failed for good. Source: `docs/semantics.md 7.7`.
 */
export function decideRetry(
  policy: RetryPolicy | undefined,
  { retries, limits }: RetryCount,
  error: ErrorRecord,
  rateLimit: RateLimited | undefined,
): Retry | undefined {
  if (policy === undefined || isFinalError(error)) return undefined
  if (rateLimit !== undefined) return { as: 'limit', number: limits + 1, delayMs: waitFor(rateLimit) }
  const number = retries + 1
  return number >= policy.attempts ? undefined : { as: 'retry', number }
}

/** The time to wait before a try. `chance` is drawn only if a policy has jitter. */
export function delayBefore(retry: Retry, policy: RetryPolicy | undefined, chance: () => number): number {
  if (retry.as === 'limit') return retry.delayMs
  return policy === undefined ? 0 : decideBackoff(policy.backoff, retry.number, chance())
}

/** The count after the wait of a retry has ended. */
export function counted(count: RetryCount, { as }: Retry): RetryCount {
  return as === 'retry' ? { ...count, retries: count.retries + 1 } : { ...count, limits: count.limits + 1 }
}

export function keyOf(stepKey: string, { as, number }: Retry): string {
  return as === 'retry' ? retryKey(stepKey, number) : rateLimitKey(stepKey, number)
}

/** How often earlier passes reached another try of a step: their waits have ended. */
export function retriesBefore({ waits }: Memos, stepKey: string): RetryCount {
  const count = (keyOfNth: typeof retryKey) => {
    let n = 0
    while (waits.has(keyOfNth(stepKey, n + 1))) n += 1
    return n
  }
  return { retries: count(retryKey), limits: count(rateLimitKey) }
}

/** The wait before the next try, if an earlier pass left it open. */
export function openRetry(
  { open }: Memos,
  stepKey: string,
  { retries, limits }: RetryCount,
): Retry | undefined {
  const next: readonly Retry[] = [
    { as: 'retry', number: retries + 1 },
    { as: 'limit', number: limits + 1, delayMs: 0 },
  ]
  return next.find((retry) => open.has(keyOf(stepKey, retry)))
}

/** The key of the wait before the n-th retry of a step. Users' keys cannot begin like this. */
export function retryKey(stepKey: string, retry: number): string {
  return `${RETRY_KEY}${retry}/${stepKey}`
}

/** The key of the wait after the n-th refusal of a step by a provider. */
function rateLimitKey(stepKey: string, limit: number): string {
  return `${RETRY_KEY}limit-${limit}/${stepKey}`
}
