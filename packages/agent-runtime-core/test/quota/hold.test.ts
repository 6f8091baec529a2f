import { describe, expect, test } from 'vitest'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import type { Submission } from '../../src/submit/submission.ts'
import type { QuotaRow, StreamRow, TaskRow } from '../../src/transition.ts'
import {
  chargeQuotas,
  exceededQuota,
  mayStart,
  quotaKeysFor,
  QuotaRoom,
  settleQuotas,
  startQuotas,
  takeQuotas,
  toReserve,
} from '../../src/quota/hold.ts'
import type { UsageSum } from '../../src/budget/usage.ts'
import { config, limited, now, quota, type Rows, stream, task, workingSet } from '../transition/rows.ts'

const key = quota.key
const other = 'tool:web'
const settings = (quotaConfig: object) => parseExecutionConfig({ quotaConfig }).config
/** Settings by which the model `big` has this limit. */
const big = (limit: object, more: object = {}) => settings({ models: { big: limit }, ...more })
const deferring = (limit: object) => big({ ...limit, onExceeded: 'defer' })
/** One task runs and two are in line; in this window, which is the one from 0 on, one counts, with 10 tokens. */
const having = (changes: Partial<QuotaRow> = {}, more: Rows = {}): Rows => ({
  ...limited,
  quotas: new Map([[key, { ...quota, ...changes }]]),
  ...more,
})
const keyed: StreamRow = { ...stream, quotaKeys: [key] }
/** As of the window before. */
const before = { windowStart: -60_000, windowCount: 99, windowTokens: 99 }

describe('which quotas a submission holds (docs/semantics.md 2.6, 2.8)', () => {
  const names = { model: 'big', tools: ['web'], client: 'ada' }
  const held = (rows: Rows, its = config) => quotaKeysFor(workingSet(rows, its), names)
  const row = (of: string, blockedUntil: number): Rows => ({
    quotas: new Map([[of, { ...quota, key: of, blockedUntil }]]),
  })

  test('limited keys, whether anything was counted for them or not', () => {
    expect(held({}, big({ maxInFlight: 1 }))).toEqual([key])
    expect(held(limited, big({ maxInFlight: 1 }))).toEqual([key])
  })

  test('keys that a provider blocked once, also where that is over, and with no limit at all', () => {
    expect(held(row(other, 1))).toEqual([other])
    expect(held(row(other, 1), big({ maxInFlight: 1 }))).toEqual([key, other])
    const ws = workingSet({})
    ws.putQuota({ ...quota, key: other, blockedUntil: now.at + 1 })
    expect(quotaKeysFor(ws, names)).toEqual([other])
  })

  test('no others: not what was counted by a limit that is gone', () => {
    expect(held({})).toEqual([])
    expect(held(row(key, 0))).toEqual([])
    expect(held(row(key, 0), settings({ models: { small: { maxInFlight: 1 } } }))).toEqual([])
  })
})

