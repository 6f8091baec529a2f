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

/** How often a step was to be tried again so far, earlier passes included. */
export interface RetryCount {
  /** By its policy. */
  readonly retries: number
  /** Because a provider had refused it for now: that is not one of the tries of its policy. */
  readonly limits: number
}

/** The wait before the next try of a step. */
export type Retry =
  | { readonly as: 'retry'; readonly number: number }
  | { readonly as: 'limit'; readonly number: number; readonly delayMs: number }

/** The next try after a failure; undefined when the step has failed for good. Source: `docs/semantics.md 7.7`. */
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

/** How long to wait before a try. `chance` is asked only where a policy says so. */
export function delayBefore(retry: Retry, policy: RetryPolicy | undefined, chance: () => number): number {
  if (retry.as === 'limit') return retry.delayMs
  return policy === undefined ? 0 : decideBackoff(policy.backoff, retry.number, chance())
}

/** Its wait is over. */
export function counted(count: RetryCount, { as }: Retry): RetryCount {
  return as === 'retry' ? { ...count, retries: count.retries + 1 } : { ...count, limits: count.limits + 1 }
}

export function keyOf(stepKey: string, { as, number }: Retry): string {
  return as === 'retry' ? retryKey(stepKey, number) : rateLimitKey(stepKey, number)
}

/** How often earlier passes came to another try of a step: their waits are over. */
export function retriesBefore({ waits }: Memos, stepKey: string): RetryCount {
  const count = (keyOfNth: typeof retryKey) => {
    let n = 0
    while (waits.has(keyOfNth(stepKey, n + 1))) n += 1
    return n
  }
  return { retries: count(retryKey), limits: count(rateLimitKey) }
}

/** The wait before the next try that an earlier pass has left open. */
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

/** The key of the wait before the n-th retry of a step: no key of a user's begins so. */
export function retryKey(stepKey: string, retry: number): string {
  return `${RETRY_KEY}${retry}/${stepKey}`
}

/** The key of the wait after the n-th time that a provider refused a step. */
function rateLimitKey(stepKey: string, limit: number): string {
  return `${RETRY_KEY}limit-${limit}/${stepKey}`
}
