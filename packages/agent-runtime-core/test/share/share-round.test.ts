import { describe, expect, test } from 'vitest'
import type { Lane } from '../../src/task/lane.ts'
import { ClaimRound, type Heads } from '../../src/transition.ts'
import { now, worker } from '../transition/rows.ts'
import { SharedStore } from './shared-store.ts'

const defer = { onExceeded: 'defer' }

describe('which task comes next where there are shares (docs/semantics.md C5)', () => {
  test('lanes come before tiers, and these before times', () => {
    const store = new SharedStore()
    store.put('C', { tier: 'contracted' })
    store.submit('CC', { lane: 'batch' })
    store.submit('MMN')
    store.submit('C')
    store.submit('M', { lane: 'interactive' })
    expect(store.served()).toBe('MCNMMCC')
  })

  test('the first of all goes among several groups of one lane, whatever their quotas', () => {
    const store = new SharedStore({}, { quotaConfig: { models: { m: { maxInFlight: 9, ...defer } } } })
    store.submit('AB', { model: 'm' })
    store.submit('CA')
    store.submit('B', { model: 'm' })
    expect(store.claim(9)).toBe('ABCAB')
  })

  test('a group that nothing of could start is passed over, with its clients in their place', () => {
    const store = new SharedStore()
    store.submit('A', { type: 'mail' })
    store.submit('AB')
    store.submit('B', { type: 'mail', lane: 'interactive' })
    expect(store.claim(9)).toBe('AB')
    expect(store.claim(9)).toBe('')
    expect(['A', 'B'].map((name) => store.client(name).queued)).toEqual([1, 1])
    store.submit('B')
    expect(store.claim(9)).toBe('B')
  })

  test('a quota that is full by a start of this round closes its groups, in every lane, and no others', () => {
    const store = new SharedStore({}, { quotaConfig: { models: { m: { maxInFlight: 2, ...defer } } } })
    store.submit('AA', { model: 'm' })
    store.submit('BB', { model: 'm', lane: 'batch' })
    store.submit('C', { lane: 'batch' })
    expect(store.claim(9)).toBe('AAC')
    store.settle('A')
    store.settle('A')
    expect(store.claim(9)).toBe('BB')
  })

  test('a client whose head may not start is left out for the round, and is back for the next', () => {
    const store = new SharedStore({}, { quotaConfig: { clients: { S: { maxInFlight: 1, ...defer } } } })
    store.submit('SSBBB')
    expect(store.claim(3)).toBe('SBB')
    store.settle('S')
    expect(store.claim(3)).toBe('SB')
  })
})

describe('a client that is held back no more (docs/semantics.md 11.3)', () => {
  test.each([
    ['that others share', { models: { m: { maxInFlight: 1, ...defer } } }],
    ['of its own', { clients: { S: { maxInFlight: 1, ...defer } } }],
  ])(
    'by a quota %s goes on before it starts: of those that are level the older is first',
    (_, quotaConfig) => {
      const store = new SharedStore({}, { quotaConfig })
      store.submit('S', { model: 'm' })
      expect(store.claim()).toBe('S')
      store.submit('BBBBBBB')
      store.submit('S', { model: 'm' })
      expect([store.claim(), store.claim(), store.claim()]).toEqual(['B', 'B', 'B'])
      expect(store.times('SB')).toEqual([1, 4])
      store.settle('S')
      expect(store.claim(2)).toBe('BS')
      expect(store.times('SB')).toEqual([5, 5])
    },
  )
})

