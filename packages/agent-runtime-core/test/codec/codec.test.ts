import { deepStrictEqual } from 'node:assert'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { parseJson } from '../../src/codec/parse-json.ts'
import { describe, expect, test } from 'vitest'
import { anyText } from '../../../../tools/any-text.ts'
import { draws } from '../../../../tools/draws.ts'
import { canonical, decode, encode, exceeds, MAX_DEPTH, sizeOf } from '../../src/codec/codec.ts'
import { PayloadTooLarge, RuntimeError, StepNotSerializable } from '../../src/error/errors.ts'
import { show } from '../../src/check/show.ts'

const what = "step 'list files'"
const text = (value: unknown) => encode(value, { what })
const roundTrip = (value: unknown) => decode(text(value))
const parse = (json: string): unknown => JSON.parse(json)

describe('encode', () => {
  test.each([
    [null, 'null'],
    [false, 'false'],
    [0, '0'],
    ['', '""'],
    [1e21, '1e+21'],
    [{}, '{}'],
    [[], '[]'],
    [{ b: [1, 'x', null], a: { d: true, c: 0.5 } }, '{"a":{"c":0.5,"d":true},"b":[1,"x",null]}'],
    [{ 10: 1, 9: 2, a: 3, B: 4 }, '{"10":1,"9":2,"B":4,"a":3}'],
    ['\0\ud800"\\', String.raw`"\u0000\ud800\"\\"`],
    [undefined, '{"$ku0":["undefined"]}'],
    [{ a: undefined }, '{"a":{"$ku0":["undefined"]}}'],
    [12n, '{"$ku0":["BigInt","12"]}'],
    [-0, '{"$ku0":["Number","-0"]}'],
    [Number.NaN, '{"$ku0":["Number","NaN"]}'],
    [Number.POSITIVE_INFINITY, '{"$ku0":["Number","Infinity"]}'],
    [Number.NEGATIVE_INFINITY, '{"$ku0":["Number","-Infinity"]}'],
    [new Date(1_700_000_000_000), '{"$ku0":["Date",1700000000000]}'],
    [new Date(Number.NaN), '{"$ku0":["Date",null]}'],
    [new Map([['k', new Set([1])]]), '{"$ku0":["Map",[["k",{"$ku0":["Set",[1]]}]]]}'],
    [Uint8Array.of(1, 2), '{"$ku0":["Uint8Array","AQI="]}'],
    [{ $ku0: ['Date', 1] }, '{"$ku0":["Object",{"$ku0":["Date",1]}]}'],
    [{ $ku0: 1, a: 2 }, '{"$ku0":["Object",{"$ku0":1,"a":2}]}'],
    ['$ku0', '"$ku0"'],
  ])('%# writes %o as documented, and reads it back', (value, expected) => {
    expect(text(value)).toBe(expected)
    expect(decode(expected)).toStrictEqual(value)
  })

  test('gives objects back with their keys sorted', () => {
    const back = decode(text({ b: 1, a: { d: 2, c: 3 } })) as { readonly a: object }
    expect([Object.keys(back), Object.keys(back.a)]).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
  })

  test('gives one text whatever the order of keys', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
        const backwards = Object.fromEntries(Object.entries(object).toReversed())
        expect(text(backwards)).toBe(text(object))
        expect(canonical(backwards)).toBe(canonical(object))
      }),
    )
  })

  test('writes plain data as JSON does', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain = parse(JSON.stringify(value))
        expect(parse(text(plain))).toStrictEqual(plain)
        expect(text(plain)).toBe(canonical(plain))
      }),
    )
  })
})

