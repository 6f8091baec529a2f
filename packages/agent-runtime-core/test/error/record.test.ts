import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encode } from '../../src/codec/codec.ts'
import { describeError, errorLimits, toRuntimeError } from '../../src/error/record.ts'
import { NonRetryableError, PayloadTooLarge, RuntimeError, StoreError } from '../../src/error/errors.ts'

const bytes = (text: string) => Buffer.byteLength(text)

describe('describeError', () => {
  test('keeps name, message, code, stack and causes', () => {
    const cause = Object.assign(new TypeError('beneath'), { code: 'EIO' })
    const record = describeError(new RuntimeError('timeout', 'too late', { cause }))
    expect(record).toStrictEqual({
      name: 'RuntimeError',
      message: 'too late',
      code: 'timeout',
      stack: expect.stringContaining('record.test.ts') as string,
      cause: { name: 'TypeError', message: 'beneath', code: 'EIO', stack: expect.any(String) as string },
    })
  })

  test.each([
    [null, 'null'],
    [undefined, 'undefined'],
    ['text', 'text'],
    ['', ''],
    [0, '0'],
    [10n, '10n'],
    [Symbol('s'), 'Symbol(s)'],
    [{ status: 500 }, '{"status":500}'],
    [() => 1, 'a function'],
    [{ message: 5 }, '{"message":5}'],
    [Object.create(null), '{}'],
  ])('takes %o for what it is, no error', (thrown, message) => {
    expect(describeError(thrown)).toStrictEqual({ name: 'NonError', message })
  })

  test('takes an object with a message for an error', () => {
    expect(describeError({ message: 'm', code: 'C' })).toStrictEqual({
      name: 'Error',
      message: 'm',
      code: 'C',
    })
  })

  test('survives whatever throws when it is looked at', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const refuse = () => {
      throw new Error('no')
    }
    const trap = Object.defineProperties(new Error('kept'), {
      name: { get: refuse },
      stack: { get: refuse },
      code: { get: refuse },
      cause: { get: refuse },
      retryable: { get: refuse },
    })
    expect(describeError(proxy)).toStrictEqual({ name: 'NonError', message: 'something unreadable' })
    expect(describeError(trap)).toStrictEqual({ name: 'Error', message: 'kept' })
    expect(describeError(Object.defineProperty({}, 'message', { get: refuse })).name).toBe('NonError')
    expect(describeError({ toJSON: refuse })).toStrictEqual({
      name: 'NonError',
      message: 'something unreadable',
    })
  })

  test('G10 never throws, and gives data that can be stored', () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withNullPrototype: true, withSparseArray: true }),
        (thrown) => {
          const record = describeError(thrown)
          expect(() => encode(record, { what: 'an error' })).not.toThrow()
          expect(record.message).toBeTypeOf('string')
        },
      ),
    )
  })

  test('cuts to the limits in bytes, between characters', () => {
    const huge = new Error('😀'.repeat(3e6))
    huge.name = 'n'.repeat(5_000)
    huge.stack = 'ä'.repeat(50_000)
    const record = describeError(huge)
    expect(errorLimits.messageBytes).toBe(16_384)
    expect(bytes(record.message)).toBeLessThanOrEqual(errorLimits.messageBytes)
    expect(bytes(record.message)).toBeGreaterThan(errorLimits.messageBytes - 8)
    expect(record.message.isWellFormed()).toBe(true)
    expect(record.message.endsWith('😀… (cut)')).toBe(true)
    expect(bytes(record.stack ?? '')).toBeLessThanOrEqual(errorLimits.stackBytes)
    expect(bytes(record.name)).toBeLessThanOrEqual(255)
  })

  test('leaves a text at the limit whole', () => {
    const limits = { messageBytes: 20 }
    expect(describeError('ä'.repeat(10), limits).message).toBe('ä'.repeat(10))
    expect(describeError('ä'.repeat(11), limits).message).toBe(`${'ä'.repeat(5)}… (cut)`)
  })

  test.each([
    ['a', 1],
    ['\u007f', 1],
    ['\u0080', 2],
    ['\u07ff', 2],
    ['\u0800', 3],
    ['\uffff', 3],
    ['\u{10000}', 4],
  ])('counts %j as %i bytes', (character, size) => {
    const limits = { messageBytes: 36 }
    const whole = character.repeat(36 / size)
    expect(describeError(whole, limits).message).toBe(whole)
    const cut = `${character.repeat(Math.floor(27 / size))}… (cut)`
    expect(describeError(whole + character, limits).message).toBe(cut)
    expect(bytes(cut)).toBeLessThanOrEqual(36)
  })

  test('is named by itself, or else by its class', () => {
    class Refused extends Error {}
    const named = (name: unknown, error: object = new Refused('m')) =>
      describeError(Object.defineProperty(error, 'name', { value: name, configurable: true })).name
    expect([named('Own'), named('Error'), named(''), named(5)]).toEqual([
      'Own',
      'Refused',
      'Refused',
      'Refused',
    ])
    expect(describeError(new Refused('m')).name).toBe('Refused')
    expect(describeError({ message: 'm', constructor: { name: '' } }).name).toBe('Error')
    expect(describeError({ message: 'm', constructor: { name: 5 } }).name).toBe('Error')
    expect(describeError({ message: 'm', constructor: undefined }).name).toBe('Error')
    expect(describeError(Object.assign(() => 1, { message: 'm' })).message).toBe('m')
  })

  test('has a code that is a text, cut to 255 bytes, and no other', () => {
    const codeOf = (code: unknown) => describeError(Object.assign(new Error('m'), { code }))
    expect(codeOf('EIO').code).toBe('EIO')
    for (const other of ['', 5, null]) expect(codeOf(other)).not.toHaveProperty('code')
    expect(bytes(codeOf('c'.repeat(300)).code ?? '')).toBe(255)
    expect(bytes(describeError(Object.assign(new Error('m'), { name: 'n'.repeat(300) })).name)).toBe(255)
    expect(describeError(Object.assign(new Error('m'), { stack: 5 }))).not.toHaveProperty('stack')
  })

  test('an error has as many levels of causes as the limit says, and a cause of its own before several errors', () => {
    const error = new Error('a', { cause: new Error('b', { cause: new Error('c') }) })
    expect(describeError(error, { causes: 0 })).not.toHaveProperty('cause')
    expect(describeError(error, { causes: 1 }).cause?.message).toBe('b')
    expect(describeError(error, { causes: 1 }).cause).not.toHaveProperty('cause')
    expect(
      describeError(new AggregateError([error], 'all', { cause: new Error('own') })).cause?.message,
    ).toBe('own')
    expect(describeError(new AggregateError([], 'all'))).not.toHaveProperty('cause')
  })

  test('ends a circle of causes', () => {
    const circular = new Error('again')
    circular.cause = circular
    let depth = 0
    for (let at = describeError(circular).cause; at !== undefined; at = at.cause) depth += 1
    expect(depth).toBe(errorLimits.causes)
  })

  test('takes the first of several errors for the cause', () => {
    expect(
      describeError(new AggregateError([new Error('one'), new Error('two')], 'all')).cause?.message,
    ).toBe('one')
  })

  test.each([
    [new NonRetryableError('x'), false],
    [new PayloadTooLarge({ what: 'x', limit: 1, size: 2 }), false],
    [new StoreError('store_busy', 'x'), true],
    [new RuntimeError('timeout', 'x'), undefined],
    [new Error('x'), undefined],
    [Object.assign(new Error('x'), { retryable: false }), false],
    [Object.assign(new Error('x'), { retryable: 'yes' }), undefined],
    [Object.assign(new NonRetryableError('x'), { retryable: true }), false],
  ])('%s: retryable is %s', (error, retryable) => {
    expect(describeError(error).retryable).toBe(retryable)
  })
})

