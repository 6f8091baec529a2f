import { describe, expect, test } from 'vitest'
import { isFold } from '../../src/ledger/fold-ledger.ts'
import { costOf, paid, payWithoutShares } from '../../src/ledger/pay.ts'
import type { EntryRow } from '../../src/ledger/row.ts'
import { newClient } from '../../src/transition.ts'
import { stream, task, workingSet } from '../transition/rows.ts'

type Account = Parameters<typeof costOf>[0]
const ada = { ...newClient(1, 'ada'), credits: 50, reserved: 10, entries: 1 }
const streams = [{ ...stream, client: 'ada' }]
const account = (rest: Partial<Account> = {}): Account => ({
  cost: 8,
  used: null,
  charge: null,
  place: null,
  reserved: 10,
  ...rest,
})
const spent = (cost: number) => ({ used: { cost } as unknown as NonNullable<Account['used']> })

describe('the price of a task once it is over (docs/semantics.md 11.8)', () => {
  test('11.8 a task pays the cost that it reported, or its estimate', () => {
    expect([account(), account(spent(0)), account(spent(3))].map(costOf)).toEqual([8, 8, 3])
  })

  test.each<[string, Partial<Account>, readonly unknown[]]>([
    [
      'less than was reserved',
      spent(3),
      [
        ['settle', 0, -3],
        ['refund', 7, -7],
      ],
    ],
    ['all that was reserved', spent(10), [['settle', 0, -10]]],
    ['more than was reserved', spent(12), [['settle', -2, -10]]],
  ])('11.8 %s', (_, rest, entries) => {
    const ws = workingSet({ clients: new Map([['ada', ada]]), streams })
    const client = paid(ws, ada, { ...task, account: account(rest) })
    expect(ws.ledger.map(({ kind, amount, held, task: of }) => [kind, amount, held, of])).toEqual(
      entries.map((it) => [...(it as readonly unknown[]), 7]),
    )
    expect(client.reserved).toBe(0)
    expect(client.credits + client.reserved).toBe(60 - costOf(account(rest)))
  })

  test('11.8 nothing of a task without a reservation', () => {
    const ws = workingSet({ clients: new Map([['ada', ada]]), streams })
    const { reserved: _, ...free } = account()
    for (const it of [null, free]) expect(paid(ws, ada, { ...task, account: it })).toBe(ada)
    payWithoutShares(ws, { ...task, account: free })
    expect([ws.ledger, [...ws.clients.changed]]).toEqual([[], []])
  })

  test('11.8 a reservation of another process is settled in one without shares, too', () => {
    const ws = workingSet({ clients: new Map([['ada', ada]]), streams })
    payWithoutShares(ws, { ...task, account: account(spent(3)) })
    expect(ws.clients.get('ada')).toMatchObject({ credits: 57, reserved: 0, entries: 3 })
  })
})

describe('the entry that stands for those that were folded (docs/semantics.md 11.8)', () => {
  const folded = { client: 'ada', entries: 5, hash: 'f'.repeat(64) }
  const opening: EntryRow = {
    client: 'ada',
    seq: 5,
    at: 1,
    kind: 'opening',
    amount: 50,
    held: 10,
    credits: 50,
    reserved: 10,
    task: null,
    key: null,
    note: `folded:5:${folded.hash}`,
  }

  test('11.8 has their number, their hash and their sums', () => {
    expect(isFold(opening, folded)).toBe(true)
    for (const other of [
      { kind: 'purchase' },
      { seq: 6 },
      { note: 'folded:5:0' },
      { note: null },
      { amount: 49 },
      { held: 9 },
    ] as const)
      expect(isFold({ ...opening, ...other }, folded)).toBe(false)
  })
})
