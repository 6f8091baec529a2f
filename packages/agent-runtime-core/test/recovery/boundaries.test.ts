import { describe, expect, test } from 'vitest'
import { categoriesOf } from '../../src/recovery/categories.ts'
import { decideRecovery, type RecoveryCase } from '../../src/recovery/decide.ts'
import { escalationKey, isEscalation } from '../../src/recovery/escalation.ts'
import { fallBack } from '../../src/recovery/fall-back.ts'
import {
  chainRefusal,
  decideChain,
  HANDED_OVER_LABEL,
  handOverKey,
  handOverLabels,
  isHandOver,
  MAX_HAND_OVERS,
} from '../../src/recovery/hand-over.ts'
import { pastFailure } from '../../src/recovery/past-failure.ts'
import { decidePassStart } from '../../src/recovery/pass-start.ts'
import { defaultRecoveryTable, nextAgent, nextModel } from '../../src/recovery/recovery.ts'
import { parseExecutionConfig } from '../../src/schemas.ts'
import { SHUTDOWN_LABEL } from '../../src/supervision/shutdown.ts'
import { defaultBackoff } from '../../src/task/backoff.ts'
import { quota, stream, task, workingSet } from '../transition/rows.ts'

const coded = (code: string, more: object = {}) => Object.assign(new Error(code), { code }, more)

describe('the parts of an error (docs/semantics.md 14.3)', () => {
  test('14.3 are its cause and its errors, 32 with the error itself at the most', () => {
    const chain = (length: number): unknown =>
      length === 1 ? coded('timeout') : new Error('above', { cause: chain(length - 1) })
    expect([categoriesOf(chain(32)), categoriesOf(chain(33))]).toEqual([['timeout'], ['crash']])
    const many = (before: number) =>
      Object.assign(new Error('all'), {
        errors: [...Array.from({ length: before }, () => 'no'), coded('timeout')],
      })
    expect([categoriesOf(many(30)), categoriesOf(many(31))]).toEqual([['timeout'], ['crash']])
  })

  test('14.3 are read without harm, however many there are', () => {
    const errors: unknown[] = [coded('timeout')]
    errors.length = 1_000_000
    expect(categoriesOf(Object.assign(new Error('all'), { errors }))).toEqual(['timeout'])
  })

  test('14.3 are named by their code before their name; what is no list has none', () => {
    expect(categoriesOf(coded('not_approved', { name: 'TimeoutError' }))).toEqual(['human_rejection'])
    expect(categoriesOf(coded('unknown', { name: 'TimeoutError' }))).toEqual(['timeout'])
    expect(categoriesOf(coded('unknown', { name: 'Error' }))).toEqual(['crash'])
    expect(categoriesOf(coded('timeout', { errors: { length: 1, 0: coded('crashed') } }))).toEqual([
      'timeout',
    ])
    expect(categoriesOf(coded('timeout', { cause: null, errors: [] }))).toEqual(['timeout'])
    expect([undefined, null, 'timeout', 7].map(categoriesOf)).toEqual([
      ['crash'],
      ['crash'],
      ['crash'],
      ['crash'],
    ])
    expect(categoriesOf({ errors: [coded('timeout'), coded('timeout'), coded('crashed')] })).toEqual([
      'timeout',
      'crash',
    ])
  })
})