describe('why a quota refuses a submission (docs/semantics.md C4, 2.8)', () => {
  const ask = (
    rows: Rows,
    its: typeof config,
    more: Partial<Submission> = {},
    { keys = [key], spawning }: { keys?: readonly string[]; spawning?: TaskRow } = {},
  ) => {
    const it: Submission = { type: 'work', lane: 'batch', input: '1', ...more }
    return exceededQuota(workingSet(rows, its), keys, it, spawning)
  }
  const noRoom = `quota ${key} has no room; submit later or raise its limit`
  const inFlight = { by: 'quota', key, limit: 'maxInFlight' }
  const held = true as const

  test('under reject all that are in line and run count, up to the last one', () => {
    expect(ask(having(), big({ maxInFlight: 4 }))).toBeUndefined()
    expect(ask(having(), big({ maxInFlight: 3 }))).toStrictEqual({
      message: noRoom,
      verdict: { ...inFlight, max: 3, value: 3, asked: 1 },
    })
  })

  test('a window that is full says when the next begins', () => {
    expect(ask(having(), big({ perWindow: 2 }))).toBeUndefined()
    const verdict = { by: 'quota', key, limit: 'perWindow', max: 1, value: 1, asked: 1 }
    expect(ask(having(), big({ perWindow: 1 }))).toStrictEqual({
      message: noRoom,
      verdict: { ...verdict, resetsAt: 60_000 },
    })
    expect(
      ask(having({ windowStart: 49_000 }), big({ perWindow: 1 }, { windowMs: 7_000 }))?.verdict,
    ).toStrictEqual({ ...verdict, resetsAt: 56_000 })
    expect(ask(having(before), big({ perWindow: 1 }))).toBeUndefined()
  })

  test('tokens that fit into no window are refused, and no retry helps; the last one that is left is there to take', () => {
    const asked = (tokens: number) => ask(having(), big({ tokensPerWindow: 100 }), { tokens })
    const verdict = { by: 'quota', key, limit: 'tokensPerWindow', max: 100, value: 10 }
    expect(asked(90)).toBeUndefined()
    for (const tokens of [91, 100])
      expect(asked(tokens)).toStrictEqual({
        message: noRoom,
        verdict: { ...verdict, asked: tokens, resetsAt: 60_000 },
      })
    expect(asked(101)).toStrictEqual({
      message: `quota ${key} allows 100 tokens per window, and the task needs 101; raise tokensPerWindow, or ask for fewer`,
      verdict: { ...verdict, asked: 101 },
      forGood: true,
    })
  })

  test('a task that names no tokens asks for none', () => {
    expect(ask(having({ windowTokens: 100 }), big({ tokensPerWindow: 100 }))).toBeUndefined()
  })

  test.each(['maxInFlight', 'perWindow', 'tokensPerWindow'])('%s 0 takes nothing, ever', (limit) => {
    expect(ask({}, big({ [limit]: 0 }), { tokens: 1 })).toStrictEqual({
      message: `quota ${key} allows nothing: its ${limit} is 0; raise it`,
      verdict: { by: 'quota', key, limit, max: 0, value: 0, asked: 1 },
      forGood: true,
    })
  })

  test('a parent that holds the only place would be waited for for ever', () => {
    const one = having({ queued: 0 })
    const ownOnly = {
      message: `quota ${key} allows one task in flight, and the parent is that task; raise maxInFlight, or set onExceeded to 'defer'`,
      verdict: { ...inFlight, max: 1, value: 1, asked: 1 },
      forGood: true,
    }
    const asked = (rows: Rows, limit: object, spawning?: TaskRow) =>
      ask(rows, big(limit), {}, spawning === undefined ? {} : { spawning })
    expect(asked(one, { maxInFlight: 1 }, task)).toStrictEqual(ownOnly)
    expect(asked(one, { maxInFlight: 1 })).toMatchObject({ message: noRoom })
    expect(asked({ ...one, streams: [stream] }, { maxInFlight: 1 }, task)).toMatchObject({ message: noRoom })
    // With two places the other one may come free; a window ends by itself.
    expect(asked(having({ queued: 1 }), { maxInFlight: 2 }, task)).toMatchObject({ message: noRoom })
    expect(asked(one, { perWindow: 1 }, task)).toMatchObject({ message: noRoom })
    expect(asked(one, { perWindow: 1 }, task)).not.toHaveProperty('forGood')
  })

  test('a limit that defers lets in what it has no room for, but not what its caller holds (10.1)', () => {
    expect(ask(having(), deferring({ maxInFlight: 1 }))).toBeUndefined()
    expect(ask(having(), deferring({ maxInFlight: 1 }), { tokens: 9 })).toBeUndefined()
    expect(ask(having(), deferring({ maxInFlight: 1 }), { held })).toStrictEqual({
      message: noRoom,
      verdict: { ...inFlight, max: 1, value: 1, asked: 1 },
    })
    // Those in line come after it.
    expect(ask(having(), deferring({ maxInFlight: 2 }), { held })).toBeUndefined()
    expect(ask(having(), big({ maxInFlight: 3 }), { held })?.verdict).toMatchObject({ ...inFlight, value: 3 })
    expect(ask(having(), deferring({ perWindow: 1 }), { held })?.verdict).toMatchObject({ resetsAt: 60_000 })
    expect(ask(having(), deferring({ tokensPerWindow: 9 }), { tokens: 10 })).toMatchObject({ forGood: true })
  })

  test.each<[string, typeof config, Partial<Submission>, boolean]>([
    ['a limit that rejects', big({ maxInFlight: 9 }), {}, true],
    ['a limit that defers', deferring({ maxInFlight: 9 }), {}, false],
    ['a limit that defers, its caller holds it', deferring({ maxInFlight: 9 }), { held }, true],
    ['no limit', config, {}, false],
    ['no limit, its caller holds it', config, { held }, true],
  ])('a key that is blocked, with %s: whether it is refused', (_, its, more, is) => {
    const blockedUntil = now.at + 1
    expect(ask(having({ blockedUntil }), its, more)).toStrictEqual(
      is
        ? {
            message: `quota ${key} is blocked until 1970-01-01T00:00:50.001Z, as its provider asked; submit then`,
            verdict: { by: 'block', key, blockedUntil },
          }
        : undefined,
    )
    expect(ask(having({ blockedUntil: now.at }), its, more)).toBeUndefined()
  })

  test('a key that is short comes before its block; among several keys the first', () => {
    const rows = having({ blockedUntil: now.at + 1 })
    expect(ask(rows, big({ maxInFlight: 3 }))?.verdict).toMatchObject(inFlight)
    const both = settings({ models: { big: { maxInFlight: 9 } }, tools: { web: { maxInFlight: 0 } } })
    expect(ask(rows, both, {}, { keys: [key, other] })?.verdict).toMatchObject({ by: 'block', key })
    expect(ask(having(), both, {}, { keys: [key, other] })?.verdict).toMatchObject({
      by: 'quota',
      key: other,
    })
    expect(ask(having(), both, {}, { keys: [] })).toBeUndefined()
  })
})

