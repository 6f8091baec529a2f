import { RETRY_KEY } from '@ku0/agent-runtime-core'
import type { Memos } from './memos.ts'

/** The key of the wait before the n-th retry of a step: no key of a user's begins so. */
export function retryKey(stepKey: string, retry: number): string {
  return `${RETRY_KEY}${retry}/${stepKey}`
}

/** The key of the wait after the n-th time that a provider refused a step: it is not one of the retries. */
export function limitKey(stepKey: string, limit: number): string {
  return `${RETRY_KEY}limit-${limit}/${stepKey}`
}

/** How often a provider refused a step in earlier passes: the waits after it are over. */
export function limitsIn({ waits }: Memos, stepKey: string): number {
  let limits = 0
  while (waits.has(limitKey(stepKey, limits + 1))) limits += 1
  return limits
}

/** How many retries of a step earlier passes came to: their waits are over. */
export function retriesIn({ waits }: Memos, stepKey: string): number {
  let retries = 0
  while (waits.has(retryKey(stepKey, retries + 1))) retries += 1
  return retries
}