describe('decode(encode(x))', () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withNullPrototype: false,
    key: fc.oneof(
      anyText(),
      fc.constantFrom(
        '$ku0',
        '__proto__',
        'constructor',
        'prototype',
        'toString',
        'hasOwnProperty',
        '\0',
        '\ud800',
        '',
      ),
    ),
    values: [
      fc.boolean(),
      fc.integer(),
      fc.double(),
      anyText(),
      fc.constantFrom(null, undefined, -0, '$ku0', '\ud800', '\udc00\ud800', '\0'),
      fc.uint8Array(),
      fc.string().map((message) => new RangeError(message)),
    ],
    maxDepth: 4,
  })

  test('G02 equals x, and encodes to the same text again', () => {
    fc.assert(
      fc.property(anything, (value) => {
        const once = text(value)
        deepStrictEqual(decode(once), value)
        expect(text(decode(once))).toBe(once)
        expect(canonical(parseJson(once))).toBe(once)
      }),
      { numRuns: draws(100, 1_000), includeErrorInReport: true },
    )
  })

  test.each(['__proto__', 'constructor', 'prototype', 'toString'])(
    'keeps %s as data and pollutes nothing',
    (key) => {
      const hostile = parse(`{"${key}":{"polluted":true,"since":{"$ku0":["x"]}},"list":[{"${key}":1}]}`)
      const back = roundTrip({ hostile, when: new Date(1) }) as { hostile: Record<string, unknown> }
      deepStrictEqual(back.hostile, hostile)
      expect(Object.keys(back.hostile).toSorted()).toStrictEqual([key, 'list'].toSorted())
      expect(Object.getPrototypeOf(back.hostile)).toBe(Object.prototype)
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    },
  )

  test('G03 revives under a key __proto__ in place', () => {
    const value = Object.fromEntries([['__proto__', new Date(5)]])
    const back = roundTrip(value) as object
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype)
    expect(Object.entries(back)).toStrictEqual([['__proto__', new Date(5)]])
  })

  test('keeps what an error says, and its class where that is built in', () => {
    class Refused extends TypeError {
      override name = 'Refused'
      code = 402
    }
    const cause = Object.assign(new Error('io'), { code: 'EIO', at: new Date(3) })
    const back = roundTrip(new Refused('no', { cause })) as Refused
    expect(back).toBeInstanceOf(Error)
    expect(Object.entries(back)).toStrictEqual([['code', 402]])
    expect([back.name, back.message, back.stack]).toStrictEqual(['Refused', 'no', 'Refused: no'])
    expect(back.cause).toStrictEqual(cause)
    const traced = Object.defineProperty(new Error('x'), 'stack', { value: 'secret.ts:1', enumerable: true })
    expect(text(traced)).toBe('{"$ku0":["Error",{"message":"x","name":"Error"}]}')
    expect(roundTrip(new AggregateError([new RangeError('a')], 'all'))).toStrictEqual(
      new AggregateError([new RangeError('a')], 'all'),
    )
    expect(roundTrip(new DOMException('stopped', 'AbortError'))).toMatchObject({
      name: 'AbortError',
      message: 'stopped',
    })
  })

  test('makes plain objects and arrays of another realm into ours', () => {
    const foreign: unknown = runInNewContext('({ a: [1, { b: 2 }] })')
    expect(roundTrip(foreign)).toStrictEqual({ a: [1, { b: 2 }] })
  })

  test('drops keys that are symbols where they are not enumerable', () => {
    const value = Object.defineProperty({ a: 1 }, Symbol('s'), { value: 2 })
    expect(roundTrip(value)).toStrictEqual({ a: 1 })
  })

  test('takes getters for their values and drops what is not data', () => {
    const value = Object.defineProperty(
      {
        a: 1,
        get b() {
          return 2
        },
      },
      'hidden',
      { value: 3 },
    )
    expect(roundTrip(value)).toStrictEqual({ a: 1, b: 2 })
    expect(roundTrip(Object.assign([1], { note: 'x' }))).toStrictEqual([1])
    expect(roundTrip(Object.assign(Object.create(null), { a: 1 }))).toStrictEqual({ a: 1 })
  })

  test('encodes again while it encodes, when a getter does so', () => {
    const value = {
      a: [1],
      get b() {
        return text({ c: this.a })
      },
      d: 4,
    }
    expect(roundTrip(value)).toStrictEqual({ a: [1], b: '{"c":[1]}', d: 4 })
  })
})

