import { describe, expect, test } from 'vitest'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import { entriesOf } from '../../src/share/share-tree.ts'
import type { Shares } from '../../src/share/shares.ts'
import { removeClient } from '../../src/share/put-client.ts'
import { newClient, OPEN, poolAmong, shareOrderOf } from '../../src/transition.ts'
import { MICRO } from '../../src/budget/usage.ts'
import { stream } from '../transition/rows.ts'
import { SharedStore } from './shared-store.ts'

const defer = { onExceeded: 'defer' }
/** Shares where tasks of the model `m` come under this limit. */
const limited = (limit: object, shares: object = {}) =>
  new SharedStore(shares, { quotaConfig: { models: { m: { ...limit, ...defer } } } })
const ofM = { model: 'm' }
/** The pool of those whose tasks are all of the model `m`. */
const poolOfM = '["model:m"]'

describe('the client that is served (docs/semantics.md 11.2, 11.4)', () => {
  test('the place is fixed when a slot is free; among level clients the one goes first whose next task is older', () => {
    const store = new SharedStore()
    store.submit('AAAAAB')
    expect(store.served()).toBe('ABAAAA')
    const other = new SharedStore()
    other.submit('CDCD')
    other.cancel('C')
    expect(other.served()).toBe('DCD')
  })

  test('by credits and costs', () => {
    const store = new SharedStore()
    store.put('A', { credits: 2_000 })
    store.submit('ABABABABABAB')
    expect(store.served(9)).toBe('ABABAABAA')
    expect(store.times('AB')).toEqual([3, 3])
    const costly = new SharedStore()
    costly.submit('HH', { cost: 5 })
    costly.submit('LLLLLL')
    expect(costly.served()).toBe('HLLLLLHL')
    expect(costly.times('HL')).toEqual([10, 6])
  })

  test('tiers come first, or weigh', () => {
    const order = (tierPolicy: string) => {
      const store = new SharedStore({ tierPolicy })
      store.put('C', { tier: 'contracted' })
      store.submit('MMCCCCCC')
      return [store.served(), ...store.times('MC')]
    }
    expect(order('strict')).toEqual(['CCCCCCMM', 2, 1.5])
    expect(order('weighted')).toEqual(['MCCCCMCC', 2, 1.5])
  })

  test('a client that gets another tier, or other credits, stands where it belongs at once', () => {
    const store = new SharedStore()
    store.submit('AAABBB')
    store.put('B', { tier: 'contracted' })
    expect(store.served(1)).toBe('B')
    store.put('B', { tier: 'marketplace' })
    expect(store.served(2)).toBe('AB')
    store.put('A', { credits: 500 })
    expect(store.served()).toBe('ABA')
    expect(store.times('AB')).toEqual([5, 2.25])
  })

  test('a task that goes back to the queue stands before those of its client that are younger', () => {
    const store = new SharedStore()
    store.submit('B')
    expect(store.served()).toBe('B')
    store.submit('ABA')
    expect(store.claim()).toBe('A')
    store.release('A')
    // Both are at 1, and the task of A is the oldest.
    expect(store.times('AB')).toEqual([1, 1])
    expect(store.served()).toBe('ABA')
  })

  test('all that are queued or run are counted with their client', () => {
    const store = new SharedStore()
    store.submit('AAA')
    expect(store.claim(2)).toBe('AA')
    expect(store.client('A')).toMatchObject({ queued: 1, running: 2 })
    store.settle('A')
    store.release('A')
    expect(store.client('A')).toMatchObject({ queued: 2, running: 0 })
    store.cancel('A')
    expect(store.client('A')).toMatchObject({ queued: 1, running: 0 })
  })
})

