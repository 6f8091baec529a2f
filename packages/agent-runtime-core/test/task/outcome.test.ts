import { describe, expect, test } from 'vitest'
import { defaultBackoff } from '../../src/task/backoff.ts'
import { decideOutcome, type OutcomeCase } from '../../src/task/outcome.ts'
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