describe('encode refuses', () => {
  class Point {
    x = 1
  }
  const cycle: Record<string, unknown> = { list: [] }
  ;(cycle['list'] as unknown[]).push(cycle)
  const selfCause = new Error('loop')
  selfCause.cause = selfCause
  const throwing = {
    get secret(): string {
      throw new Error('no entry')
    },
  }
  const { proxy: revoked, revoke } = Proxy.revocable({}, {})
  revoke()
  const holes = [1]
  holes[2] = 3

  test.each([
    ['a function', { a: [0, 1, 2, { b: () => 1 }] }, '$.a[3].b', 'a function'],
    ['a symbol', [Symbol('s')], '$[0]', 'a symbol'],
    ['a symbol as a key', { a: { [Symbol('s')]: 1 } }, '$.a', 'symbol as a key: Symbol(s)'],
    ['a class instance', { 'my point': new Point() }, '$["my point"]', 'an instance of Point'],
    ['a promise', { p: Promise.resolve(1) }, '$.p', 'a promise: await it first'],
    ['a web stream', new Map([['s', new ReadableStream()]]), '$[0]', 'a stream'],
    ['a Buffer', { a: 1, b: Buffer.from('x') }, '$.b', 'Buffer: give new Uint8Array'],
    [
      'a promise of a class of its own',
      [new (class Later extends Promise<number> {})((resolve) => resolve(1))],
      '$[0]',
      'a promise: await it first',
    ],
    [
      'a stream of Node’s',
      [
        new (class Pipe {
          pipe() {}
        })(),
      ],
      '$[0]',
      'a stream: read it first',
    ],
    [
      'an instance of a class without a name',
      [
        new (class {
          x = 1
        })(),
      ],
      '$[0]',
      'an instance of a class: give plain data',
    ],
    [
      'what inherits from no class',
      [Object.create(Object.create(null) as object)],
      '$[0]',
      'an instance of a class: give plain data',
    ],
    [
      'an object with a prototype of its own',
      [Object.create({ a: 1 })],
      '$[0]',
      'an instance of Object: give plain data',
    ],
    [
      'a symbol as a key beside others',
      { a: 1, [Symbol('s')]: 1 },
      '$',
      'an object with a symbol as a key: Symbol(s)',
    ],
    [
      'a getter of an error that throws',
      Object.assign(new Error('x'), { deep: throwing }),
      '$.deep.secret',
      'unreadable: reading it threw',
    ],
    [
      'a function as the key of a map',
      new Map([
        [1, 1],
        [() => 1, 2],
      ] as [unknown, number][]),
      '$[1]',
      'a function',
    ],
    ['a function in a set', new Set([1, () => 1]), '$[1]', 'a function'],
    ['a RegExp', [/x/], '$[0]', 'an instance of RegExp'],
    ['a subclass of Array', new (class List extends Array {})(), '$', 'an instance of List'],
    ['a hole', { a: holes }, '$.a[1]', 'a hole in an array'],
    ['an endless sparse array', Object.assign([], { length: 4_294_967_295 }), '$[0]', 'a hole in an array'],
    ['a getter that throws', { a: throwing }, '$.a.secret', 'unreadable'],
    ['a revoked proxy', { a: revoked }, '$.a', 'unreadable'],
    ['a cycle', cycle, '$.list[0]', '$.list[0] is $ again: the value contains itself'],
    ['a cycle of causes', selfCause, '$.cause', '$.cause is $ again'],
    ['a cycle further down', { a: [{ b: cycle }] }, '$.a[0].b.list[0]', '$.a[0].b.list[0] is $.a[0].b again'],
    ['a cycle in a map', new Map([['m', cycle]]), '$[0].list[0]', '$[0].list[0] is $[0] again'],
    [
      'a function in an error',
      Object.assign(new Error('x'), { request: { send() {} } }),
      '$.request.send',
      'a function',
    ],
    ['a function after deeper places', { a: [[1, [2]], { b: 1 }], c: () => 1 }, '$.c', 'a function'],
  ])('G09 %s, naming the step and the place', (_, value, path, reason) => {
    const error = catchError(() => text(value))
    expect(error).toBeInstanceOf(StepNotSerializable)
    expect(error).toMatchObject({ code: 'step_not_serializable', step: what, path })
    expect((error as Error).message).toContain(what)
    expect((error as Error).message).toContain(reason)
  })

  test('G09 with what was thrown as the cause, where something was', () => {
    const thrown = new Error('no')
    const value = {
      get secret() {
        throw thrown
      },
    }
    expect(catchError(() => text(value))).toHaveProperty('cause', thrown)
    expect(catchError(() => text({ a: () => 1 }))).not.toHaveProperty('cause')
  })

  test('G02 the limit is 64 levels, which every version of a history goes by', () => {
    expect(MAX_DEPTH).toBe(64)
  })

  test(`G02 more than ${MAX_DEPTH} levels, not ${MAX_DEPTH}`, () => {
    const nest = (levels: number, wrap: (inner: unknown) => unknown) => {
      let value: unknown = 1
      for (let i = 0; i < levels; i += 1) value = wrap(value)
      return value
    }
    const wraps = [
      (inner: unknown) => [inner],
      (inner: unknown) => ({ a: inner }),
      (inner: unknown) => ({ $ku0: inner }),
      (inner: unknown) => new Map([[inner, inner === 1 ? new Date(1) : 1]]),
      (inner: unknown) => new Set([inner]),
      (inner: unknown) => new Error('x', { cause: inner }),
    ]
    for (const wrap of wraps) {
      const deep = nest(MAX_DEPTH, wrap)
      expect(roundTrip(deep)).toStrictEqual(deep)
      for (const levels of [MAX_DEPTH + 1, 10_000])
        expect(() => text(nest(levels, wrap))).toThrow(`nested more than ${MAX_DEPTH} levels deep`)
    }
  })

  test('a text above maxBytes, counted in UTF-8', () => {
    expect(encode('ä'.repeat(9), { what, maxBytes: 20 })).toHaveLength(11)
    const error = catchError(() => encode('ä'.repeat(10), { what, maxBytes: 20 }))
    expect(error).toBeInstanceOf(PayloadTooLarge)
    expect(error).toMatchObject({ code: 'payload_too_large', limit: 20, size: 22 })
  })

  test('a text above maxBytes tells its size, or what it had come to when it was broken off', () => {
    const sizeAt = (value: unknown, maxBytes: number) => {
      const error = catchError(() => encode(value, { what, maxBytes }))
      return error instanceof PayloadTooLarge ? [error.limit, error.size] : error
    }
    expect(encode('a'.repeat(8), { what, maxBytes: 10 })).toHaveLength(10)
    expect(sizeAt('a'.repeat(9), 10)).toEqual([10, 11])
    expect(sizeAt('a'.repeat(10), 10)).toEqual([10, 12])
    expect(sizeAt('a'.repeat(11), 10)).toEqual([10, 11])
    expect(sizeAt(['a'.repeat(10)], 10)).toEqual([10, 11])
    expect(sizeAt({ ['k'.repeat(11)]: 1 }, 10)).toEqual([10, 11])
    expect(sizeAt(new Uint8Array(11), 10)).toEqual([10, 11])
    expect(sizeAt([1, 2, 3, 4, 5, 6], 10)).toEqual([10, 11])
    expect((catchError(() => encode('abc', { what, maxBytes: 2 })) as Error).message).toBe(
      `${what} is too large: 3 bytes, 2 are allowed; keep large data elsewhere and store where it is, or raise maxPayloadBytes`,
    )
  })

  test('G02 a text that would never end, before it has cost much', () => {
    let bomb: unknown = 'boom'
    for (let i = 0; i < 60; i += 1) bomb = [bomb, bomb]
    for (const value of [bomb, new Uint8Array(1e9), '\0'.repeat(1e8)]) {
      const error = catchError(() => encode(value, { what, maxBytes: 1_000 }))
      expect(error).toBeInstanceOf(PayloadTooLarge)
    }
    let reads = 0
    const list: number[] = []
    for (let i = 0; i < 1_000; i += 1) Object.defineProperty(list, i, { get: () => (reads += 1) })
    expect(catchError(() => encode(list, { what, maxBytes: 100 }))).toBeInstanceOf(PayloadTooLarge)
    expect(reads).toBeLessThan(60)
  })
})