describe('where places are fixed when tasks are queued (docs/semantics.md 11.2)', () => {
  const enqueue = { keying: 'enqueue' }

  test('a later client stands behind, whoever was served less', () => {
    const store = new SharedStore(enqueue)
    store.submit('AAAAAB')
    expect(store.served()).toBe('AAAAAB')
    expect(store.times('AB')).toEqual([5, 1])
    store.submit('B')
    store.submit('A')
    expect(store.first('B', 'queued').account).toStrictEqual({
      cost: MICRO,
      used: null,
      charge: null,
      place: MICRO,
    })
    // What B is served from now on changes nothing of the place that its task has.
    store.submit('B')
    expect(store.served()).toBe('BBA')
  })

  test('a task that comes back keeps its place', () => {
    const store = new SharedStore(enqueue)
    store.submit('AAB')
    expect(store.claim()).toBe('A')
    store.release('A')
    expect(store.first('A', 'queued').account).toMatchObject({ charge: MICRO, place: 0 })
    expect(store.served()).toBe('AAB')
  })

  test('a task that comes back stands no later than a new one of its client would', () => {
    const store = new SharedStore(enqueue)
    store.submit('A')
    expect(store.claim()).toBe('A')
    const task = store.first('A', 'running')
    const account = { cost: MICRO, used: null, charge: MICRO, place: 9 * MICRO }
    store.base = { ...store.base, tasks: new Map([[task.id, { ...task, account }]]) }
    store.release('A')
    expect(store.first('A', 'queued').account).toMatchObject({ place: MICRO })
  })

  test('a head that comes back with another place takes its stream there', () => {
    const store = new SharedStore(enqueue)
    store.submit('AA')
    const task = store.first('A', 'queued')
    const of = task.stream ?? 0
    const standing = (id: number) => {
      const ws = store.workingSet()
      const account = { cost: MICRO, used: null, charge: null, place: -1 }
      ws.shares?.arrive(of, { ...task, id, account })
      return [ws.stream(of).head, ws.stream(of).place]
    }
    expect([standing(task.id), standing(task.id + 1)]).toEqual([
      [task.id, -1],
      [task.id, 0],
    ])
  })

  test('where the place is fixed at dispatch no place is kept', () => {
    const store = new SharedStore()
    store.submit('A')
    expect(store.first('A', 'queued').account).toBeNull()
  })

  test('a client that is held back by quotas is not set apart, nor where all begin at nothing', () => {
    for (const shares of [enqueue, { placement: 'zero' }]) {
      const store = limited({ maxInFlight: 1 }, shares)
      store.submit('AA', ofM)
      expect(store.claim(9)).toBe('A')
      expect(store.client('A')).toMatchObject({ pool: OPEN, stalled: false })
      expect(poolAmong([{ ...stream, quotaKeys: ['model:m'] }], store.config.shares ?? never())).toBe(OPEN)
    }
  })
})

describe('where a client begins (docs/semantics.md 11.3)', () => {
  test('beside those that are active, and of these beside the least; never below where it was', () => {
    const store = new SharedStore()
    store.submit('AAAAABBB')
    expect(store.served(3)).toBe('ABA')
    store.submit('CD')
    expect(store.times('ABCD')).toEqual([2, 1, 1, 1])
    expect(store.client('C')).toMatchObject({ floor: MICRO })
    expect(store.served()).toBe('BCDABAA')
    store.submit('AC')
    expect(store.times('AC')).toEqual([5, 5])
    store.submit('D')
    expect(store.served(1)).toBe('A')
    store.submit('B')
    expect(store.client('B')).toMatchObject({ time: 5 * MICRO, floor: 5 * MICRO })
  })

  test('where nothing is queued, beside those that run', () => {
    const store = new SharedStore()
    store.submit('AA')
    expect(store.served(1)).toBe('A')
    expect(store.claim()).toBe('A')
    store.submit('B')
    expect(store.times('AB')).toEqual([2, 2])
    store.settle('A')
    expect(store.served()).toBe('B')
    store.submit('C')
    expect(store.times('C')).toEqual([0])
  })

  test('clients of its tier count', () => {
    const order = (tierPolicy: string) => {
      const store = new SharedStore({ tierPolicy })
      store.submit('AAA')
      store.served(2)
      store.put('C', { tier: 'contracted' })
      store.submit('C')
      return store.times('C')
    }
    expect([order('strict'), order('weighted')]).toEqual([[0], [2]])
  })

  test('one that has something queued stays where it is, however many come', () => {
    const store = new SharedStore()
    store.submit('AAAB')
    expect(store.served(3)).toBe('ABA')
    store.submit('CA')
    expect(store.times('C')).toEqual([2])
    store.put('C', { credits: 4_000 })
    store.submit('C')
    expect(store.times('C')).toEqual([2])
    expect(store.client('C')).toMatchObject({ floor: 2 * MICRO })
  })

  test('as the paper has it, at its own', () => {
    const store = new SharedStore({ placement: 'zero' })
    store.submit('AAAA')
    store.served(2)
    store.submit('BB')
    expect(store.times('B')).toEqual([0])
    expect(store.served()).toBe('BBAA')
  })
})

