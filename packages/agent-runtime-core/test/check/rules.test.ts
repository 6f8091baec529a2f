import { describe, expect, test } from 'vitest'
import { RuntimeError } from '../../src/error/errors.ts'
import {
  assertFields,
  assertIsOptions,
  assertOptions,
  delayRule,
  fits,
  flagRule,
  functionRule,
  hasAll,
  instead,
  isAmount,
  isName,
  isOneOf,
  isRecord,
  isWithinOne,
  limitRule,
  listOf,
  nameRule,
  namesRule,
  problemsIn,
  type Rule,
  signalRule,
  wholeNumber,
} from '../../src/check/rules.ts'

const rules = { name: nameRule, retries: wholeNumber(0, 5), loud: flagRule }
const refuse = () => {
  throw new Error('no')
}
const { proxy: revoked, revoke } = Proxy.revocable({}, {})
revoke()

/** What a call throws: its code and its message. */
function refusalOf(run: () => void): readonly string[] {
  try {
    run()
  } catch (error) {
    return error instanceof RuntimeError ? [error.code, error.message] : [String(error)]
  }
  return []
}

describe('the problems of an object', () => {
  test('name what to do where a name is known from elsewhere, before the nearest that there is', () => {
    const familiar = { retry: 'write retries', tries: (given: unknown) => `write retries: ${String(given)}` }
    const given = { retry: 2, tries: 3, loudly: 1, toString: 4 }
    expect(problemsIn(given, rules, { familiar }).map(({ allowed }) => allowed)).toStrictEqual([
      'no such option, write retries',
      'no such option, write retries: 3',
      'no such option, did you mean loud?',
      'no such option; there are name, retries, loud',
    ])
  })

  test('are none when all that is given holds, and what is required is there', () => {
    expect(problemsIn({}, rules)).toEqual([])
    expect(problemsIn({ name: 'a', retries: 5, loud: undefined }, rules, { required: ['name'] })).toEqual([])
  })

  test('are each of them: names that do not exist first, then fields in the order of their rules', () => {
    const given = { loud: 1, retrys: 2, retries: 6, name: undefined }
    expect(problemsIn(given, rules, { path: 'run option ', required: ['name', 'retries'] })).toStrictEqual([
      { path: 'run option retrys', allowed: 'no such option, did you mean retries?', given: 2 },
      { path: 'run option name', allowed: '1 to 255 characters, no lone surrogates', given: undefined },
      { path: 'run option retries', allowed: 'a whole number from 0 to 5', given: 6 },
      { path: 'run option loud', allowed: 'true or false', given: 1 },
    ])
  })

  test('options report a name that is not an option although its value is undefined, or objects inherit it', () => {
    expect(problemsIn({ volume: undefined }, rules).map(({ path }) => path)).toEqual(['volume'])
    expect(problemsIn({ constructor: 1 }, rules)).toEqual([
      { path: 'constructor', allowed: 'no such option; there are name, retries, loud', given: 1 },
    ])
  })

  test('are that a field is missing only where it is required', () => {
    expect(problemsIn({ retries: 1 }, rules)).toEqual([])
    expect(problemsIn({ retries: 1 }, rules, { required: ['name'] })).toEqual([
      { path: 'name', allowed: nameRule[0], given: undefined },
    ])
  })

  test('a value whose rule cannot even look at it breaks that rule', () => {
    const seen: Rule = ['what can be looked at', (value) => Object.keys(value as object).length >= 0]
    expect(problemsIn({ it: revoked }, { it: seen })).toMatchObject([{ path: 'it' }])
    expect(problemsIn({ it: {} }, { it: seen })).toEqual([])
  })
})

describe('a value fits rules', () => {
  test('with each field as its rule says, and no others', () => {
    const whole = { name: 'a', retries: 1, loud: true }
    expect(fits(whole, rules)).toBe(true)
    expect(fits({ ...whole, retries: 6 }, rules)).toBe(false)
    expect(fits({ ...whole, more: 1 }, rules)).toBe(false)
    expect(fits({ ...whole, toString: 1 }, rules)).toBe(false)
    expect(fits({ name: 'a', retries: 1 }, rules)).toBe(false)
    for (const other of [undefined, null, 5, [], new Date()]) expect(fits(other, rules)).toBe(false)
  })
})

describe('the options of a call', () => {
  test('may be left out as a whole, unless some are required', () => {
    expect(refusalOf(() => assertOptions('run', undefined, rules))).toEqual([])
    expect(refusalOf(() => assertOptions('run', undefined, rules, { required: ['name'] }))).toEqual([
      'invalid_argument',
      'run options: an object with name, retries, loud; given undefined',
    ])
  })

  test('options are an object, and all their faults are reported at once, each with its call', () => {
    expect(refusalOf(() => assertOptions('run', 5, rules))).toEqual([
      'invalid_argument',
      'run options: an object with name, retries, loud; given 5',
    ])
    expect(refusalOf(() => assertIsOptions('run', {}, rules))).toEqual([])
    expect(
      refusalOf(() => assertOptions('run', { retries: -1, loud: 'x' }, rules, { required: ['name'] })),
    ).toEqual([
      'invalid_argument',
      [
        'run option name: 1 to 255 characters, no lone surrogates; not given',
        'run option retries: a whole number from 0 to 5; given -1',
        'run option loud: true or false; given "x"',
      ].join('\n'),
    ])
    expect(refusalOf(() => assertOptions('run', { name: 'a' }, rules, { required: ['name'] }))).toEqual([])
  })

  test('with names of any length, and in any number, make a message that can be read', () => {
    const [, message] = refusalOf(() =>
      assertFields([200, 201].map((length) => ({ path: 'p'.repeat(length), allowed: 'x', given: 1 }))),
    )
    expect(message).toBe(`${'p'.repeat(200)}: x; given 1\n${'p'.repeat(199)}…: x; given 1`)
    const many = Array.from({ length: 22 }, (_, at) => ({ path: `p${at}`, allowed: 'x', given: 1 }))
    expect(
      refusalOf(() => assertFields(many))[1]
        ?.split('\n')
        .slice(19),
    ).toEqual(['p19: x; given 1', 'and 2 more'])
    expect(refusalOf(() => assertFields([]))).toEqual([])
  })
})

