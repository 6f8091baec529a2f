import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  addTokens,
  countInWindow,
  hasRoomAtAdmission,
  hasRoomAtDispatch,
  type QuotaCounters,
  quotaRule,
  type QuotaRule,
  quotaRules,
  tokensBeyond,
  tokensLeft,
} from '../../src/quota/room.ts'
import { windowStart } from '../../src/quota/quota.ts'
import { QuotaConfig } from '../../src/quota/schema.ts'

const none: QuotaCounters = {
  queued: 0,
  running: 0,
  windowStart: 0,
  windowCount: 0,
  windowTokens: 0,
  blockedUntil: 0,
}
const reject = (limit: Partial<QuotaRule>): QuotaRule => ({
  key: 'model:big',
  onExceeded: 'reject',
  ...limit,
})
const defer = (limit: Partial<QuotaRule>): QuotaRule => ({ key: 'model:big', onExceeded: 'defer', ...limit })
const window = 60_000

const holding = (counters: QuotaCounters, by: number): QuotaCounters => ({
  ...counters,
  queued: Math.max(0, counters.queued + by),
})

describe('quota (docs/semantics.md 2.6, 2.8, C4)', () => {
  const config = QuotaConfig.parse({
    models: { big: { maxInFlight: 1 } },
    tools: { browser: { perWindow: 2, onExceeded: 'defer' } },
    defaults: { model: { maxInFlight: 9 } },
  })

  test('2.6 unset: nothing is counted', () => {
    expect(quotaRules(undefined, { model: 'big', tools: ['browser'] })).toEqual([])
    expect(quotaRule(undefined, 'model:big')).toBeUndefined()
  })

  test('2.6 a specific limit beats the default, the default holds for the rest', () => {
    expect(quotaRules(config, { model: 'big' })).toMatchObject([{ key: 'model:big', maxInFlight: 1 }])
    expect(quotaRules(config, { model: 'small' })).toMatchObject([{ key: 'model:small', maxInFlight: 9 }])
  })

  test('2.6 a task that names a model and a tool comes under both', () => {
    expect(quotaRules(config, { model: 'big', tools: ['browser'] }).map(({ key }) => key)).toEqual([
      'model:big',
      'tool:browser',
    ])
  })

  test('2.6 a name that nothing limits is not counted, one named twice is counted once', () => {
    expect(quotaRules(config, { tools: ['shell', 'browser', 'browser'] }).map(({ key }) => key)).toEqual([
      'tool:browser',
    ])
  })

  test('a model and a tool of one name are two keys, and a name may contain a colon', () => {
    const both = QuotaConfig.parse({
      models: { 'a:b': { maxInFlight: 1 } },
      tools: { 'a:b': { maxInFlight: 2 } },
    })
    expect(quotaRule(both, 'model:a:b')).toMatchObject({ maxInFlight: 1 })
    expect(quotaRule(both, 'tool:a:b')).toMatchObject({ maxInFlight: 2 })
  })

  test('C4 reject is decided at admission and counts queued and running holders', () => {
    const rule = reject({ maxInFlight: 3 })
    expect(hasRoomAtAdmission(rule, { ...none, queued: 1, running: 1 }, window, 0)).toBe(true)
    expect(hasRoomAtAdmission(rule, { ...none, queued: 2, running: 1 }, window, 0)).toBe(false)
    expect(hasRoomAtAdmission(rule, { ...none, running: 3 }, window, 0)).toBe(false)
  })

  test('C4 an accepted task always starts: at dispatch reject minds only what came back from a wait', () => {
    const rule = reject({ maxInFlight: 2, perWindow: 1, tokensPerWindow: 1 })
    const spent = { ...none, windowStart: window, windowCount: 9, windowTokens: 9 }
    expect(hasRoomAtDispatch(rule, { ...spent, queued: 9, running: 1 }, window, 5)).toBe(true)
    expect(hasRoomAtDispatch(rule, { ...spent, running: 2 }, window, 5)).toBe(false)
  })

  test('C4 defer lets everything in, and is decided at dispatch by running holders alone', () => {
    const rule = defer({ maxInFlight: 1 })
    expect(hasRoomAtAdmission(rule, { ...none, queued: 99, running: 99 }, window, 0)).toBe(true)
    expect(hasRoomAtDispatch(rule, { ...none, queued: 99 }, window, 0)).toBe(true)
    expect(hasRoomAtDispatch(rule, { ...none, running: 1 }, window, 0)).toBe(false)
  })

  test('2.8 a task that no window could ever hold is refused: it would wait for ever', () => {
    const rule = defer({ tokensPerWindow: 100 })
    expect(hasRoomAtAdmission(rule, { ...none, windowTokens: 100 }, window, 100)).toBe(true)
    expect(hasRoomAtAdmission(rule, none, window, 101)).toBe(false)
  })

  test('2.8 a limit of 0 forbids', () => {
    expect(hasRoomAtAdmission(reject({ maxInFlight: 0 }), none, window, 0)).toBe(false)
    expect(hasRoomAtAdmission(reject({ perWindow: 0 }), none, window, 0)).toBe(false)
    expect(hasRoomAtAdmission(reject({ tokensPerWindow: 0 }), none, window, 1)).toBe(false)
  })

  test('F05 2.8 windows are 60 000 ms, aligned to the epoch', () => {
    expect([0, 59_999, 60_000, 119_999].map((now) => windowStart(now, window))).toEqual([
      0, 0, 60_000, 60_000,
    ])
  })

  test('2.8 a window takes perWindow tasks, and the next window as many again', () => {
    const rule = reject({ perWindow: 2 })
    const full = { ...none, windowStart: 60_000, windowCount: 2 }
    expect(hasRoomAtAdmission(rule, { ...full, windowCount: 1 }, 60_000, 0)).toBe(true)
    expect(hasRoomAtAdmission(rule, full, 60_000, 0)).toBe(false)
    expect(hasRoomAtAdmission(rule, full, 120_000, 0)).toBe(true)
  })

  test('2.8 tokens fill a window to the last one', () => {
    const rule = defer({ tokensPerWindow: 100 })
    const used = { ...none, windowStart: 60_000, windowTokens: 60 }
    expect(hasRoomAtDispatch(rule, used, 60_000, 40)).toBe(true)
    expect(hasRoomAtDispatch(rule, used, 60_000, 41)).toBe(false)
    expect(hasRoomAtDispatch(rule, used, 120_000, 100)).toBe(true)
  })

  test('2.8 counting starts again with a window and leaves the holders alone', () => {
    const first = countInWindow({ ...none, queued: 2, running: 1 }, 60_000, 10)
    expect(first).toEqual({
      queued: 2,
      running: 1,
      windowStart: 60_000,
      windowCount: 1,
      windowTokens: 10,
      blockedUntil: 0,
    })
    expect(countInWindow(first, 60_000, 5)).toMatchObject({ windowCount: 2, windowTokens: 15 })
    expect(countInWindow(first, 120_000, 5)).toMatchObject({
      windowStart: 120_000,
      windowCount: 1,
      windowTokens: 5,
    })
  })

  test('2.8 tokens within the estimate are reserved already, those beyond it count as they are charged', () => {
    expect(tokensBeyond({ estimate: 100, used: 0 }, 60)).toBe(0)
    expect(tokensBeyond({ estimate: 100, used: 60 }, 60)).toBe(20)
    expect(tokensBeyond({ estimate: 100, used: 120 }, 5)).toBe(5)
    expect(tokensBeyond({ estimate: 0, used: 0 }, 5)).toBe(5)
    expect(
      addTokens({ ...none, windowStart: 60_000, windowCount: 2, windowTokens: 7 }, 60_000, 5),
    ).toMatchObject({
      windowCount: 2,
      windowTokens: 12,
    })
    expect(
      addTokens({ ...none, windowStart: 60_000, windowCount: 2, windowTokens: 7 }, 120_000, 5),
    ).toMatchObject({
      windowStart: 120_000,
      windowCount: 0,
      windowTokens: 5,
    })
  })

  test('2.8 a task that ends gives back what it did not use; one that never said what it used gives nothing back', () => {
    expect(tokensLeft({ estimate: 100, used: 60 }, true)).toBe(40)
    expect(tokensLeft({ estimate: 100, used: 160 }, true)).toBe(0)
    expect(tokensLeft({ estimate: 100, used: 0 }, true)).toBe(0)
    expect(tokensLeft({ estimate: 100, used: 0 }, false)).toBe(100)
  })

  test('2.8 however a task charges, its estimate, what goes beyond and what it gives back make what it used', () => {
    fc.assert(
      fc.property(fc.nat(50), fc.array(fc.nat(30), { minLength: 1 }), (estimate, charges) => {
        let counted = estimate
        let used = 0
        for (const charged of charges) {
          counted += tokensBeyond({ estimate, used }, charged)
          used += charged
        }
        counted -= tokensLeft({ estimate, used }, true)
        expect(counted).toBe(used === 0 ? estimate : used)
      }),
    )
  })

  test('I19 no order of requests exceeds a window or a maximum', () => {
    const rule = reject({ maxInFlight: 4, perWindow: 3, tokensPerWindow: 20 })
    const ask = fc.record({ at: fc.nat(200_000), tokens: fc.nat(12), leave: fc.boolean() })
    fc.assert(
      fc.property(fc.array(ask, { maxLength: 60 }), (asks) => {
        let counters = none
        const seen = new Map<number, { count: number; tokens: number }>()
        for (const { at, tokens, leave } of asks.toSorted((a, b) => a.at - b.at)) {
          if (leave) counters = holding(counters, -1)
          const start = windowStart(at, window)
          if (!hasRoomAtAdmission(rule, counters, start, tokens)) continue
          counters = countInWindow(holding(counters, 1), start, tokens)
          const { count, tokens: sum } = seen.get(start) ?? { count: 0, tokens: 0 }
          seen.set(start, { count: count + 1, tokens: sum + tokens })
          expect(counters.queued).toBeLessThanOrEqual(4)
        }
        for (const { count, tokens } of seen.values()) {
          expect(count).toBeLessThanOrEqual(3)
          expect(tokens).toBeLessThanOrEqual(20)
        }
      }),
    )
  })
})
