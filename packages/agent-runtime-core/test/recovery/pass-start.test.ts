import { describe, expect, test } from 'vitest'
import { escalationKey } from '../../src/recovery/escalation.ts'
import { pastFailure } from '../../src/recovery/past-failure.ts'
import { decidePassStart, type PassStartCase } from '../../src/recovery/pass-start.ts'
import { defaultRecoveryTable, type RecoveryChoice } from '../../src/recovery/recovery.ts'
import type { WaitOutcome } from '../../src/wait/wait.ts'

const requeued = (seq: number, data: Record<string, unknown>) => ({
  seq,
  at: 0,
  type: 'task.requeued',
  data: JSON.stringify({ leaseId: 'l', ...data }),
})
const asked = { category: 'timeout', kind: 'timeout', strategy: 'human_escalation' } as const
const retried = requeued(4, { attempt: 2, reason: 'retry', error: { message: 'no' }, recovery: asked })
const died = requeued(7, { attempt: 3, reason: 'owner_dead' })

/** The answer of a person about the failure of event 4, or of another. */
const said = (outcome: WaitOutcome, seq = 6, about = 4) => ({ key: escalationKey(about), outcome, seq })

const start = (change: Partial<PassStartCase>, crash: RecoveryChoice = 'restart') =>
  decidePassStart({
    waits: [],
    policy: { table: { ...defaultRecoveryTable, crash }, fallbackModels: ['small'] },
    currentModel: () => 'big',
    ...change,
  })

