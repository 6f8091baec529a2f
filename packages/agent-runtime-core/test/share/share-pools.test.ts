import { describe, expect, test } from 'vitest'
import { entriesOf } from '../../src/share/share-tree.ts'
import { type ClientRow, newClient, OPEN } from '../../src/transition.ts'
import { poolOf, poolsOf, SharePools } from '../../src/share/share-pools.ts'

const tierOf = ({ tier }: ClientRow) => (tier === 'contracted' ? 0 : 1)
const marketplace = 1
/** A client that waits in the pool `m`, unless something else is said of it. */
const client = (name: string, changes: Partial<ClientRow> = {}): ClientRow => ({
  ...newClient(name.charCodeAt(0), name),
  pool: 'm',
  queued: 1,
  ...changes,
})
/** One that is in the pool that nothing holds back. */
const open = (name: string, changes: Partial<ClientRow> = {}) => client(name, { pool: OPEN, ...changes })
const poolsWith = (...clients: readonly ClientRow[]) => new SharePools(poolsOf(clients, tierOf), tierOf)
/** Who waits and who only runs, by tier, as `name:time`. */
const standing = (pools: SharePools, name: string) => {
  const { waiting, busy } = pools.get(name)
  const told = (trees: typeof waiting) =>
    [0, 1].map((tier) =>
      [...entriesOf(trees[tier])].map(({ id, time }) => `${String.fromCharCode(id)}:${time}`).join(),
    )
  return { waiting: told(waiting), busy: told(busy) }
}

describe('in which pool a client is (docs/semantics.md 11.3)', () => {
  const of = (...keys: readonly (readonly string[])[]) => poolOf(keys.map((quotaKeys) => ({ quotaKeys })))

  test('in the one that is never held back with nothing queued, or anything that no shared quota could hold back', () => {
    expect([of(), of([]), of(['client:a']), of(['model:m'], ['client:a'])]).toEqual([OPEN, OPEN, OPEN, OPEN])
  })

  test('else in that of the kinds of quotas of all that it has queued, each once, in one order', () => {
    expect(of(['client:a', 'model:m', 'tool:t'])).toBe('["model:m","tool:t"]')
    expect(of(['model:n'], ['model:m'], ['client:a', 'model:n'])).toBe('["model:m"]\n["model:n"]')
  })

  test('pools that rows make are held, until it is known that something may start', () => {
    const pools = poolsOf(
      [
        client('b', { time: 5 }),
        client('a', { time: 9, seen: 6 }),
        client('c', { tier: 'contracted', time: 2, running: 1 }),
        client('r', { queued: 0, running: 1, time: 7 }),
        client('s', { stalled: true, time: 1 }),
        open('o', { running: 1, time: 4 }),
        open('p', { queued: 0, running: 1, time: 8 }),
        open('q', { stalled: true, running: 1, time: 3 }),
        open('z', { queued: 0 }),
      ],
      tierOf,
    )
    expect([...pools].map(([name, { members, held, ahead }]) => [name, members, held, ahead])).toEqual([
      ['m', 5, true, []],
      [OPEN, 0, false, []],
    ])
    const known = new SharePools(pools, tierOf)
    expect(standing(known, 'm')).toEqual({ waiting: ['c:2', 'a:3,b:5'], busy: ['c:2', 'r:7'] })
    // One of the open that waits is beside itself already.
    expect(standing(known, OPEN)).toEqual({ waiting: ['', 'o:4'], busy: ['', 'q:3,p:8'] })
    expect(standing(known, 'other')).toEqual({ waiting: ['', ''], busy: ['', ''] })
  })
})

