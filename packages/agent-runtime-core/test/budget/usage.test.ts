import { describe, expect, test } from 'vitest'
import { addUsage, micro, usageOf, usageSum, usageText } from '../../src/budget/usage.ts'
import { guarded } from '../guarded.ts'

const invalid = (message: string) => expect.objectContaining({ code: 'invalid_argument', message }) as Error

describe('a usage (docs/semantics.md 11.5, C4)', () => {
  test('is in whole tokens and in millionths of money and cost; what is left out is 0', () => {
    expect(usageSum('charge', {})).toStrictEqual({ tokens: 0, money: 0, cost: 0 })
    expect(usageSum('charge', { tokens: 5, money: 1.5, cost: 0.000_000_5 })).toStrictEqual({
      tokens: 5,
      money: 1_500_000,
      cost: 1,
    })
    const most = { tokens: 1e9, money: 1e9, cost: 1e9 }
    expect(usageSum('charge', most)).toStrictEqual({ tokens: 1e9, money: 1e15, cost: 1e15 })
  })

  test.each([
    [undefined, 'charge takes { tokens, money, cost }, not undefined'],
    [null, 'charge takes { tokens, money, cost }, not null'],
    [5, 'charge takes { tokens, money, cost }, not 5'],
    [[1], 'charge takes { tokens, money, cost }, not [1]'],
    [guarded('cost'), 'charge takes { tokens, money, cost }, not something unreadable'],
    [{ token: 1 }, 'charge: there is no token, did you mean tokens?'],
    [{ anything: 1 }, 'charge: there is no anything; there are tokens, money, cost'],
    [{ tokens: 1.5 }, 'charge: tokens is a whole number from 0 to 1000000000, not 1.5'],
    [{ tokens: -1 }, 'charge: tokens is a whole number from 0 to 1000000000, not -1'],
    [{ tokens: 1e9 + 1 }, 'charge: tokens is a whole number from 0 to 1000000000, not 1000000001'],
    [{ tokens: '1' }, 'charge: tokens is a whole number from 0 to 1000000000, not "1"'],
    [{ money: -0.1 }, 'charge: money is a number from 0 to 1000000000, not -0.1'],
    [{ cost: 1e9 + 0.5 }, 'charge: cost is a number from 0 to 1000000000, not 1000000000.5'],
    [{ cost: Number.NaN }, 'charge: cost is a number from 0 to 1000000000, not NaN'],
    [{ money: '1' }, 'charge: money is a number from 0 to 1000000000, not "1"'],
  ])('%# is refused by name', (usage, message) => {
    expect(() => usageSum('charge', usage)).toThrow(invalid(message))
  })

  test('in millionths is rounded, from 0 on', () => {
    expect([micro('c', 'n', 0), micro('c', 'n', 0.000_000_4), micro('c', 'n', 0.000_001_5)]).toEqual([
      0, 0, 2,
    ])
  })

  test('adds up, is written in canonical JSON, and reads as people gave it', () => {
    const sum = { tokens: 1, money: 2, cost: 3 }
    expect(addUsage(undefined, sum)).toBe(sum)
    expect(addUsage(sum, { tokens: 10, money: 20, cost: 30 })).toStrictEqual({
      tokens: 11,
      money: 22,
      cost: 33,
    })
    expect(usageText(sum)).toBe('{"cost":3,"money":2,"tokens":1}')
    expect(usageOf({ tokens: 7, money: 1_500_000, cost: 1 })).toStrictEqual({
      tokens: 7,
      money: 1.5,
      cost: 0.000_001,
    })
  })
})