describe('recovery: how a pass begins', () => {
  test('14.3 a return to the queue without a failure is none', () => {
    expect(pastFailure([])).toEqual({})
    expect(pastFailure([requeued(3, { attempt: 1, reason: 'yielded' })])).toEqual({})
    expect(start({})).toEqual({ as: 'run' })
  })

  test('14.3 the end of a process hides no failure of the work, and a later failure hides it', () => {
    const past = pastFailure([retried, died])
    expect(past).toMatchObject({ failure: { seq: 4, attempt: 1 }, crash: { seq: 7, attempt: 2 } })
    expect(pastFailure([died, retried])).not.toHaveProperty('crash')
  })

  test('14.3 a process that fell silent is a crash as one that died is, and an error comes in the form of the codec', () => {
    const silent = requeued(7, { attempt: 3, reason: 'expired' })
    expect(pastFailure([retried, silent])).toEqual({
      failure: { seq: 4, at: 0, attempt: 1, reason: 'retry', error: '{"message":"no"}', recovery: asked },
      crash: { seq: 7, at: 0, attempt: 2, reason: 'expired' },
    })
  })

  test('14.3 a rejection that is one too many is a failure of the attempt that runs, and hides the crash before it', () => {
    const resumed = (seq: number, data: Record<string, unknown>) => ({
      seq,
      at: 5,
      type: 'task.resumed',
      data: JSON.stringify(data),
    })
    const rejected = resumed(9, { escalates: true, key: 'plan', outcome: 'rejected' })
    expect(pastFailure([died, rejected])).toEqual({
      failure: {
        seq: 9,
        at: 5,
        attempt: 3,
        reason: 'rejected',
        error: `{"code":"not_approved","message":"'plan' was rejected more often than its maxRetries allows","name":"RuntimeError"}`,
        recovery: { category: 'human_rejection', kind: 'not_approved', strategy: 'human_escalation' },
      },
    })
    // The words in what a person wrote are none.
    const words = resumed(9, { key: 'plan', outcome: 'rejected', value: { escalates: true } })
    expect(pastFailure([words])).toEqual({})
  })

  test('14.3 the model stays the one that was fallen back to last', () => {
    const to = (seq: number, model: string) =>
      requeued(seq, {
        attempt: seq,
        reason: 'retry',
        recovery: { ...asked, strategy: 'fallback_agent', model },
      })
    expect(pastFailure([to(2, 'a'), to(3, 'b'), requeued(4, { attempt: 4, reason: 'expired' })]).model).toBe(
      'b',
    )
  })

  test('14.3 a person is asked first, once for each failure; no ends it', () => {
    const past = pastFailure([retried])
    expect(start(past)).toMatchObject({ as: 'ask', failure: { seq: 4 } })
    expect(start({ ...past, waits: [said('approved')] })).toEqual({ as: 'run' })
    expect(start({ ...past, waits: [said('rejected')] })).toMatchObject({
      as: 'refuse',
      failure: { seq: 4 },
    })
    // Nobody answered in time: that is no yes.
    expect(start({ ...past, waits: [said('timed_out')] })).toMatchObject({
      as: 'refuse',
      failure: { seq: 4 },
    })
    const again = requeued(4, { attempt: 2, reason: 'retry', recovery: { ...asked, strategy: 'restart' } })
    expect(start(pastFailure([again]))).toEqual({ as: 'run' })
    // What was decided is done, also by a process with another table.
    expect(start({ ...past, policy: undefined })).toMatchObject({ as: 'ask' })
  })

  test('14.3 after the end of a process its table decides: nothing, a question, another model, or the end', () => {
    const past = pastFailure([died])
    expect(start(past)).toEqual({ as: 'run' })
    expect(start({ ...past, policy: undefined })).toEqual({ as: 'run' })
    expect(start(past, 'human_escalation')).toMatchObject({ as: 'ask', failure: { seq: 7 } })
    expect(start(past, 'fail')).toMatchObject({ as: 'fail' })
    expect(start(past, 'fallback_agent')).toMatchObject({ as: 'fall_back', recovery: { model: 'small' } })
    expect(start({ ...past, currentModel: () => 'small' }, 'fallback_agent')).toEqual({ as: 'run' })
    // The other task works on, whatever becomes of the process that waits for it.
    const away = { strategy: 'fallback_agent', task: 'careful' } as const
    const handedOver = requeued(4, { attempt: 2, reason: 'retry', recovery: { ...asked, ...away } })
    for (const choice of ['fail', 'human_escalation', 'fallback_agent'] as const)
      expect(start(pastFailure([handedOver, died]), choice)).toEqual({ as: 'run' })
    const both = {
      ...pastFailure([retried, died]),
      waits: [said('approved')],
    }
    expect(start(both, 'human_escalation')).toMatchObject({ as: 'ask', failure: { seq: 7 } })
  })

  test('14.3 the no of a person is final, however many processes end after it and whatever the table says now', () => {
    const again = requeued(9, { attempt: 4, reason: 'owner_dead' })
    const other = { key: 'plan', outcome: 'rejected', seq: 5 } as const
    for (const choice of ['human_escalation', 'restart', 'fail', 'fallback_agent'] as const) {
      const refused = start({ ...pastFailure([died, again]), waits: [other, said('rejected', 8, 7)] }, choice)
      expect(refused).toMatchObject({ as: 'refuse', failure: { seq: 9, reason: 'owner_dead' } })
      const first = start({ ...pastFailure([retried, died]), waits: [said('rejected')] }, choice)
      expect(first).toMatchObject({ as: 'refuse', failure: { seq: 4 } })
    }
    // A worker in another language has no table.
    const past = { ...pastFailure([died]), policy: undefined }
    expect(start({ ...past, waits: [said('rejected', 8, 7)] })).toMatchObject({ as: 'refuse' })
    expect(start({ ...past, waits: [other] })).toEqual({ as: 'run' })
  })

  test('14.3 the end of a process before the answer says nothing: its pass was only to ask', () => {
    const past = pastFailure([retried, died])
    for (const choice of ['human_escalation', 'fail', 'fallback_agent'] as const) {
      expect(start(past, choice)).toMatchObject({ as: 'ask', failure: { seq: 4 } })
      expect(start({ ...past, waits: [said('approved', 9)] }, choice)).toEqual({ as: 'run' })
      const later = start({ ...past, waits: [said('approved')] }, choice)
      expect(later).toMatchObject({ failure: { seq: 7 } })
    }
  })
})
