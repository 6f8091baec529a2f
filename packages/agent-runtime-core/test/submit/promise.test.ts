import { describe, expect, test } from 'vitest'
import { accountPromise, LATENCY_LABEL, missedText, promiseIn } from '../../src/submit/promise.ts'

describe('the time that an agreement promises (docs/semantics.md 12.5)', () => {
  const labels = { [LATENCY_LABEL]: '1000', agreement: 'gold' }

  test('12.5 is counted from the submission, and what ends after it is late', () => {
    expect(promiseIn(labels, 500, 1_400)).toEqual({ latencyMs: 1_000, until: 1_500, lateMs: 0 })
    expect(promiseIn(labels, 500, 1_501)).toEqual({ latencyMs: 1_000, until: 1_500, lateMs: 1 })
  })

  test.each([undefined, '', '0', '-1', '1.5', '1e3', '01', ' 5', '5 ', '1'.repeat(16)])(
    '12.5 a label of %j promises nothing',
    (told) => {
      const others = told === undefined ? {} : { [LATENCY_LABEL]: told }
      expect(promiseIn(others, 0, 1)).toBeUndefined()
      expect(accountPromise({ ...others, agreement: 'gold' })).toBeUndefined()
    },
  )

  test('12.5 an account keeps it with the name of its agreement', () => {
    expect(accountPromise(labels)).toEqual({ agreement: 'gold', latencyMs: 1_000 })
    expect(accountPromise({ [LATENCY_LABEL]: '1'.repeat(15), agreement: 'gold' })).toEqual({
      agreement: 'gold',
      latencyMs: 111_111_111_111_111,
    })
    expect(accountPromise({ [LATENCY_LABEL]: '1000' })).toBeUndefined()
    expect(accountPromise()).toBeUndefined()
  })

  test('12.5 an end that is later says by how much', () => {
    const account = { promised: { agreement: 'gold', latencyMs: 1_000 } }
    const missed = (at: number, promised: object = account) =>
      missedText({ account: promised, submittedAt: 500 } as Parameters<typeof missedText>[0], at)
    expect(missed(1_500)).toBeUndefined()
    expect(missed(1_501)).toBe('{"agreement":"gold","lateMs":1,"latencyMs":1000}')
    expect(missed(9_999, {})).toBeUndefined()
    expect(missedText({ account: undefined, submittedAt: 0 } as never, 9)).toBeUndefined()
  })
})
