import { describe, expect, test } from 'vitest'
import {
  decideAtDecision,
  decideDivergence,
  decideReplay,
  type FrontierCase,
  goesBeyond,
  type RecordedCall,
} from '../../src/history/replay.ts'
import { describeDivergence } from '../../src/history/divergence.ts'
import type { StepRecord } from '../../src/step/schema.ts'

const memo = (key: string, result: string, inputHash?: string): StepRecord => ({
  key,
  position: 0,
  result,
  seq: 3,
  at: 0,
  durationMs: 1,
  ...(inputHash === undefined ? {} : { inputHash }),
})
const none = new Map<string, never>()

describe('replay', () => {
  test('a step that was never recorded runs', () => {
    expect(decideReplay({ key: 'a', memos: none, used: none })).toEqual({ as: 'run' })
  })

  test.each(['null', '{"$ku0":["undefined"]}', 'false', '0', '""'])('a memo of %s answers', (result) => {
    const memos = new Map([['a', memo('a', result)]])
    expect(decideReplay({ key: 'a', memos, used: none })).toEqual({ as: 'memo', memo: memos.get('a') })
  })

  test('a second use of a key in one pass is a duplicate, recorded or not, and tells the first place', () => {
    const used = new Map([['a', 'handler.ts:3:9']])
    const duplicate = { as: 'duplicate', firstPlace: 'handler.ts:3:9' }
    expect(decideReplay({ key: 'a', memos: none, used })).toEqual(duplicate)
    expect(decideReplay({ key: 'a', memos: new Map([['a', memo('a', '1')]]), used })).toEqual(duplicate)
  })

  test('names of object members are ordinary keys', () => {
    expect(decideReplay({ key: 'constructor', memos: none, used: none })).toEqual({ as: 'run' })
    expect(decideReplay({ key: '__proto__', memos: none, used: none })).toEqual({ as: 'run' })
  })

  test('a memo made from another input does not answer', () => {
    const memos = new Map([['a', memo('a', '1', 'aa')]])
    expect(decideReplay({ key: 'a', inputHash: 'bb', memos, used: none })).toEqual({
      as: 'input_changed',
      expected: 'aa',
      actual: 'bb',
    })
    expect(decideReplay({ key: 'a', inputHash: 'aa', memos, used: none })).toMatchObject({ as: 'memo' })
    expect(decideReplay({ key: 'a', memos, used: none })).toMatchObject({ as: 'memo' })
  })

  test('a memo that was made without a declared input is not compared', () => {
    const memos = new Map([['a', memo('a', '1')]])
    expect(decideReplay({ key: 'a', inputHash: 'bb', memos, used: none })).toMatchObject({ as: 'memo' })
  })
})

const step = (key: string, position: number, seq = position + 3): RecordedCall => ({
  key,
  as: 'step',
  position,
  seq,
})
const call = (key: string, position: number, more: Partial<NonNullable<FrontierCase['call']>> = {}) => ({
  key,
  position,
  isOpen: false,
  branches: false,
  ...more,
})
const at = ({
  used = [],
  ...it
}: Pick<FrontierCase, 'call' | 'recorded'> &
  Partial<Omit<FrontierCase, 'used'>> & { readonly used?: readonly string[] }) =>
  decideDivergence({
    branchesAt: new Set(),
    certainBelow: Number.POSITIVE_INFINITY,
    ...it,
    used: new Set(it.call === undefined ? used : [...used, it.call.key]),
  })