describe('beside whom a client begins (docs/semantics.md 11.3)', () => {
  const least = (pools: SharePools, joined = OPEN, tier = marketplace) => pools.least(tier, joined)

  test('the least of those that could be served, in whichever pool', () => {
    const pools = poolsWith(
      client('a', { time: 1 }),
      client('b', { time: 5, pool: 'n' }),
      client('c', { time: 4, pool: 'o' }),
      open('d', { time: 6 }),
      open('e', { queued: 0, running: 1, time: 2 }),
    )
    expect(least(pools)).toBe(6)
    pools.setHeld('n', false)
    expect(least(pools)).toBe(5)
    pools.setHeld('o', false)
    expect(least(pools)).toBe(4)
    expect(least(pools, 'm')).toBe(4)
    expect(least(pools, OPEN, 0)).toBeUndefined()
  })

  test('where none could be, of those that it joins; then of those that run; then of all that wait', () => {
    const all = [
      client('a', { time: 3 }),
      client('b', { time: 1, pool: 'n' }),
      open('e', { queued: 0, running: 1, time: 2 }),
    ]
    expect(least(poolsWith(...all), 'm')).toBe(3)
    expect(least(poolsWith(...all), 'n')).toBe(1)
    expect(least(poolsWith(...all))).toBe(2)
    expect(least(poolsWith(...all.slice(0, 2)))).toBe(1)
    expect(least(poolsWith())).toBeUndefined()
  })

  test('by the clocks of their pools', () => {
    const pools = poolsWith(client('a', { time: 1 }), client('b', { time: 3 }), open('d', { time: 7 }))
    pools.sync('m')
    pools.move(open('d', { time: 7 }), open('d', { time: 7, queued: 0 }))
    expect(least(pools, 'm')).toBe(7)
    expect(least(pools)).toBe(7)
    pools.setHeld('m', false)
    expect(least(pools)).toBe(7)
  })
})

describe('a pool that is held goes on (docs/semantics.md 11.3)', () => {
  const ahead = (pools: SharePools, name = 'm') => pools.get(name).ahead[marketplace]

  test('until its first is beside the least of those that could be served, and its clients with it', () => {
    const first = client('a', { time: 2, floor: 1 })
    const pools = poolsWith(first, client('b', { time: 3 }), open('d', { time: 7 }), open('e', { time: 9 }))
    expect(pools.current(first)).toBe(first)
    pools.sync('m')
    expect(ahead(pools)).toBe(5)
    expect(pools.ahead(client('b'))).toBe(5)
    expect(pools.ahead(open('d'))).toBe(0)
    expect(pools.current(first)).toStrictEqual({ ...first, time: 7, floor: 6, seen: 5 })
    expect(pools.current({ ...first, seen: 4 })).toStrictEqual({ ...first, time: 3, floor: 2, seen: 5 })
  })

  test('never back', () => {
    const pools = poolsWith(client('a', { time: 2 }), open('d', { time: 7 }))
    pools.sync('m')
    pools.move(open('d', { time: 7 }), open('d', { time: 1 }))
    pools.sync('m')
    expect(ahead(pools)).toBe(5)
    const later = poolsWith(client('a', { time: 8 }), open('d', { time: 7 }))
    later.sync('m')
    expect(ahead(later)).toBe(0)
  })

  test('not where it is held no more, or nothing is under way beside it', () => {
    const pools = poolsWith(client('a', { time: 2 }), open('d', { time: 7 }))
    pools.setHeld('m', false)
    pools.sync('m')
    expect(ahead(pools)).toBeUndefined()
    const alone = poolsWith(client('a', { time: 2 }), client('b', { queued: 0, running: 1, time: 9 }))
    alone.sync('m')
    expect(ahead(alone)).toBeUndefined()
  })

  test('with those that run in other pools, where nobody else could be served', () => {
    const pools = poolsWith(
      client('a', { time: 2 }),
      client('b', { time: 4, pool: 'n', running: 1 }),
      client('c', { time: 1, pool: 'o' }),
    )
    pools.sync('m')
    expect(ahead(pools)).toBe(2)
    pools.sync('o')
    expect(ahead(pools, 'o')).toBe(3)
  })

  test('each tier with its own', () => {
    const pools = poolsWith(
      client('a', { time: 2 }),
      client('c', { time: 3, tier: 'contracted' }),
      open('d', { time: 7, tier: 'contracted' }),
    )
    pools.sync('m')
    expect(pools.get('m').ahead).toEqual([4])
    expect(pools.ahead(client('a'))).toBe(0)
  })
})

