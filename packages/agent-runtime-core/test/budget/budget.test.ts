import { describe, expect, test } from 'vitest'
import {
  addUse,
  budgetAmount,
  budgetAmounts,
  budgetProblems,
  budgetRaise,
  budgetTerms,
  fieldOver,
  mapSum,
  noUse,
} from '../../src/budget/budget.ts'

const all = 'tokens, money, cost, wallMs, steps'

describe('the limits of a budget (docs/semantics.md 11.5)', () => {
  const bounds: readonly (readonly [field: string, most: number, allowed: string])[] = [
    ['tokens', 1e12, 'a whole number of tokens from 1 to 1000000000000'],
    ['wallMs', 31_536_000_000, 'a whole number of ms from 1 to 31536000000'],
    ['steps', 1e9, 'a whole number of steps from 1 to 1000000000'],
    ['money', 1e9, 'a number above 0 to 1000000000'],
    ['cost', 1e9, 'a number above 0 to 1000000000'],
  ]
  test.each(bounds)('%s go up to %d', (field, most, allowed) => {
    expect(budgetProblems('budget', { [field]: most })).toEqual([])
    for (const given of [most + 1, 0, -1, '1', Number.NaN, Number.POSITIVE_INFINITY, null])
      expect(budgetProblems('budget', { [field]: given })).toEqual([
        { path: `budget.${field}`, allowed, given },
      ])
  })

  test('limits are whole except for money and cost, which go down to amounts that round to a millionth', () => {
    for (const field of ['tokens', 'wallMs', 'steps']) {
      expect(budgetProblems('b', { [field]: 1 })).toEqual([])
      expect(budgetProblems('b', { [field]: 1.5 })).toHaveLength(1)
    }
    for (const field of ['money', 'cost']) {
      expect(budgetProblems('b', { [field]: 1.5 })).toEqual([])
      expect(budgetProblems('b', { [field]: 0.000_000_5 })).toEqual([])
      expect(budgetProblems('b', { [field]: 0.000_000_4 })).toHaveLength(1)
    }
  })

  test('are at least one, in an object', () => {
    for (const given of [undefined, null, 5, [], 'tokens'])
      expect(budgetProblems('budget', given)).toEqual([
        { path: 'budget', allowed: `an object with ${all}, soft`, given },
      ])
    for (const given of [{}, { tokens: undefined }, { soft: 0.5 }])
      expect(budgetProblems('budget', given)).toEqual([
        { path: 'budget', allowed: `at least one limit of ${all}`, given },
      ])
  })

  test('are not asked for where a name was not known', () => {
    expect(budgetProblems('b', { token: 1 }).map(({ path }) => path)).toEqual(['b.token'])
  })

  test('limits are reported one by one when they are wrong, and unknown names with the likely one', () => {
    expect(budgetProblems('budget', { token: 1, wallMs: 0, anything: 2 })).toEqual([
      { path: 'budget.token', allowed: 'no such field, did you mean tokens?', given: 1 },
      { path: 'budget.wallMs', allowed: 'a whole number of ms from 1 to 31536000000', given: 0 },
      { path: 'budget.anything', allowed: `no such field; there are ${all}, soft`, given: 2 },
    ])
  })
})

describe('the lines where a budget asks', () => {
  const problems = (soft: unknown, limits: object = { tokens: 10, money: 2 }) =>
    budgetProblems('b', { ...limits, soft })

  test('are a part of every limit, above 0 to 1', () => {
    for (const soft of [0.1, 1, undefined]) expect(problems(soft)).toEqual([])
    for (const soft of [0, -0.5, 1.1, Number.NaN, 'half', null, [0.5]])
      expect(problems(soft)).toEqual([
        { path: 'b.soft', allowed: 'a number above 0 and up to 1, or amounts', given: soft },
      ])
  })

  test('may be amounts, each at most its hard limit, which there has to be', () => {
    expect(problems({ tokens: 10, money: 1.5 })).toEqual([])
    expect(problems({ tokens: 11 })).toEqual([
      { path: 'b.soft.tokens', allowed: 'at most the hard limit 10', given: 11 },
    ])
    expect(problems({ steps: 1, cost: undefined })).toEqual([
      { path: 'b.soft.steps', allowed: 'no value without a hard limit of steps', given: 1 },
    ])
  })

  test('soft lines are reported as limits are, without a line above a limit that is wrong itself', () => {
    expect(problems({ tokens: 0, token: 1, money: 3 })).toEqual([
      { path: 'b.soft.tokens', allowed: 'a whole number of tokens from 1 to 1000000000000', given: 0 },
      { path: 'b.soft.token', allowed: 'no such field, did you mean tokens?', given: 1 },
    ])
    expect(problems({ tokens: 11 }, { tokens: '10' }).map(({ path }) => path)).toEqual(['b.tokens'])
    expect(problems({ soft: 1 })).toEqual([
      { path: 'b.soft.soft', allowed: expect.stringContaining('no such field') as string, given: 1 },
    ])
    expect(problems({ anything: 1 })).toMatchObject([{ allowed: `no such field; there are ${all}` }])
  })
})

