import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describeError, toRuntimeError } from '../../src/error/record.ts'
import { failureKinds } from '../../src/task/failure-kind.ts'
import { categoriesOf, categoryOfKind } from '../../src/recovery/categories.ts'
import { decideChain, HANDED_OVER_LABEL, MAX_HAND_OVERS } from '../../src/recovery/hand-over.ts'
import { pastFailure } from '../../src/recovery/past-failure.ts'
import { decideRecovery, type RecoveryCase } from '../../src/recovery/decide.ts'
import {
  defaultRecoveryTable,
  failureCategories,
  nextModel,
  type RecoveryChoice,
  recoveryStrategies,
  strengthOf,
  strongestRecovery,
} from '../../src/recovery/recovery.ts'
import { defaultBackoff } from '../../src/task/backoff.ts'

const choice = fc.constantFrom<RecoveryChoice>(...recoveryStrategies, 'fail')
const join = (a: RecoveryChoice, b: RecoveryChoice) => strongestRecovery([a, b])
const table = fc.record({
  crash: choice,
  timeout: choice,
  resource_exhaustion: choice,
  invalid_output: choice,
  human_rejection: choice,
})
const categories = fc.array(fc.constantFrom(...failureCategories), { minLength: 1, maxLength: 4 })

const first: RecoveryCase = {
  kind: 'error',
  categories: ['crash'],
  isFinal: false,
  tries: 1,
  retry: { attempts: 3, backoff: defaultBackoff },
  policy: { table: defaultRecoveryTable, fallbackModels: ['small'] },
  model: 'big',
  hasHandedOver: false,
  random: 0,
}

