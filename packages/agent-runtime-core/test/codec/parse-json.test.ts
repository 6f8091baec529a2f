import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decode, encode } from '../../src/index.ts'
import { hasEscapedKey, parseBySteps, parseJson } from '../../src/codec/parse-json.ts'

describe('a key that is written with an escape', () => {
  // Each first text teaches V8 of Node 26 a key for the place at which the second one has another.
  test.each([
    ['{":":1,"\\\\":2}', '{":":1,"\\u0000":2}', '\0'],
    ['{"a":1,"\\\\":2}', '{"a":1,"\\n":2}', '\n'],
    ['[{"a":{},"\\\\n":{}}]', '[{"a":{},"\\nx":{}}]', '\nx'],
  ])('stays itself after a like one: %s, %s', (before, text, key) => {
    parseJson(before)
    const parsed = parseJson(text)
    const object = (Array.isArray(parsed) ? parsed[0] : parsed) as object
    expect(Object.keys(object).at(-1)).toBe(key)
  })

  test('comes back from the codec as it was', () => {
    decode(encode({ ':': 1, '\\': 2 }, { what: 'a value', maxBytes: 100 }))
    const value = { ':': 1, '\0': 2 }
    expect(decode(encode(value, { what: 'a value', maxBytes: 100 }))).toEqual(value)
  })
})

describe('a text has an escaped key', () => {
  test.each([
    ['{"a\\n":1}', true],
    ['{"a":1,"\\u0000" :2}', true],
    ['[{"a":"\\n:"},"\\\\"]', false],
    ['{"a":"\\"b\\":"}', false],
    ['["\\n",{"a":1}]', false],
    ['{"a":1}', false],
  ])('%s: %s', (text, expected) => {
    expect(hasEscapedKey(text)).toBe(expected)
  })

  test('is found in time that grows with the length of the text, also where strings hold JSON', () => {
    const text = JSON.stringify({ a: JSON.stringify(Array.from({ length: 200_000 }, () => 'x')) })
    expect(hasEscapedKey(text)).toBe(false)
    expect(parseBySteps(text)).toEqual(JSON.parse(text))
  })
})

test('7.4 a text of millions of escapes is read like any other', () => {
  const value = '"\\'.repeat(1_000_000)
  const text = JSON.stringify(value)
  expect(parseJson(text) === value).toBe(true)
  const keyed = parseJson(`{"\\n":${text}}`) as Record<string, unknown>
  expect(keyed['\n'] === value).toBe(true)
})

describe('parsing by steps', () => {
  test('gives the value that was written', () => {
    const check = () =>
      fc.assert(
        fc.property(fc.jsonValue({ maxDepth: 5 }), fc.boolean(), (value, isSpread) => {
          const text = JSON.stringify(value, undefined, isSpread ? 2 : 0)
          // JSON writes -0 as 0.
          deepStrictEqual(parseBySteps(text), JSON.parse(text))
        }),
      )
    expect(check).not.toThrow()
  })

  test('keeps __proto__ as data, the last of two equal keys, and the depth of a deep text', () => {
    const parsed = parseBySteps('{"__proto__":{"x":1},"a":1,"a":-1.5e3}') as object
    expect(Object.entries(parsed)).toEqual([
      ['__proto__', { x: 1 }],
      ['a', -1500],
    ])
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype)
    const deep = '['.repeat(20_000) + ']'.repeat(20_000)
    expect(parseBySteps(deep)).toHaveLength(1)
  })

  test.each(['', '{', '{"a" 1}', '[1,]', '{"a":1,}', 'nul', '"\n"', '1 2'])(
    'refuses what is no JSON: %j',
    (text) => {
      expect(() => parseBySteps(text)).toThrow(SyntaxError)
    },
  )
})