describe('a budget in whole numbers', () => {
  test('has money and cost in millionths, and nothing that is not limited', () => {
    expect(budgetTerms('b', { tokens: 5, money: 1.5, cost: 0.000_000_6, wallMs: 7, steps: 3 })).toStrictEqual(
      {
        limits: { tokens: 5, money: 1_500_000, cost: 1, wallMs: 7, steps: 3 },
        soft: {},
      },
    )
    expect(budgetTerms('b', { tokens: 5, money: undefined })).toStrictEqual({
      limits: { tokens: 5 },
      soft: {},
    })
  })

  test('has a line for each limit where a part was given, above 0, or for what was named', () => {
    expect(budgetTerms('b', { tokens: 10, steps: 1, soft: 0.25 }).soft).toStrictEqual({ tokens: 3, steps: 1 })
    expect(budgetTerms('b', { tokens: 10, money: 2, soft: { money: 1 } }).soft).toStrictEqual({
      money: 1_000_000,
    })
  })

  test('is refused with all that is wrong', () => {
    expect(() => budgetTerms('b', { tokens: 0, steps: 0 })).toThrow(
      expect.objectContaining({
        code: 'invalid_argument',
        message:
          'b.tokens: a whole number of tokens from 1 to 1000000000000; given 0\nb.steps: a whole number of steps from 1 to 1000000000; given 0',
      }),
    )
  })

  test('is raised by amounts of the same bounds; by nothing is possible, and no line is', () => {
    expect(budgetRaise('by', { tokens: 5, money: 0.5 })).toStrictEqual({ tokens: 5, money: 500_000 })
    expect(budgetRaise('by', {})).toStrictEqual({})
    expect(() => budgetRaise('by', 5)).toThrow(`by: an object with ${all}; given 5`)
    expect(() => budgetRaise('by', { tokens: 0 })).toThrow('by.tokens: a whole number of tokens')
    expect(() => budgetRaise('by', { anything: 1 })).toThrow(
      `by.anything: no such field; there are ${all}; given 1`,
    )
    expect(() => budgetRaise('by', { soft: 0.5 })).toThrow('by.soft: no such field')
  })

  test('reads as people gave it', () => {
    expect([budgetAmount('money', 1_500_000), budgetAmount('cost', 1), budgetAmount('tokens', 7)]).toEqual([
      1.5, 0.000_001, 7,
    ])
    expect([budgetAmount('wallMs', 9), budgetAmount('steps', 3)]).toEqual([9, 3])
    expect(budgetAmounts({ tokens: 5, money: 2_000_000 })).toStrictEqual({ tokens: 5, money: 2 })
    expect(
      mapSum({ tokens: 5, steps: 0 }, (field, amount) => (field === 'steps' ? amount + 1 : amount)),
    ).toStrictEqual({
      tokens: 5,
      steps: 1,
    })
  })
})

describe('the usage', () => {
  const used = { tokens: 1, money: 2, cost: 3, steps: 4 }

  test('adds up field by field', () => {
    expect(addUse(used, { tokens: 10, money: 20, cost: 30, steps: 40 })).toStrictEqual({
      tokens: 11,
      money: 22,
      cost: 33,
      steps: 44,
    })
    expect(addUse(used, noUse)).toStrictEqual(used)
  })

  test('crosses a limit that it is above, the first of all; wall time is looked at when it is due', () => {
    expect(fieldOver(used, used)).toBeUndefined()
    expect(fieldOver({}, used)).toBeUndefined()
    expect(fieldOver({ tokens: 0, steps: 0 }, used)).toBe('tokens')
    expect(fieldOver({ tokens: 5, cost: 2, steps: 3 }, used)).toBe('cost')
    expect(fieldOver({ wallMs: 1 }, { ...used, wallMs: 2 } as typeof used)).toBeUndefined()
  })
})