describe('a submission that is taken (docs/semantics.md 2.6, 2.8)', () => {
  test('stands in line at each of its quotas; of windows those that reject count it now', () => {
    const keys = [key, 'model:small', other]
    const ws = workingSet(
      { streams: [{ ...stream, quotaKeys: keys }], quotas: new Map([[key, quota]]) },
      settings({ models: { big: { perWindow: 9 }, small: { perWindow: 9, onExceeded: 'defer' } } }),
    )
    takeQuotas(ws, { ...task, tokens: 5 }, keys)
    const first = { queued: 1, running: 0, windowStart: 0, windowCount: 0, windowTokens: 0, blockedUntil: 0 }
    expect([...ws.quotas.changed.values()]).toStrictEqual([
      { ...quota, queued: 3, windowCount: 2, windowTokens: 15 },
      { ...first, key: 'model:small' },
      { ...first, key: other },
    ])
  })

  test('a window that is over begins again', () => {
    const ws = workingSet(having(before), big({ perWindow: 9 }))
    takeQuotas(ws, { ...task, tokens: 5 }, [key])
    expect(ws.quota(key)).toStrictEqual({ ...quota, queued: 3, windowCount: 1, windowTokens: 5 })
  })
})

describe('whether quotas let a task start (docs/semantics.md C4, 2.8)', () => {
  const starts = (
    rows: Rows,
    its: typeof config,
    of: Partial<TaskRow> = {},
    keys: readonly string[] = [key],
  ) => mayStart(workingSet(rows, its), keys, { ...task, fence: 0, ...of })

  test.each<[string, boolean, Rows, typeof config, Partial<TaskRow>]>([
    ['nothing limits', true, having(), config, {}],
    ['is blocked until later', false, having({ blockedUntil: now.at + 1 }), config, {}],
    ['was blocked until now', true, having({ blockedUntil: now.at }), config, {}],
    ['has a place left', true, having(), deferring({ maxInFlight: 2 }), {}],
    ['has none left', false, having(), deferring({ maxInFlight: 1 }), {}],
    ['has a place left in its window', true, having(), deferring({ perWindow: 2 }), {}],
    ['has none left in its window', false, having(), deferring({ perWindow: 1 }), {}],
    ['counted all of its places in the window before', true, having(before), deferring({ perWindow: 1 }), {}],
    ['has all the tokens left', true, having(), deferring({ tokensPerWindow: 100 }), { tokens: 90 }],
    ['has one token less', false, having(), deferring({ tokensPerWindow: 100 }), { tokens: 91 }],
    [
      'has no tokens, which were reserved at an earlier start',
      true,
      having(),
      deferring({ tokensPerWindow: 100 }),
      { tokens: 91, fence: 1 },
    ],
    ['has counted its window at admission', true, having(), big({ perWindow: 1 }), {}],
    ['rejects, and a waiting task gave up its place', false, having(), big({ maxInFlight: 1 }), {}],
  ])('a quota that %s: %s', (_, is, rows, its, of) => {
    expect(starts(rows, its, of)).toBe(is)
  })

  test('all of them do, and none is needed', () => {
    const full = settings({ tools: { web: { maxInFlight: 1, onExceeded: 'defer' } } })
    const rows = having({}, { quotas: new Map([[other, { ...quota, key: other }]]) })
    expect(starts(rows, full, {}, [key, other])).toBe(false)
    expect(starts(rows, full, {}, [key])).toBe(true)
    expect(starts(rows, full, {}, [])).toBe(true)
  })

  test.each([
    [0, 7],
    [1, 0],
  ])('tokens are reserved at the first start alone: of fence %i %i', (fence, tokens) => {
    expect(toReserve({ fence, tokens: 7 })).toBe(tokens)
  })
})