describe('divergence (docs/semantics.md 6.4)', () => {
  test('a call where the history has another one is an unexpected_step', () => {
    expect(at({ call: call('x', 1), recorded: [step('a', 0), step('b', 1)], used: ['a'] })).toEqual({
      kind: 'unexpected_step',
      key: 'x',
      position: 1,
      expected: 'b',
      actual: 'x',
    })
  })

  test('a call of the history that was passed over is a missing_step', () => {
    const recorded = [step('a', 0), step('b', 1), step('c', 2)]
    expect(at({ call: call('x', 2), recorded, used: ['a', 'c'] })).toEqual({
      kind: 'missing_step',
      key: 'b',
      position: 1,
      expected: 'b',
      actual: 'x',
    })
    expect(at({ call: undefined, recorded, used: ['a', 'b'] })).toEqual({
      kind: 'missing_step',
      key: 'c',
      position: 2,
      expected: 'c',
    })
  })

  test('a later record may still come', () => {
    expect(at({ call: call('x', 0), recorded: [step('b', 1)] })).toBe(undefined)
  })

  test('a call that is open in the history is where it was: the one of its place is missing', () => {
    const nap: RecordedCall = { key: 'nap', as: 'timer', position: 1, seq: Number.POSITIVE_INFINITY }
    expect(at({ call: call('nap', 0, { isOpen: true }), recorded: [step('a', 0), nap] })).toMatchObject({
      kind: 'missing_step',
      key: 'a',
      actual: 'nap',
    })
    expect(at({ call: call('x', 1), recorded: [step('a', 0), nap], used: ['a'] })).toMatchObject({
      kind: 'unexpected_step',
      expected: 'nap',
    })
  })

  test('a record from before an earlier call had its memo proves nothing', () => {
    const recorded = [step('fallback', 1, 4), step('a', 0, 7)]
    expect(at({ call: call('x', 2), recorded, used: ['a'] })).toBe(undefined)
    expect(at({ call: undefined, recorded, used: ['a'] })).toBe(undefined)
  })

  test('a record from before another call of its own position had its memo does', () => {
    const recorded = [step('b', 0, 4), step('a', 0, 7)]
    expect(at({ call: call('x', 1), recorded, used: ['a'] })).toMatchObject({
      kind: 'missing_step',
      expected: 'b',
    })
  })

  test('among calls that are made in one go, one that was recorded before another had its memo is missing all the same', () => {
    const recorded = [step('first', 0, 3), step('b', 2, 4), step('a', 1, 7)]
    const renamed = { call: call('x', 2), recorded, used: ['first', 'a'] }
    expect(at(renamed)).toBe(undefined)
    expect(at({ ...renamed, together: { from: 1, below: 3 } })).toMatchObject({
      kind: 'unexpected_step',
      expected: 'b',
      actual: 'x',
    })
    // The positions are those of others.
    expect(at({ ...renamed, together: { from: 3, below: 5 } })).toBe(undefined)
    expect(at({ ...renamed, together: { from: 0, below: 2 } })).toBe(undefined)
  })

  test('a record that made up for a call before them proves nothing', () => {
    const recorded = [step('instead', 1, 3), step('first', 0, 5), step('b', 2, 6), step('a', 1, 7)]
    const used = ['first', 'a', 'b']
    expect(at({ call: call('x', 3), recorded, used, together: { from: 1, below: 3 } })).toBe(undefined)
  })

  test('an open wait has no memo: what is open behind it is missing', () => {
    const recorded = [step('nap', 0, 0), step('late', 1, 0)]
    expect(at({ call: call('x', 2), recorded, used: ['nap'] })).toMatchObject({ expected: 'late' })
  })

  test('the call of the lowest position is named among several missing ones, the oldest of one position', () => {
    const [b, c, d] = [step('b', 1, 7), step('c', 1, 8), step('d', 2, 4)]
    for (const recorded of [
      [b, c, d],
      [d, c, b],
      [c, d, b],
    ])
      expect(at({ call: call('x', 3), recorded })).toMatchObject({ position: 1, expected: 'b' })
  })

  test('a missing call before a race is missing at the race, too', () => {
    expect(at({ call: call('r', 1, { branches: true }), recorded: [step('a', 0)] })).toMatchObject({
      kind: 'missing_step',
      expected: 'a',
    })
  })

  test.each(['$ku0/retry/1/a', '$ku0/patched/p', '$ku0/limit/r'])('%s is no call of the handler', (key) => {
    expect(at({ call: call('x', 1), recorded: [step(key, 0)] })).toBe(undefined)
  })

  test('branches, back-offs, marks and calls side by side prove nothing either', () => {
    const more = [step('$ku0/retry/1/a', 0), step('$ku0/patched/p', 0)]
    const recorded = [...more, step('lost', 0), step('won', 0), step('b', 1)]
    const branchesAt = new Set([0])
    expect(at({ call: call('x', 2), recorded, used: ['b'], branchesAt })).toBe(undefined)
    expect(at({ call: call('r', 1, { branches: true }), recorded: [step('in it', 1)] })).toBe(undefined)
    expect(at({ call: call('x', 2), recorded: [step('b', 1)], certainBelow: 1 })).toBe(undefined)
    expect(at({ call: call('x', 2), recorded: [step('b', 1)], certainBelow: 2 })).toBeDefined()
  })

  test('the history goes beyond a place when something that it holds is still to come, a back-off included', () => {
    const beyond = (position: number, recorded: readonly RecordedCall[], used: readonly string[] = []) =>
      goesBeyond(position, { recorded, used: new Set(used), branchesAt: new Set() })
    expect(beyond(0, [])).toBe(false)
    expect(beyond(0, [step('a', 0)])).toBe(true)
    expect(beyond(1, [step('a', 0)], ['a'])).toBe(false)
    expect(beyond(1, [step('a', 5)], ['a'])).toBe(false)
    expect(beyond(0, [step('$ku0/retry/1/a/b', 0)])).toBe(true)
    expect(beyond(0, [step('$ku0/retry/1/a/b', 5)], ['a/b'])).toBe(false)
    expect(beyond(0, [step('$ku0/patched/p', 0)])).toBe(false)
    expect(beyond(0, [step('$ku0/limit/a/b', 0)])).toBe(true)
    expect(beyond(0, [step('$ku0/limit/a/b', 5)], ['a/b'])).toBe(false)
  })

  test('it does not for what was earlier, nor for what branches recorded', () => {
    const beyond = (branchesAt: readonly number[]) =>
      goesBeyond(2, {
        recorded: [step('a', 1), step('b', 2)],
        used: new Set(),
        branchesAt: new Set(branchesAt),
      })
    expect([beyond([]), beyond([2])]).toEqual([true, false])
  })

  test('at its decision a race is parted from what was recorded last at its place, and was not called', () => {
    const decided = (...recorded: readonly RecordedCall[]) =>
      decideAtDecision({ key: 'race', position: 1 }, { recorded, used: new Set(['in a']) })
    const [inA, other] = [step('in a', 1, 5), step('other', 1, 7)]
    const parted = { kind: 'unexpected_step', key: 'race', position: 1, expected: 'other', actual: 'race' }
    expect([decided(inA, other), decided(other, inA)]).toEqual([parted, parted])
    // Nothing, a call of its branches, and what stands elsewhere, is open, or is the runtime's own.
    expect(decided()).toBeUndefined()
    expect(decided(inA)).toBeUndefined()
    expect(decided(step('other', 1, 4), inA)).toBeUndefined()
    expect(decided(inA, step('other', 2, 7), step('another', 0, 8))).toBeUndefined()
    expect(decided(inA, step('open', 1, Number.POSITIVE_INFINITY), step('as well', 1, 0))).toBeUndefined()
    expect(decided(step('as well', 1, 0))).toBeUndefined()
    expect(decided(inA, step('$ku0/retry/1/in a', 1, 9))).toBeUndefined()
    // The end of its time counts where it was.
    expect(decided(other, step('$ku0/limit/race', 2, 9))).toEqual(parted)
    expect(decided(other, step('$ku0/limit/race', 1, 9))).toBeUndefined()
  })

  test('a race whose time is over at its place is the one of the history, however far its branches have come', () => {
    const recorded = [step('in a', 1, 5), step('later in a', 1, 7)]
    const over = { ...step('$ku0/limit/race', 1, 8), as: 'timer' as const }
    const decided = (all: readonly RecordedCall[], key = 'race') =>
      decideAtDecision({ key, position: 1 }, { recorded: all, used: new Set(['in a']) })
    expect(decided(recorded)).toMatchObject({ kind: 'unexpected_step', expected: 'later in a' })
    expect(decided([...recorded, over])).toBeUndefined()
    expect(decided([...recorded, over], 'another')).toMatchObject({ expected: 'later in a' })
    expect(decided([...recorded, { ...over, seq: Number.POSITIVE_INFINITY }])).toMatchObject({
      expected: 'later in a',
    })
  })

  test('each kind has a sentence for people', () => {
    const places = { key: 'b', position: 1, expected: '1', actual: '2' }
    expect(describeDivergence({ ...places, kind: 'order_changed' })).toBe(
      "'b' was recorded as call 1 and is now call 2",
    )
    expect(describeDivergence({ ...places, kind: 'input_changed' })).toContain(
      'another input (hash 1, now 2)',
    )
    expect(
      describeDivergence({ ...places, kind: 'unexpected_step', actual: 'timer', expected: 'step' }),
    ).toBe("'b' was recorded as a step and is now called as a timer")
    expect(describeDivergence({ ...places, kind: 'unexpected_step', actual: 'b', expected: 'a' })).toBe(
      "call 1 is 'b' where the history has 'a'",
    )
    expect(describeDivergence({ kind: 'missing_step', key: 'b', position: 1, expected: 'b' })).toBe(
      "'b' was recorded as call 1 and is missing: the handler returns",
    )
    expect(describeDivergence({ ...places, kind: 'history_edited', expected: 'abc', actual: 'abd' })).toBe(
      'its history in the database was changed: abc was written, abd was found',
    )
    const unreadable = { kind: 'value_unreadable', position: 0, expected: 'no codec is named Money' } as const
    expect(describeDivergence({ ...unreadable, key: '' })).toBe(
      'its input cannot be read: no codec is named Money',
    )
    expect(describeDivergence({ ...unreadable, key: 'b' })).toBe(
      "the stored value of 'b' cannot be read: no codec is named Money",
    )
  })
})
