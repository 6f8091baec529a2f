import { describe, expect, test } from 'vitest'
import { type PassEvent, settledFailures } from '../../src/history/settled-failures.ts'

const error = { name: 'Error', message: 'no' }
const failed = (seq: number, key: string, retry?: number): PassEvent => ({
  seq,
  type: 'step.failed',
  data: JSON.stringify({ key, error, ...(retry === undefined ? {} : { retry }) }),
})
const completed = (seq: number, key: string): PassEvent => ({
  seq,
  type: 'step.completed',
  data: JSON.stringify({ key }),
})
const waited = (seq: number): PassEvent => ({ seq, type: 'task.waiting', data: '' })
const requeued = (seq: number, reason: string): PassEvent => ({
  seq,
  type: 'task.requeued',
  data: JSON.stringify({ reason }),
})
const keysOf = (events: readonly PassEvent[], sentBack = [{ since: 0, seq: 0 }]) =>
  settledFailures(events, sentBack).map(({ key }) => key)

describe('failures that later passes are answered with (docs/semantics.md 7.2)', () => {
  test('7.2 a call that failed finally is settled once its pass was put aside', () => {
    expect(settledFailures([failed(3, 'a'), waited(4)], [])).toEqual([
      { key: 'a', seq: 3, error: '{"message":"no","name":"Error"}' },
    ])
    expect(keysOf([failed(3, 'a')])).toEqual([])
    expect(keysOf([failed(3, 'a', 1), waited(4)])).toEqual([])
  })

  test.each([
    ['yielded', ['a']],
    ['drained', ['a']],
    ['expired', []],
    ['retry', []],
  ])('7.2 a pass that was %s settles %j', (reason, keys) => {
    expect(keysOf([failed(3, 'a'), requeued(4, reason)])).toEqual(keys)
    expect(keysOf([failed(3, 'a'), requeued(4, reason), waited(5)])).toEqual(keys)
  })

  test('7.2 a retry of the handler begins again; other ends of a pass leave the failures that were settled', () => {
    const settled = [failed(3, 'a'), waited(4), failed(5, 'b')]
    expect(keysOf([...settled, requeued(6, 'retry')])).toEqual([])
    expect(keysOf([...settled, requeued(6, 'expired')])).toEqual(['a'])
  })

  test('7.2 a call that completed after all has not failed', () => {
    expect(keysOf([failed(3, 'a'), failed(4, 'b'), completed(5, 'a'), waited(6)])).toEqual(['b'])
    expect(keysOf([failed(3, 'a'), waited(4), completed(5, 'a')])).toEqual([])
  })

  test('12.6 a failure that a rejection made void does not count, but the pass was put aside all the same', () => {
    const events = [failed(3, 'a'), failed(7, 'b'), waited(4)]
    expect(keysOf(events, [{ since: 2, seq: 5 }])).toEqual(['b'])
    expect(keysOf([failed(3, 'a'), waited(4), failed(5, 'b'), waited(6)], [{ since: 3, seq: 7 }])).toEqual([
      'a',
    ])
  })
})
