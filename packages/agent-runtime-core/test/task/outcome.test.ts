import { describe, expect, test } from 'vitest'
import { defaultBackoff } from '../../src/task/backoff.ts'
import { decideOutcome, type OutcomeCase } from '../../src/task/outcome.ts'
import { defaultRecoveryTable } from '../../src/recovery/recovery.ts'
import { rateLimitIn, RateLimited } from '../../src/quota/rate-limited.ts'

const first: OutcomeCase = { attempt: 1, crashes: 0, random: 0 }
const thrice = { retry: { attempts: 3, backoff: defaultBackoff } }
const error = { name: 'Error', message: 'no' }
const threw = { as: 'threw', error } as const

describe('outcome', () => {
  test('a handler that returned has completed its task', () => {
    expect(decideOutcome({ as: 'returned', output: '1' }, first)).toEqual({ as: 'completed', output: '1' })
  })

  test('without a retry policy an error is final', () => {
    expect(decideOutcome(threw, first)).toEqual({ as: 'failed', kind: 'error', error })
  })

  test('three attempts are two retries, with a growing wait', () => {
    expect(decideOutcome(threw, { ...first, ...thrice })).toEqual({ as: 'retry', error, delayMs: 1_000 })
    expect(decideOutcome(threw, { ...first, ...thrice, attempt: 2 })).toEqual({
      as: 'retry',
      error,
      delayMs: 2_000,
    })
    expect(decideOutcome(threw, { ...first, ...thrice, attempt: 3 })).toEqual({
      as: 'failed',
      kind: 'error',
      error,
    })
  })

  test('an expired lease is not a retry', () => {
    const afterTwoCrashes = { ...first, ...thrice, attempt: 3, crashes: 2 }
    expect(decideOutcome(threw, afterTwoCrashes)).toEqual({ as: 'retry', error, delayMs: 1_000 })
  })

  test('2.8 a call that a provider refused is tried again at the time that it named, whatever the policy; 100 ms is the least', () => {
    const refused = (retryAfterMs: number) => ({ ...threw, rateLimit: new RateLimited({ retryAfterMs }) })
    expect(decideOutcome(refused(5_000), first)).toEqual({ as: 'rate_limited', error, delayMs: 5_000 })
    expect(decideOutcome(refused(0), { ...first, ...thrice, attempt: 3 })).toEqual({
      as: 'rate_limited',
      error,
      delayMs: 100,
    })
    const hopeless = { ...refused(5_000), error: { ...error, retryable: false } }
    expect(decideOutcome(hopeless, first)).toMatchObject({ as: 'failed' })
  })

  test('2.8 a refusal is found among the causes, and a circle of causes ends the search', () => {
    const limit = new RateLimited({ model: 'm', retryAfterMs: 1 })
    const circle = new Error('round')
    circle.cause = circle
    expect(rateLimitIn(new Error('outer', { cause: new Error('inner', { cause: limit }) }))).toBe(limit)
    expect(rateLimitIn(new AggregateError([limit, new Error('no')]))).toBe(limit)
    for (const nothing of [circle, undefined, null, 'text', {}]) expect(rateLimitIn(nothing)).toBeUndefined()
  })

  test('an error that says trying again cannot help is final', () => {
    const hopeless = { ...error, code: 'non_retryable', retryable: false }
    expect(decideOutcome({ as: 'threw', error: hopeless }, { ...first, ...thrice })).toMatchObject({
      as: 'failed',
    })
  })

  test.each([
    { ...error, name: 'NonRetryableError' },
    { ...error, cause: { ...error, cause: { ...error, name: 'NonRetryableError' } } },
  ])('7.7 a NonRetryableError is final by its name, also as a cause (%#)', (hopeless) => {
    expect(decideOutcome({ as: 'threw', error: hopeless }, { ...first, ...thrice })).toMatchObject({
      as: 'failed',
    })
  })

  test('7.7 an error that reports the end of a wait is final, too: every try would get the same', () => {
    expect(decideOutcome({ ...threw, waits: ['go'] }, { ...first, ...thrice })).toEqual({
      as: 'failed',
      kind: 'error',
      error,
      waits: ['go'],
    })
  })

  test.each(['schema_mismatch', 'budget_exceeded', 'limit_exceeded'] as const)(
    'a task that the runtime ended as %s is never retried',
    (kind) => {
      expect(decideOutcome({ as: 'stopped', kind, error }, { ...first, ...thrice })).toEqual({
        as: 'failed',
        kind,
        error,
      })
    },
  )

  test.each(['timeout', 'invalid_output'] as const)('7.7 the retry policy is asked for %s', (kind) => {
    const end = { as: 'stopped', kind, error } as const
    expect(decideOutcome(end, { ...first, ...thrice, attempt: 2 })).toEqual({
      as: 'retry',
      error,
      delayMs: 2_000,
    })
    for (const task of [first, { ...first, ...thrice, attempt: 3 }])
      expect(decideOutcome(end, task)).toEqual({ as: 'failed', kind, error })
  })

  test.each([
    ['payload_too_large', 'limit_exceeded'],
    ['gateway_unreachable', 'gateway_unreachable'],
    ['limit_exceeded', 'limit_exceeded'],
    ['invalid_output', 'invalid_output'],
    ['ENOENT', 'error'],
  ])('an error with the code %s fails as %s', (code, kind) => {
    expect(decideOutcome({ as: 'threw', error: { ...error, code } }, first)).toMatchObject({
      as: 'failed',
      kind,
    })
  })
})

