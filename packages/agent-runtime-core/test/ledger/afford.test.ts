import { describe, expect, test } from 'vitest'
import { wantsCredits } from '../../src/ledger/afford.ts'

/** In millionths of a credit. */
const one = 1_000_000
const parks = { ledger: true, outOfCredits: 'park' } as const

describe('11.9 a task that starts next', () => {
  test.each([
    {
      what: 'is not covered by a millionth less',
      credits: 3 * one - 1,
      account: { cost: 3 * one },
      waits: true,
    },
    {
      what: 'is covered by what it is estimated to cost',
      credits: 3 * one,
      account: { cost: 3 * one },
      waits: false,
    },
    { what: 'costs one credit where nobody said more', credits: one - 1, account: null, waits: true },
    { what: 'is covered by that one', credits: one, account: null, waits: false },
    { what: 'was charged at its first start', credits: 0, account: { cost: one, charge: one }, waits: false },
    {
      what: 'is estimated to cost nothing, and its client is in debt',
      credits: -2 * one,
      account: { cost: 0 },
      waits: false,
    },
    {
      what: 'is estimated to cost a millionth, and its client is in debt',
      credits: -2 * one,
      account: { cost: 1 },
      waits: true,
    },
    {
      what: 'may run into debt by its agreement',
      credits: 0,
      account: { outOfCredits: 'run' },
      waits: false,
    },
    {
      what: 'was accepted by one that refuses',
      credits: 0,
      account: { outOfCredits: 'reject' },
      waits: true,
    },
  ] as const)('$what', ({ credits, account, waits }) => {
    expect(wantsCredits(parks, credits, account as Parameters<typeof wantsCredits>[2])).toBe(waits)
  })

  test.each([
    { what: 'without shares', shares: undefined, waits: false },
    { what: 'without a ledger', shares: { ledger: false, outOfCredits: 'park' }, waits: false },
    {
      what: 'of a client that may run into debt',
      shares: { ledger: true, outOfCredits: 'run' },
      waits: false,
    },
    { what: 'where the store refuses', shares: { ledger: true, outOfCredits: 'reject' }, waits: true },
  ] as const)('$what: waits for credits: $waits', ({ shares, waits }) => {
    expect(wantsCredits(shares, 0, null)).toBe(waits)
  })

  test('waits by its own agreement where the store lets others run', () => {
    const account = { outOfCredits: 'park' } as Parameters<typeof wantsCredits>[2]
    expect(wantsCredits({ ledger: true, outOfCredits: 'run' }, 0, account)).toBe(true)
  })
})
