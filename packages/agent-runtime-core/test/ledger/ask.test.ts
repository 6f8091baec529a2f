import { describe, expect, test } from 'vitest'
import { exceededCredits, lacksCredits } from '../../src/ledger/afford.ts'
import { askForCredits, endAsk, stillAsks } from '../../src/ledger/ask.ts'
import { post } from '../../src/ledger/post.ts'
import { purchase } from '../../src/ledger/purchase.ts'
import { parseExecutionConfig } from '../../src/schemas.ts'
import { type ClientRow, newClient } from '../../src/transition.ts'
import { entryKey } from '../../src/transition/working-set.ts'
import { now, stream, task, workingSet } from '../transition/rows.ts'

/** In millionths of a credit. */
const one = 1_000_000
const streamOfAda = { ...stream, client: 'ada' }
const client = (changes: Partial<ClientRow> = {}): ClientRow => ({
  ...newClient(1, 'ada', 2),
  entries: 4,
  queued: 3,
  ...changes,
})
const clientsOf = (...rows: readonly ClientRow[]) => new Map(rows.map((row) => [row.name, row]))
const account = { cost: 5 * one, used: null, charge: null, place: null } as const
const asks = { task: 7, at: 1, cost: 5 * one }
const setOf = (changes: Partial<ClientRow> = {}) =>
  workingSet({
    tasks: [{ ...task, state: 'queued', lease: null, account }],
    streams: [streamOfAda],
    clients: clientsOf(client(changes)),
  })

describe('a task that lacks credits (docs/semantics.md 11.9)', () => {
  test('11.9 asks once, in its chain and with its client', () => {
    const ws = setOf()
    askForCredits(ws, streamOfAda, ws.taskNow(task))
    expect(ws.events.map(({ type, data }) => [type, data])).toEqual([
      ['credits.asked', '{"asked":5,"client":"ada","credits":2,"entry":4,"missing":3,"tasks":3}'],
    ])
    expect(ws.task(7)?.account).toEqual({ ...account, asked: 4 })
    expect(ws.clients.get('ada')).toEqual(client({ asks: { task: 7, at: now.at, cost: 5 * one } }))
    askForCredits(ws, streamOfAda, ws.taskNow(task))
    expect(ws.events).toHaveLength(1)
  })

  test('11.9 asks for nothing while another task of its client does', () => {
    const ws = setOf({ asks: { ...asks, task: 8 } })
    askForCredits(ws, streamOfAda, ws.taskNow(task))
    expect([ws.events, [...ws.clients.changed]]).toEqual([[], []])
  })

  test('11.9 asks for one credit where nobody said what it costs', () => {
    const ws = setOf({ credits: 0 })
    askForCredits(ws, streamOfAda, { ...ws.taskNow(task), account: null })
    expect(ws.clients.get('ada')?.asks?.cost).toBe(one)
  })

  test('11.9 a client asks until its credits cover the cost', () => {
    expect(
      [5 * one - 1, 5 * one, 5 * one + 1].map((credits) => stillAsks(client({ asks }), credits)),
    ).toEqual([asks, null, null])
    expect(stillAsks(client(), 0)).toBeNull()
  })

  test('11.9 ends its own request when it leaves the queue, and no other', () => {
    const left = (changes: Partial<ClientRow>, name = 'ada') => {
      const ws = setOf(changes)
      endAsk(ws, { ...streamOfAda, client: name }, ws.taskNow(task))
      return [...ws.clients.changed.values()]
    }
    expect(left({ asks })).toEqual([client()])
    expect(left({ asks: { ...asks, task: 8 } })).toEqual([])
    expect(left({})).toEqual([])
    expect(left({ asks }, 'bob')).toEqual([])
  })

  test('11.9 lacks none where there are no shares', () => {
    const broke = { ...stream, client: 'ada' }
    const settings = parseExecutionConfig({ shares: { ledger: true, outOfCredits: 'park' } }).config
    const lacks = (credits: number, it = settings) => {
      const ws = workingSet({ streams: [broke], clients: clientsOf(client({ credits })) }, it)
      return lacksCredits(ws, broke, { account })
    }
    expect([lacks(5 * one - 1), lacks(5 * one)]).toEqual([true, false])
    expect(lacks(0, parseExecutionConfig().config)).toBe(false)
  })
})