describe('decode refuses', () => {
  test.each([
    '',
    '{',
    'undefined',
    '{"$ku0":1}',
    '{"$ku0":[]}',
    '{"$ku0":["Date"]}',
    '{"$ku0":["Date","1"]}',
    '{"$ku0":["Date",1,2]}',
    '{"$ku0":["undefined",null]}',
    '{"$ku0":["Number","1"]}',
    '{"$ku0":["BigInt","0x10"]}',
    '{"$ku0":["BigInt",1]}',
    '{"$ku0":["Map",[[1]]]}',
    '{"$ku0":["Map",{}]}',
    '{"$ku0":["Set","ab"]}',
    '{"$ku0":["Uint8Array","A"]}',
    '{"$ku0":["Uint8Array","A*I="]}',
    '{"$ku0":["Uint8Array","AQJ="]}',
    '{"$ku0":["Object",[]]}',
    '{"$ku0":["Error",{"name":"E"}]}',
    '{"$ku0":["RegExp","x"]}',
    '{"$ku0":["constructor","x"]}',
    '{"$ku0":["undefined"],"more":1}',
    `${'{"a":'.repeat(2_000)}{"$ku0":["undefined"]}${'}'.repeat(2_000)}`,
    `${'{"$ku0":["Set",['.repeat(2_000)}1${']]}'.repeat(2_000)}`,
  ])('%#: malformed', (malformed) => {
    expect(catchError(() => decode(malformed))).toMatchObject({ code: 'invalid_encoding' })
  })
})