describe('the clients that are held back as a round ends (docs/semantics.md 11.3)', () => {
  const stalledOf = (store: SharedStore, names: string) =>
    Array.from(names)
      .filter((name) => store.client(name).stalled)
      .join('')

  test('a client none of whose tasks could start, of all its lanes', () => {
    const store = new SharedStore({}, { quotaConfig: { clients: { S: { maxInFlight: 1, ...defer } } } })
    store.submit('SS')
    store.submit('S', { lane: 'batch' })
    expect(store.claim(9)).toBe('S')
    expect(stalledOf(store, 'S')).toBe('S')
  })

  test('not one that also waits for what no worker here runs', () => {
    const store = new SharedStore({}, { quotaConfig: { defaults: { client: { maxInFlight: 1, ...defer } } } })
    store.submit('STU')
    expect(store.claim(9)).toBe('STU')
    store.settle('T')
    // T has room, and U has none.
    store.submit('UT', { type: 'mail' })
    store.submit('S')
    expect(store.claim(9)).toBe('')
    expect(stalledOf(store, 'STU')).toBe('S')
  })

  test('not one that has a task beside for which there is room; a stream with nothing queued is none', () => {
    const stalled = (beside: object) => {
      const store = new SharedStore({}, { quotaConfig: { clients: { S: { tokensPerWindow: 9, ...defer } } } })
      store.submit('S', { lane: 'interactive' })
      expect(store.served()).toBe('S')
      store.submit('S', { tokens: 9 })
      expect(store.claim()).toBe('S')
      store.submit('S', { tokens: 5 })
      store.submit('S', { type: 'mail', ...beside })
      expect(store.claim(9)).toBe('')
      return store.client('S').stalled
    }
    expect([stalled({}), stalled({ tokens: 1 })]).toEqual([false, true])
  })

  test('no pool whose task only wants more tokens than are left', () => {
    const held = (used: number) => {
      const store = new SharedStore({}, { quotaConfig: { models: { m: { tokensPerWindow: 9, ...defer } } } })
      store.submit('A', { model: 'm', tokens: used })
      expect(store.claim()).toBe('A')
      store.submit('A', { model: 'm', tokens: 5 })
      expect(store.claim(9)).toBe('')
      expect(stalledOf(store, 'A')).toBe('')
      return store.pool('["model:m"]')?.held
    }
    expect([held(8), held(9)]).toEqual([false, true])
  })

  test('nobody where places are fixed when tasks are queued, nor where all begin at nothing', () => {
    for (const shares of [{ keying: 'enqueue' }, { placement: 'zero' }]) {
      const store = new SharedStore(shares, { quotaConfig: { clients: { S: { maxInFlight: 1, ...defer } } } })
      store.submit('SS')
      expect(store.claim(9)).toBe('S')
      expect(stalledOf(store, 'S')).toBe('')
    }
  })

  test('a pool is held where its quota has no room, and another is not', () => {
    const store = new SharedStore(
      {},
      { quotaConfig: { models: { m: { maxInFlight: 1, ...defer }, n: { maxInFlight: 9, ...defer } } } },
    )
    store.submit('AA', { model: 'm' })
    store.submit('BB', { model: 'n' })
    expect(store.claim(3)).toBe('ABB')
    store.submit('B', { model: 'n' })
    expect(store.claim(0)).toBe('')
    store.submit('C', { model: 'n', type: 'mail' })
    expect(store.claim(9)).toBe('B')
    expect(['["model:m"]', '["model:n"]'].map((name) => store.pool(name)?.held)).toEqual([true, false])
  })

  test('a pool is held with all of its streams left out, also for quotas of their own', () => {
    const store = new SharedStore(
      {},
      {
        quotaConfig: {
          models: { m: { maxInFlight: 9, ...defer } },
          clients: { S: { maxInFlight: 1, ...defer } },
        },
      },
    )
    store.submit('SSS', { model: 'm' })
    expect(store.claim(9)).toBe('S')
    expect(stalledOf(store, 'S')).toBe('S')
    expect(store.pool('["model:m"]')).toMatchObject({ members: 1, held: true })
  })
})

