import { describe, expect, test } from 'vitest'
import { quotaObstacle, quotaStateOf } from '../../src/quota/state.ts'
import { QuotaConfig } from '../../src/quota/schema.ts'

const config = QuotaConfig.parse({
  windowMs: 10_000,
  models: {
    slots: { maxInFlight: 2 },
    starts: { perWindow: 3, onExceeded: 'defer' },
    tokens: { tokensPerWindow: 100, onExceeded: 'defer' },
    refused: { perWindow: 3 },
    free: {},
  },
})
/** In the window from 20 000 to 30 000. */
const at = 23_456
const counters = (key: string, changes: Partial<Parameters<typeof quotaStateOf>[1]> = {}) => ({
  key,
  queued: 4,
  running: 1,
  windowStart: 20_000,
  windowCount: 2,
  windowTokens: 60,
  blockedUntil: 0,
  ...changes,
})

describe('a quota as it stands (docs/semantics.md 2.8)', () => {
  test('without a rule, or with one that limits nothing: who holds it, and no more', () => {
    const state = { key: 'model:free', queued: 4, running: 1 }
    expect(quotaStateOf(config, counters('model:free'), at)).toStrictEqual(state)
    expect(quotaStateOf(undefined, counters('model:free'), at)).toStrictEqual(state)
  })

  test('with slots: how many there are', () => {
    expect(quotaStateOf(config, counters('model:slots'), at)).toStrictEqual({
      key: 'model:slots',
      queued: 4,
      running: 1,
      maxInFlight: 2,
    })
  })

  const window = { startedAt: 20_000, resetsAt: 30_000, tasks: 2, tokens: 60 }
  test.each([
    ['model:starts', { ...window, maxTasks: 3 }],
    ['model:tokens', { ...window, maxTokens: 100 }],
  ])('with a limit on its window, %s: what the current one holds', (key, expected) => {
    expect(quotaStateOf(config, counters(key), at).window).toStrictEqual(expected)
  })

  test('a window that is over holds nothing', () => {
    const state = quotaStateOf(config, counters('model:starts'), 30_000)
    expect(state.window).toStrictEqual({
      startedAt: 30_000,
      resetsAt: 40_000,
      tasks: 0,
      tokens: 0,
      maxTasks: 3,
    })
  })

  test('blocked by its provider: until when, and not at that instant any more', () => {
    const blocked = counters('model:free', { blockedUntil: at + 1 })
    expect(quotaStateOf(undefined, blocked, at)).toStrictEqual({
      key: 'model:free',
      queued: 4,
      running: 1,
      blockedUntil: at + 1,
    })
    expect(quotaStateOf(undefined, blocked, at + 1)).not.toHaveProperty('blockedUntil')
  })
})

describe('the reasons that keep a queued task from starting (docs/semantics.md 2.8, 3.7)', () => {
  test('nothing: there is room, or no rule', () => {
    expect(quotaObstacle(config, counters('model:slots'), at, 1e9)).toBeUndefined()
    expect(quotaObstacle(config, counters('model:tokens'), at, 40)).toBeUndefined()
    expect(quotaObstacle(config, counters('model:free', { running: 99 }), at, 1e9)).toBeUndefined()
    expect(quotaObstacle(undefined, counters('model:free'), at, 1e9)).toBeUndefined()
    // A full window of this one refuses submissions, and keeps back nothing that was taken.
    expect(quotaObstacle(config, counters('model:refused', { windowCount: 3 }), at, 0)).toBeUndefined()
  })

  test('its provider: until the instant that it named, whatever else there is', () => {
    const blocked = counters('model:slots', { running: 2, blockedUntil: at + 1 })
    expect(quotaObstacle(config, blocked, at, 0)).toStrictEqual({
      summary: 'quota model:slots is blocked until 1970-01-01T00:00:23.457Z, as its provider asked',
      until: at + 1,
    })
    expect(quotaObstacle(undefined, { ...blocked, key: 'model:free' }, at, 0)?.until).toBe(at + 1)
  })

  test('the slots: nobody knows until when', () => {
    expect(quotaObstacle(config, counters('model:slots', { running: 2 }), at, 0)).toStrictEqual({
      summary: 'quota model:slots has no room: 2 running tasks hold it',
    })
    const one = { models: { one: { maxInFlight: 1 } } }
    expect(quotaObstacle(QuotaConfig.parse(one), counters('model:one', { running: 1 }), at, 0)).toStrictEqual(
      {
        summary: 'quota model:one has no room: 1 running task holds it',
      },
    )
  })

  test.each([
    ['model:starts', { windowCount: 3 }],
    ['model:tokens', { windowTokens: 61 }],
  ])('the window, %s: until it ends', (key, changes) => {
    expect(quotaObstacle(config, counters(key, changes), at, 40)).toStrictEqual({
      summary: `quota ${key} has no room in this window, which ends at 1970-01-01T00:00:30.000Z`,
      until: 30_000,
    })
  })
})