describe('the room that is handed out to streams that wait for a slot (docs/semantics.md 3.6)', () => {
  const two = {
    models: { big: { maxInFlight: 5, onExceeded: 'defer' } },
    tools: { web: { maxInFlight: 3, onExceeded: 'defer' } },
  }
  const roomIn = (its: typeof config, rows: Rows = having()) => new QuotaRoom(workingSet(rows, its))
  const web: StreamRow = { ...stream, quotaKeys: [other] }
  const both: StreamRow = { ...stream, quotaKeys: [key, other] }

  test('is the least of all of its quotas, and what was taken is gone for all that hold them', () => {
    const room = roomIn(settings(two))
    expect(room.take(both, 2, 0)).toBe(2)
    expect(room.take(web, 9, 0)).toBe(1)
    expect(room.take(keyed, 9, 0)).toBe(2)
    expect(room.take(keyed, 9, 0)).toBe(0)
  })

  test('nothing is taken of one where another has none', () => {
    const room = roomIn(settings(two))
    expect(room.take(web, 3, 0)).toBe(3)
    expect(room.take(both, 2, 0)).toBe(0)
    expect(room.take(keyed, 9, 0)).toBe(4)
  })

  test('is no more than is wanted, and all of that where nothing limits', () => {
    expect(roomIn(config).take(keyed, 9, 7)).toBe(9)
    expect(roomIn(config).take(stream, 9, 7)).toBe(9)
    expect(roomIn(settings(two)).take(keyed, 0, 0)).toBe(0)
  })

  test('more may run than there is room for: then there is none, not less', () => {
    const room = roomIn(deferring({ maxInFlight: 1 }), having({ running: 5 }))
    expect([room.take(keyed, 9, 0), room.take(keyed, 9, 0)]).toEqual([0, 0])
  })

  test('as many whole tasks as there are tokens fit', () => {
    const room = roomIn(deferring({ tokensPerWindow: 100 }))
    expect(room.take(keyed, 1, 31)).toBe(1)
    expect(room.take(keyed, 9, 30)).toBe(1)
    expect(room.take(keyed, 9, 30)).toBe(0)
    expect(room.take(keyed, 9, 29)).toBe(1)
    // Those that need none start all the same.
    expect(room.take(keyed, 9, 0)).toBe(9)
  })

  test.each([
    [now.at, 9],
    [now.at + 1, 0],
  ])('a key that is blocked until %i, at 50000: %i', (blockedUntil, count) => {
    expect(roomIn(config, having({ blockedUntil })).take(keyed, 9, 0)).toBe(count)
    expect(roomIn(config, having({ blockedUntil })).take(keyed, 9, 1)).toBe(count)
  })
})