describe('the cost of a task (docs/semantics.md 11.1, 11.5)', () => {
  /** What a task of this cost adds, and where its client stands once it is over. */
  const played = (cost: number, used: number | undefined, shares: object = {}, credits = 1_000) => {
    const store = new SharedStore(shares)
    store.put('A', { credits })
    store.submit('A', { cost })
    store.claim()
    const [started] = store.times('A')
    store.settle('A', used)
    const { spent, credits: left } = store.client('A')
    return [started, ...store.times('A'), spent / MICRO, left / MICRO]
  }

  test.each([
    [10, undefined, [10, 10, 10, 1_000]],
    [10, 2.5, [10, 2.5, 2.5, 1_000]],
    [10, 10, [10, 10, 10, 1_000]],
    [10, 12, [10, 12, 12, 1_000]],
    [10, 0, [10, 10, 10, 1_000]],
  ])('an estimate of %d, and %d charged', (cost, used, told) => {
    expect(played(cost, used)).toEqual(told)
  })

  test('with a ledger the credits go down by the same', () => {
    expect(played(30, 12, { ledger: true }, 100)).toEqual([300, 120, 12, 88])
    expect(played(30, 42, { ledger: true }, 100)).toEqual([300, 420, 42, 58])
    expect(played(30, undefined, { ledger: true }, 100)).toEqual([300, 300, 30, 70])
  })

  test('the rate is that of its start; if that is unknown, the present one', () => {
    const late = (cost: number) => {
      const store = new SharedStore()
      store.put('A', { credits: 1e9 })
      store.submit('A', { cost })
      store.claim()
      store.put('A', { credits: 1_000 })
      store.settle('A', 1_000)
      return store.times('A')
    }
    // It has added 0.001 for 1000, and 0.000001 for 1, of which 1000 would be too coarse.
    expect([late(1_000), late(1)]).toEqual([[0.001], [1_000]])
  })

  test('is charged once, however often it starts', () => {
    const store = new SharedStore({ ledger: true })
    store.submit('A', { cost: 3 })
    for (const _ of [1, 2]) {
      expect(store.claim()).toBe('A')
      store.release('A')
    }
    expect(store.claim()).toBe('A')
    store.settle('A')
    expect(store.client('A')).toMatchObject({ time: 3 * MICRO, spent: 3 * MICRO, credits: 997 * MICRO })
  })

  test('nothing while it never started', () => {
    const store = new SharedStore({ ledger: true })
    store.submit('A', { cost: 3 })
    store.cancel('A')
    expect(store.client('A')).toMatchObject({ time: 0, spent: 0, credits: 1_000 * MICRO, queued: 0 })
  })

  test('a refund takes no client below where it last began', () => {
    const beside = (comesAgain: boolean) => {
      const store = new SharedStore()
      store.submit('BBB', { cost: 5 })
      store.claim()
      store.submit('A', { cost: 4 })
      expect([store.claim(2), ...store.times('AB')]).toEqual(['BA', 9, 10])
      if (comesAgain) store.submit('A')
      store.settle('A', 1)
      return [...store.times('A'), store.client('A').floor / MICRO]
    }
    expect([beside(false), beside(true)]).toEqual([
      [6, 5],
      [10, 10],
    ])
  })
})