describe('the outcome with a table of recovery (docs/semantics.md 14.3)', () => {
  const recovery = { table: defaultRecoveryTable, fallbackModels: ['small'] }
  const task: OutcomeCase = { ...first, recovery, model: 'big' }
  const failed = (kind: string) => ({ as: 'failed', kind, error })
  const again = (recovered: object, delayMs: number) => ({ as: 'retry', error, recovery: recovered, delayMs })

  test('14.3 an error is answered as the table says for its category', () => {
    const crash = { category: 'crash', kind: 'error', strategy: 'restart' }
    expect(decideOutcome(threw, task)).toEqual(again(crash, 0))
    expect(decideOutcome(threw, { ...task, attempt: 3 })).toEqual(failed('error'))
    expect(decideOutcome(threw, { ...task, attempt: 3, crashes: 1 })).toEqual(again(crash, 0))
    expect(decideOutcome(threw, { ...task, ...thrice, retry: { ...thrice.retry, attempts: 1 } })).toEqual(
      failed('error'),
    )
    expect(decideOutcome({ as: 'returned', output: '1' }, task)).toEqual({ as: 'completed', output: '1' })
  })

  test('14.3 the causes of all its parts decide, by default those that its record shows', () => {
    const limit = {
      category: 'resource_exhaustion',
      kind: 'error',
      strategy: 'fallback_agent',
      model: 'small',
    }
    expect(decideOutcome({ ...threw, categories: ['resource_exhaustion'] }, task)).toEqual(again(limit, 0))
    const coded = { ...error, code: 'memory_exceeded' }
    expect(decideOutcome({ as: 'threw', error: coded }, task)).toEqual({ ...again(limit, 0), error: coded })
  })

  test('14.3 a pass that the runtime ended has the category of its kind, if that has one', () => {
    const timeout = { category: 'timeout', kind: 'timeout', strategy: 'retry_with_backoff' }
    expect(decideOutcome({ as: 'stopped', kind: 'timeout', error }, task)).toEqual(again(timeout, 1_000))
    expect(decideOutcome({ as: 'stopped', kind: 'schema_mismatch', error }, task)).toEqual(
      failed('schema_mismatch'),
    )
  })

  test('14.3 the end of a wait would come again, and a budget stays used up: both are final', () => {
    expect(decideOutcome({ ...threw, waits: ['go'] }, task)).toEqual({ ...failed('error'), waits: ['go'] })
    expect(decideOutcome({ ...threw, spent: true }, task)).toEqual(failed('error'))
    expect(decideOutcome({ ...threw, spent: undefined }, task)).toMatchObject({ as: 'retry' })
  })

  test('14.3 a person may be asked although the error is final', () => {
    const asking = { ...recovery, table: { ...defaultRecoveryTable, crash: 'human_escalation' as const } }
    const hopeless = { ...error, retryable: false }
    const end = { as: 'threw', error: hopeless } as const
    expect(decideOutcome(end, { ...task, recovery: asking })).toMatchObject({ as: 'retry', delayMs: 0 })
    expect(decideOutcome(end, task)).toMatchObject({ as: 'failed' })
  })

  test('2.8 a refusal of a provider is no failure', () => {
    const rateLimit = new RateLimited({ retryAfterMs: 5_000 })
    expect(decideOutcome({ ...threw, rateLimit }, task)).toMatchObject({ as: 'rate_limited' })
    const hopeless = { ...threw, rateLimit, error: { ...error, retryable: false } }
    expect(decideOutcome(hopeless, task)).toMatchObject({ as: 'failed' })
  })
})
