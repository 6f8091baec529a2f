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

/** The rule for `retry`; {@link retryProblems} checks its fields. */
export const retryRule: Rule = ['an object with attempts, backoff', isRecord]

/** Every problem of the fields of a retry. Their names in messages begin with `path`. */
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

/** A retry without problems, with its defaults filled in. */
export function policyOf({ attempts, backoff = {} }: RetrySetting): RetryPolicy {
  const given = Object.entries(backoff).filter(([, value]) => value !== undefined)
  return { attempts, backoff: { ...defaultBackoff, ...(Object.fromEntries(given) as Partial<Backoff>) } }
}

/** Whether {@link policyOf} returned a value. */
export function isPolicy(value: unknown): value is RetryPolicy {
  if (!isRecord(value)) return false
  const { backoff } = value
  return isRecord(backoff) && Object.keys(backoffRules).every((name) => backoff[name] !== undefined)
}

/** Far below what a Date can represent. */
const waitMs: Rule = ['a number of ms from 0 to 1e15', (value) => isAmount(value) && value <= 1e15]

const retryRules: Rules<RetrySetting> = {
  attempts: ['a whole number, 1 or more', (value) => Number.isSafeInteger(value) && Number(value) >= 1],
  backoff: ['an object with initialMs, factor, maxMs, jitter', isRecord],
}

const backoffRules: Rules<Backoff> = {
  initialMs: waitMs,
  factor: ['a number, 1 or more', (value) => isAmount(value) && value >= 1],
  maxMs: waitMs,
  jitter: ['a number from 0 to 1', (value) => isAmount(value) && value <= 1],
}