describe('toRuntimeError', () => {
  test('restores an error that tells the same', () => {
    const cause = Object.assign(new TypeError('beneath'), { code: 'EIO' })
    const record = describeError(new RuntimeError('timeout', 'too late', { cause }))
    const error = toRuntimeError(record)
    expect(error).toBeInstanceOf(RuntimeError)
    expect([error.name, error.code, error.message, error.stack]).toStrictEqual([
      'RuntimeError',
      'timeout',
      'too late',
      record.stack,
    ])
    expect(error.cause).toMatchObject({ name: 'TypeError', code: 'handler_failed', details: { code: 'EIO' } })
  })

  test('stays as it is when described again', () => {
    const record = describeError(new RangeError('out'))
    expect(describeError(toRuntimeError(record))).toStrictEqual({ ...record, code: 'handler_failed' })
    const coded = describeError(Object.assign(new Error('late'), { code: 'ETIMEDOUT' }))
    expect(describeError(toRuntimeError(coded))).toStrictEqual(coded)
  })

  test.each([['task_canceled'], ['not_found'], [429], [''], [null], [{ code: 'EIO' }]])(
    'believes no code in details that it has not put there: %j',
    (code) => {
      const error = new RuntimeError('handler_failed', 'the answer of a server', { details: { code } })
      const record = describeError(error)
      expect(record.code).toBe('handler_failed')
      expect(record).not.toHaveProperty('retryable')
    },
  )

  test('restores the class that a policy asks for', () => {
    expect(toRuntimeError({ name: 'NonRetryableError', message: 'x', code: 'non_retryable' })).toBeInstanceOf(
      NonRetryableError,
    )
  })

  test('gives a stack to a record without', () => {
    expect(toRuntimeError({ name: 'NonError', message: 'x' }).stack).toBe('NonError: x')
  })

  test('keeps details, and beside them a code that is not the runtime’s', () => {
    const details = { status: 5 }
    expect(toRuntimeError({ name: 'E', message: 'x', code: 'timeout', details }).details).toStrictEqual(
      details,
    )
    expect(toRuntimeError({ name: 'E', message: 'x', code: 'EIO', details })).toMatchObject({
      code: 'handler_failed',
      details: { status: 5, code: 'EIO' },
    })
    expect(toRuntimeError({ name: 'E', message: 'x' }).details).toStrictEqual({})
  })

  test('looks as an error does: its name and stack are not listed, and can be set', () => {
    const error = toRuntimeError({ name: 'E', message: 'x', stack: 's' })
    expect(Object.keys(error).toSorted()).toEqual(['code', 'details'])
    expect(Object.hasOwn(error, 'cause')).toBe(false)
    error.name = 'F'
    error.stack = 't'
    expect([error.name, error.stack]).toEqual(['F', 't'])
    expect(Object.getOwnPropertyDescriptor(error, 'name')).toMatchObject({ configurable: true })
    expect(Object.getOwnPropertyDescriptor(error, 'stack')).toMatchObject({ configurable: true })
    expect(Object.hasOwn(toRuntimeError({ name: 'RuntimeError', message: 'x' }), 'name')).toBe(false)
    const restored = toRuntimeError({
      name: 'NonRetryableError',
      message: 'x',
      code: 'non_retryable',
      details: { a: 1 },
    })
    expect([restored.message, restored.details]).toEqual(['x', { a: 1 }])
  })
})