describe('a refusal of decode names the value', () => {
  test.each([
    ['{"$ku0":["undefined"],"more":1}', 'a tag stands beside other keys'],
    ['{"$ku0":1}', 'a tag is not an array'],
    ['{"$ku0":["Date"]}', 'the tag "Date" has the wrong length'],
    ['{"$ku0":["undefined",null]}', 'the tag "undefined" has the wrong length'],
    ['{"$ku0":[]}', 'the tag undefined has the wrong length'],
    ['{"$ku0":["Date","1"]}', 'the tag "Date" holds "1"'],
    ['{"$ku0":["Number",5]}', 'the tag "Number" holds 5'],
    ['{"$ku0":["BigInt","1 "]}', 'the tag "BigInt" holds "1 "'],
    ['{"$ku0":["BigInt"," 1"]}', 'the tag "BigInt" holds " 1"'],
    ['{"$ku0":["BigInt",""]}', 'the tag "BigInt" holds ""'],
    ['{"$ku0":["Map",[[1,2],[1]]]}', 'the tag "Map" holds [[1,2],[1]]'],
    ['{"$ku0":["Map",[{"length":2}]]}', 'the tag "Map" holds [{"length":2}]'],
    ['{"$ku0":["Object",null]}', 'the tag "Object" holds null'],
    ['{"$ku0":["Object","x"]}', 'the tag "Object" holds "x"'],
    ['{"$ku0":["Error",null]}', 'the tag "Error" holds null'],
    ['{"$ku0":["Uint8Array",[1]]}', 'the tag "Uint8Array" holds [1]'],
    ['{"$ku0":["RegExp","x"]}', 'the tag "RegExp" holds "x"'],
    ['{"$ku0":["Error",{"name":"E"}]}', 'an error has no name or message'],
    ['{"$ku0":["Error",{"message":"m"}]}', 'an error has no name or message'],
    ['{"$ku0":["Error",{"name":5,"message":"m"}]}', 'an error has no name or message'],
  ])('%s', (malformed, reason) => {
    expect(() => decode(malformed)).toThrow(
      expect.objectContaining({
        code: 'invalid_encoding',
        message: `a stored value was not written by the codec: ${reason}`,
      }),
    )
  })

  test('a text that is no JSON is shown, with the message of the parser', () => {
    const error = catchError(() => decode('{nope'))
    expect(error).toMatchObject({ code: 'invalid_encoding', message: 'a stored value is not JSON: "{nope"' })
    expect((error as Error).cause).toBeInstanceOf(SyntaxError)
  })

  test.each([[0], [true], [null], [undefined], [[]], [['1']]])(
    'a value that is no text is no stored value: %j',
    (given) => {
      expect(catchError(() => decode(given as never))).toMatchObject({
        code: 'invalid_encoding',
        message: `a stored value must be a string, not ${show(given)}`,
      })
    },
  )

  test('a text that is nested more deeply than the deepest value could be', () => {
    const nested = (levels: number) => `${'['.repeat(levels)}{"$ku0":["undefined"]}${']'.repeat(levels)}`
    expect(() => decode(nested(MAX_DEPTH * 8 - 1))).not.toThrow()
    expect(() => decode(nested(MAX_DEPTH * 8))).toThrow(
      'a stored value was not written by the codec: it is nested too deeply',
    )
    const objects = (levels: number) => `${'{"a":'.repeat(levels)}{"$ku0":["undefined"]}${'}'.repeat(levels)}`
    expect(() => decode(objects(MAX_DEPTH * 8 - 1))).not.toThrow()
    expect(() => decode(objects(MAX_DEPTH * 8))).toThrow('it is nested too deeply')
  })
})

