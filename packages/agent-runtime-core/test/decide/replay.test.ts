import { describe, expect, test } from 'vitest'
import { decideReplay } from '../../src/decide/replay.ts'
import type { StepRecord } from '../../src/step.ts'

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
})