describe('times that rise above 2^52 millionths (docs/semantics.md 11.1, 11.2)', () => {
  const most = 2 ** 52
  /** Millionths, in which it is told exactly who stands where. */
  const timesOf = (store: SharedStore, clients: string) =>
    Array.from(clients, (name) => [store.client(name).time, store.client(name).floor])
  const set = (store: SharedStore, name: string, time: number, floor = time) => {
    store.flush((ws) => {
      const row = ws.client(name)
      ws.shares?.putClient({ ...row, time, floor }, row)
    })
  }

  test('all come down by the least, floors no lower than nothing: that changes no order', () => {
    const store = new SharedStore()
    store.submit('ABC')
    for (const [n, name] of ['A', 'B', 'C'].entries()) set(store, name, most - 10 * n, 40)
    expect(timesOf(store, 'ABC')).toEqual([
      [most, 40],
      [most - 10, 40],
      [most - 20, 40],
    ])
    set(store, 'A', most + 1, most)
    expect(timesOf(store, 'ABC')).toEqual([
      [21, 20],
      [10, 0],
      [0, 0],
    ])
    expect(store.served()).toBe('CBA')
  })

  test('one that is far ahead of all is cut: to half of the most above the least', () => {
    const store = new SharedStore()
    store.submit('AB')
    set(store, 'B', 7)
    set(store, 'A', most + 1, 9)
    expect(timesOf(store, 'AB')).toEqual([
      [most / 2, 2],
      [0, 0],
    ])
  })

  test('clients above the cut are level with it', () => {
    const store = new SharedStore()
    store.submit('ABC')
    set(store, 'B', most - 3)
    set(store, 'A', most + 1)
    expect(timesOf(store, 'ABC')).toEqual([
      [most / 2, most + 1],
      [most / 2, most - 3],
      [0, 0],
    ])
  })

  test('a client that is new at that comes down too', () => {
    const store = new SharedStore()
    store.submit('AB')
    set(store, 'A', most - 10)
    set(store, 'B', most)
    store.flush((ws) => ws.shares?.putClient({ ...newClient(9, 'N'), time: most + 4 }, newClient(9, 'N')))
    expect(timesOf(store, 'ABN')).toEqual([
      [0, 0],
      [10, 10],
      [14, 0],
    ])
  })

  test('a client that leaves its pool at that is counted out of it once', () => {
    const store = limited({ maxInFlight: 1 })
    store.submit('ZBC', ofM)
    expect(store.claim()).toBe('Z')
    store.claim()
    set(store, 'B', 20)
    set(store, 'C', 10)
    store.submit('A')
    set(store, 'A', most)
    expect(store.client('B').pool).toBe(poolOfM)
    store.submit('B')
    expect(['B', 'C'].map((name) => store.client(name).pool)).toEqual([OPEN, poolOfM])
    expect(store.base.shares.pools.get(poolOfM)?.members).toBe(1)
    expect(store.client('B').time).toBeLessThanOrEqual(most / 2)
  })

  test('one that begins beside those at the most brings all down', () => {
    const store = new SharedStore()
    store.submit('AA')
    set(store, 'A', most, 3)
    store.submit('B')
    expect(timesOf(store, 'AB')).toEqual([
      [0, 0],
      [0, 0],
    ])
  })

  test('where places are fixed when tasks are queued they stop, and come down once nothing is under way', () => {
    const store = new SharedStore({ keying: 'enqueue' })
    store.submit('AAB')
    set(store, 'A', most + 9, 5)
    expect(timesOf(store, 'A')).toEqual([[most, 5]])
    expect(store.claim(3)).toBe('AAB')
    expect(timesOf(store, 'AB')).toEqual([
      [most, 5],
      [MICRO, 0],
    ])
    set(store, 'B', most + 1)
    expect(timesOf(store, 'B')).toEqual([[most, most + 1]])
    for (const name of 'AAB') store.settle(name)
    expect(timesOf(store, 'AB').map(([time]) => time)).toEqual([most, most])
    // One that runs keeps them as well.
    store.submit('B')
    expect(timesOf(store, 'AB').map(([time]) => time)).toEqual([0, 0])
  })
})

