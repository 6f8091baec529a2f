import { describe, expect, test } from 'vitest'
import { approvalName, endsWithRejection, isVoid, outlivesRejection } from '../../src/approval/approval.ts'
import {
  childKeyOf,
  childName,
  isChildName,
  isPatience,
  patienceKey,
  patientFor,
} from '../../src/child/child.ts'
import { PATCH_KEY, RETRY_KEY } from '../../src/history/replay.ts'
import { doubted, doubtKey, isDoubt } from '../../src/step/doubt.ts'

describe('the names and keys of the runtime’s own', () => {
  test('the words for an approval’s verdict', () => {
    expect(approvalName('ship it')).toBe('$ku0/approval/ship it')
  })

  test('the words for a child’s end say which child it is', () => {
    expect(childName('a/b')).toBe('$ku0/child/a/b')
    expect(childKeyOf(childName('a/b'))).toBe('a/b')
    expect([childName('a'), 'a', 'x$ku0/child/a', approvalName('a'), undefined, 5].map(isChildName)).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
    ])
  })

  test('the words for a patience timer say which child it is, whatever is in its key', () => {
    expect(patienceKey('a/b', 12)).toBe('$ku0/patience/12/a/b')
    expect(patientFor(patienceKey('a/b', 12))).toBe('a/b')
    expect([patienceKey('a', 1), 'a', `x${patienceKey('a', 1)}`].map(isPatience)).toEqual([
      true,
      false,
      false,
    ])
  })

  test('the words for the question about a step in doubt say which step it is, whatever is in its key', () => {
    expect(doubtKey('pay/now', 12)).toBe('$ku0/doubt/12/pay/now')
    expect(doubted(doubtKey('pay/now', 12))).toBe('pay/now')
    expect([doubtKey('a', 1), 'a', `x${doubtKey('a', 1)}`, undefined, 5].map(isDoubt)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ])
  })
})

describe('a rejection that sends a task back', () => {
  test('voids what was recorded after the last approval and before it', () => {
    const rejections = [
      { since: 2, seq: 5 },
      { since: 5, seq: 9 },
    ]
    expect([1, 2, 3, 4, 5, 6, 8, 9, 10].map((seq) => isVoid(seq, rejections))).toEqual([
      false,
      false,
      true,
      true,
      false,
      true,
      true,
      false,
      false,
    ])
    expect(isVoid(3, [])).toBe(false)
  })

  test('leaves the mark of a patch, and no other step', () => {
    const step = (key: string) => outlivesRejection({ key, kind: 'step', seq: 4 })
    expect([step(`${PATCH_KEY}fix`), step('work'), step(`x${PATCH_KEY}`)]).toEqual([true, false, false])
  })

  test('leaves the end of a child that was spawned before it, and the timers beside that', () => {
    const spawned = (at: number | undefined) => (key: string) => (key === 'a/b' ? at : undefined)
    const memos = [
      { key: childName('a/b'), kind: 'child', seq: 4 },
      { key: patienceKey('a/b', 3), kind: 'timer', seq: 4 },
    ] as const
    for (const memo of memos) {
      expect([3, 4, 5, undefined].map((at) => outlivesRejection(memo, spawned(at)))).toEqual([
        true,
        false,
        false,
        false,
      ])
      expect(outlivesRejection(memo)).toBe(false)
    }
  })

  test('leaves the answers of waits that nobody would send again, and no timers of the runtime’s own', () => {
    const wait = (key: string, kind: 'timer' | 'signal' | 'approval') =>
      outlivesRejection({ key, kind, seq: 4 })
    expect([wait('t', 'timer'), wait('s', 'signal'), wait('ok', 'approval')]).toEqual([true, true, true])
    expect(wait(doubtKey('pay', 1), 'approval')).toBe(true)
    expect(wait(`${RETRY_KEY}1/work`, 'timer')).toBe(false)
  })

  test('ends back-offs, and the questions about steps that were asked after the last approval', () => {
    expect(endsWithRejection({ key: `${RETRY_KEY}1/work` }, 9)).toBe(true)
    const doubt = (request: number) => endsWithRejection({ key: doubtKey('pay', 1), terms: { request } }, 5)
    expect([4, 5, 6].map(doubt)).toEqual([false, false, true])
    expect(endsWithRejection({ key: 'ok', terms: { request: 6 } }, 5)).toBe(false)
    expect(endsWithRejection({ key: doubtKey('pay', 1), terms: null }, 0)).toBe(false)
    expect(endsWithRejection({ key: doubtKey('pay', 1) }, 0)).toBe(false)
  })
})
