import { describe, expect, test } from 'vitest'
import { errorCodes, isErrorCode } from '../src/error-codes.ts'
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
} from '../src/errors.ts'

describe('an error of the runtime', () => {
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
      new InvalidTransition({ from: 'completed', to: 'running', expected: [] }),
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
      new InvalidTransition({ from: 'queued', to: 'failed', expected: ['running', 'canceled'] }),
      { expected: ['running', 'canceled'] },
      'queued cannot become failed: expected running or canceled',
    ],
    [
      new LeaseLost('l1', { taskId: 't1' }),
      { name: 'LeaseLost', code: 'lease_lost', leaseId: 'l1', details: { leaseId: 'l1', taskId: 't1' } },
      'lease l1 is lost',
    ],
    [
      new TaskCanceled('t1', 'user'),
      {
        name: 'TaskCanceled',
        code: 'task_canceled',
        taskId: 't1',
        details: { taskId: 't1', reason: 'user' },
      },
      'task t1 was canceled: user',
    ],
    [
      new DuplicateStepKey({ key: 'k', firstPlace: 'a.ts:1', secondPlace: 'a.ts:9' }),
      {
        name: 'DuplicateStepKey',
        code: 'duplicate_step_key',
        key: 'k',
        firstPlace: 'a.ts:1',
        secondPlace: 'a.ts:9',
      },
      "step 'k' is used twice: at a.ts:1 and at a.ts:9",
    ],
    [
      new StepNotSerializable({ step: "step 'k'", path: '$.a', reason: 'a function' }),
      { name: 'StepNotSerializable', code: 'step_not_serializable', step: "step 'k'", path: '$.a' },
      "step 'k' cannot be stored: $.a is a function",
    ],
    [
      new PayloadTooLarge({ what: 'the input', limit: 10, size: 11 }),
      { name: 'PayloadTooLarge', code: 'payload_too_large', limit: 10, size: 11 },
      'the input is too large: 11 bytes, 10 are allowed',
    ],
    [
      new NonRetryableError('card refused'),
      { name: 'NonRetryableError', code: 'non_retryable' },
      'card refused',
    ],
    [
      new StoreError('store_full', 'disk full', { details: { path: 'a.db' } }),
      { name: 'StoreError', code: 'store_full', details: { path: 'a.db' } },
      'disk full',
    ],
    [
      new ConfigError([
        { path: 'leaseTtlMs', allowed: 'a number', given: 'x' },
        { path: 'queueDepthLimit', allowed: 'another', given: undefined },
      ]),
      { name: 'ConfigError', code: 'invalid_config' },
      'invalid configuration\n  leaseTtlMs: a number; given "x"\n  queueDepthLimit: another; not given',
    ],
  ])('%s', (error, fields, message) => {
    expect(error).toBeInstanceOf(RuntimeError)
    expect(error).toMatchObject(fields)
    expect(error.message).toBe(message)
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