describe('a submission beyond the credits of its client (docs/semantics.md 11.9)', () => {
  const settings = (shares: object) => parseExecutionConfig({ shares }).config
  const rejecting = settings({ ledger: true, outOfCredits: 'reject', startCredits: 2 })
  const objection = (more: object, config = rejecting) =>
    exceededCredits(workingSet({ clients: clientsOf(client()) }, config), {
      type: 'work',
      lane: 'batch',
      input: '1',
      client: 'ada',
      ...more,
    })

  test('11.9 is refused with what is missing, and under which agreement', () => {
    expect(objection({ cost: 2.5 })).toEqual({
      message:
        'client "ada" has 2 credits, and the task is estimated to cost 2.5: 0.5 missing; buy credits, and submit it again',
      verdict: { by: 'credits', client: 'ada', credits: 2, asked: 2.5 },
    })
    expect(objection({ cost: 3, labels: { agreement: 'gold' } })?.message).toContain(
      'the task under the agreement "gold" is estimated',
    )
    expect(objection({ cost: 2.000_001 })?.verdict).toMatchObject({ asked: 2.000_001 })
  })

  test('11.9 is accepted with an estimate of 0, however deep in debt its client is', () => {
    const deep = (cost: number) =>
      exceededCredits(workingSet({ clients: clientsOf(client({ credits: -2 * one })) }, rejecting), {
        type: 'work',
        lane: 'batch',
        input: '1',
        client: 'ada',
        cost,
      })
    expect(deep(0)).toBe(undefined)
    expect(deep(0.000_001)?.verdict).toMatchObject({ credits: -2, asked: 0.000_001 })
  })

  test('11.9 is accepted where they cover it to the millionth, and costs one credit by default', () => {
    expect(objection({ cost: 2 })).toBeUndefined()
    expect(objection({})).toBeUndefined()
    const poor = workingSet({ clients: clientsOf(client({ credits: one - 1 })) }, rejecting)
    const it = { type: 'work', lane: 'batch', input: '1', client: 'ada' } as const
    expect(exceededCredits(poor, it)?.verdict).toEqual({
      by: 'credits',
      client: 'ada',
      credits: 0.999_999,
      asked: 1,
    })
  })

  test('11.9 one of a client that is not there yet is judged by the credits that each begins with', () => {
    expect(objection({ client: 'bob', cost: 2 })).toBeUndefined()
    expect(objection({ client: 'bob', cost: 3 })?.verdict).toMatchObject({ client: 'bob', credits: 2 })
    expect(objection({ client: undefined, cost: 3 })?.verdict).toMatchObject({ client: '', credits: 2 })
  })

  test('11.9 is accepted where the store or its agreement says otherwise', () => {
    expect(objection({ cost: 9, outOfCredits: 'park' })).toBeUndefined()
    expect(objection({ cost: 9 }, settings({ ledger: true, outOfCredits: 'park' }))).toBeUndefined()
    expect(
      objection({ cost: 9, outOfCredits: 'reject' }, settings({ ledger: true, outOfCredits: 'run' })),
    ).toBeDefined()
    expect(objection({ cost: 9, outOfCredits: 'reject' }, settings({}))).toBeUndefined()
    expect(objection({ cost: 9 }, parseExecutionConfig().config)).toBeUndefined()
  })
})

