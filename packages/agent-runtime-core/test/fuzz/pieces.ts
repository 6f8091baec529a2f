import fc from 'fast-check'

/** A value for a call: made anew for each run, told by a text, since many of these cannot be shown. */
export interface Piece {
  readonly text: string
  readonly make: () => unknown
}

/** Values as they are, each told by its JSON. */
export function values(...given: readonly unknown[]): fc.Arbitrary<Piece> {
  return fc.constantFrom(
    ...given.map((value) => piece(JSON.stringify(value) ?? String(value), () => structuredClone(value))),
  )
}

export function piece(text: string, make: () => unknown): Piece {
  return { text, make }
}

/** One of these as a rule, and now and then something hostile. */
export function mostly(...plausible: readonly fc.Arbitrary<Piece>[]): fc.Arbitrary<Piece> {
  return fc.oneof({ weight: 9, arbitrary: fc.oneof(...plausible) }, { weight: 1, arbitrary: hostile })
}

/** An object of some of these fields, sometimes with one that nobody knows; now and then no such object at all. */
export function fields(
  shape: Readonly<Record<string, fc.Arbitrary<Piece>>>,
  ...required: readonly string[]
): fc.Arbitrary<Piece> {
  const object = fc
    .tuple(
      fc.record(
        Object.fromEntries(
          Object.entries(shape).map(([name, field]) => [
            name,
            required.includes(name) ? field : fc.option(field, { freq: 2, nil: undefined }),
          ]),
        ),
      ),
      fc.oneof(
        { weight: 39, arbitrary: fc.constant(null) },
        {
          weight: 1,
          arbitrary: fc.tuple(fc.constantFrom('__proto__', 'constructor', 'nope', '', 'a\ud800'), hostile),
        },
      ),
    )
    .map(([given, odd]) => objectOf([...Object.entries(given), ...(odd === null ? [] : [odd])]))
  return fc.oneof({ weight: 19, arbitrary: object }, { weight: 1, arbitrary: hostile })
}

/** A list of up to so many of these. */
export function listOf(item: fc.Arbitrary<Piece>, most = 3): fc.Arbitrary<Piece> {
  return fc
    .array(item, { maxLength: most })
    .map((items) =>
      piece(`[${items.map(({ text }) => text).join(', ')}]`, () => items.map(({ make }) => make())),
    )
}

function objectOf(entries: readonly (readonly [string, Piece | undefined])[]): Piece {
  const given = entries.filter((entry): entry is [string, Piece] => entry[1] !== undefined)
  return piece(
    `{ ${given.map(([name, { text }]) => `${JSON.stringify(name)}: ${text}`).join(', ')} }`,
    () => {
      const object = {}
      for (const [name, { make }] of given)
        Object.defineProperty(object, name, {
          value: make(),
          enumerable: true,
          configurable: true,
          writable: true,
        })
      return object
    },
  )
}

/** What a getter or a trap of ours throws. */
class Theirs extends Error {}

const refuse = (): never => {
  throw new Theirs('theirs')
}

class Instance {
  readonly secret = 1
}

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level += 1) value = wrap(value)
  return value
}

function cycle(): unknown {
  const object: Record<string, unknown> = {}
  object['self'] = { deeper: [object] }
  return object
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const traps = new Proxy({}, { get: () => refuse })

const oddNumbers = [
  -0,
  0,
  -1,
  0.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.MAX_SAFE_INTEGER,
  Number.MAX_SAFE_INTEGER + 1,
  Number.MIN_SAFE_INTEGER,
  Number.MAX_VALUE,
  Number.MIN_VALUE,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  2 ** 63,
  -(2 ** 63),
  8.64e15,
  8.64e15 + 1,
]

const oddTexts = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  '\udc00\ud800',
  '\u2028',
  '\u202e',
  '__proto__',
  'constructor',
  'toString',
  '$ku0',
  'ku0:',
  '../../x',
  "'; DROP TABLE task; --",
  'NaN',
  '-1',
  '1e400',
  '%s%n',
  '😀',
  'e\u0301',
]

