import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  labelLimitFor,
  labelQuotaKey,
  limitFor,
  limitOfKey,
  quotaKey,
  quotaKeysOf,
  windowStart,
} from '../../src/quota/quota.ts'
import { QuotaConfig } from '../../src/quota/schema.ts'

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

  const labelled = QuotaConfig.parse({
    clients: { ada: { maxInFlight: 1 } },
    labels: { team: { alpha: { maxInFlight: 2 } }, 'a=b%': { 'c=d': { maxInFlight: 3 } } },
    defaults: { client: { maxInFlight: 9 }, labels: { team: { maxInFlight: 8 } } },
  })

  test('a client’s own limit, or the default for each', () => {
    expect(limitFor(labelled, 'client', 'ada')).toMatchObject({ maxInFlight: 1 })
    expect(limitFor(labelled, 'client', 'bob')).toMatchObject({ maxInFlight: 9 })
  })

  test('a label’s value has its own limit, or its label’s default; a label that nothing names has none', () => {
    expect(labelLimitFor(labelled, 'team', 'alpha')).toMatchObject({ maxInFlight: 2 })
    expect(labelLimitFor(labelled, 'team', 'beta')).toMatchObject({ maxInFlight: 8 })
    expect(labelLimitFor(labelled, 'team', 'constructor')).toMatchObject({ maxInFlight: 8 })
    expect(labelLimitFor(labelled, 'env', 'alpha')).toBeUndefined()
    expect(labelLimitFor(labelled, 'constructor', 'name')).toBeUndefined()
  })

  test('names a label’s counter without doubt, and finds its limit again', () => {
    expect(labelQuotaKey('team', 'alpha')).toBe('label:team=alpha')
    expect(labelQuotaKey('a=b%', 'c=d')).toBe('label:a%3Db%25=c=d')
    expect(limitOfKey(labelled, 'label:a%3Db%25=c=d')).toMatchObject({ maxInFlight: 3 })
    expect(limitOfKey(labelled, 'client:ada')).toMatchObject({ maxInFlight: 1 })
  })

  test('two labels never share a counter', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '=', '%', '3', 'D', '2', '5'), maxLength: 6 })
    fc.assert(
      fc.property(fc.tuple(text, text), fc.tuple(text, text), (one, other) => {
        const same = one.join('\n') === other.join('\n')
        expect(labelQuotaKey(...one) === labelQuotaKey(...other)).toBe(same)
        const limits = QuotaConfig.parse({ defaults: { labels: { [`x${one[0]}`]: { maxInFlight: 7 } } } })
        expect(limitOfKey(limits, labelQuotaKey(`x${one[0]}`, one[1]))).toMatchObject({ maxInFlight: 7 })
      }),
    )
  })

  test('a submission that names nothing holds no key', () => {
    expect(quotaKeysOf({})).toEqual([])
    expect([
      quotaKeysOf({ model: 'm' }),
      quotaKeysOf({ client: 'c' }),
      quotaKeysOf({ tools: ['t'] }),
    ]).toEqual([['model:m'], ['client:c'], ['tool:t']])
  })

  test('a key is of its kind and the whole of the name behind it', () => {
    const named = QuotaConfig.parse({
      models: { 'a:b': { maxInFlight: 4 } },
      tools: { b: { maxInFlight: 5 } },
    })
    expect(limitOfKey(named, 'model:a:b')).toMatchObject({ maxInFlight: 4 })
    expect(limitOfKey(named, 'tool:b')).toMatchObject({ maxInFlight: 5 })
    expect([
      limitOfKey(named, 'tool:a:b'),
      limitOfKey(named, 'model:b'),
      limitOfKey(named, 'label:b=c'),
    ]).toEqual([undefined, undefined, undefined])
    expect(limitOfKey(labelled, 'label:team=alpha')).toMatchObject({ maxInFlight: 2 })
    expect(limitOfKey(labelled, 'label:team=a=b')).toMatchObject({ maxInFlight: 8 })
  })

  test('a submission holds each key once, in one order', () => {
    const labels = { team: 'alpha', env: 'prod' }
    expect(quotaKeysOf({ model: 'm', tools: ['t', 's', 't'], client: 'c', labels })).toEqual([
      'client:c',
      'label:env=prod',
      'label:team=alpha',
      'model:m',
      'tool:s',
      'tool:t',
    ])
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
