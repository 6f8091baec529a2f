import {
  assertFields,
  assertIsOptions,
  functionRule,
  limitRule,
  problemsIn,
  type RetryPolicy,
  type Rules,
} from '@ku0/agent-runtime-core'
import { familiarToStep } from '../../terms/familiar-names.ts'
import { policyOf, retryProblems, retryRule } from '../../terms/retry-policy.ts'
import type { StepOptions, ToStorable } from '../../api/task-context.ts'
import { type DoubtPolicy, readDoubtPolicy } from './doubt.ts'

/** The options of a step, checked. */
export interface CheckedStepOptions {
  readonly options: StepOptions & ToStorable<unknown, unknown>
  readonly retry: RetryPolicy | undefined
  readonly inDoubt: DoubtPolicy | undefined
}

/** Throws `invalid_argument` with every problem of a step's options. */
export function readStepOptions(key: string, given: unknown): CheckedStepOptions {
  const call = `step '${key}'`
  assertIsOptions(call, given, rules)
  const path = `${call} option `
  assertFields([
    ...problemsIn(given, rules, { path, familiar: familiarToStep }),
    ...retryProblems(given['retry'], `${path}retry.`),
  ])
  const options: CheckedStepOptions['options'] = given
  const { retry } = options
  return {
    options,
    retry: retry === undefined ? undefined : policyOf(retry),
    inDoubt: readDoubtPolicy(key, options),
  }
}

/** Options that depend on more than their own value are checked separately. */
const elsewhere = ['', () => true] as const

const rules: Rules<StepOptions & ToStorable<unknown, unknown>> = {
  input: elsewhere,
  timeoutMs: limitRule,
  retry: retryRule,
  inDoubt: elsewhere,
  verify: elsewhere,
  rateLimited: functionRule,
  toStorable: functionRule,
}
