import { describe, expect, test } from 'vitest'
import { isEnvironment, assertDelay, MAX_ARMED_MS } from '../../src/config/environment.ts'
import { hasMethods, isA, isList, isReadable } from '../../src/check/readable.ts'
import { firstLines, show, textOf } from '../../src/check/show.ts'
import { suggestionFor } from '../../src/check/suggestion.ts'

const { proxy: revoked, revoke } = Proxy.revocable({}, {})
revoke()
const refuse = () => {
  throw new Error('no')
}

describe('a value in a message', () => {
  test.each<[unknown, string]>([
    ['a "b"', '"a \\"b\\""'],
    [5, '5'],
    [-0, '0'],
    [null, 'null'],
    [undefined, 'undefined'],
    [true, 'true'],
    [12n, '12n'],
    [Symbol('s'), 'Symbol(s)'],
    [() => 1, 'a function'],
    [Map, 'a function'],
    [Promise.resolve(), 'a promise'],
    [new Date(Number.NaN), 'an invalid Date'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [{ a: [1] }, '{"a":[1]}'],
    [{ toJSON: () => undefined }, '[object Object]'],
    [{ toJSON: refuse }, 'something unreadable'],
  ])('%# is shown for what it is', (value, text) => {
    expect(show(value)).toBe(text)
  })

  test('is one line of 80 characters at most', () => {
    expect(show('a'.repeat(78))).toBe(`"${'a'.repeat(78)}"`)
    expect(show('a'.repeat(79))).toBe(`"${'a'.repeat(78)}…`)
    expect(show([1e77])).toHaveLength(7)
    expect(show(['b'.repeat(76)])).toBe(`["${'b'.repeat(76)}"]`)
    expect(show(['b'.repeat(77)])).toBe(`["${'b'.repeat(77)}…`)
  })

  test('that cannot be looked at is named so', () => {
    expect([show(revoked), textOf(revoked)]).toEqual(['something unreadable', 'something unreadable'])
  })

  test('as text is itself when it is one', () => {
    expect([textOf('a "b"'), textOf(''), textOf('a'.repeat(99))]).toEqual(['a "b"', '', 'a'.repeat(99)])
  })
})

describe('the lines of a message', () => {
  const lines = (many: number) => Array.from({ length: many }, (_, at) => `line ${at}`)

  test('are the first twenty, and how many more there are', () => {
    expect(firstLines(lines(20))).toEqual(lines(20))
    expect(firstLines(lines(23))).toEqual([...lines(20), 'and 3 more'])
    expect(firstLines([])).toEqual([])
  })

  test('are cut where they are longer than a thousand characters', () => {
    expect(firstLines(['a'.repeat(1_000), 'b'.repeat(1_001)])).toEqual([
      'a'.repeat(1_000),
      `${'b'.repeat(999)}…`,
    ])
  })
})

describe('the name that was likely meant', () => {
  test.each([
    ['leaseTTL', ['heartbeat', 'leaseTtlMs'], 'leaseTtlMs'],
    ['LANE', ['line', 'lane'], 'lane'],
    ['lane', ['LANE'], 'LANE'],
    ['ab', ['ax', 'ay'], 'ax'],
    ['kitten', ['sitting', 'mitten'], 'mitten'],
    ['abc', ['ab', 'abcd'], 'ab'],
    ['abcd', ['bcd'], 'bcd'],
    ['abcd', ['xabcd'], 'xabcd'],
  ])('%s of %j is %s', (name, known, meant) => {
    expect(suggestionFor(name, known)).toBe(meant)
  })

  test('is near enough to be a slip: two edits, or a third of a long name', () => {
    expect(suggestionFor('abc', ['xyc'])).toBe('xyc')
    expect(suggestionFor('abc', ['xyz'])).toBeUndefined()
    expect(suggestionFor('abcdefghi', ['abcdefxyz'])).toBe('abcdefxyz')
    expect(suggestionFor('abcdefghi', ['abcdewxyz'])).toBeUndefined()
    expect(suggestionFor('', ['ab', 'a'])).toBe('a')
    expect(suggestionFor('', ['abc'])).toBeUndefined()
    expect(suggestionFor('abc', [''])).toBeUndefined()
    expect(suggestionFor('abc', [])).toBeUndefined()
  })

  test('is not looked for of a text that is no name', () => {
    expect(suggestionFor('a'.repeat(100), ['a'.repeat(99)])).toBe('a'.repeat(99))
    expect(suggestionFor('a'.repeat(101), ['a'.repeat(99)])).toBeUndefined()
  })
})

describe('looking at what a program gave never throws', () => {
  test('readable is an object, and no list, whose own fields can all be read', () => {
    expect([{}, { a: 1 }, new Date(), new Map()].every(isReadable)).toBe(true)
    const trap = {
      ok: 1,
      get no() {
        return refuse()
      },
    }
    for (const other of [undefined, null, 5, 'a', [], () => 1, revoked, trap])
      expect(isReadable(other)).toBe(false)
  })

  test('an instance, a list', () => {
    expect([isA(new Error('x'), Error), isA({}, Error), isA(null, Error), isA(revoked, Error)]).toEqual([
      true,
      false,
      false,
      false,
    ])
    expect([isList([]), isList({ length: 0 }), isList('a'), isList(revoked)]).toEqual([
      true,
      false,
      false,
      false,
    ])
  })

  test('methods, all of them', () => {
    class Own {
      a() {}
      b() {}
    }
    expect([
      hasMethods(new Own(), 'a', 'b'),
      hasMethods(new Own(), 'a', 'c'),
      hasMethods({ a: 1 }, 'a'),
    ]).toEqual([true, false, false])
    for (const other of [
      undefined,
      null,
      'text',
      revoked,
      {
        get at() {
          return refuse()
        },
      },
    ])
      expect(hasMethods(other, 'at')).toBe(false)
  })
})

describe('an environment', () => {
  const act = () => 1
  const whole = {
    clock: { now: act, monotonic: act },
    timers: { after: act },
    ids: { uuid: act },
    random: { next: act },
    digest: { sha256: act, sha256Hex: act },
  }

  test('has every method of every part', () => {
    expect(isEnvironment(whole)).toBe(true)
    for (const [part, methods] of Object.entries(whole)) {
      expect(isEnvironment({ ...whole, [part]: undefined })).toBe(false)
      for (const method of Object.keys(methods))
        expect(isEnvironment({ ...whole, [part]: { ...methods, [method]: 1 } })).toBe(false)
    }
  })

  test('is nothing else, whatever looking at it does', () => {
    for (const other of [undefined, null, 5, {}, revoked]) expect(isEnvironment(other)).toBe(false)
  })

  test('waits for a finite number of ms, 0 or more, a minute in one go', () => {
    for (const delay of [0, 0.5, 1e12]) expect(() => assertDelay(delay)).not.toThrow()
    for (const delay of [-1, -0.1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => assertDelay(delay)).toThrow(
        expect.objectContaining({
          code: 'invalid_argument',
          message: `a delay is a finite number of ms, 0 or more, not ${delay}`,
        }),
      )
    expect(MAX_ARMED_MS).toBe(60_000)
  })
})