describe('the known clients', () => {
  test('a new one has 1000 credits and nothing else', () => {
    expect(newClient(3, 'ada')).toStrictEqual({
      asks: null,
      id: 3,
      name: 'ada',
      credits: 1_000 * MICRO,
      tier: 'marketplace',
      time: 0,
      floor: 0,
      spent: 0,
      reserved: 0,
      entries: 0,
      queued: 0,
      running: 0,
      pool: OPEN,
      seen: 0,
      stalled: false,
    })
  })

  test('a new client is one more than there are', () => {
    const store = new SharedStore()
    store.submit('AB')
    const ws = store.workingSet()
    expect([ws.shares?.crowdedBy('C'), ws.shares?.crowdedBy('A')]).toEqual([2, undefined])
    ws.client('C')
    expect([ws.shares?.crowdedBy('D'), ws.shares?.crowdedBy('C')]).toEqual([3, undefined])
  })

  test('an order cannot be made of streams whose clients are not there', () => {
    const { shares } = parseExecutionConfig({ shares: {} }).config
    const row = { ...stream, client: 'ada' }
    const of = (depth: number) => shareOrderOf([{ ...row, depth }], new Map(), shares ?? never())
    expect(() => of(1)).toThrow('client ada of stream 1 was not loaded')
    expect(of(0)).toStrictEqual({ entries: new Map(), trees: new Map(), ages: new Map(), pools: new Map() })
  })

  test('one that is forgotten is nobody', () => {
    const store = new SharedStore()
    store.submit('A')
    store.served()
    expect(store.flush((ws) => removeClient(ws, { kind: 'removeClient', name: 'A' }))).toEqual({
      as: 'removed',
    })
    expect(() => store.client('A')).toThrow('there is no client A')
    store.submit('A')
    expect(store.times('A')).toEqual([0])
  })
})