describe('an entry of a ledger (docs/semantics.md 11.8)', () => {
  const posted = (before: ClientRow, it: Parameters<typeof post>[2]) => {
    const ws = workingSet({ clients: clientsOf(before) })
    const after = post(ws, before, it)
    return { after, entries: ws.ledger.map(({ seq, kind, amount, credits }) => [seq, kind, amount, credits]) }
  }

  test('11.8 comes behind those that are there, with the sums after it', () => {
    const { after, entries } = posted(client({ reserved: 2 }), { kind: 'reserve', amount: -5, held: 5 })
    expect(entries).toEqual([[5, 'reserve', -5, 2 * one - 5]])
    expect(after).toEqual(client({ credits: 2 * one - 5, reserved: 7, entries: 5 }))
  })

  test('11.8 is left out where it would change nothing, and not where it only moves what is held', () => {
    const before = client()
    expect(posted(before, { kind: 'settle', amount: 0 })).toEqual({ after: before, entries: [] })
    expect(posted(before, { kind: 'settle', amount: 0, held: 0 }).after).toBe(before)
    expect(posted(before, { kind: 'settle', amount: 0, held: -1 }).entries).toHaveLength(1)
    expect(posted(before, { kind: 'set', amount: 1 }).entries).toHaveLength(1)
  })

  test('11.8 the first of a client that had credits before comes behind an opening with these', () => {
    const first = posted(client({ entries: 0 }), { kind: 'purchase', amount: 3 })
    expect(first.entries).toEqual([
      [1, 'opening', 2 * one, 2 * one],
      [2, 'purchase', 3, 2 * one + 3],
    ])
    expect(first.after).toMatchObject({ credits: 2 * one + 3, entries: 2 })
    expect(posted(client({ entries: 0, credits: 0 }), { kind: 'purchase', amount: 3 }).entries).toEqual([
      [1, 'purchase', 3, 3],
    ])
    expect(posted(client({ entries: 1 }), { kind: 'purchase', amount: 3 }).entries).toHaveLength(1)
  })

  test('11.8 ends the request that it covers', () => {
    const asking = client({ asks })
    expect(posted(asking, { kind: 'purchase', amount: 3 * one - 1 }).after.asks).toBe(asks)
    expect(posted(asking, { kind: 'purchase', amount: 3 * one }).after.asks).toBeNull()
  })
})

describe('a purchase (docs/semantics.md 11.8)', () => {
  const buy = (more: object = {}, rows: Parameters<typeof workingSet>[0] = {}, settings = {}) => {
    const ws = workingSet(
      { clients: clientsOf(client()), ...rows },
      parseExecutionConfig({ maxClients: 1, ...settings }).config,
    )
    return { ws, outcome: purchase(ws, { kind: 'purchaseCredits', name: 'ada', amount: 1.5, ...more }) }
  }

  test('11.8 adds an entry with its key and its note', () => {
    const { ws, outcome } = buy({ key: 'k', note: 'n' })
    expect(outcome).toMatchObject({
      as: 'purchased',
      deduplicated: false,
      entry: { client: 'ada', seq: 5, amount: 1.5, credits: 3.5, key: 'k', note: 'n' },
    })
    expect(ws.clients.get('ada')).toMatchObject({ credits: 3.5 * one, entries: 5 })
    const bare = buy().outcome
    expect('entry' in bare && ['key' in bare.entry, 'note' in bare.entry, 'taskId' in bare.entry]).toEqual([
      false,
      false,
      false,
    ])
  })

  test('11.8 one of a known key is found again, or conflicts where it was of another amount', () => {
    const { ws } = buy({ key: 'k' })
    const entries = new Map([[entryKey('ada', 'k'), ws.lastEntry]])
    const again = buy({ key: 'k' }, { entries })
    expect(again.outcome).toMatchObject({ as: 'purchased', deduplicated: true, entry: { seq: 5 } })
    expect(buy({ key: 'k', amount: 1.6 }, { entries }).outcome).toMatchObject({
      as: 'conflict',
      entry: { amount: 1.5 },
    })
    expect([again.ws.ledger, [...again.ws.clients.changed]]).toEqual([[], []])
    expect(buy({ key: 'other' }, { entries }).outcome).toMatchObject({ deduplicated: false })
  })

  test('11.8 makes a client while there is room for one', () => {
    expect(buy({ name: 'bob' }).outcome).toEqual({ as: 'full' })
    expect(buy({ name: 'bob' }, {}, { maxClients: 2 }).outcome).toMatchObject({ as: 'purchased' })
  })

  test('11.8 leads to 1e9 credits at the most', () => {
    expect(buy({ amount: 1e9 - 2 }).outcome).toMatchObject({ as: 'purchased' })
    expect(buy({ amount: 1e9 - 1.999_999 }).outcome).toEqual({ as: 'too_many', credits: 2 })
  })
})