describe('waiting lifts the oldest of a group (docs/semantics.md C5)', () => {
  const aging = (shares: object = {}) => new SharedStore(shares, { agingMs: 1_000 })
  const later = (store: SharedStore, ms: number) => {
    store.at += ms
    return store
  }
  const lane = (of: Lane) => ({ lane: of })

  test.each([
    [999, 'NB'],
    [1_000, 'BN'],
    [2_000, 'BN'],
  ])('a batch task that waited %i ms, beside a normal one of a client that is level', (ms, order) => {
    const store = aging()
    store.submit('B', lane('batch'))
    later(store, ms).submit('N')
    expect(store.claim(9)).toBe(order)
  })

  test.each([
    [1_999, 'NB'],
    [2_000, 'BN'],
  ])('a batch task that waited %i ms, beside a normal one of a higher tier', (ms, order) => {
    const store = aging()
    store.put('N', { tier: 'contracted' })
    store.submit('B', lane('batch'))
    later(store, ms).submit('N')
    expect(store.claim(9)).toBe(order)
  })

  test('it is the one that was submitted first, whoever comes first by shares', () => {
    const store = aging()
    store.submit('OO', lane('batch'))
    expect(store.claim()).toBe('O')
    later(store, 2_500)
    store.put('Y', { tier: 'contracted' })
    store.submit('YN', lane('batch'))
    store.submit('N')
    expect(store.claim(9)).toBe('ONYN')
  })

  test('one after the other, each as long as it has waited', () => {
    const store = aging()
    store.submit('A', lane('batch'))
    later(store, 1_000).submit('B', lane('batch'))
    later(store, 1_000).submit('I', lane('interactive'))
    later(store, 0).submit('N')
    // A has waited two periods, and B one.
    expect(store.claim(9)).toBe('AIBN')
  })

  test('one that was canceled before it lifts nobody: it is the next that is looked at', () => {
    const store = aging()
    store.submit('A', lane('batch'))
    later(store, 2_500).submit('A', lane('batch'))
    store.submit('N')
    store.cancel('A')
    expect(store.claim(9)).toBe('NA')
  })

  test('a later end of its client changes nothing: a client of another that waited is lifted', () => {
    const store = aging()
    store.submit('AB', lane('batch'))
    later(store, 2_500).submit('A', lane('batch'))
    store.submit('N')
    store.cancel('A')
    expect(store.claim(9)).toBe('BNA')
  })

  test('one that may not run is left out, and the next of its group is lifted', () => {
    const store = new SharedStore(
      {},
      { agingMs: 1_000, quotaConfig: { clients: { A: { maxInFlight: 1, ...defer } } } },
    )
    store.submit('A')
    expect(store.claim()).toBe('A')
    store.submit('AB', lane('batch'))
    later(store, 2_500).submit('NN')
    expect(store.claim(9)).toBe('BNN')
    store.settle('A')
    expect(store.claim(9)).toBe('A')
  })

  test('one that went back to the queue lifts nobody until it has started: then the next does, of one round or of many', () => {
    const started = (slots: readonly number[]) => {
      const store = new SharedStore(
        {},
        { agingMs: 1_000, quotaConfig: { models: { m: { maxInFlight: 9, ...defer } } } },
      )
      store.submit('A', lane('batch'))
      store.submit('C', { model: 'm', ...lane('batch') })
      expect(store.claim(2)).toBe('AC')
      store.submit('B', lane('batch'))
      later(store, 5_000)
      for (const client of 'AC') store.release(client)
      return slots.map((count) => store.claim(count)).join('')
    }
    expect([started([1, 1, 1]), started([3])]).toEqual(['ABC', 'ABC'])
  })

  test('by the place that tasks were given when they were queued, too', () => {
    const store = aging({ keying: 'enqueue' })
    store.submit('AB', lane('batch'))
    later(store, 1_500).submit('N')
    store.cancel('A')
    expect(store.claim(9)).toBe('BN')
  })
})