describe('recovery by category', () => {
  test('14.3 the table of the paper', () => {
    expect(defaultRecoveryTable).toEqual({
      crash: 'restart',
      timeout: 'retry_with_backoff',
      resource_exhaustion: 'fallback_agent',
      invalid_output: 'retry_with_backoff',
      human_rejection: 'retry_with_feedback',
    })
  })

  test('14.3 a composite takes the strongest: human_escalation, restart, fallback, feedback, back-off, fail', () => {
    const byStrength: readonly RecoveryChoice[] = [
      'human_escalation',
      'restart',
      'fallback_agent',
      'retry_with_feedback',
      'retry_with_backoff',
      'fail',
    ]
    expect(
      [...recoveryStrategies, 'fail' as const].toSorted((a, b) => strengthOf(b) - strengthOf(a)),
    ).toEqual(byStrength)
    byStrength.forEach((strong, at) => {
      for (const weak of byStrength.slice(at)) expect(join(weak, strong)).toBe(strong)
    })
    expect(strongestRecovery([])).toBe('fail')
  })

  test('14.3 the strongest is associative, commutative, idempotent, and monotone in each part', () => {
    fc.assert(
      fc.property(choice, choice, choice, (a, b, c) => {
        expect(join(join(a, b), c)).toBe(join(a, join(b, c)))
        expect(join(a, b)).toBe(join(b, a))
        expect(join(a, a)).toBe(a)
        const [weak, strong] = strengthOf(a) <= strengthOf(b) ? [a, b] : [b, a]
        expect(strengthOf(join(weak, c))).toBeLessThanOrEqual(strengthOf(join(strong, c)))
      }),
    )
  })

  test('14.3 a composite failure is recovered at least as strongly as each of its parts', () => {
    fc.assert(
      fc.property(table, categories, fc.integer({ min: 1, max: 4 }), (own, parts, tries) => {
        const policy = { table: own, fallbackModels: ['small'] }
        const strength = (of: RecoveryCase['categories']) =>
          strengthOf(decideRecovery({ ...first, tries, policy, categories: of })?.recovery.strategy ?? 'fail')
        const whole = strength(parts)
        for (const part of parts) expect(whole).toBeGreaterThanOrEqual(strength([part]))
        expect(strength(parts.toReversed())).toBe(whole)
      }),
    )
  })

  test('14.3 the same try again is bounded by the number of tries, and no use for a final error; another agent or a person is', () => {
    const of = (strategy: RecoveryChoice, change: Partial<RecoveryCase>) =>
      decideRecovery({
        ...first,
        ...change,
        policy: { ...first.policy, table: { ...defaultRecoveryTable, crash: strategy } },
      })
    for (const strategy of recoveryStrategies) {
      expect(of(strategy, {})).toBeDefined()
      const mayHelp = strategy === 'human_escalation' || strategy === 'fallback_agent'
      expect(of(strategy, { tries: 3 }) === undefined).toBe(!mayHelp)
      expect(of(strategy, { isFinal: true }) === undefined).toBe(!mayHelp)
    }
    expect(of('fail', {})).toBeUndefined()
    expect(of('retry_with_backoff', { tries: 2 })?.delayMs).toBe(2_000)
    expect(of('restart', { tries: 2 })?.delayMs).toBe(0)
  })

  test('14.3 models come in their order, each once; without another one, what another part asks for is done', () => {
    expect(nextModel(['a', 'b'], 'big')).toBe('a')
    expect(nextModel(['a', 'b'], 'a')).toBe('b')
    expect(nextModel(['a', 'b'], 'b')).toBeUndefined()
    expect(nextModel(['a'], undefined)).toBe('a')
    const full = { ...first, categories: ['resource_exhaustion', 'timeout'] } as const
    expect(decideRecovery(full)?.recovery).toMatchObject({ strategy: 'fallback_agent', model: 'small' })
    // The last try is over for one part of it, and not for the other.
    const crashed = { ...first, categories: ['crash', 'resource_exhaustion'], tries: 3 } as const
    expect(decideRecovery(crashed)?.recovery).toMatchObject({
      category: 'resource_exhaustion',
      model: 'small',
    })
    expect(decideRecovery({ ...full, model: 'small' })?.recovery).toEqual({
      category: 'timeout',
      kind: 'error',
      strategy: 'retry_with_backoff',
    })
  })

  test('14.3 every kind of failure has its category; a stored input that no longer fits has none', () => {
    expect(Object.fromEntries(failureKinds.map((kind) => [kind, categoryOfKind(kind)]))).toEqual({
      error: 'crash',
      crashed: 'crash',
      gateway_unreachable: 'crash',
      poisoned: 'crash',
      lease_lost: 'crash',
      escalated: 'crash',
      timeout: 'timeout',
      hard_limit: 'resource_exhaustion',
      limit_exceeded: 'resource_exhaustion',
      budget_exceeded: 'resource_exhaustion',
      invalid_output: 'invalid_output',
      not_approved: 'human_rejection',
      schema_mismatch: undefined,
    })
  })

  test.each([
    ['timeout', 'timeout'],
    ['ETIMEDOUT', 'timeout'],
    ['budget_exceeded', 'resource_exhaustion'],
    ['limit_exceeded', 'resource_exhaustion'],
    ['memory_exceeded', 'resource_exhaustion'],
    ['payload_too_large', 'resource_exhaustion'],
    ['rate_limited', 'resource_exhaustion'],
    ['invalid_output', 'invalid_output'],
    ['not_approved', 'human_rejection'],
    ['crashed', 'crash'],
    ['poisoned', 'crash'],
    ['lease_lost', 'crash'],
    ['escalated', 'crash'],
    ['ENOENT', 'crash'],
  ])('14.3 the code %s is of the category %s', (code, category) => {
    expect(categoriesOf(Object.assign(new Error(code), { code }))).toEqual([category])
    const both = categoriesOf(new AggregateError([{ code }, { code: 'timeout' }, { code: 'not_approved' }]))
    const parts = code === 'ENOENT' ? [] : [category]
    expect(both).toEqual([...new Set([...parts, 'timeout', 'human_rejection'])])
  })

  test('14.3 an error has the categories of all its parts, and is a crash without any', () => {
    const coded = (code: string, cause?: unknown) => Object.assign(new Error(code), { code, cause })
    expect(categoriesOf(new Error('no'))).toEqual(['crash'])
    expect(categoriesOf('no')).toEqual(['crash'])
    expect(categoriesOf(coded('timeout'))).toEqual(['timeout'])
    expect(categoriesOf(new DOMException('late', 'TimeoutError'))).toEqual(['timeout'])
    expect(categoriesOf(new Error('wrapped', { cause: coded('not_approved') }))).toEqual(['human_rejection'])
    expect(
      categoriesOf(new AggregateError([coded('timeout', coded('limit_exceeded')), new Error('x')])),
    ).toEqual(['timeout', 'resource_exhaustion'])
    const restored = toRuntimeError(describeError(coded('ETIMEDOUT')))
    expect(categoriesOf(restored)).toEqual(['timeout'])
    expect(categoriesOf(new Error('wrapped', { cause: restored }))).toEqual(['timeout'])
    const circle = coded('crashed')
    circle.cause = circle
    expect(categoriesOf(circle)).toEqual(['crash'])
    const hostile = new Proxy(new Error('no'), {
      get() {
        throw new Error('unreadable')
      },
    })
    expect(categoriesOf(hostile)).toEqual(['crash'])
  })

  test('14.3 after the last model the task is handed over, once, whatever the number of tries', () => {
    const other = { task: 'careful' }
    const it = { ...first, policy: { ...first.policy, table: all('fallback_agent'), fallback: other } }
    const decided = (more: Partial<RecoveryCase>) => decideRecovery({ ...it, ...more })?.recovery
    expect(decided({})).toMatchObject({ strategy: 'fallback_agent', model: 'small' })
    expect(decided({ model: 'small' })).toEqual({
      category: 'crash',
      kind: 'error',
      strategy: 'fallback_agent',
      task: 'careful',
    })
    expect(decided({ model: 'small', isFinal: true })).toMatchObject(other)
    expect(decided({ model: 'small', hasHandedOver: true })).toBeUndefined()
    expect(decided({ model: 'big', hasHandedOver: true })).toBeUndefined()
    expect(decided({ model: 'small', tries: 3 })).toMatchObject(other)
    const named = { ...it.policy, fallback: { ...other, model: 'tiny', cost: 9 } }
    expect(decided({ model: 'small', policy: named })).toMatchObject({
      ...other,
      taskModel: 'tiny',
      taskCost: 9,
    })
  })

  test('14.3 a chain of tasks that hand over has no circle and an end', () => {
    const by = (label: string) => ({ parentId: 'p', labels: { [HANDED_OVER_LABEL]: label } })
    const goesOn = (...types: string[]) => ({ as: 'goes_on', label: JSON.stringify(types) })
    expect(decideChain({}, 'a', 'b')).toEqual(goesOn('a'))
    expect(decideChain(by('["a"]'), 'b', 'c')).toEqual(goesOn('a', 'b'))
    expect(decideChain(by('["a > b"]'), 'c', 'b')).toEqual(goesOn('a > b', 'c'))
    expect(decideChain(by('["a"]'), 'b', 'a')).toEqual({ as: 'circle', types: ['a', 'b'] })
    expect(decideChain({}, 'a', 'a')).toEqual({ as: 'circle', types: ['a'] })
    // Nobody has handed over a task without a parent, and a label that is no list says nothing.
    expect(decideChain({ labels: by('["a"]').labels }, 'b', 'a')).toEqual(goesOn('b'))
    for (const label of ['a', '{}', '[1]']) expect(decideChain(by(label), 'b', 'a')).toEqual(goesOn('b'))
    const types = Array.from({ length: MAX_HAND_OVERS }, (_, n) => `t${n}`)
    expect(decideChain(by(JSON.stringify(types.slice(1))), 't', 'more')).toMatchObject({ as: 'goes_on' })
    expect(decideChain(by(JSON.stringify(types)), 't', 'more')).toMatchObject({ as: 'too_long' })
  })

  test.each([
    ['handed over', [[2, 'retry', { task: 'b' }]], { task: 'b', nth: 1 }],
    [
      'handed over, and its process died',
      [
        [2, 'retry', { task: 'b' }],
        [4, 'expired', {}],
      ],
      { task: 'b', nth: 1 },
    ],
    [
      'handed over, and the pass that called it came to nothing',
      [
        [2, 'retry', { task: 'b' }],
        [4, 'retry', { interrupted: true }],
      ],
      { task: 'b', nth: 1 },
    ],
    [
      'handed over, and its failure was answered',
      [
        [2, 'retry', { task: 'b' }],
        [4, 'retry', { again: true }],
      ],
      { task: 'b', nth: 1, isOver: true },
    ],
    [
      'handed over again after a new beginning',
      [
        [2, 'retry', { task: 'b' }],
        [4, 'retry', { by: 's' }],
        [5, 'retry', { task: 'b' }],
      ],
      { task: 'b', nth: 2 },
    ],
    [
      'handed over, and begun anew',
      [
        [2, 'retry', { task: 'b' }],
        [4, 'retry', { by: 's' }],
      ],
      undefined,
    ],
    [
      'its process died too often, and a supervisor began it anew',
      [
        [2, 'retry', { task: 'b' }],
        [4, 'expired', { by: 's' }],
      ],
      undefined,
    ],
  ] as const)('14.3 the events of a task say who has it: %s', (_, returns, expected) => {
    const events = returns.map(
      ([seq, reason, { task, by, again, interrupted }]: readonly [
        number,
        string,
        { task?: string; by?: string; again?: true; interrupted?: true },
      ]) => ({
        seq,
        at: 0,
        type: 'task.requeued',
        data: JSON.stringify({
          attempt: seq,
          reason,
          leaseId: 'l',
          ...(task === undefined
            ? {}
            : { recovery: { category: 'crash', kind: 'error', strategy: 'fallback_agent', task } }),
          ...(again === undefined
            ? {}
            : { recovery: { category: 'crash', kind: 'error', strategy: 'restart' } }),
          ...(interrupted === undefined ? {} : { interrupted }),
          ...(by === undefined ? {} : { restartedBy: by }),
        }),
      }),
    )
    expect(pastFailure(events).handedOver).toEqual(expected)
  })

  test('14.2 14.3 tries count from the last restart by a supervisor, without those that came to nothing', () => {
    const events = [
      { attempt: 2, reason: 'retry' },
      { attempt: 3, reason: 'retry', interrupted: true },
      { attempt: 4, reason: 'expired' },
    ].map((data, at) => ({ seq: at + 2, at: 0, type: 'task.requeued', data: JSON.stringify(data) }))
    const past = pastFailure(events)
    expect(past).toMatchObject({ failure: { seq: 2 }, crash: { seq: 4 }, triesBefore: 1 })
    const anew = { attempt: 5, reason: 'retry', restartedBy: 's' }
    const more = { seq: 5, at: 0, type: 'task.requeued', data: JSON.stringify(anew) }
    // The attempt 5 without the crash is the fourth, and the first that counts.
    expect(pastFailure([...events, more]).triesBefore).toBe(3)
  })
})

function all(answer: RecoveryChoice) {
  return {
    crash: answer,
    timeout: answer,
    resource_exhaustion: answer,
    invalid_output: answer,
    human_rejection: answer,
  }
}