describe('clients that quotas hold back (docs/semantics.md 11.3)', () => {
  /** A has one task of the model under way, and one that waits for it. */
  const held = () => {
    const store = limited({ maxInFlight: 1 })
    store.submit('AA', ofM)
    expect(store.claim(9)).toBe('A')
    expect(store.pool(poolOfM)).toMatchObject({ members: 1, held: true })
    return store
  }

  test('nobody is placed beside them, while others wait; else beside those that run', () => {
    const store = held()
    store.submit('BBBB')
    expect(store.times('AB')).toEqual([1, 1])
    expect(store.served(3)).toBe('BBB')
    store.submit('C')
    expect(store.times('ABC')).toEqual([1, 4, 4])
  })

  test('where there is room again they go on beside the active: nothing was saved up', () => {
    const store = held()
    store.submit('BBBBBBB')
    store.served(3)
    store.settle('A')
    expect(store.times('AB')).toEqual([1, 4])
    expect(store.claim()).toBe('A')
    expect(store.times('AB')).toEqual([5, 4])
    expect(store.pool(poolOfM)).toBeUndefined()
    expect(store.client('A')).toMatchObject({ pool: OPEN, floor: 3 * MICRO })
  })

  test('a client that was ahead stays there', () => {
    const store = limited({ maxInFlight: 1 })
    store.submit('AAA', { ...ofM, cost: 9 })
    store.submit('BBBBBBB')
    expect(store.claim(3)).toBe('ABB')
    store.settle('A')
    expect(store.claim()).toBe('B')
    expect(store.times('AB')).toEqual([9, 3])
    expect(store.claim(7)).toBe('BBBBA')
    expect(store.times('AB')).toEqual([18, 7])
  })

  test('a task that nothing holds back lets the whole client go on', () => {
    const store = held()
    store.submit('BBBBB')
    store.served(3)
    store.submit('A')
    expect(store.times('AB')).toEqual([4, 4])
    expect(store.client('A')).toMatchObject({ pool: OPEN })
    expect([store.claim(), store.claim(), store.claim()]).toEqual(['B', 'A', 'B'])
    expect(store.client('A')).toMatchObject({ pool: poolOfM })
  })

  test('a task that is held back as well moves nobody on', () => {
    const store = held()
    store.submit('BBBB')
    store.served(3)
    store.submit('A', ofM)
    expect(store.times('AB')).toEqual([1, 4])
  })

  test('pools go on by themselves, also where their tasks are of one kind', () => {
    const quotaConfig = { models: { m: { maxInFlight: 2, ...defer }, n: { maxInFlight: 2, ...defer } } }
    const store = new SharedStore({}, { quotaConfig })
    store.submit('AAAA', ofM)
    expect(store.claim(9)).toBe('AA')
    store.submit('B', ofM)
    store.submit('BBBBB', { model: 'n' })
    expect(store.served(4)).toBe('BBBB')
    for (const client of 'AA') store.settle(client)
    expect(store.times('AB')).toEqual([2, 6])
    // A goes on to 6 and is older; then it is at 7, and B comes with its task of m.
    expect(store.claim(3)).toBe('ABB')
    expect(store.times('AB')).toEqual([7, 8])
  })

  test('clients of one pool stay as far apart as they are', () => {
    const store = limited({ maxInFlight: 1 })
    store.put('X', { credits: 4_000 })
    store.submit('XXXXXXYYY', ofM)
    expect(store.claim(9)).toBe('X')
    store.submit('Z'.repeat(20))
    expect(store.served(9)).toBe('Z'.repeat(9))
    expect(store.times('XYZ')).toEqual([0.25, 0, 9.25])
    store.settle('X')
    // Y is the first of them: it is where Z is now, and X a quarter ahead.
    expect(store.claim()).toBe('Y')
    expect(store.times('XYZ')).toEqual([9.5, 10.25, 9.25])
  })

  test('a client that joins them is placed beside the active ones, and so are they', () => {
    const store = held()
    store.submit('BBBBB')
    store.served(3)
    store.submit('C', ofM)
    expect(store.times('ABC')).toEqual([4, 4, 4])
    expect(store.client('C')).toMatchObject({ pool: poolOfM, floor: 4 * MICRO })
    expect(store.pool(poolOfM)).toMatchObject({ members: 2, held: true })
  })

  test('one that comes to those that wait is not served before them for what they waited, also where the active only run', () => {
    const store = held()
    for (let n = 0; n < 5; n++) {
      store.submit('B')
      expect(store.claim()).toBe('B')
    }
    store.submit('CCC', ofM)
    expect(store.times('ABC')).toEqual([6, 6, 6])
    store.settle('A')
    expect(store.claim()).toBe('A')
  })

  test('where nothing else is under way it is placed beside them', () => {
    const store = held()
    store.settle('A')
    store.submit('C', ofM)
    expect(store.times('AC')).toEqual([1, 1])
  })

  test('a change of a client in a pool that went on is timed by the clock of that pool', () => {
    const store = limited({ maxInFlight: 2 })
    store.submit('AAAAAA', ofM)
    expect(store.claim(9)).toBe('AA')
    store.submit('BBBBBBBBB')
    store.served(4)
    store.settle('A')
    store.claim()
    expect(store.times('AB')).toEqual([7, 6])
    store.put('A', { credits: 500 })
    expect(store.times('AB')).toEqual([7, 6])
    expect(store.client('A')).toMatchObject({ time: 7 * MICRO, credits: 500 * MICRO })
    store.settle('A', 3)
    expect(store.times('A')).toEqual([9])
    // By twice what its pool went on, up and down: its streams move along.
    const { seen } = store.client('A')
    expect(seen).toBe(4 * MICRO)
    for (const by of [2 * seen, -2 * seen])
      store.flush((ws) => {
        const row = ws.client('A')
        ws.shares?.putClient({ ...row, time: row.time + by }, row)
      })
    expect(store.times('A')).toEqual([9])
  })

  test('a tier goes on with its own', () => {
    const store = limited({ maxInFlight: 1 })
    for (const name of 'CD') store.put(name, { tier: 'contracted' })
    store.submit('CCAA', ofM)
    expect(store.claim(9)).toBe('C')
    store.submit('DDDDBBBBBBBB', { cost: 2 })
    expect(store.served(7)).toBe('DDDDBBB')
    store.submit('D')
    store.settle('C')
    expect(store.claim()).toBe('C')
    // C has gone on to where D was, and A to where B is.
    expect(store.times('ABCD')).toEqual([6, 6, 2.5, 2.25])
  })

  test('a pool without clients is forgotten, and begins again', () => {
    const store = held()
    store.cancel('A')
    expect(store.pool(poolOfM)).toBeUndefined()
    store.submit('A', ofM)
    expect(store.pool(poolOfM)).toMatchObject({ members: 1, held: false, ahead: [] })
  })
})

