import { describe, expect, test } from 'vitest'
import { RateLimited, rateLimitIn } from '../../src/quota/rate-limited.ts'
import { guarded } from '../guarded.ts'

describe('the keys that a provider refuses for now (docs/semantics.md 2.8)', () => {
  test('has the quota keys of all that it names, and says for how long', () => {
    const error = new RateLimited({
      model: 'big',
      tool: 'web',
      client: 'ada',
      labels: { team: 'a' },
      retryAfterMs: 1_200.2,
    })
    const quotaKeys = ['client:ada', 'label:team=a', 'model:big', 'tool:web']
    expect(error).toMatchObject({ code: 'rate_limited', retryAfterMs: 1_201, quotaKeys })
    expect(error.details).toStrictEqual({ retryAfterMs: 1_201, quotaKeys })
    expect(error.message).toBe(`rate limited for ${quotaKeys.join(', ')}: try again in 1201 ms`)
    expect(error.cause).toBeUndefined()
  })

  test('may name nothing, and may have its own message, details and cause', () => {
    const bare = new RateLimited({ retryAfterMs: 0 })
    expect([bare.message, bare.quotaKeys]).toEqual(['rate limited: try again in 0 ms', []])
    const cause = new Error('429')
    const told = new RateLimited({ retryAfterMs: 5 }, { message: 'later', details: { status: 429 }, cause })
    expect([told.message, told.cause]).toEqual(['later', cause])
    expect(told.details).toStrictEqual({ status: 429, retryAfterMs: 5, quotaKeys: [] })
  })

  test('lasts up to a year', () => {
    expect(new RateLimited({ retryAfterMs: 31_536_000_000 }).retryAfterMs).toBe(31_536_000_000)
  })

  const fields = 'model, tool, client, labels, retryAfterMs'
  const ms = 'retryAfterMs must be a number of ms from 0 to 31536000000, not'
  test.each<[unknown, string]>([
    [undefined, `takes { ${fields} }, not undefined`],
    [null, `takes { ${fields} }, not null`],
    [5, `takes { ${fields} }, not 5`],
    [[5], `takes { ${fields} }, not [5]`],
    [{ retryAfter: 5 }, 'there is no retryAfter, did you mean retryAfterMs?'],
    [{ anything: 5 }, `there is no anything; there are ${fields}`],
    [{ model: '' }, 'model must be a string of 1 to 255 characters, not ""'],
    [{ tool: 5 }, 'tool must be a string of 1 to 255 characters, not 5'],
    [{ client: null }, 'client must be a string of 1 to 255 characters, not null'],
    [{ labels: 5 }, 'labels must be an object of strings, not 5'],
    [{ labels: null }, 'labels must be an object of strings, not null'],
    [{ labels: [] }, 'labels must be an object of strings, not []'],
    [{ labels: { team: 5 } }, 'labels must be an object of strings, not {"team":5}'],
    [{ labels: { ok: 'a', '': 'b' } }, 'labels must be an object of strings, not {"ok":"a","":"b"}'],
    [{ labels: { team: '\ud800' } }, String.raw`labels must be an object of strings, not {"team":"\ud800"}`],
    [guarded('model'), 'takes { model, tool, client, labels, retryAfterMs }, not something unreadable'],
    [{ labels: guarded('team') }, 'labels must be an object of strings, not something unreadable'],
    [{}, `${ms} undefined`],
    [{ retryAfterMs: '5' }, `${ms} "5"`],
    [{ retryAfterMs: -1 }, `${ms} -1`],
    [{ retryAfterMs: 31_536_000_001 }, `${ms} 31536000001`],
    [{ retryAfterMs: Number.NaN }, `${ms} NaN`],
  ])('%#: is refused by name', (limit, message) => {
    expect(() => new RateLimited(limit as never)).toThrow(
      expect.objectContaining({ code: 'invalid_argument', message: `RateLimited: ${message}` }),
    )
  })
})

describe('the rate limit that an error names', () => {
  const limit = new RateLimited({ retryAfterMs: 5 })
  const behind = (depth: number): Error =>
    depth === 0 ? limit : new Error(`level ${depth}`, { cause: behind(depth - 1) })

  test('is its own, or that of a cause down to the fourth', () => {
    expect([0, 1, 4].map((depth) => rateLimitIn(behind(depth)))).toEqual([limit, limit, limit])
    expect(rateLimitIn(behind(5))).toBeUndefined()
  })

  test('is that of the first of several errors, unless they have a cause', () => {
    expect(rateLimitIn(new AggregateError([limit, new Error('x')]))).toBe(limit)
    expect(rateLimitIn(new AggregateError([new Error('x'), limit]))).toBeUndefined()
    expect(rateLimitIn(new AggregateError([limit], 'all', { cause: new Error('x') }))).toBeUndefined()
    expect(rateLimitIn(Object.assign(new Error('x'), { errors: [limit] }))).toBeUndefined()
  })

  test('is none of what is no error', () => {
    const { proxy: revoked, revoke } = Proxy.revocable({}, {})
    revoke()
    for (const other of [undefined, null, 'rate limited', 5, { cause: limit }, new Error('x'), revoked])
      expect(rateLimitIn(other)).toBeUndefined()
  })

  test('is none where reading the cause throws', () => {
    const trap = Object.defineProperty(new Error('x'), 'cause', {
      get: () => {
        throw new Error('no')
      },
    })
    expect(rateLimitIn(trap)).toBeUndefined()
  })
})
