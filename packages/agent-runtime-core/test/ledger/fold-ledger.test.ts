import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { foldLedger, isFold } from '../../src/ledger/fold-ledger.ts'
import type { EntryRow, FoldableLedger, FoldablePart } from '../../src/ledger/row.ts'
import { parseExecutionConfig } from '../../src/schemas.ts'
import { NeedsRound } from '../../src/transition.ts'
import { ids, now, workingSet } from '../transition/rows.ts'

const ageMs = 1_000
const keysMs = 5_000
const { config } = parseExecutionConfig({ retention: { ledger: { ageMs }, keysMs } })
/** The youngest entry that the rules no longer keep. */
const old = now.at - ageMs
const place = (client: string | null, seq: number | null) => JSON.stringify([client, seq])

/** The entries of a ledger: each adds 10 credits and reserves 1. */
function entries(count: number, changes: Readonly<Record<number, Partial<EntryRow>>> = {}): EntryRow[] {
  return Array.from({ length: count }, (_, index) => {
    const seq = index + 1
    return {
      client: 'ada',
      seq,
      at: old,
      kind: 'purchase',
      amount: 10,
      held: 1,
      credits: 10 * seq,
      reserved: seq,
      task: null,
      key: null,
      note: null,
      ...changes[seq],
    }
  })
}

const ledgerOf = (rows: readonly EntryRow[], more: Partial<FoldableLedger> = {}): FoldableLedger => ({
  client: 'ada',
  folded: undefined,
  rows,
  isMore: false,
  open: undefined,
  ...more,
})
const part = (more: Partial<FoldablePart>, at = place(null, null)): ReadonlyMap<string, FoldablePart> =>
  new Map([[at, { place: at, ledgers: [], next: undefined, ...more }]])

/** The outcome of a fold, and the numbers up to which ledgers were folded. */
function fold(
  ledgers: readonly FoldableLedger[],
  {
    next,
    settings = config,
    ...it
  }: { next?: FoldablePart['next']; settings?: typeof config } & Partial<
    Omit<Parameters<typeof foldLedger>[1], 'until'>
  > = {},
) {
  const at = place(it.client ?? null, it.seq ?? null)
  const ws = workingSet({ foldable: part({ ledgers, next }, at) }, settings)
  const outcome = foldLedger(ws, { until: old, ...it })
  return { ...outcome, upTo: [...ws.folds].map(([client, { folded }]) => [client, folded.entries]), ws }
}
const countOf = (rows: readonly EntryRow[], more: Partial<FoldableLedger> = {}) =>
  fold([ledgerOf(rows, more)]).folded

describe('the entries that a fold takes (docs/semantics.md 11.8)', () => {
  test.each<[string, EntryRow[], Partial<FoldableLedger>, number]>([
    ['all that are old enough', entries(3), {}, 3],
    ['none of an empty ledger', [], {}, 0],
    ['none where there is one alone: it would take the place of itself', entries(1), {}, 0],
    ['two', entries(2), {}, 2],
    ['none from the first that is a ms too young on', entries(4, { 3: { at: old + 1 } }), {}, 2],
    ['no key that still finds its purchase', entries(4, { 3: { key: 'k', at: now.at - keysMs + 1 } }), {}, 2],
    ['a key that finds its purchase no more', entries(4, { 3: { key: 'k', at: now.at - keysMs } }), {}, 4],
    ['none from the reservation of an open task on', entries(4), { open: 3 }, 2],
    ['all before a reservation that is further on', entries(4), { open: 5 }, 4],
    ['none behind a gap', entries(4).toSpliced(2, 1), {}, 2],
    ['none from one whose credits do not follow', entries(4, { 3: { credits: 31 } }), {}, 2],
    ['none from one whose reservations do not follow', entries(4, { 3: { reserved: 4 } }), {}, 2],
    ['none where the first of all is missing', entries(3).slice(1), {}, 0],
    ['none where the first does not begin at nothing', entries(3, { 1: { credits: 11 } }), {}, 0],
    ['none where the first was reserved before', entries(3, { 1: { reserved: 2 } }), {}, 0],
  ])('11.8 %s', (_, rows, more, count) => {
    expect(countOf(rows, more)).toBe(count)
  })

  test('11.8 nothing is folded without rules, where ledgers are kept forever, or of a part that was not loaded', () => {
    const all = [ledgerOf(entries(3))]
    for (const retention of [undefined, {}, { ledger: 'forever' }]) {
      const { config: settings } = parseExecutionConfig(retention === undefined ? {} : { retention })
      const { ws, ...outcome } = fold(all, { settings })
      expect([outcome, ws.hasChanges]).toEqual([{ folded: 0, upTo: [] }, false])
    }
    expect(foldLedger(workingSet({}, config), { until: old })).toStrictEqual({ folded: 0 })
    const elsewhere = workingSet({ foldable: part({ ledgers: all }) }, config)
    expect(foldLedger(elsewhere, { until: old, client: 'ada' })).toStrictEqual({ folded: 0 })
  })

  test('11.8 the ledger of a client that is forgotten in the same commit is passed over', () => {
    const ws = workingSet({ foldable: part({ ledgers: [ledgerOf(entries(3))] }) }, config)
    ws.closedLedgers.add('ada')
    expect(foldLedger(ws, { until: old })).toStrictEqual({ folded: 0 })
    expect(ws.folds.size).toBe(0)
  })

  test('11.8 each ledger of a part is folded by itself, and one that stays ends nothing', () => {
    const bob = entries(2).map((row) => ({ ...row, client: 'bob' }))
    const it = fold([ledgerOf(entries(1)), ledgerOf(bob, { client: 'bob' })])
    expect([it.folded, it.upTo]).toEqual([2, [['bob', 2]]])
  })

  test('11.8 a dry run counts the same and writes nothing', () => {
    const { ws, ...outcome } = fold([ledgerOf(entries(3))], { dryRun: true })
    expect([outcome, ws.hasChanges]).toEqual([{ folded: 3, upTo: [] }, false])
    expect(fold([ledgerOf(entries(3))], { dryRun: false }).upTo).toEqual([['ada', 3]])
  })
})

