import { describe, expect, test } from 'vitest'
import { startsIn } from '../../src/step/starts.ts'

const event = (seq: number, type: string, data: object) =>
  ({ task: 7, seq, at: 10 * seq, type, data: JSON.stringify(data), blob: null }) as unknown as Parameters<
    typeof startsIn
  >[0][number]
const started = (seq: number, more: object = {}) =>
  event(seq, 'step.started', { key: 'a', position: 1, ...more })
const failed = (seq: number, error: object, key = 'a') => event(seq, 'step.failed', { key, error })
const found = (...events: readonly ReturnType<typeof event>[]) =>
  Object.fromEntries(startsIn(events, ({ data }) => data))

describe('the steps that have started and have no memo (docs/semantics.md 7.6)', () => {
  test('7.6 are in doubt, with how often they have started and when last', () => {
    const once = { key: 'a', position: 1, starts: 1, startedAt: 20, seq: 2, inDoubt: true }
    expect(found(started(2))).toStrictEqual({ a: once })
    expect(found(started(2), started(4, { inputHash: 'h' }))).toStrictEqual({
      a: { ...once, inputHash: 'h', starts: 2, startedAt: 40, seq: 4 },
    })
    expect(
      found(event(2, 'step.failed', { key: 'a', error: {} }), event(3, 'signal.received', { key: 'a' })),
    ).toEqual({})
  })

  test('7.6 are in doubt no more once they say how they failed, and are so again with their next start', () => {
    expect(found(started(2), failed(3, { code: 'no' }))['a']).toMatchObject({ inDoubt: false, seq: 2 })
    expect(found(started(2), failed(3, {}))['a']).toMatchObject({ inDoubt: false })
    expect(found(started(2), failed(3, {}), started(4))['a']).toMatchObject({ inDoubt: true, starts: 2 })
    expect(found(started(2), failed(3, {}, 'b'))['a']).toMatchObject({ inDoubt: true })
    for (const code of ['timeout', 'in_doubt'])
      expect(found(started(2), failed(3, { code }))['a']).toMatchObject({ inDoubt: true })
  })

  test('7.6 are found in the whole text of a failure, which may stand elsewhere', () => {
    const whole = ({ type, data }: { readonly type: string; readonly data: string }) =>
      type === 'step.failed' ? '{"key":"a","error":{"code":"timeout"}}' : data
    expect(startsIn([started(2), failed(3, {})], whole).get('a')).toMatchObject({ inDoubt: true })
  })

  test.each(['step.completed', 'step.inherited'])('7.6 are none after %s, whatever follows', (type) => {
    expect(found(started(2), event(3, type, { key: 'a' }))).toEqual({})
    expect(found(event(3, type, { key: 'a' }), started(4))).toEqual({})
    expect(Object.keys(found(started(2), event(3, type, { key: 'b' })))).toEqual(['a'])
  })

  test('7.6 go on from those that a fork inherited, under the key by which their effect is known', () => {
    const inherited = event(2, 'doubt.inherited', {
      key: 'a',
      position: 1,
      starts: 3,
      startedAt: 5,
      effectKey: 'e',
    })
    expect(found(inherited)).toStrictEqual({
      a: { key: 'a', position: 1, starts: 3, startedAt: 5, effectKey: 'e', seq: 2, inDoubt: true },
    })
    expect(found(inherited, started(4))['a']).toStrictEqual({
      key: 'a',
      position: 1,
      starts: 4,
      startedAt: 40,
      effectKey: 'e',
      seq: 4,
      inDoubt: true,
    })
  })
})
