import {
  type Backoff,
  defaultBackoff,
  RETRY_KEY,
  type RetryPolicy,
  RuntimeError,
  show,
} from '@ku0/agent-runtime-core'
import type { Memos } from './memos.ts'

/** The key of the wait before the n-th retry of a step: no key of a user's begins so. */
export function retryKey(stepKey: string, retry: number): string {
  return `${RETRY_KEY}${retry}/${stepKey}`
}

/** How many retries of a step earlier passes came to: their waits are over. */
export function retriesIn({ waits }: Memos, stepKey: string): number {
  let retries = 0
  while (waits.has(retryKey(stepKey, retries + 1))) retries += 1
  return retries
}

/** A step's retry policy, its values checked. */
export function readRetry(stepKey: string, retry: unknown): RetryPolicy {
  if (typeof retry !== 'object' || retry === null) throw wrong(stepKey, 'retry', 'an object', retry)
  const { attempts, backoff: given = {} } = retry as { attempts?: unknown; backoff?: Partial<Backoff> }
  if (!Number.isSafeInteger(attempts) || (attempts as number) < 1)
    throw wrong(stepKey, 'retry.attempts', 'a whole number, 1 or more', attempts)
  if (typeof given !== 'object' || given === null) throw wrong(stepKey, 'retry.backoff', 'an object', given)
  const backoff: Backoff = { ...defaultBackoff, ...given }
  for (const [name, { expected, holds }] of Object.entries(rules)) {
    const value = backoff[name as keyof Backoff]
    if (!Number.isFinite(value) || !holds(value))
      throw wrong(stepKey, `retry.backoff.${name}`, expected, value)
  }
  return { attempts: attempts as number, backoff }
}

const rules: {
  readonly [K in keyof Backoff]: {
    readonly expected: string
    readonly holds: (value: number) => boolean
  }
} = {
  initialMs: { expected: 'a number of ms from 0 to 1e15', holds: isDelay },
  factor: { expected: 'a number, 1 or more', holds: (value) => value >= 1 },
  maxMs: { expected: 'a number of ms from 0 to 1e15', holds: isDelay },
  jitter: { expected: 'a number from 0 to 1', holds: (value) => value >= 0 && value <= 1 },
}

/** Far within what a Date can show. */
function isDelay(value: number): boolean {
  return value >= 0 && value <= 1e15
}

function wrong(stepKey: string, name: string, expected: string, given: unknown): RuntimeError {
  return new RuntimeError(
    'invalid_argument',
    `${name} of step '${stepKey}' is ${expected}, not ${show(given)}`,
  )
}