describe('the failures in a history (docs/semantics.md 14.3)', () => {
  const event = (seq: number, data: object, type = 'task.requeued') => ({
    seq,
    at: 10 * seq,
    type,
    data: JSON.stringify({ leaseId: 'l', ...data }),
  })
  const retry = (seq: number, more: object = {}) => event(seq, { attempt: seq, reason: 'retry', ...more })

  test('14.3 stand in returns to the queue alone', () => {
    const other = ['task.failed', 'task.started', 'task.waiting', 'signal.received', 'step.failed']
    expect(pastFailure(other.map((type) => event(2, { attempt: 2, reason: 'retry' }, type)))).toEqual({})
  })

  test.each(['retry', 'expired', 'owner_dead'] as const)('14.3 are there after a return for %s', (reason) => {
    const it = { seq: 3, at: 30, attempt: 1, reason }
    expect(pastFailure([event(3, { attempt: 2, reason })])).toStrictEqual(
      reason === 'retry' ? { failure: it } : { crash: it },
    )
  })

  test.each(['yielded', 'released', 'preempted', 'restarted', 'drained'])(
    '14.3 are not there after a return for %s, and neither is a model nor another task',
    (reason) => {
      const recovery = { category: 'crash', kind: 'error', strategy: 'fallback_agent', model: 'm', task: 't' }
      expect(pastFailure([event(3, { attempt: 2, reason, recovery })])).toEqual({})
    },
  )

  test('14.3 are those of the attempt before, also after a return for another reason', () => {
    const rejected = event(9, { escalates: true, key: 'plan' }, 'task.resumed')
    const attemptAfter = (...before: Parameters<typeof pastFailure>[0][]) =>
      pastFailure([...before.flatMap((it) => [...it]), rejected]).failure?.attempt
    expect(attemptAfter()).toBe(1)
    expect(attemptAfter([event(4, { attempt: 5, reason: 'yielded' })])).toBe(5)
    expect(attemptAfter([event(4, { attempt: 5, reason: 'retry' })])).toBe(5)
  })

  test('14.3 a rejection counts where its event says so itself, in one way', () => {
    const resumed = (data: string) => pastFailure([{ seq: 2, at: 0, type: 'task.resumed', data }])
    expect(resumed('{"escalates":true,"key":"a"}')).toHaveProperty('failure')
    expect(resumed('{"escalates":false,"key":"a"}')).toEqual({})
    expect(resumed('{"key":"a","value":{"escalates":true}}')).toEqual({})
    expect(resumed('no json')).toEqual({})
  })

  test('14.3 a task that was handed over is so until it is begun or tried again', () => {
    const handed = { recovery: { category: 'crash', kind: 'error', strategy: 'fallback_agent', task: 'b' } }
    const after = (...more: readonly object[]) =>
      pastFailure([retry(2, handed), ...more.map((it, at) => retry(3 + at, it))]).handedOver
    expect(after()).toStrictEqual({ task: 'b', nth: 1 })
    const again = { recovery: { category: 'crash', kind: 'error', strategy: 'restart' } }
    expect(after({})).toStrictEqual({ task: 'b', nth: 1 })
    expect(after(again)).toStrictEqual({ task: 'b', nth: 1, isOver: true })
    expect(after(again, {})).toStrictEqual({ task: 'b', nth: 1, isOver: true })
    expect(after({ interrupted: true })).toStrictEqual({ task: 'b', nth: 1 })
    expect(after({ restartedBy: 's' })).toBeUndefined()
    expect(after(again, handed)).toStrictEqual({ task: 'b', nth: 2 })
    expect(after({ reason: 'expired', restartedBy: 's' })).toBeUndefined()
    expect(pastFailure([retry(2)])).not.toHaveProperty('handedOver')
  })
})

describe('another agent (docs/semantics.md 14.3)', () => {
  test('14.3 is the next model, or after the last one another task, once', () => {
    const policy = { fallbackModels: ['a', 'b'], fallback: { task: 't' } }
    const next = (
      model: string | undefined,
      hasHandedOver = false,
      it: typeof policy | { fallbackModels: string[] } = policy,
    ) => nextAgent(it, { model, hasHandedOver })
    expect([undefined, 'a', 'b', 'other'].map((model) => next(model))).toEqual([
      { model: 'a' },
      { model: 'b' },
      { task: 't' },
      { model: 'a' },
    ])
    expect(next('a', true)).toBeUndefined()
    expect(next('b', false, { fallbackModels: ['a', 'b'] })).toBeUndefined()
    expect(next(undefined, false, { fallbackModels: [] })).toBeUndefined()
    expect(nextModel([], undefined)).toBeUndefined()
    expect(nextModel([], 'a')).toBeUndefined()
  })

  test('14.3 a question and a child that is handed over have keys of their own', () => {
    expect([escalationKey(4), 4, undefined, null, 'plan', `a${escalationKey(4)}`].map(isEscalation)).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
    ])
    expect(escalationKey(4)).not.toBe(escalationKey(5))
    expect([handOverKey(4), 'plan', `a${handOverKey(4)}`].map(isHandOver)).toEqual([true, false, false])
    expect(handOverKey(4)).not.toBe(handOverKey(5))
  })

  test('14.3 a chain has 8 tasks at the most', () => {
    const before = (length: number) => Array.from({ length }, (_, at) => `t${at}`)
    const chain = (types: readonly string[]) =>
      decideChain({ parentId: 'p', labels: { [HANDED_OVER_LABEL]: JSON.stringify(types) } }, 'a', 'b')
    const most = before(MAX_HAND_OVERS - 1)
    expect(chain(most)).toEqual({ as: 'goes_on', label: JSON.stringify([...most, 'a']) })
    expect(chain([...most, 'z'])).toEqual({ as: 'too_long', types: [...most, 'z', 'a'] })
  })

  test('14.3 a task that is handed over says by which, and ends as its parent would', () => {
    expect(handOverLabels(undefined, 'l')).toEqual({ [HANDED_OVER_LABEL]: 'l' })
    const labels = { a: '1', [SHUTDOWN_LABEL]: '50' }
    expect(handOverLabels(labels, 'l')).toEqual({ [HANDED_OVER_LABEL]: 'l', [SHUTDOWN_LABEL]: '50' })
    expect(chainRefusal({ as: 'circle', types: ['a', 'b'] }, 'b', 'a')).toBe(
      "task 'b' is not handed over to 'a': it was handed over by 'a', 'b'",
    )
    expect(chainRefusal({ as: 'too_long', types: ['a', 'b'] }, 'b', 'c')).toBe(
      "task 'b' is not handed over to 'c': a task is handed over at most 8 times, and it was by 'a', 'b'",
    )
  })

  test('14.3 a task with another model leaves the quota of the old one, and keeps its others', () => {
    const { config } = parseExecutionConfig({
      quotaConfig: {
        models: { big: { tokensPerWindow: 100 }, small: { tokensPerWindow: 100 } },
        windowMs: 60_000,
      },
    })
    const used = { tokens: 2, money: 0, cost: 0 }
    const reserved = { ...task, tokens: 5, account: { cost: 1, used, charge: null, place: null } }
    const ws = workingSet(
      {
        tasks: [reserved],
        streams: [{ ...stream, quotaKeys: ['label:a', quota.key, 'tool:web'] }],
        quotas: new Map([[quota.key, quota]]),
      },
      config,
    )
    const id = fallBack(ws, reserved, 'small')
    expect(ws.stream(id)).toMatchObject({
      type: 'work',
      laneRank: 2,
      quotaKeys: ['label:a', 'model:small', 'tool:web'],
    })
    expect(ws.quota(quota.key).windowTokens).toBe(quota.windowTokens - 3)
    expect(ws.quota('model:small').windowTokens).toBe(3)
    expect(ws.stream(fallBack(ws, reserved, 'free')).quotaKeys).toEqual(['label:a', 'tool:web'])
  })
})

