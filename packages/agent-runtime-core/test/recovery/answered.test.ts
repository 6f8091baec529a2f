import { describe, expect, test } from 'vitest'
import { canonical } from '../../src/codec/codec.ts'
import { decisionOfPast, errorOfPast, escalationWait } from '../../src/recovery/answered.ts'
import type { PastFailure } from '../../src/recovery/past-failure.ts'

const past = (more: Partial<PastFailure> = {}): PastFailure => ({
  seq: 5,
  at: 50,
  attempt: 2,
  reason: 'retry',
  ...more,
})
const thrown = (code?: string) =>
  past({ error: canonical({ name: 'Error', message: 'no', ...(code === undefined ? {} : { code }) }) })

describe('the error of a try before (docs/semantics.md 14.3)', () => {
  test('14.3 is the one that was recorded', () => {
    expect(errorOfPast(thrown('timeout'))).toEqual({ name: 'Error', message: 'no', code: 'timeout' })
  })

  test.each([
    ['expired', 'its lease expired: its process fell silent'],
    ['owner_dead', 'its process died'],
  ] as const)('14.3 is that of a lost lease where it was %s', (reason, message) => {
    expect(errorOfPast(past({ reason }))).toEqual({ name: 'RuntimeError', message, code: 'lease_lost' })
  })
})

describe('the decision after a try before (docs/semantics.md 14.3)', () => {
  test('14.3 is the recorded one', () => {
    const recovery = { category: 'timeout', kind: 'timeout', strategy: 'fallback_agent' } as const
    expect(decisionOfPast(past({ reason: 'expired', recovery }))).toBe(recovery)
  })

  test.each(['expired', 'owner_dead'] as const)('14.3 is a restart after a crash: %s', (reason) => {
    expect(decisionOfPast(past({ reason }))).toEqual({
      category: 'crash',
      kind: 'crashed',
      strategy: 'restart',
    })
  })

  test.each([
    ['timeout', 'timeout', 'timeout'],
    ['invalid_output', 'invalid_output', 'invalid_output'],
    ['crashed', 'crash', 'crashed'],
    ['gateway_unreachable', 'crash', 'gateway_unreachable'],
    ['rate_limited', 'resource_exhaustion', 'error'],
    [undefined, 'crash', 'error'],
  ] as const)('14.3 is by the error of a retry: %s', (code, category, kind) => {
    expect(decisionOfPast(thrown(code))).toEqual({ category, kind, strategy: 'retry_with_backoff' })
  })

  test('14.3 is a restart where a supervisor started it again', () => {
    expect(decisionOfPast({ ...thrown(), restartedBy: 's' }).strategy).toBe('restart')
  })
})

test('14.3 a person is asked about a try before, once, with its error', () => {
  const asked = (failure: PastFailure) => {
    const { approval, ...wait } = escalationWait(failure)
    return { ...wait, ...approval, artifact: JSON.parse(approval?.artifact ?? '') as unknown }
  }
  const question = { escalated: 'timeout', kind: 'timeout', attempt: 2 }
  expect(asked(thrown('timeout'))).toEqual({
    key: '$ku0/escalation/5',
    position: 0,
    kind: 'approval',
    name: '$ku0/approval/$ku0/escalation/5',
    artifact: { ...question, error: { name: 'Error', message: 'no', code: 'timeout' } },
    mode: 'supervised',
    asked: true,
    maxRetries: 0,
    onReject: 'throw',
    onTimeout: 'throw',
  })
  expect(asked(thrown()).artifact).toEqual({
    escalated: 'crash',
    kind: 'error',
    attempt: 2,
    error: { name: 'Error', message: 'no' },
  })
})
