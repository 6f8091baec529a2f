import {
  type Backoff,
  type ConfigProblem,
  defaultBackoff,
  isAmount,
  isRecord,
  problemsIn,
  type RetryPolicy,
  type Rule,
  type Rules,
} from '@ku0/agent-runtime-core'
import type { RetrySetting } from '../api/retry-setting.ts'
import { familiarToBackoff, familiarToRetry } from './familiar-names.ts'

/** What `retry` has to be; {@link retryProblems} looks into it. */
export const retryRule: Rule = ['an object of attempts, backoff', isRecord]

/** Everything that is wrong with the fields of a retry, whose names in messages begin with `path`. */
export function retryProblems(retry: unknown, path: string): ConfigProblem[] {
  if (!isRecord(retry)) return []
  const { backoff } = retry
  const own = problemsIn(retry, retryRules, { path, required: ['attempts'], familiar: familiarToRetry })
  return [
    ...own,
    ...(isRecord(backoff)
      ? problemsIn(backoff, backoffRules, { path: `${path}backoff.`, familiar: familiarToBackoff })
      : []),
  ]
}

/** A retry that has no problems, with what it leaves out. */
export function policyOf({ attempts, backoff = {} }: RetrySetting): RetryPolicy {
  const given = Object.entries(backoff).filter(([, value]) => value !== undefined)
  return { attempts, backoff: { ...defaultBackoff, ...(Object.fromEntries(given) as Partial<Backoff>) } }
}

/** Whether a value is what {@link policyOf} gives. */
export function isPolicy(value: unknown): value is RetryPolicy {
  if (!isRecord(value)) return false
  const { backoff } = value
  return isRecord(backoff) && Object.keys(backoffRules).every((name) => backoff[name] !== undefined)
}

/** Far within what a Date can show. */
const waitMs: Rule = ['a number of ms from 0 to 1e15', (value) => isAmount(value) && value <= 1e15]

const retryRules: Rules<RetrySetting> = {
  attempts: ['a whole number, 1 or more', (value) => Number.isSafeInteger(value) && Number(value) >= 1],
  backoff: ['an object of initialMs, factor, maxMs, jitter', isRecord],
}

const backoffRules: Rules<Backoff> = {
  initialMs: waitMs,
  factor: ['a number, 1 or more', (value) => isAmount(value) && value >= 1],
  maxMs: waitMs,
  jitter: ['a number from 0 to 1', (value) => isAmount(value) && value <= 1],
}
