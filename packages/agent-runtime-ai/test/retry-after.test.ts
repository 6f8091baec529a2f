import { expect, test } from 'vitest'
import { retryAfterMs, waitAfter } from '../src/retry-after.ts'

const of = (headers: Readonly<Record<string, string>>) => (name: string) => headers[name]

test.each([
  ['ms go first', { 'retry-after-ms': '250', 'retry-after': '9' }, 250],
  ['seconds', { 'retry-after': '1.5' }, 1_500],
  [
    'a date, by the clock of the provider',
    { date: 'Wed, 25 Nov 2026 02:00:00 GMT', 'retry-after': 'Wed, 25 Nov 2026 02:00:30 GMT' },
    30_000,
  ],
  [
    'a limit that is used up',
    {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1h0m2s',
      'x-ratelimit-remaining-tokens': '5',
      'x-ratelimit-reset-tokens': '9h',
    },
    3_602_000,
  ],
  ['ms of a limit', { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '20ms' }, 20],
  [
    'the time at which a limit begins anew',
    {
      date: 'Wed, 25 Nov 2026 02:00:00 GMT',
      'anthropic-ratelimit-input-tokens-remaining': '0',
      'anthropic-ratelimit-input-tokens-reset': '2026-11-25T02:00:07Z',
    },
    7_000,
  ],
  ['a year is a day', { 'retry-after': '31536000' }, 86_400_000],
  [
    'a time that is over',
    { date: 'Wed, 25 Nov 2026 02:00:00 GMT', 'retry-after': 'Wed, 25 Nov 2026 01:00:00 GMT' },
    0,
  ],
  ['nothing', {}, undefined],
  ['what nobody understands', { 'retry-after': 'soon' }, undefined],
])('how long to wait: %s', (_, headers, ms) => {
  expect(retryAfterMs(of(headers as Readonly<Record<string, string>>))).toBe(ms)
})

test('a refusal that names no time is waited for in any case', () => {
  expect(waitAfter(of({}))).toBe(10_000)
})