describe('an error that was stored', () => {
  test.each([Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError])(
    'is of the built-in class %o again',
    (Class) => {
      const back = roundTrip(new Class('m')) as Error
      expect([Object.getPrototypeOf(back), back.message, back.stack]).toEqual([
        Class.prototype,
        'm',
        `${Class.name}: m`,
      ])
      expect(Object.hasOwn(back, 'name')).toBe(false)
    },
  )

  test('has properties that are seen or not as they were, and can be set', () => {
    const error = Object.assign(new Error('m', { cause: 1 }), { code: 'E' })
    error.name = 'Own'
    const back = roundTrip(error) as Error
    expect([Object.keys(back), back.name, back.cause]).toEqual([['code'], 'Own', 1])
    for (const key of ['stack', 'name', 'cause', 'code'])
      expect(Object.getOwnPropertyDescriptor(back, key)).toMatchObject({
        writable: true,
        configurable: true,
        enumerable: key === 'code',
      })
    const several = roundTrip(new AggregateError([1, 2], 'all')) as AggregateError
    expect([several.errors, Object.keys(several), several.message]).toEqual([[1, 2], [], 'all'])
  })

  test('without a name or a message that is a text has the ordinary ones', () => {
    const odd = Object.defineProperties(new Error('m'), { name: { value: 5 }, message: { value: undefined } })
    expect(text(odd)).toBe('{"$ku0":["Error",{"message":"","name":"Error"}]}')
  })
})

describe('canonical', () => {
  test('leaves out undefined properties and writes -0 as 0', () => {
    expect(canonical({ b: undefined, a: [-0, { d: undefined }] })).toBe('{"a":[0,{}]}')
    expect(canonical({ a: undefined, b: 1, c: 2 })).toBe('{"b":1,"c":2}')
  })

  test('writes tags as the data they are', () => {
    expect(canonical({ $ku0: ['Date', 1] })).toBe('{"$ku0":["Date",1]}')
  })

  test.each<[unknown, string]>([
    [undefined, '$ is undefined'],
    [[Number.NaN], '$[0] is NaN'],
    [[Number.NEGATIVE_INFINITY], '$[0] is -Infinity'],
    [{ a: 1n }, '$.a is a BigInt'],
    [new Date(1), '$ is an instance of Date: give plain data'],
    [[new Map()], '$[0] is an instance of Map: give plain data'],
    [() => 1, '$ is a function'],
  ])('%#: says what it refuses, and where', (value, reason) => {
    const error = catchError(() => canonical(value))
    expect((error as Error).message).toBe(`not plain data: canonical JSON cannot be stored: ${reason}`)
    expect((error as Error).cause).toBeInstanceOf(StepNotSerializable)
  })

  test.each([
    undefined,
    Number.NaN,
    1n,
    () => 1,
    new Date(1),
    new Map(),
    [undefined],
    { a: Uint8Array.of(1) },
  ])('refuses %o', (value) => {
    const error = catchError(() => canonical(value))
    expect(error).toBeInstanceOf(RuntimeError)
    expect(error).toMatchObject({ code: 'invalid_argument' })
  })
})

describe('the size of a text', () => {
  test.each([
    ['\u007f', 1],
    ['\u0080', 2],
    ['\u07ff', 2],
    ['\u0800', 3],
    ['\uffff', 3],
    ['\ud800\udc00', 4],
    ['\udbff\udfff', 4],
    ['\ud800', 3],
    ['\udbff\udbff', 6],
    ['\ud800\ue000', 6],
    ['\udc00\udfff', 6],
    ['\ud7ff\udc00', 6],
    ['', 0],
  ])('the size of %j is %i bytes', (value, bytes) => {
    expect(sizeOf(value)).toBe(bytes)
    expect(sizeOf(`a${value}a`)).toBe(bytes + 2)
    expect([exceeds(value, bytes), exceeds(value, bytes - 1)]).toEqual([false, true])
  })

  test('is that of its UTF-8 bytes', () => {
    fc.assert(
      fc.property(anyText(), fc.nat(40), (value, limit) => {
        expect(sizeOf(value)).toBe(Buffer.byteLength(value))
        expect(exceeds(value, limit)).toBe(Buffer.byteLength(value) > limit)
      }),
    )
    expect(sizeOf('\ud800\ud83d\ude00')).toBe(3 + 4)
    expect(sizeOf('\udc00\udc00')).toBe(3 + 3)
  })
})

describe('bytes', () => {
  test('stand in base64 as everywhere', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
        expect(text(bytes)).toBe(`{"$ku0":["Uint8Array","${Buffer.from(bytes).toString('base64')}"]}`)
      }),
    )
  })
})

function catchError(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
