import { describe, expect, test } from 'vitest'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import type { Write } from '../../src/store/port.ts'
import { clientRecordOf, putClient, removeClient } from '../../src/share/put-client.ts'
import { type ClientRow, newClient } from '../../src/transition.ts'
import { MICRO } from '../../src/budget/usage.ts'
import { config, type Rows, stream, workingSet } from '../transition/rows.ts'

const { config: shared } = parseExecutionConfig({ shares: {} })
const ada = newClient(1, 'ada')
const having = (changes: Partial<ClientRow> = {}, settings = config, rows: Rows = {}) =>
  workingSet({ clients: new Map([['ada', { ...ada, ...changes }]]), ...rows }, settings)
const put = (ws: ReturnType<typeof having>, it: Partial<Write<'putClient'>> = {}) =>
  putClient(ws, { kind: 'putClient', name: 'ada', ...it })
const remove = (ws: ReturnType<typeof having>, name = 'ada') =>
  removeClient(ws, { kind: 'removeClient', name })

const record = {
  name: 'ada',
  credits: 1_000,
  tier: 'marketplace',
  virtualTime: 0,
  spent: 0,
  reserved: 0,
  entries: 0,
  queued: 0,
  running: 0,
}

test('a client as a person reads it: amounts that are kept in millionths are reported in units', () => {
  const row: ClientRow = {
    ...ada,
    credits: 1.5 * MICRO,
    time: 2.5 * MICRO,
    floor: 9,
    spent: 3.5 * MICRO,
    reserved: 0.5 * MICRO,
    entries: 6,
    asks: { task: 7, at: 8, cost: 2 * MICRO },
    queued: 4,
    running: 5,
  }
  expect(clientRecordOf(row, (task) => `task ${task}`)).toStrictEqual({
    name: 'ada',
    credits: 1.5,
    tier: 'marketplace',
    virtualTime: 2.5,
    spent: 3.5,
    reserved: 0.5,
    entries: 6,
    asks: { taskId: 'task 7', asked: 2, missing: 0.5, since: 8 },
    queued: 4,
    running: 5,
  })
})

describe.each([
  ['no shares', config],
  ['shares', shared],
])('the terms that a client gets, where there are %s (docs/semantics.md 11.1)', (_, settings) => {
  test('stands in its row and its answer; what is left out stays', () => {
    const ws = having({ spent: MICRO }, settings)
    expect(put(ws, { credits: 2.000_000_4 })).toStrictEqual({
      as: 'put',
      client: { ...record, credits: 2, spent: 1 },
    })
    expect(put(ws, { tier: 'contracted' })).toStrictEqual({
      as: 'put',
      client: { ...record, credits: 2, tier: 'contracted', spent: 1 },
    })
    expect(ws.clients.changed.get('ada')).toMatchObject({
      credits: 2 * MICRO,
      tier: 'contracted',
      spent: MICRO,
    })
  })

  test('makes it where there is none', () => {
    const ws = having({}, settings)
    expect(put(ws, { name: 'bob', credits: 3 })).toStrictEqual({
      as: 'put',
      client: { ...record, name: 'bob', credits: 3 },
    })
    expect([ws.clients.changed.get('bob')?.credits, ws.clientCount]).toEqual([3 * MICRO, 2])
  })
})

test('there are no more clients than there may be; those that are there may change', () => {
  const one = (maxClients: number) => having({}, { ...config, maxClients })
  const full = one(1)
  expect(put(full, { name: 'bob' })).toStrictEqual({ as: 'full' })
  expect([...full.clients.changed]).toEqual([])
  expect(put(full, { credits: 2 })).toMatchObject({ as: 'put', client: { credits: 2 } })
  expect(put(one(2), { name: 'bob' })).toMatchObject({ as: 'put' })
})

describe('a client that is removed', () => {
  test.each([
    ['no shares', config],
    ['shares', shared],
  ])('is forgotten when it has nothing queued and nothing runs, where there are %s', (_, settings) => {
    const ws = having({}, settings)
    expect(remove(ws)).toStrictEqual({ as: 'removed' })
    expect([[...ws.clients.changed], ws.clientCount]).toEqual([[['ada', undefined]], 0])
    expect(remove(ws)).toStrictEqual({ as: 'unknown' })
  })

  test.each([
    ['queued', { queued: 1 }],
    ['that runs', { running: 1 }],
    ['of each', { queued: 1, running: 1 }],
  ])('stays while it has a task %s', (_, counts) => {
    const ws = having(counts)
    expect(remove(ws)).toStrictEqual({ as: 'busy', client: { ...record, ...counts }, delayed: 0 })
    expect(ws.clients.get('ada')).toMatchObject(counts)
  })

  test('a client stays while it has tasks that are not due yet, and learns how many', () => {
    const streams = [
      { ...stream, client: 'ada', delayed: 2 },
      { ...stream, id: 4, key: 'other', client: 'ada', delayed: 1 },
    ]
    const ws = having({}, shared, { streams, streamsByClient: new Map([['ada', [1, 4]]]) })
    expect(remove(ws)).toStrictEqual({ as: 'busy', client: record, delayed: 3 })
    expect(remove(ws, 'bob')).toStrictEqual({ as: 'unknown' })
  })
})