test('a report has the option that was likely meant, or all options', () => {
  expect(instead('retrys', ['retries', 'loud'])).toBe(', did you mean retries?')
  expect(instead('volume', ['retries', 'loud'])).toBe('; there are retries, loud')
  expect(instead('volume', [])).toBe('')
})

describe('a record', () => {
  test('is an object whose own fields are all there is to it', () => {
    expect([{}, { a: 1 }, Object.create(null)].every(isRecord)).toBe(true)
    class Point {
      x = 1
    }
    for (const other of [
      null,
      5,
      'a',
      [],
      new Point(),
      new Map(),
      Object.create({}) as object,
      revoked,
      () => 1,
    ])
      expect(isRecord(other)).toBe(false)
    expect(
      isRecord({
        get a() {
          return refuse()
        },
      }),
    ).toBe(false)
  })
})

describe('the rules', () => {
  const holds = ([, check]: Rule, ...values: readonly unknown[]) => values.map((value) => check(value))

  test('a rule of a name: 1 to 255 units of well-formed text', () => {
    expect(holds(nameRule, 'a', 'a'.repeat(255), '😀')).toEqual([true, true, true])
    expect(holds(nameRule, '', 'a'.repeat(256), '\ud800', 5, null, ['a'])).not.toContain(true)
    expect([isName('a'), isName('')]).toEqual([true, false])
    expect(holds(namesRule, [], ['a', 'b'])).toEqual([true, true])
    expect(holds(namesRule, ['a', ''], 'a', undefined)).not.toContain(true)
    expect(namesRule[0]).toBe('a list of names')
  })

  test('a rule of numbers: finite, and not below 0', () => {
    expect([0, 0.5, 1e300].every(isAmount)).toBe(true)
    expect([-1, -0.1, Number.NaN, Number.POSITIVE_INFINITY, '1', 1n].some(isAmount)).toBe(false)
    expect([0, 0.5, 1].every(isWithinOne)).toBe(true)
    expect([-0.1, 1.1, '1'].some(isWithinOne)).toBe(false)
    expect(holds(delayRule, 0, 1, -1, Number.POSITIVE_INFINITY)).toEqual([true, true, false, false])
    expect(holds(limitRule, 0, 0.5, 1, -1, '5')).toEqual([false, true, true, false, false])
    expect([delayRule[0], limitRule[0]]).toEqual([
      'a finite number of ms, 0 or more',
      'a number of ms above 0',
    ])
  })

  test('a rule of whole numbers: within bounds, both of which are allowed', () => {
    expect(holds(wholeNumber(2, 4), 1, 2, 3, 4, 5, 2.5, '3')).toEqual([
      false,
      true,
      true,
      true,
      false,
      false,
      false,
    ])
    expect(wholeNumber(2, 4)[0]).toBe('a whole number from 2 to 4')
    expect(wholeNumber(2, 4, 'MAX')[0]).toBe('a whole number from 2 to 4 (MAX)')
  })

  test('a rule of words, lists, flags and functions', () => {
    expect(isOneOf(['a', 'b'])[0]).toBe('a | b')
    expect(holds(isOneOf(['a', 'b']), 'a', 'b', 'c', 5)).toEqual([true, true, false, false])
    const numbers = listOf('numbers', (item) => typeof item === 'number')
    expect(numbers[0]).toBe('numbers')
    expect(holds(numbers, [], [1, 2], [1, 'a'], { length: 0 })).toEqual([true, true, false, false])
    expect(holds(flagRule, true, false, 1, 'true')).toEqual([true, true, false, false])
    expect(holds(functionRule, () => 1, Map, {})).toEqual([true, true, false])
    expect([flagRule[0], functionRule[0]]).toEqual(['true or false', 'a function'])
  })

  test('a rule of objects with methods: all of them, of whichever class it is', () => {
    const rule = hasAll('a reader', 'read', 'close')
    expect(rule[0]).toBe('a reader')
    expect(
      holds(rule, { read: refuse, close: refuse }, { read: refuse }, { read: refuse, close: 1 }, null),
    ).toEqual([true, false, false, false])
    const signal = { addEventListener: refuse, removeEventListener: refuse, throwIfAborted: refuse }
    expect(holds(signalRule, new AbortController().signal, signal)).toEqual([true, true])
    expect(signalRule[0]).toBe('an AbortSignal')
    for (const missing of Object.keys(signal))
      expect(holds(signalRule, { ...signal, [missing]: 1 })).toEqual([false])
  })
})
