import { describe, expect, test } from 'vitest'
import { limitFor, QuotaConfig, quotaKey, windowStart } from '../src/quota.ts'

describe('quotaConfig (docs/semantics.md 2.6, 2.8)', () => {
  const config = QuotaConfig.parse({
    models: { big: { maxInFlight: 1, onExceeded: 'defer' }, constructor: { perWindow: 3 }, free: {} },
    defaults: { model: { perWindow: 10, tokensPerWindow: 1_000 } },
  })

  test('rejects by default, in windows of a minute', () => {
    expect(config.windowMs).toBe(60_000)
    expect(limitFor(config, 'model', 'other')).toStrictEqual({
      perWindow: 10,
      tokensPerWindow: 1_000,
      onExceeded: 'reject',
    })
  })

  test('lets a specific limit take the place of the default as a whole', () => {
    expect(limitFor(config, 'model', 'big')).toStrictEqual({ maxInFlight: 1, onExceeded: 'defer' })
    expect(limitFor(config, 'model', 'free')).toStrictEqual({ onExceeded: 'reject' })
  })

  test('limits nothing where neither is set', () => {
    expect(limitFor(config, 'tool', 'big')).toBeUndefined()
    expect(limitFor(QuotaConfig.parse({}), 'model', 'big')).toBeUndefined()
  })

  test.each(['toString', 'hasOwnProperty', '__proto__', 'valueOf'])(
    'takes %s for a name like any other',
    (name) => {
      expect(limitFor(config, 'model', name)).toBe(config.defaults?.model)
      expect(limitFor(config, 'tool', name)).toBeUndefined()
    },
  )

  test('takes constructor for a name like any other', () => {
    expect(limitFor(config, 'model', 'constructor')).toStrictEqual({ perWindow: 3, onExceeded: 'reject' })
  })

  test('names a counter by kind and name', () => {
    expect(quotaKey('model', 'a:b')).toBe('model:a:b')
    expect(quotaKey('tool', 'browser')).toBe('tool:browser')
  })

  test.each([
    [0, 60_000, 0],
    [59_999, 60_000, 0],
    [60_000, 60_000, 60_000],
    [1_700_000_000_123, 60_000, 1_699_999_980_000],
    [1_700_000_000_123, 7, 1_700_000_000_118],
  ])('aligns windows to the epoch: %i in windows of %i ms', (now, windowMs, start) => {
    expect(windowStart(now, windowMs)).toBe(start)
    expect(start % windowMs).toBe(0)
  })
})