describe('the entry that a fold writes (docs/semantics.md 11.8)', () => {
  const all = (count: number) => entries(count, { 3: { at: old - 7, task: 7 } })
  const { opening, folded } = fold([ledgerOf(all(3))]).ws.folds.get('ada') ?? {}
  if (opening === undefined || folded === undefined) throw new Error('nothing was folded')

  test('11.8 is an opening with the number, the time and the sums of the last, and the hash of all', () => {
    let hash: Uint8Array = new Uint8Array(32)
    for (const text of [
      '["ada",1,49000,"purchase",10,1,10,1,null,null,null]',
      '["ada",2,49000,"purchase",10,1,20,2,null,null,null]',
      '["ada",3,48993,"purchase",10,1,30,3,7,null,null]',
    ])
      hash = createHash('sha256').update(hash).update(`ku0.ledger.1\n${text}`).digest()
    expect(folded).toEqual({ client: 'ada', entries: 3, hash: Buffer.from(hash).toString('hex') })
    expect(opening).toEqual({
      client: 'ada',
      seq: 3,
      at: old - 7,
      kind: 'opening',
      amount: 30,
      held: 3,
      credits: 30,
      reserved: 3,
      task: null,
      key: null,
      note: `folded:3:${folded.hash}`,
    })
    expect(isFold(opening, folded)).toBe(true)
  })

  test('11.8 stands for those before it once it is folded further: the hash is that of all', () => {
    const it = fold([ledgerOf([opening, ...all(5).slice(3)], { folded })])
    expect([it.folded, it.upTo]).toEqual([2, [['ada', 5]]])
    expect(it.ws.folds.get('ada')).toEqual(fold([ledgerOf(all(5))]).ws.folds.get('ada'))
  })

  test('11.8 is taken whatever the rules keep, and alone it stays', () => {
    const young = { ...opening, at: now.at }
    const rest = all(5).slice(3)
    expect(countOf([young, ...rest], { folded })).toBe(2)
    expect(countOf([young], { folded })).toBe(0)
    for (const other of [{ note: null }, { kind: 'purchase' }, { credits: 999 }] as const)
      expect(countOf([{ ...young, ...other }, ...rest], { folded })).toBe(0)
    expect(countOf([young, ...rest])).toBe(0)
  })
})

describe('a pass over the ledgers (docs/semantics.md 11.8)', () => {
  test('11.8 goes on behind the last entry where there are more and all were taken, else where the part says', () => {
    const next = { client: 'bob' }
    const more = (rows: readonly EntryRow[], isMore: boolean) =>
      fold([ledgerOf(rows, { isMore })], { next }).next
    expect(more(entries(3), true)).toEqual({ client: 'ada', seq: 3 })
    expect(more(entries(3), false)).toEqual(next)
    expect(more(entries(3, { 3: { at: now.at } }), true)).toEqual(next)
    expect('next' in fold([ledgerOf(entries(3))])).toBe(false)
  })

  test('11.8 a dry run goes on from the entry that it counted last, of that client alone', () => {
    const rows = entries(5).slice(1)
    const from = (client: string, seq: number) => fold([ledgerOf(rows)], { dryRun: true, client, seq }).folded
    expect([from('ada', 2), from('ada', 3), from('bob', 2)]).toEqual([3, 0, 0])
  })

  test('11.8 asks for the part at its place, of bounded size, once', () => {
    const wanted = (it: { client?: string; seq?: number; dryRun?: boolean }, foldable = part({})) =>
      new NeedsRound(workingSet({ foldable }).base, ids, [{ kind: 'foldLedger', until: 9, ...it }], {
        lapsed: [],
        orphans: [],
        due: [],
        budgets: [],
      }).run()
    const bounds = { until: 9, entries: 1_000, clients: 500 }
    expect(wanted({})).toBeUndefined()
    expect(wanted({ dryRun: true }, new Map())).toEqual({
      foldable: [{ place: place(null, null), ...bounds }],
    })
    expect(wanted({ client: 'ada' })).toEqual({
      foldable: [{ place: place('ada', null), client: 'ada', ...bounds }],
    })
    expect(wanted({ client: 'ada', seq: 0 })).toEqual({
      foldable: [{ place: place('ada', 0), client: 'ada', seq: 0, ...bounds }],
    })
  })
})
