import {
  ConfigError,
  delayRule,
  flagRule,
  isRecord,
  problemsIn,
  type Rules,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import type { TestRuntimeOptions } from './test-runtime.ts'

/** Throws a `ConfigError` for invalid options, except for those that `createRuntime` checks itself. */
export function assertTestOptions(given: unknown): asserts given is TestRuntimeOptions {
  if (!isRecord(given)) {
    throw new ConfigError([{ path: 'options', allowed: 'an object, such as { tasks }', given }])
  }
  const problems = problemsIn(given, rules, { required: ['tasks'] })
  if (problems.length > 0) throw new ConfigError(problems)
}

const elsewhere = ['given', () => true] as const

const rules: Rules<TestRuntimeOptions> = {
  tasks: ['a list of what defineTask returns', () => true],
  config: elsewhere,
  workers: elsewhere,
  evaluation: elsewhere,
  logger: elsewhere,
  seed: ['a string or a number', (value) => typeof value === 'string' || Number.isFinite(value)],
  now: ['a Date or epoch ms', (value) => Number.isFinite(value instanceof Date ? value.getTime() : value)],
  crashes: flagRule,
  crashAfterCommit: wholeNumber(1, Number.MAX_SAFE_INTEGER),
  patienceMs: delayRule,
  strict: elsewhere,
  codecs: elsewhere,
  payloadCodec: elsewhere,
}