describe('a client that a quota of its own holds back (docs/semantics.md 11.3)', () => {
  const own = (limit: object) =>
    new SharedStore({}, { quotaConfig: { clients: { S: { ...limit, ...defer } } } })
  const stalled = () => {
    const store = own({ maxInFlight: 1 })
    store.submit('SSS')
    expect(store.claim(9)).toBe('S')
    expect(store.client('S')).toMatchObject({ stalled: true, pool: OPEN })
    return store
  }

  test('waits for nobody: others begin beside those that could be served', () => {
    const store = stalled()
    store.submit('BBBBBB')
    expect(store.times('SB')).toEqual([1, 1])
    expect(store.served(3)).toBe('BBB')
    store.submit('C')
    expect(store.times('SBC')).toEqual([1, 4, 4])
  })

  test('is beside the active once it has room again', () => {
    const store = stalled()
    store.submit('BBBBBB')
    store.served(3)
    store.settle('S')
    expect(store.times('S')).toEqual([1])
    expect(store.claim()).toBe('S')
    expect(store.client('S')).toMatchObject({ time: 5 * MICRO, floor: 4 * MICRO, stalled: false })
  })

  test('is beside the active once something of it comes that has room', () => {
    const store = stalled()
    store.submit('BBBBBB')
    store.served(3)
    store.submit('S')
    expect(store.client('S')).toMatchObject({ time: MICRO, stalled: true })
    store.settle('S')
    store.submit('S')
    expect(store.client('S')).toMatchObject({ time: 4 * MICRO, stalled: false })
  })

  test('with nothing queued is held back by nothing', () => {
    const store = stalled()
    store.cancel('S')
    expect(store.client('S')).toMatchObject({ stalled: true })
    store.cancel('S')
    expect(store.client('S')).toMatchObject({ stalled: false, queued: 0, running: 1 })
    const ws = store.workingSet()
    ws.shares?.holdBack(new Set(), new Set('S'))
    expect(ws.client('S')).toMatchObject({ stalled: false })
  })

  test('is noted once', () => {
    const ws = stalled().workingSet()
    ws.shares?.holdBack(new Set(), new Set('S'))
    expect(ws.clients.changed.size).toBe(0)
  })
})

describe('reputation in the schedule (docs/semantics.md 11.6)', () => {
  /** What each of so many starts adds to a client whose reputation is 1, or which was never evaluated. */
  const added = (shares: object, starts = 1, reputation: number | null = 1) => {
    const store = new SharedStore(shares)
    const scores = { quality: 1, adherence: 1, speed: 1, cost: 1, errors: 1, revisions: 1 }
    const row = { evaluations: 1, average: scores, latest: scores, lastAt: 0 }
    store.base = {
      ...store.base,
      reputationOf: (agent) => (reputation === null ? undefined : { ...row, agent, reputation }),
    }
    store.submit('A'.repeat(starts))
    expect(store.claim(starts)).toHaveLength(starts)
    return Array.from(store.base.tasks.values(), ({ account }) => account?.charge)
  }

  test('raises the weight, where it has a say', () => {
    expect(added({})).toEqual([1_000_000])
    expect(added({ reputationBeta: 1, exploration: 0 })).toEqual([500_000])
    expect(added({ reputationBeta: 3, exploration: 0 }, 1, 0.5)).toEqual([400_000])
    expect(added({ reputationBeta: 3, exploration: 0 }, 1, null)).toEqual([1_000_000])
    expect(added({ reputationBeta: 1, exploration: 1 })).toEqual([1_000_000])
  })

  test('has none in a share of the starts, which are spread evenly', () => {
    const without = added({ reputationBeta: 1, exploration: 0.25 }, 40).flatMap((charge, n) =>
      charge === 1_000_000 ? [n] : [],
    )
    expect(Math.abs(without.length - 10)).toBeLessThan(2)
    const apart = without.slice(1).map((n, i) => n - (without[i] ?? 0))
    expect([Math.min(...apart), Math.max(...apart)]).toEqual([3, 5])
  })
})

