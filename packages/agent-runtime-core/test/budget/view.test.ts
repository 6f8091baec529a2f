import { describe, expect, test } from 'vitest'
import { noUse } from '../../src/budget/budget.ts'
import { type BudgetFound, budgetRecordOf } from '../../src/budget/view.ts'
import type { BudgetRow } from '../../src/transition.ts'
import { budget } from '../transition/rows.ts'

const found = (row: Partial<BudgetRow>, more: Partial<BudgetFound> = {}): BudgetFound => ({
  row: budget(row),
  taskId: 'mine',
  finishedAt: null,
  ...more,
})
const record = (own: BudgetFound, ...above: readonly BudgetFound[]) =>
  budgetRecordOf([own, ...above], { askedBy: 'me', parked: 2, at: 100 })

describe('a budget as people see it (docs/semantics.md 11.5)', () => {
  test('11.5 has amounts in units, and tells its own use from that of its children', () => {
    const used = { tokens: 5, money: 3_000_000, cost: 2_000_000, steps: 4 }
    const it = record(
      found({
        limits: { tokens: 8, money: 4_500_000 },
        soft: { tokens: 6 },
        used,
        own: { tokens: 1, money: 500_000, cost: 2_000_000, steps: 3 },
        startedAt: 40,
      }),
    )
    expect(it).toStrictEqual({
      taskId: 'mine',
      limits: { tokens: 8, money: 4.5 },
      soft: { tokens: 6 },
      used: { tokens: 5, money: 3, cost: 2, steps: 4, wallMs: 60 },
      left: { tokens: 3, money: 1.5 },
      children: { tokens: 4, money: 2.5, cost: 0, steps: 1 },
      parked: 2,
    })
  })

  test('11.5 has the time until its task ended, none before that started, and never less than nothing', () => {
    const wallMs = (startedAt: number | null, finishedAt: number | null) =>
      record(found({ startedAt }, { finishedAt })).used.wallMs
    expect([
      wallMs(null, null),
      wallMs(null, 70),
      wallMs(40, null),
      wallMs(40, 70),
      wallMs(140, null),
    ]).toEqual([0, 0, 60, 30, 0])
  })

  test('11.5 says what asks, and what is above it', () => {
    const asked = { field: 'tokens', at: 6, by: 9 } as const
    const it = record(found({ asked }), found({}, { taskId: 'above' }), found({}, { taskId: 'top' }))
    expect(it).toMatchObject({ above: 'above', asks: { field: 'tokens', at: 6, by: 'me' } })
    expect(record(found({}))).not.toHaveProperty('asks')
    expect(record(found({}))).not.toHaveProperty('above')
  })

  test('11.5 has left the least of what it and those above it allow', () => {
    const left = (own: Partial<BudgetRow>, above: Partial<BudgetRow>, more: Partial<BudgetFound> = {}) =>
      record(found(own), found(above, more)).left
    const used = (tokens: number) => ({ ...noUse, tokens })
    expect(left({ limits: { tokens: 9 } }, { limits: { tokens: 8 }, used: used(5) })).toEqual({ tokens: 3 })
    expect(left({ limits: { tokens: 2 } }, { limits: { tokens: 8 }, used: used(5) })).toEqual({ tokens: 2 })
    expect(left({}, { limits: { tokens: 4 }, used: used(5) })).toEqual({ tokens: 0 })
    expect(left({ limits: { steps: 4 } }, { limits: { tokens: 8 } })).toEqual({ steps: 4, tokens: 8 })
  })

  test('11.5 has the time that is left above it until that ends', () => {
    const above = { limits: { wallMs: 50, tokens: 4 }, startedAt: 70 }
    expect(record(found({}), found(above)).left).toEqual({ wallMs: 20, tokens: 4 })
    expect(record(found({}), found(above, { finishedAt: 90 })).left).toEqual({ tokens: 4 })
    expect(record(found({ limits: { wallMs: 50 }, startedAt: 70 }, { finishedAt: 90 })).left).toEqual({
      wallMs: 30,
    })
  })
})