describe('the number of tries (docs/semantics.md 14.3)', () => {
  const first: RecoveryCase = {
    kind: 'error',
    categories: ['crash'],
    isFinal: false,
    tries: 2,
    retry: { attempts: 3, backoff: defaultBackoff },
    policy: { table: defaultRecoveryTable, fallbackModels: ['small'] },
    model: 'big',
    hasHandedOver: false,
    random: 0,
  }

  test('14.3 ends the same agent, and no other one and no question', () => {
    const of = (strategy: 'restart' | 'fallback_agent' | 'human_escalation', tries: number) =>
      decideRecovery({
        ...first,
        tries,
        policy: { ...first.policy, table: { ...defaultRecoveryTable, crash: strategy } },
      })
    expect(of('restart', 2)).toEqual({
      recovery: { category: 'crash', kind: 'error', strategy: 'restart' },
      delayMs: 0,
    })
    expect(of('restart', 3)).toBeUndefined()
    for (const tries of [2, 3, 9])
      expect(of('fallback_agent', tries)).toMatchObject({ delayMs: 0, recovery: { model: 'small' } })
    expect(of('human_escalation', 9)).toMatchObject({ delayMs: 0 })
  })

  test('14.3 no part of a failure is no try', () => {
    expect(decideRecovery({ ...first, categories: [] })).toBeUndefined()
  })

  test('14.3 the category is the first one that has the strongest answer', () => {
    const table = { ...defaultRecoveryTable, timeout: 'restart' } as const
    const of = (categories: RecoveryCase['categories']) =>
      decideRecovery({ ...first, policy: { ...first.policy, table }, categories })?.recovery.category
    expect([of(['timeout', 'crash']), of(['crash', 'timeout']), of(['invalid_output', 'crash'])]).toEqual([
      'timeout',
      'crash',
      'crash',
    ])
  })
})

describe('a pass after a crash (docs/semantics.md 14.3)', () => {
  const crash = { seq: 7, at: 0, attempt: 2, reason: 'owner_dead' } as const
  const start = (more: Partial<Parameters<typeof decidePassStart>[0]>) =>
    decidePassStart({
      crash,
      waits: [],
      policy: {
        table: { ...defaultRecoveryTable, crash: 'fallback_agent' },
        fallbackModels: ['small'],
        fallback: { task: 'careful' },
      },
      currentModel: () => undefined,
      ...more,
    })

  test('14.3 goes on with the next agent, as its event says', () => {
    const recovery = { category: 'crash', kind: 'crashed', strategy: 'fallback_agent' }
    expect(start({})).toEqual({ as: 'fall_back', failure: crash, recovery: { ...recovery, model: 'small' } })
    expect(start({ currentModel: () => 'small' })).toEqual({
      as: 'fall_back',
      failure: crash,
      recovery: { ...recovery, task: 'careful' },
    })
    expect(start({ handedOver: { task: 'careful', nth: 3 } })).toEqual({ as: 'run' })
    expect(start({ crash: undefined as never })).toEqual({ as: 'run' })
  })

  test('14.3 waits for a person, whose answer is about that crash', () => {
    const policy = {
      table: { ...defaultRecoveryTable, crash: 'human_escalation' },
      fallbackModels: [],
    } as const
    const said = (outcome: 'approved' | 'rejected', about = 7) => ({
      waits: [{ key: escalationKey(about), outcome, seq: 8 }],
    })
    expect(start({ policy, ...said('approved') })).toEqual({ as: 'run' })
    expect(start({ policy, ...said('approved', 6) })).toEqual({ as: 'ask', failure: crash })
    expect(start({ policy })).toEqual({ as: 'ask', failure: crash })
    expect(start({ policy, ...said('rejected') })).toEqual({ as: 'refuse', failure: crash })
    const failure = {
      ...crash,
      seq: 4,
      recovery: { category: 'crash', kind: 'error', strategy: 'restart' },
    } as const
    expect(start({ policy, failure, ...said('approved', 4) })).toEqual({ as: 'ask', failure: crash })
    expect(start({ policy, failure, ...said('rejected', 4) })).toEqual({ as: 'refuse', failure })
  })
})