describe('a task that starts (docs/semantics.md 2.8)', () => {
  const start = (
    of: Partial<TaskRow>,
    its: typeof config,
    { rows = having(), row = keyed }: { rows?: Rows; row?: StreamRow } = {},
  ) => {
    const ws = workingSet(rows, its)
    return { ws, change: startQuotas(ws, { ...task, tokens: 5, ...of }, row) }
  }
  const tokens = deferring({ tokensPerWindow: 100 })
  const reserved = { cost: 1_000_000, used: null, charge: null, place: null, reservedAt: 41_000 }

  test('counts in the windows of what defers, with its tokens at its first start', () => {
    const { ws, change } = start({ fence: 0 }, tokens)
    expect(ws.quota(key)).toStrictEqual({ ...quota, windowCount: 2, windowTokens: 15 })
    expect(change).toStrictEqual({})
    const again = start({ fence: 1 }, tokens)
    expect(again.ws.quota(key)).toStrictEqual({ ...quota, windowCount: 2 })
    const later = start({ fence: 0 }, tokens, { rows: having(before) })
    expect(later.ws.quota(key)).toStrictEqual({ ...quota, windowTokens: 5 })
  })

  test('counts in no window of what rejects, which took it at admission, or of what has no limit', () => {
    expect([...start({ fence: 0 }, big({ tokensPerWindow: 100 })).ws.quotas.changed]).toEqual([])
    expect([...start({ fence: 0 }, config).ws.quotas.changed]).toEqual([])
    const keys = { ...stream, quotaKeys: [key, other] }
    const its = settings({
      models: { big: { perWindow: 9 } },
      tools: { web: { perWindow: 9, onExceeded: 'defer' } },
    })
    const { ws } = start({ fence: 0 }, its, { row: keys })
    expect([...ws.quotas.changed.values()].map((it) => [it.key, it.windowCount])).toEqual([[other, 1]])
  })

  test('again keeps in its account when it reserved its tokens, since its row is about to say another start', () => {
    expect(start({}, tokens).change).toStrictEqual({ account: reserved })
    expect(start({ startedAt: null }, tokens).change).toStrictEqual({
      account: { ...reserved, reservedAt: now.at },
    })
    const account = { cost: 3, used: { tokens: 1, money: 2, cost: 3 }, charge: 4, place: 5 }
    expect(start({ account }, tokens).change).toStrictEqual({ account: { ...account, reservedAt: 41_000 } })
  })

  test.each<[string, Partial<TaskRow>, typeof config]>([
    ['for the first time', { fence: 0 }, tokens],
    ['and knows it by now', { account: { ...reserved, reservedAt: 0 } }, tokens],
    ['and reserved none', { tokens: 0 }, tokens],
    ['where no tokens are counted', {}, deferring({ perWindow: 9 })],
    ['where they were at admission', {}, big({ tokensPerWindow: 100 })],
    ['under no quota', {}, config],
  ])('%s has nothing to keep', (_, of, its) => {
    expect(start(of, its).change).toStrictEqual({})
  })

  test('that reserves at one of its quotas keeps it, whatever the others', () => {
    const its = settings({
      models: {
        big: { tokensPerWindow: 100, onExceeded: 'defer' },
        small: { perWindow: 9, onExceeded: 'defer' },
      },
    })
    for (const quotaKeys of [
      [key, 'model:small'],
      ['model:small', key],
    ])
      expect(start({}, its, { row: { ...stream, quotaKeys } }).change).toStrictEqual({ account: reserved })
    expect(start({}, tokens, { row: stream }).change).toStrictEqual({})
  })
})

describe('tokens that a task charges (docs/semantics.md 2.8)', () => {
  const sum = (tokens: number): UsageSum => ({ tokens, money: 0, cost: 0 })
  const charge = (
    charged: UsageSum | undefined,
    of: Partial<TaskRow> = {},
    its = big({ tokensPerWindow: 9 }),
    rows = having(),
  ) => {
    const ws = workingSet(rows, its)
    chargeQuotas(ws, { ...task, tokens: 20, ...of }, charged)
    return [...ws.quotas.changed.values()]
  }
  const account = { cost: 1, used: sum(15), charge: null, place: null }

  test('are covered by its estimate, and count beyond it, at once, also past the limit', () => {
    expect(charge(sum(20))).toEqual([])
    expect(charge(sum(21))).toStrictEqual([{ ...quota, windowTokens: 11 }])
    expect(charge(sum(5), { account })).toEqual([])
    expect(charge(sum(6), { account })).toStrictEqual([{ ...quota, windowTokens: 11 }])
    expect(charge(sum(6), { account: { ...account, used: sum(90) } })).toStrictEqual([
      { ...quota, windowTokens: 16 },
    ])
    expect(charge(sum(3), { tokens: 0, account: { ...account, used: null } })).toStrictEqual([
      { ...quota, windowTokens: 13 },
    ])
  })

  test('count in the window in which they are charged, which no further task comes into', () => {
    const rows = having(before)
    expect(charge(sum(21), {}, undefined, rows)).toStrictEqual([
      { ...quota, windowCount: 0, windowTokens: 1 },
    ])
  })

  test('count where tokens are limited, in either mode, and nowhere else', () => {
    const keys = having({}, { streams: [{ ...stream, quotaKeys: [other, key] }] })
    const its = settings({
      models: { big: { tokensPerWindow: 9, onExceeded: 'defer' } },
      tools: { web: { perWindow: 9 } },
    })
    expect(charge(sum(21), {}, its, keys)).toStrictEqual([{ ...quota, windowTokens: 11 }])
    expect(charge(sum(21), {}, config)).toEqual([])
  })

  test('that are none write nothing', () => {
    expect(charge(undefined)).toEqual([])
    expect(charge({ ...sum(0), cost: 5 }, { tokens: 0 })).toEqual([])
  })
})

