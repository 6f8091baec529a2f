import { describe, expect, test } from 'vitest'
import { ledgerEntryOf } from '../../src/ledger/entry.ts'
import type { EntryRow } from '../../src/ledger/row.ts'
import { ids } from '../transition/rows.ts'

/** In millionths of a credit. */
const one = 1_000_000
const row = (more: Partial<EntryRow> = {}): EntryRow => ({
  client: 'ada',
  seq: 3,
  at: 9,
  kind: 'purchase',
  amount: 2.5 * one,
  held: 0,
  credits: 4 * one,
  reserved: one,
  task: null,
  key: null,
  note: null,
  ...more,
})
const entry = (more: Partial<EntryRow>) => ledgerEntryOf(row(more), ids, () => null)

describe('an entry of a ledger as a person reads it (docs/semantics.md 11.8)', () => {
  test('11.8 has its sums in credits, and nothing that it is not about', () => {
    expect(entry({})).toStrictEqual({
      client: 'ada',
      seq: 3,
      at: 9,
      kind: 'purchase',
      amount: 2.5,
      held: 0,
      credits: 4,
      reserved: 1,
      why: '2.5 credits were bought',
    })
    expect(entry({ key: 'k', note: 'n' })).toMatchObject({
      key: 'k',
      note: 'n',
      why: '2.5 credits were bought: n',
    })
  })

  test('11.8 names its task, by its own name where it has one', () => {
    expect(entry({ task: 7 }).taskId).toBe(ids.task(7))
    expect(ledgerEntryOf(row({ task: 7 }), ids, (task) => `mine ${task}`).taskId).toBe('mine 7')
  })

  test.each<[Partial<EntryRow>, string]>([
    [{ kind: 'opening' }, 'the client had 2.5 credits before its first entry'],
    [
      { kind: 'opening', note: 'folded:3:0', held: one },
      'the entries up to this one were folded into it: 3 entries, which came to 2.5 free credits and 1 reserved ones',
    ],
    [
      { kind: 'reserve', task: 7, amount: -2 * one, held: 2 * one },
      `task ${ids.task(7)} started, and its estimate of 2 is reserved`,
    ],
    [
      { kind: 'settle', task: 7, amount: 0, held: -2 * one },
      `task ${ids.task(7)} is over and has cost 2, out of what was reserved`,
    ],
    [
      { kind: 'settle', task: 7, amount: -one, held: -2 * one },
      `task ${ids.task(7)} is over and has cost 3, 1 more than was reserved`,
    ],
    [
      { kind: 'refund', task: 7, amount: one, held: -one },
      `task ${ids.task(7)} has cost 1 less than was reserved`,
    ],
    [{ kind: 'set', amount: -one }, 'the credits were set, which changed them by -1'],
  ])('11.8 %j says why it is there', (more, why) => {
    expect(entry(more).why).toBe(why)
  })
})