describe('the changes that another process has written of a client', () => {
  test('is taken as it is, beside what is under way here', () => {
    const store = limited({ maxInFlight: 1 })
    store.submit('AA', ofM)
    expect(store.claim(9)).toBe('A')
    store.submit('BBBB')
    store.served(2)
    store.submit('C', ofM)
    expect(store.times('AC')).toEqual([3, 3])
    const before = store.client('A')
    const theirs = {
      ...newClient(70, 'A'),
      credits: 5,
      time: 8 * MICRO,
      floor: 2,
      spent: 3,
      tier: 'contracted' as const,
    }
    store.flush((ws) => ws.shares?.takeOver(theirs, before))
    expect(store.client('A')).toStrictEqual({
      ...theirs,
      queued: 1,
      running: 1,
      pool: poolOfM,
      // By the clock of its new tier, which did not go on.
      seen: 0,
      stalled: false,
    })
    const again = { ...store.client('C'), time: 6 * MICRO }
    store.flush((ws) => ws.shares?.takeOver(again, store.client('C')))
    expect(store.times('AC')).toEqual([8, 6])
  })
})

describe('where a stream stands', () => {
  const streamsOf = (store: SharedStore) => [...store.base.streams.values()]

  test('by the clock of all, also in a pool that went on', () => {
    const store = limited({ maxInFlight: 1 })
    store.submit('AA', ofM)
    expect(store.claim(9)).toBe('A')
    store.submit('BBBB')
    store.served(2)
    store.submit('C', ofM)
    const { shares } = store.workingSet()
    const told = streamsOf(store).map(({ id, client }) => [client, placeIn(shares, id)])
    expect(told).toEqual([
      ['A', { tier: 1, time: 3 * MICRO, sequence: 101, id: 2, tree: expect.any(String) as string }],
      ['B', { tier: 1, time: 3 * MICRO, sequence: 104, id: 3, tree: expect.any(String) as string }],
      ['C', { tier: 1, time: 3 * MICRO, sequence: 106, id: 4, tree: expect.any(String) as string }],
    ])
    const [a, b] = streamsOf(store)
    const beside = (row = a) => Array.from(entriesOf(shares?.beside(row ?? stream)), ({ id }) => id)
    expect([beside(a), beside(b)]).toEqual([[2, 4], [3]])
  })

  test('nowhere with nothing queued', () => {
    const store = new SharedStore({}, { agingMs: 1_000 })
    store.submit('AB')
    const [{ group } = stream] = streamsOf(store)
    const oldest = () => store.workingSet().shares?.oldest(group)
    expect(oldest()).toMatchObject({ tier: 1, time: 0, sequence: 100, id: 2 })
    expect(store.claim()).toBe('A')
    expect(oldest()).toMatchObject({ tier: 1, time: 0, sequence: 101, id: 3 })
    expect(placeIn(store.workingSet().shares, 2)).toBeUndefined()
    expect(store.claim()).toBe('B')
    expect(oldest()).toBeUndefined()
  })

  test('is kept as long as it is the same', () => {
    const store = new SharedStore({}, { agingMs: 1_000 })
    store.submit('AB')
    const { shares } = store.workingSet()
    for (const row of streamsOf(store)) shares?.replace(row)
    expect([shares?.entries.size, shares?.trees.size, shares?.ages.size]).toEqual([0, 0, 0])
  })

  test('out of the order until it is put back', () => {
    const store = new SharedStore({}, { agingMs: 1_000 })
    store.submit('AB')
    store.flush(({ shares }) => {
      const [a = stream, b = stream] = streamsOf(store)
      const all = () => Array.from(shares?.all() ?? [], (tree) => Array.from(entriesOf(tree), ({ id }) => id))
      shares?.park(a)
      shares?.park(a)
      expect([all(), placeIn(shares, 2), shares?.oldest(a.group)?.id]).toEqual([[[3]], undefined, 3])
      shares?.park(b)
      expect([all(), shares?.oldest(a.group)]).toEqual([[[]], undefined])
      for (const row of [a, b]) shares?.replace(row)
      expect([all(), shares?.oldest(a.group)?.id]).toEqual([[[2, 3]], 2])
    })
  })
})

/** Where a stream stands in the order, if it does. */
function placeIn(shares: Shares | undefined, of: number): unknown {
  const entries = [...(shares?.all() ?? [])].flatMap((tree) => [...entriesOf(tree)])
  const entry = entries.find(({ id }) => id === of)
  return entry && shares?.placeOf(entry)
}

function never(): never {
  throw new Error('there are no shares')
}