describe('a client that comes into a pool, and one that leaves it', () => {
  test('the one that is always open counts nobody; another is forgotten with the last', () => {
    const pools = poolsWith(client('a', { time: 2 }))
    expect(pools.any).toBe(true)
    pools.join(OPEN, 1)
    expect([...pools.changed]).toEqual([])
    pools.join('m', 1)
    expect(pools.get('m')).toMatchObject({ members: 2, held: true })
    pools.join('m', -1)
    expect(pools.any).toBe(true)
    pools.join('m', -1)
    expect(pools.get('m')).toStrictEqual({ members: 0, held: false, ahead: [], waiting: [], busy: [] })
    expect(pools.any).toBe(false)
  })

  test('there is none but the open one where nobody waits in another', () => {
    expect(poolsWith(open('a')).any).toBe(false)
    expect(poolsWith().any).toBe(false)
    const pools = poolsWith(open('a'))
    pools.join('n', 1)
    expect([...pools.names()]).toEqual([OPEN, 'n'])
    expect(pools.any).toBe(true)
    pools.join(OPEN, 1)
    pools.setHeld('n', true)
    expect([...pools.names()]).toEqual([OPEN, 'n'])
  })

  test('only what changes is written, and what nobody is in is not held', () => {
    const pools = poolsWith(client('a'))
    pools.setHeld('m', true)
    pools.setHeld('n', true)
    expect([...pools.changed]).toEqual([])
    pools.setHeld('m', false)
    expect([...pools.changed].map(([name, { held, members }]) => [name, held, members])).toEqual([
      ['m', false, 1],
    ])
  })

  test('a client stands where its row says', () => {
    const before = open('a', { time: 3 })
    const pools = poolsWith(before, open('b', { time: 4 }))
    const steps: readonly [Partial<ClientRow>, readonly string[], readonly string[]][] = [
      [{ time: 5 }, ['', 'b:4,a:5'], ['', '']],
      [{ time: 9, seen: 4 }, ['', 'b:4,a:5'], ['', '']],
      [{ time: 5, queued: 0, running: 1 }, ['', 'b:4'], ['', 'a:5']],
      [{ time: 5, queued: 1, running: 1 }, ['', 'b:4,a:5'], ['', '']],
      [{ time: 5, stalled: true, running: 1 }, ['', 'b:4'], ['', 'a:5']],
      [{ time: 6 }, ['', 'b:4,a:6'], ['', '']],
      [{ time: 6, tier: 'contracted' }, ['a:6', 'b:4'], ['', '']],
      [{ time: 6, queued: 0 }, ['', 'b:4'], ['', '']],
      [{ time: 6 }, ['', 'b:4,a:6'], ['', '']],
      [{ time: 6, id: 'c'.charCodeAt(0) }, ['', 'b:4,c:6'], ['', '']],
    ]
    let row = before
    for (const [changes, waiting, busy] of steps) {
      const next = open('a', changes)
      pools.move(row, next)
      row = next
      expect(standing(pools, OPEN)).toEqual({ waiting, busy })
    }
    pools.move(row, client('a', { time: 6, id: row.id, running: 1 }))
    expect(standing(pools, OPEN)).toEqual({ waiting: ['', 'b:4'], busy: ['', ''] })
    expect(standing(pools, 'm')).toEqual({ waiting: ['', 'c:6'], busy: ['', 'c:6'] })
  })

  test('a client that stays where it is writes nothing', () => {
    const row = open('a', { time: 3 })
    const pools = poolsWith(row)
    pools.move(row, { ...row, credits: 5, queued: 7, running: 2 })
    expect([...pools.changed]).toEqual([])
  })
})
