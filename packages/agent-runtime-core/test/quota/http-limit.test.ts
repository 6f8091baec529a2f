import { describe, expect, test } from 'vitest'
import { httpLimitIn } from '../../src/quota/http-limit.ts'

const now = Date.parse('2026-01-01T00:00:00Z')
const refusal = (status: number, headers: Record<string, string>, more: object = {}) =>
  Object.assign(new Error('refused'), { status, headers }, more)

describe('2.8 the rate limit in an HTTP answer', () => {
  test.each([
    [429, { 'retry-after': '7' }, 7_000],
    [429, { 'retry-after': '0.25' }, 250],
    [429, { 'Retry-After': '0.5' }, 500],
    [429, { 'retry-after': 'Thu, 01 Jan 2026 00:01:00 GMT' }, 60_000],
    [429, { 'retry-after': 'Wed, 31 Dec 2025 00:01:00 GMT' }, 0],
    [429, { 'retry-after-ms': '250', 'retry-after': '1' }, 250],
    [429, { 'x-ms-retry-after-ms': '40' }, 40],
    [503, { 'retry-after': '2' }, 2_000],
    [529, { 'retry-after': '2' }, 2_000],
    [429, { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '6m0s' }, 360_000],
    [429, { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '12m0s' }, 720_000],
    [429, { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '20ms' }, 20],
    [
      429,
      {
        'anthropic-ratelimit-requests-remaining': '3',
        'anthropic-ratelimit-requests-reset': '2026-01-01T01:00:00Z',
        'anthropic-ratelimit-tokens-remaining': '0',
        'anthropic-ratelimit-tokens-reset': '2026-01-01T00:00:30Z',
      },
      30_000,
    ],
    [429, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now / 1_000 + 90) }, 90_000],
    [429, { 'ratelimit-remaining': '0', 'ratelimit-reset': '12' }, 12_000],
    [429, { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '1h2m3.5s' }, 3_723_500],
    [429, { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '2s5ms' }, 2_005],
    [429, { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '' }, undefined],
    [429, { 'x-ratelimit-remaining-tokens': ' 0 ', 'x-ratelimit-reset-tokens': '1s' }, 1_000],
    [429, { 'x-ratelimit-limit': '0', 'x-ratelimit-reset': '1s' }, undefined],
    // The last of the limits that are used up is waited for.
    [
      429,
      {
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '20ms',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '6m0s',
      },
      360_000,
    ],
    [429, { 'retry-after-ms': 'soon', 'retry-after': '1' }, 1_000],
    // Nobody knows whether waiting helps.
    [429, {}, undefined],
    [429, { 'retry-after': 'soon' }, undefined],
    [429, { 'x-ratelimit-remaining': '5', 'x-ratelimit-reset': '10' }, undefined],
    [429, { 'retry-after': '7', 'x-should-retry': 'false' }, undefined],
    [503, {}, undefined],
    [503, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '10' }, undefined],
    [500, { 'retry-after': '7' }, undefined],
    [400, { 'retry-after': '7' }, undefined],
  ])('%d with %j is %d ms', (status, headers, ms) => {
    expect(httpLimitIn(refusal(status, headers as Record<string, string>), now)).toBe(ms)
  })

  test('as a cause, and as the last of several tries', () => {
    const told = refusal(429, { 'retry-after': '7' })
    expect(httpLimitIn(new Error('gave up', { cause: told }), now)).toBe(7_000)
    const tries = { lastError: told, errors: [refusal(429, { 'retry-after': '1' }), told] }
    expect(httpLimitIn(Object.assign(new Error('gave up'), tries), now)).toBe(7_000)
    expect(httpLimitIn(new AggregateError([told], 'gave up'), now)).toBe(7_000)
    const other = refusal(429, { 'retry-after': '1' })
    expect(httpLimitIn(Object.assign(new Error('gave up', { cause: told }), { lastError: other }), now)).toBe(
      7_000,
    )
    const beneath = (levels: number): unknown =>
      levels === 0 ? told : new Error('gave up', { cause: beneath(levels - 1) })
    expect([httpLimitIn(beneath(4), now), httpLimitIn(beneath(5), now)]).toEqual([7_000, undefined])
  })

  test('a cause or a code that cannot be read is none', () => {
    const unreadable = (name: string) =>
      Object.defineProperty(refusal(429, { 'retry-after': '7' }), name, {
        get: () => {
          throw new Error('theirs')
        },
      })
    expect(httpLimitIn(unreadable('code'), now)).toBe(7_000)
    expect(
      httpLimitIn(
        Object.defineProperty(new Error('e'), 'cause', {
          get: () => {
            throw new Error('theirs')
          },
        }),
        now,
      ),
    ).toBeUndefined()
  })

  test('no money left is no rate limit, a wait has an end, and no value throws', () => {
    expect(
      httpLimitIn(refusal(429, { 'retry-after': '7' }, { code: 'insufficient_quota' }), now),
    ).toBeUndefined()
    expect(httpLimitIn(refusal(429, { 'retry-after': '1e99' }), now)).toBeUndefined()
    expect(httpLimitIn(refusal(429, { 'retry-after': '99999999999999' }), now)).toBe(31_536_000_000)
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    for (const value of [undefined, null, 429, 'text', proxy, () => 1])
      expect(httpLimitIn(value, now)).toBeUndefined()
  })
})
