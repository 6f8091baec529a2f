import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { childName } from '../../src/child/child.ts'
import { doubtKey } from '../../src/step/doubt.ts'
import type { Digest } from '../../src/config/environment.ts'
import {
  behaviourOf,
  CHAIN_START,
  chainText,
  excludedDataKeys,
  foldRunOrder,
  type HistoryEvent,
  ORDER_START,
  orderHash,
  orderOfHistory,
} from '../../src/history/hash.ts'

const digest: Digest = {
  sha256: (bytes) => new Uint8Array(createHash('sha256').update(bytes).digest()),
  sha256Hex: (text) => createHash('sha256').update(text).digest('hex'),
}

const queued = 'd266d77df9f78fe6d83bdf5b771953c72e9caadd2e121b5b95c96ac10a1c6811'
const started = '2c43732108d8aa83f76f00744e1c3f9de4aa28172e05d2421b42345215be56ce'

/** Events in the order given, numbered as a store does. */
function history(...events: [type: string, data?: Record<string, unknown>][]): HistoryEvent[] {
  return events.map(([type, data = {}], i) => ({ seq: i + 1, type, data }))
}
const hashOf = (...events: Parameters<typeof history>) => orderOfHistory(history(...events), digest).hash

describe('the order hash (docs/semantics.md 6.2)', () => {
  test('has the vectors of the specification', () => {
    expect(ORDER_START).toBe('0000000000000000000000000000000000000000000000000000000000000000')
    expect(orderHash(ORDER_START, { data: {}, seq: 1, type: 'task.queued' }, digest)).toBe(queued)
    expect(orderHash(queued, { type: 'task.started', seq: 2, data: {} }, digest)).toBe(started)
  })

  test('the order hash of a history is that of its last event, with every step on the way', () => {
    expect(orderOfHistory(history(['task.queued'], ['task.started']), digest)).toStrictEqual({
      hash: started,
      perEvent: [
        { seq: 1, storedSeq: 1, type: 'task.queued', data: {}, hash: queued },
        { seq: 2, storedSeq: 2, type: 'task.started', data: {}, hash: started },
      ],
    })
    expect(orderOfHistory([], digest)).toStrictEqual({ hash: ORDER_START, perEvent: [] })
  })

  test('leaves out when, where and under which id', () => {
    const noise = Object.fromEntries(
      [...excludedDataKeys, 'dueAt', 'expiresAt'].map((key) => [key, Math.random()]),
    )
    expect(hashOf(['task.queued', { lane: 'batch', ...noise }])).toBe(
      hashOf(['task.queued', { lane: 'batch' }]),
    )
    expect(behaviourOf({ format: 'x', at: 1, att: 2, attempt: 3 })).toStrictEqual({
      format: 'x',
      att: 2,
      attempt: 3,
    })
  })

  test('covers what the user gave and got, whatever it is called', () => {
    expect(hashOf(['task.queued', { input: { taskId: 'a' } }])).not.toBe(
      hashOf(['task.queued', { input: { taskId: 'b' } }]),
    )
    expect(hashOf(['step.completed', { result: { at: 1 } }])).not.toBe(
      hashOf(['step.completed', { result: { at: 2 } }]),
    )
  })

  test('covers an error without its stacks', () => {
    const failed = (stack: string, message: string) =>
      hashOf([
        'task.failed',
        { error: { name: 'E', message, stack, cause: { name: 'F', message: 'f', stack } } },
      ])
    expect(failed('at a.ts', 'm')).toBe(failed('at b.ts', 'm'))
    expect(failed('at a.ts', 'm')).not.toBe(failed('at a.ts', 'n'))
    const doubt = { inDoubt: 'pay', starts: 1 }
    const artifact = { ...doubt, startedAt: 5, attempt: 2, idempotencyKey: 'ab' }
    expect(behaviourOf({ artifact, key: '$ku0/doubt/1/pay' })).toStrictEqual({
      artifact: doubt,
      key: '$ku0/doubt/1/pay',
    })
    expect(behaviourOf({ artifact, key: 'pay' })).toStrictEqual({ artifact, key: 'pay' })
    expect(behaviourOf({ error: { stack: 's', cause: { stack: 's', message: 'f' } } })).toStrictEqual({
      error: { cause: { message: 'f' } },
    })
    expect(behaviourOf({ error: { $blob: 'aa', size: 1 } })).toStrictEqual({
      error: { $blob: 'aa', size: 1 },
    })
  })

  const step = (position: number, data: Record<string, unknown> = {}): [string, Record<string, unknown>] => [
    'step.completed',
    { key: `step ${position}`, position, ...data },
  ]

  test('is the same however parallel steps finish, and whatever comes between them', () => {
    const inOrder = hashOf(
      ['task.queued'],
      ['task.started'],
      step(0),
      step(1),
      step(2),
      ['checkpoint.created'],
      ['task.completed'],
    )
    const finishes = fc.shuffledSubarray([step(0), step(1), step(2), ['checkpoint.created'] as [string]], {
      minLength: 4,
    })
    fc.assert(
      fc.property(finishes, (middle) => {
        expect(hashOf(['task.queued'], ['task.started'], ...middle, ['task.completed'])).toBe(inOrder)
      }),
    )
  })

  test('keeps the events of one position as they were stored', () => {
    const failed: [string, Record<string, unknown>] = ['step.failed', { position: 1 }]
    expect(hashOf(['task.started'], failed, step(1), step(0))).toBe(
      hashOf(['task.started'], step(0), failed, step(1)),
    )
    expect(hashOf(['task.started'], step(1), failed)).not.toBe(hashOf(['task.started'], failed, step(1)))
  })

  test('takes what runs within one call in the order of its keys, however it finishes', () => {
    const branch = (key: unknown, type = 'step.completed'): [string, Record<string, unknown>] => [
      type,
      { key, position: 1 },
    ]
    expect(hashOf(['task.started'], branch('b'), branch('a'), step(0))).toBe(
      hashOf(['task.started'], step(0), branch('a'), branch('b')),
    )
    const order = (...events: Parameters<typeof history>) =>
      orderOfHistory(history(...events), digest).perEvent.map(({ storedSeq }) => storedSeq)
    expect(order(branch('c'), branch('a'), branch('b'))).toEqual([2, 3, 1])
    expect(order(branch('a', 'step.failed'), branch('a'))).toEqual([1, 2])
    expect(order(branch('b'), branch(5))).toEqual([1, 2])
    expect(order(branch(5), branch('b'))).toEqual([1, 2])
    expect(order(['signal.received', { key: 'b' }], ['signal.received', { key: 'a' }])).toEqual([1, 2])
  })

  test('leaves what moves the task where it is, and puts the start of a pass first', () => {
    const order = (...events: Parameters<typeof history>) =>
      orderOfHistory(history(...events), digest).perEvent.map(({ type }) => type)
    expect(order(['signal.received'], ['task.waiting', { position: 0 }], step(1))).toEqual([
      'step.completed',
      'signal.received',
      'task.waiting',
    ])
    expect(order(['task.started', { position: 9 }], step(1))).toEqual(['task.started', 'step.completed'])
    expect(order(['signal.received', { position: '0' }], step(1))).toEqual([
      'step.completed',
      'signal.received',
    ])
  })

  test('covers how a child ended without the stacks of its error', () => {
    const error = { message: 'm', stack: 'a.ts:1', cause: { message: 'c', stack: 'b.ts:2' } }
    const end = (name: string, value: unknown) => behaviourOf({ name, value })['value']
    expect(end(childName('c'), { state: 'failed', error })).toStrictEqual({
      state: 'failed',
      error: { message: 'm', cause: { message: 'c' } },
    })
    expect(end('go', { state: 'failed', error })).toStrictEqual({ state: 'failed', error })
    for (const other of [{ state: 'completed' }, null, 5, 'error'])
      expect(end(childName('c'), other)).toStrictEqual(other)
    expect(behaviourOf({ name: childName('c'), result: { error } })).toStrictEqual({
      name: childName('c'),
      result: { error },
    })
  })

  test('covers an error that is no object as it is, and a question about a step that has no artifact as empty', () => {
    for (const error of ['text', null, 5, [{ stack: 's' }]])
      expect(behaviourOf({ error })).toStrictEqual({ error })
    const key = doubtKey('pay', 1)
    expect(behaviourOf({ artifact: null, key })).toStrictEqual({
      artifact: { inDoubt: undefined, starts: undefined },
      key,
    })
    expect(behaviourOf({ result: { inDoubt: 'pay', more: 1 }, key })).toStrictEqual({
      result: { inDoubt: 'pay', more: 1 },
      key,
    })
  })

  test('tells one pass from the next', () => {
    const crashed = hashOf(
      ['task.queued'],
      ['task.started'],
      step(1),
      ['task.requeued'],
      ['task.started'],
      step(0),
    )
    expect(crashed).not.toBe(
      hashOf(['task.queued'], ['task.started'], step(0), ['task.requeued'], ['task.started'], step(1)),
    )
    expect(crashed).not.toBe(hashOf(['task.queued'], ['task.started'], step(0), step(1)))
  })

  test('tells another behaviour', () => {
    const base = hashOf(['task.started'], step(0, { result: 1 }), step(1))
    expect(hashOf(['task.started'], step(0, { result: 2 }), step(1))).not.toBe(base)
    expect(hashOf(['task.started'], step(0, { result: 1 }))).not.toBe(base)
    expect(hashOf(['task.started'], step(0, { result: 1 }), step(1), step(2))).not.toBe(base)
  })

  test('does not depend on the order in which events are handed over', () => {
    const events = history(['task.queued'], ['task.started'], step(1), step(0), ['task.completed'])
    expect(orderOfHistory(events.toReversed(), digest)).toStrictEqual(orderOfHistory(events, digest))
    expect(orderOfHistory(events, digest).perEvent.map(({ storedSeq }) => storedSeq)).toStrictEqual([
      1, 2, 4, 3, 5,
    ])
  })

  test('the order hash of a run folds the last hashes in their order', () => {
    expect(foldRunOrder([], digest)).toBe(ORDER_START)
    expect(foldRunOrder([queued], digest)).toBe(digest.sha256Hex(ORDER_START + queued))
    expect(foldRunOrder([queued, started], digest)).toBe(
      digest.sha256Hex(digest.sha256Hex(ORDER_START + queued) + started),
    )
  })
})

describe('the integrity chain (docs/semantics.md 6.2)', () => {
  test('starts from 32 zero bytes', () => {
    expect([...CHAIN_START]).toStrictEqual(Array.from({ length: 32 }, () => 0))
  })

  test('has one text for an event, in layout 1', () => {
    expect(chainText(7, 2, 'task.started', 1_700_000_000_000, '{"a":"\\n"}')).toBe(
      'ku0.1\n7\n2\ntask.started\n1700000000000\n{"a":"\\n"}',
    )
  })

  test('has another text for another event', () => {
    const event = fc.tuple(
      fc.nat(30),
      fc.nat(30),
      fc.constantFrom('task.queued', 'task.started'),
      fc.nat(30),
      fc.string({ unit: fc.constantFrom('1', '\n', '"', 'a'), maxLength: 4 }),
    )
    fc.assert(
      fc.property(event, event, (a, b) => {
        expect(chainText(...a) === chainText(...b)).toBe(JSON.stringify(a) === JSON.stringify(b))
      }),
    )
  })
})