describe('heads that are not known yet where there are shares (docs/semantics.md 11.7)', () => {
  const names = (count: number) =>
    Array.from({ length: count }, (_, n) => String.fromCodePoint(0x4e00 + n)).join('')
  const demander = { ...worker, worker: worker.id, inFlight: 0, lastSeenAt: now.leaseAt }
  /** Those that a round asks for, where it knows the heads of all but these; by their place. */
  const asked = (
    count: number,
    isKnown: (place: number) => boolean,
    more: object = {},
    prepare?: (store: SharedStore) => void,
  ) => {
    const store = new SharedStore({}, more)
    store.submit(names(count))
    prepare?.(store)
    const heads = new Map<number, Heads>(
      [...store.base.heads].filter(([, { upTo }], n) => upTo > 0 && isKnown(n)),
    )
    const streams = [...store.base.streams.keys()]
    store.base = { ...store.base, heads }
    const ws = store.workingSet()
    const round = new ClaimRound(ws, [{ ...demander, capacity: 1 }], new Map())
    const told = round.run()
    // Nothing is moved for what is not known.
    if (told !== undefined) expect(ws.streams.changed.size).toBe(0)
    return told?.map((id) => streams.indexOf(id))
  }

  test('64 are asked for at once, in the order in which they would come', () => {
    expect(asked(3, () => false)).toEqual([0, 1, 2])
    expect(asked(64, () => false)).toHaveLength(64)
    const most = asked(70, () => false)
    expect([most?.length, most?.at(0), most?.at(-1)]).toEqual([64, 0, 63])
  })

  test('known tasks are passed over, and no more than 128 are looked at for that', () => {
    expect(asked(5, (n) => n === 1 || n === 3)).toEqual([0, 2, 4])
    expect(asked(140, (n) => n > 0 && n < 127)).toEqual([0, 127])
    expect(asked(140, (n) => n > 0 && n < 128)).toEqual([0])
  })

  test('where the first is known nobody is asked for', () => {
    expect(asked(3, (n) => n === 0)).toBeUndefined()
  })

  test('where waiting lifts tasks the oldest is asked for first', () => {
    expect(asked(3, () => false, { agingMs: 1_000 })).toEqual([0, 1, 2])
    const last = (store: SharedStore) => {
      store.flush((ws) => {
        const row = ws.client(names(1))
        ws.shares?.putClient({ ...row, time: 1 }, row)
      })
    }
    const most = asked(70, () => false, { agingMs: 1_000 }, last)
    expect([most?.length, most?.at(0), most?.at(1), most?.at(-1)]).toEqual([64, 0, 1, 63])
  })

  test('a head stands by its own place once it is known, not by that of the one before it', () => {
    const store = new SharedStore({ keying: 'enqueue', placement: 'zero' })
    store.submit('A', { cost: 5, lane: 'interactive' })
    store.submit('B', { cost: 3, lane: 'interactive' })
    store.submit('A')
    expect(store.claim(2)).toBe('AB')
    store.submit('AB')
    const first = store.first('A', 'queued')
    const stream = first.stream ?? 0
    const all = store.base.heads
    const heads = new Map(all).set(stream, { rows: [first], upTo: first.id, complete: false })
    store.base = { ...store.base, heads }
    const ws = store.workingSet()
    const round = new ClaimRound(ws, [{ ...demander, capacity: 3 }], new Map())
    expect(round.run()).toEqual([stream])
    heads.set(stream, all.get(stream) ?? { rows: [], upTo: 0, complete: true })
    round.loaded([stream])
    expect(round.run()).toBeUndefined()
    // The places are 0, 3 and 5.
    expect(round.grants.map(({ task }) => ws.stream(task.stream ?? 0).client).join('')).toBe('ABA')
  })

  test('a task that was queued before places were fixed stands where its stream does', () => {
    const before = new SharedStore()
    before.submit('AB')
    const store = new SharedStore({ keying: 'enqueue' })
    store.base = before.base
    expect(store.claim(2)).toBe('AB')
  })
})