describe('a task that is over (docs/semantics.md 2.8)', () => {
  const account = {
    cost: 1,
    used: { tokens: 3, money: 0, cost: 0 },
    charge: null,
    place: null,
  }
  const rejecting = big({ tokensPerWindow: 100 })
  const settle = (of: Partial<TaskRow>, its = rejecting, rows = having({ windowTokens: 50 })) => {
    const ws = workingSet(rows, its)
    settleQuotas(ws, { ...task, tokens: 20, account, ...of })
    return [...ws.quotas.changed.values()].map(({ windowTokens }) => windowTokens)
  }

  test('gives back what it did not use of its reservation, and changes nothing else', () => {
    const ws = workingSet(having({ windowTokens: 50 }), rejecting)
    settleQuotas(ws, { ...task, tokens: 20, account })
    expect([...ws.quotas.changed.values()]).toStrictEqual([{ ...quota, windowTokens: 33 }])
  })

  test('gives back no more than is counted', () => {
    expect(settle({}, rejecting, having({ windowTokens: 17 }))).toEqual([0])
    expect(settle({}, rejecting, having({ windowTokens: 5 }))).toEqual([0])
  })

  test('gives back nothing that it used, and none where it does not say what, unless it never started', () => {
    expect(settle({ account: { ...account, used: { ...account.used, tokens: 20 } } })).toEqual([])
    expect(settle({ account: null })).toEqual([])
    expect(settle({ account: { ...account, used: null }, fence: 0 })).toEqual([30])
  })

  test('gives back in the window of its reservation alone: of its admission where that counted', () => {
    // The window before ended a ms before 0.
    expect(settle({ submittedAt: 0 })).toEqual([33])
    expect(settle({ submittedAt: -1 })).toEqual([])
    expect(settle({ submittedAt: 0, startedAt: -1 })).toEqual([33])
    expect(settle({ startedAt: null, account: { ...account, used: null }, fence: 0 })).toEqual([30])
  })

  test('where it defers, of its first start', () => {
    const its = deferring({ tokensPerWindow: 100 })
    expect(settle({ submittedAt: -1, startedAt: 0 }, its)).toEqual([33])
    expect(settle({ startedAt: -1 }, its)).toEqual([])
    expect(settle({ startedAt: 9, account: { ...account, reservedAt: -1 } }, its)).toEqual([])
    expect(settle({ startedAt: -1, account: { ...account, reservedAt: 9 } }, its)).toEqual([33])
    expect(settle({ startedAt: null, account: null, fence: 0 }, its)).toEqual([])
  })

  test('gives back nothing of a window that is over, also where nothing was counted in this one', () => {
    expect(settle({}, rejecting, having({ ...before, windowTokens: 50 }))).toEqual([])
    const minute = big({ tokensPerWindow: 100 }, { windowMs: 10_000 })
    expect(
      settle({ submittedAt: 50_000 }, minute, having({ windowStart: 50_000, windowTokens: 50 })),
    ).toEqual([33])
    expect(
      settle({ submittedAt: 49_999 }, minute, having({ windowStart: 50_000, windowTokens: 50 })),
    ).toEqual([])
  })

  test('gives back where tokens are counted, and nowhere else', () => {
    const keys = having({ windowTokens: 50 }, { streams: [{ ...stream, quotaKeys: [other, key] }] })
    const its = settings({
      models: { big: { tokensPerWindow: 100 } },
      tools: { web: { perWindow: 9 } },
    })
    expect(settle({}, its, keys)).toEqual([33])
    expect(settle({}, big({ perWindow: 9 }))).toEqual([])
    expect(settle({}, rejecting, { streams: [stream] })).toEqual([])
    expect(settle({ tokens: 0 })).toEqual([])
  })
})
