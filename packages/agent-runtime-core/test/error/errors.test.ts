import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { errorCodes, isErrorCode } from '../../src/error/codes.ts'
import {
  ConfigError,
  DuplicateStepKey,
  InvalidTransition,
  LeaseLost,
  NonRetryableError,
  PayloadTooLarge,
  RuntimeError,
  StepNotSerializable,
  StoreError,
  TaskCanceled,
} from '../../src/error/errors.ts'
import { RateLimited } from '../../src/quota/rate-limited.ts'
import { guarded } from '../guarded.ts'

describe('an error of the runtime', () => {
  test.each<[unknown, unknown, string, object]>([
    ['m', null, 'm', {}],
    ['m', 5, 'm', {}],
    ['m', 'text', 'm', {}],
    ['m', { details: 5 }, 'm', {}],
    ['m', { details: { a: 1 } }, 'm', { a: 1 }],
    ['m', guarded('cause'), 'm', {}],
    ['m', { details: guarded('a') }, 'm', {}],
    [Symbol('m'), {}, 'Symbol(m)', {}],
    [{ a: 1 }, {}, '{"a":1}', {}],
  ])('is made of whatever it is given: %#', (message, options, told, details) => {
    const plain = new RuntimeError('timeout', message as never, options as never)
    const limited = new RateLimited({ retryAfterMs: 5 }, options as never)
    expect([plain.message, plain.details]).toStrictEqual([told, details])
    expect(limited.details).toStrictEqual({ ...details, retryAfterMs: 5, quotaKeys: [] })
  })

  test('has a code, a name of its own, frozen details and its cause', () => {
    const cause = new Error('beneath')
    const error = new RuntimeError('timeout', 'too late', { details: { limitMs: 5 }, cause })
    expect(error).toBeInstanceOf(Error)
    expect([error.name, error.code, error.message, error.cause]).toStrictEqual([
      'RuntimeError',
      'timeout',
      'too late',
      cause,
    ])
    expect(error.details).toStrictEqual({ limitMs: 5 })
    expect(Object.isFrozen(error.details)).toBe(true)
    expect(String(error)).toBe('RuntimeError: too late')
    expect(error.stack).toContain('errors.test.ts')
    expect(Object.keys(error)).not.toContain('name')
    expect(Object.hasOwn(new RuntimeError('timeout', 'x'), 'cause')).toBe(false)
  })

  test.each([
    [
      () => new InvalidTransition({ from: 'completed', to: 'running', expected: [] }),
      {
        name: 'InvalidTransition',
        code: 'invalid_transition',
        from: 'completed',
        to: 'running',
        expected: [],
      },
      'completed cannot become running: it is final',
    ],
    [
      () => new InvalidTransition({ from: 'queued', to: 'failed', expected: ['running', 'canceled'] }),
      { expected: ['running', 'canceled'] },
      'queued cannot become failed: expected running or canceled',
    ],
    [
      () => new LeaseLost('l1', { taskId: 't1' }),
      { name: 'LeaseLost', code: 'lease_lost', leaseId: 'l1', details: { leaseId: 'l1', taskId: 't1' } },
      'lease l1 is lost',
    ],
    [
      () => new TaskCanceled('t1', 'user'),
      {
        name: 'TaskCanceled',
        code: 'task_canceled',
        taskId: 't1',
        details: { taskId: 't1', reason: 'user' },
      },
      'task t1 was canceled: user',
    ],
    [
      () => new DuplicateStepKey({ key: 'k', firstPlace: 'a.ts:1', secondPlace: 'a.ts:9' }),
      {
        name: 'DuplicateStepKey',
        code: 'duplicate_step_key',
        key: 'k',
        firstPlace: 'a.ts:1',
        secondPlace: 'a.ts:9',
      },
      "the key 'k' is used twice in one pass, at a.ts:1 and at a.ts:9: each step, wait, approval and child needs a key of its own",
    ],
    [
      () => new StepNotSerializable({ step: "step 'k'", path: '$.a', reason: 'a function' }),
      { name: 'StepNotSerializable', code: 'step_not_serializable', step: "step 'k'", path: '$.a' },
      "step 'k' cannot be stored: $.a is a function",
    ],
    [
      () => new PayloadTooLarge({ what: 'the input', limit: 10, size: 11 }),
      { name: 'PayloadTooLarge', code: 'payload_too_large', limit: 10, size: 11 },
      'the input is too large: 11 bytes, 10 are allowed; keep large data elsewhere and store where it is, or raise maxPayloadBytes',
    ],
    [
      () => new NonRetryableError('card refused'),
      { name: 'NonRetryableError', code: 'non_retryable' },
      'card refused',
    ],
    [
      () => new StoreError('store_full', 'disk full', { details: { path: 'a.db' } }),
      { name: 'StoreError', code: 'store_full', details: { path: 'a.db' } },
      'disk full',
    ],
    [
      () =>
        new ConfigError([
          { path: 'leaseTtlMs', allowed: 'a number', given: 'x' },
          { path: 'queueDepthLimit', allowed: 'another', given: undefined },
        ]),
      { name: 'ConfigError', code: 'invalid_config' },
      'invalid configuration\n  leaseTtlMs: a number; given "x"\n  queueDepthLimit: another; not given',
    ],
  ])('number %# of them is what it says', (make, fields, message) => {
    const error = make()
    expect(error).toBeInstanceOf(RuntimeError)
    expect(error).toMatchObject(fields)
    expect(error.message).toBe(message)
  })

  test.each<[() => RuntimeError, object]>([
    [
      () => new InvalidTransition({ from: 'a', to: 'b', expected: ['c'] }),
      { from: 'a', to: 'b', expected: ['c'] },
    ],
    [() => new LeaseLost('l1'), { leaseId: 'l1' }],
    [() => new TaskCanceled('t1'), { taskId: 't1' }],
    [
      () => new DuplicateStepKey({ key: 'k', firstPlace: 'a', secondPlace: 'b' }),
      { key: 'k', firstPlace: 'a', secondPlace: 'b' },
    ],
    [
      () => new StepNotSerializable({ step: 's', path: '$', reason: 'r' }),
      { step: 's', path: '$', reason: 'r' },
    ],
    [() => new PayloadTooLarge({ what: 'w', limit: 1, size: 2 }), { what: 'w', limit: 1, size: 2 }],
    [() => new NonRetryableError('m', { details: { a: 1 } }), { a: 1 }],
    [() => new NonRetryableError('m'), {}],
    [() => new StoreError('store_full', 'm'), {}],
    [() => new ConfigError([{ path: 'p', allowed: 'a' }]), { problems: [{ path: 'p', allowed: 'a' }] }],
  ])('number %# of them has these details, and no cause that was not given', (make, details) => {
    const error = make()
    expect(error.details).toStrictEqual(details)
    expect(Object.hasOwn(error, 'cause')).toBe(false)
  })

  test('has the cause that it was given', () => {
    const cause = new Error('beneath')
    const value = { step: 's', path: '$', reason: 'r', cause }
    for (const error of [
      new LeaseLost('l1', { cause }),
      new LeaseLost('l1', { taskId: 't1', cause }),
      new StepNotSerializable(value),
      new NonRetryableError('m', { cause }),
      new StoreError('store_full', 'm', { cause }),
    ])
      expect(error.cause).toBe(cause)
    expect(new StepNotSerializable(value).details).toStrictEqual({ step: 's', path: '$', reason: 'r' })
    expect(Object.hasOwn(new RuntimeError('timeout', 'm', { cause: undefined }), 'cause')).toBe(true)
  })

  test('says nothing of a reason, or of what was given, that there is not', () => {
    expect(new TaskCanceled('t1').message).toBe('task t1 was canceled')
    const problems = [
      { path: 'a', allowed: 'x' },
      { path: 'b', allowed: 'y', given: undefined },
    ]
    const error = new ConfigError(problems)
    expect(error.message).toBe('invalid configuration\n  a: x\n  b: y; not given')
    expect(error.problems).toBe(problems)
    const many = Array.from({ length: 22 }, (_, at) => ({ path: `p${at}`, allowed: 'x' }))
    expect(new ConfigError(many).message.split('\n').slice(20)).toEqual(['  p19: x', '  and 2 more'])
  })

  test('a configuration that is refused is printed once, with each problem', () => {
    const error = new ConfigError([{ path: 'quota', allowed: 'a whole number' }])
    expect(inspect(error).split('a whole number')).toHaveLength(2)
  })

  test('shows a huge or hostile setting in one short line', () => {
    const hostile = {
      toJSON: () => {
        throw new Error('no')
      },
    }
    const { message } = new ConfigError([
      { path: 'a', allowed: 'x', given: 'y'.repeat(1e6) },
      { path: 'b', allowed: 'x', given: hostile },
      { path: 'c', allowed: 'x', given: () => 1 },
      { path: 'd', allowed: 'x', given: 10n },
      { path: 'e', allowed: 'x', given: Symbol('s') },
      { path: 'f', allowed: 'x', given: { a: [1] } },
    ])
    expect(message.length).toBeLessThan(400)
    expect(message).toContain('b: x; given something unreadable')
    expect(message).toContain('c: x; given a function')
    expect(message).toContain('d: x; given 10n')
    expect(message).toContain('e: x; given Symbol(s)')
    expect(message).toContain('f: x; given {"a":[1]}')
  })
})

describe('the list of codes', () => {
  test('says for each what it means and what to do', () => {
    for (const [code, entry] of Object.entries(errorCodes)) {
      expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect(entry.meaning).toMatch(/\.$/)
      expect(entry.remedy).toMatch(/\.$/)
    }
  })

  test('is closed', () => {
    expect(isErrorCode('timeout')).toBe(true)
    for (const other of ['constructor', '__proto__', 'toString', 'ENOENT', '', undefined, 5]) {
      expect(isErrorCode(other)).toBe(false)
    }
  })
})