/** Values that no caller should give, and some that one might. */
const oddities: readonly Piece[] = [
  piece('undefined', () => undefined),
  piece('null', () => null),
  piece('true', () => true),
  ...oddNumbers.map((number) => piece(Object.is(number, -0) ? '-0' : String(number), () => number)),
  ...oddTexts.map((text) => piece(JSON.stringify(text), () => text)),
  piece("'x' 255 times", () => 'x'.repeat(255)),
  piece("'x' 256 times", () => 'x'.repeat(256)),
  piece("'x' a million times", () => 'x'.repeat(1_000_000)),
  piece('2 MB of \\u0000', () => '\0'.repeat(2_000_000)),
  piece('1n', () => 1n),
  piece('2n ** 200n', () => 2n ** 200n),
  piece("Symbol('s')", () => Symbol('s')),
  piece('Symbol.iterator', () => Symbol.iterator),
  piece('new Date(0)', () => new Date(0)),
  piece('new Date(NaN)', () => new Date(Number.NaN)),
  piece('new Date(8.64e15)', () => new Date(8.64e15)),
  piece('new Date(-8.64e15)', () => new Date(-8.64e15)),
  piece('a function', () => () => {}),
  piece('a function that throws', () => refuse),
  piece('a class', () => Instance),
  piece('an instance', () => new Instance()),
  piece('a promise', () => Promise.resolve(1)),
  piece('a thenable that throws', () => ({
    // oxlint-disable-next-line unicorn/no-thenable -- that is what is tried.
    then: refuse,
  })),
  piece('[]', () => []),
  piece('{}', () => ({})),
  piece('Object.create(null)', () => Object.create(null) as unknown),
  piece('a sparse list', () => [1].concat(Object.assign([], { length: 2 }))),
  piece('a list of 100 000', () => Array.from({ length: 100_000 }, (_, index) => index)),
  piece('an object with 10 000 fields', () =>
    Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field ${index}`, index])),
  ),
  piece('64 levels', () => nested(64, (inner) => [inner])),
  piece('65 levels', () => nested(65, (inner) => ({ inner }))),
  piece('100 000 levels', () => nested(100_000, (inner) => [inner])),
  piece('a cycle', cycle),
  piece('JSON.parse(\'{"__proto__":1}\')', () => JSON.parse('{"__proto__":{"polluted":true}}') as unknown),
  piece("{ $ku0: ['Date', 1] }", () => ({ $ku0: ['Date', 1] })),
  piece('new Map([[{}, 1]])', () => new Map([[{}, new Set([Number.NaN])]])),
  piece('new Uint8Array(3)', () => new Uint8Array(3)),
  piece('new ArrayBuffer(3)', () => new ArrayBuffer(3)),
  piece("new Error('e')", () => new Error('e', { cause: cycle() })),
  piece('new Number(1)', () => Object(1) as unknown),
  piece('new WeakMap()', () => new WeakMap()),
  piece('a getter that throws', () =>
    Object.defineProperty({}, 'name', { get: refuse, enumerable: true, configurable: true }),
  ),
  piece('a proxy whose traps throw', () => new Proxy({}, traps)),
  piece('a revoked proxy', revoked),
  piece('a toJSON that throws', () => ({ toJSON: refuse })),
  piece('a toString that throws', () => ({ toString: refuse, [Symbol.toPrimitive]: refuse })),
]

export const hostile: fc.Arbitrary<Piece> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...oddities) },
  {
    weight: 1,
    arbitrary: fc
      .jsonValue({ maxDepth: 3 })
      .map((value) => piece(JSON.stringify(value), () => structuredClone(value))),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...oddities)
      .map(({ text, make }) => piece(`{ a: [${text}] }`, () => ({ a: [make()] }))),
  },
)
