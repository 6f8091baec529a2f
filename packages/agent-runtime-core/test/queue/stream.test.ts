import { describe, expect, test } from 'vitest'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import type { QuotaRow } from '../../src/transition.ts'
import {
  dequeue,
  enqueue,
  groupOf,
  hold,
  sharedKeys,
  streamFor,
  streamOf,
  streamWith,
} from '../../src/queue/stream.ts'
import type { Holder } from '../../src/queue/holder.ts'
import { now, stream, task, workingSet } from '../transition/rows.ts'

describe('streams (docs/semantics.md 3.4)', () => {
  test('a new one has the next number, and is the same for all that have its lane, type and quota keys', () => {
    const ws = workingSet({})
    const row = streamFor(ws, { lane: 'normal', type: 'work', client: 'a' }, ['model:m'])
    expect(row).toStrictEqual({
      id: 2,
      key: '[1,"work","model:m"]',
      laneRank: 1,
      type: 'work',
      quotaKeys: ['model:m'],
      depth: 0,
      delayed: 0,
      client: '',
      group: '[1,"work","model:m"]',
      head: 0,
      place: 0,
    })
    expect(ws.nextStream).toBe(3)
    expect([ws.stream(2), ws.streamsByKey.changed.get(row.key)]).toEqual([row, row])
    expect(streamFor(ws, { lane: 'normal', type: 'work', client: 'b' }, ['model:m'])).toBe(row)
    const others = [
      streamFor(ws, { lane: 'batch', type: 'work' }, ['model:m']),
      streamFor(ws, { lane: 'normal', type: 'mail' }, ['model:m']),
      streamFor(ws, { lane: 'normal', type: 'work' }, []),
    ]
    expect(others.map(({ id }) => id)).toEqual([3, 4, 5])
  })

  test('one that was committed is known again', () => {
    const known = { ...stream, key: '[2,"work"]' }
    const ws = workingSet({ streams: [known] })
    expect(streamFor(ws, { lane: 'batch', type: 'work' }, [])).toBe(known)
    expect(ws.nextStream).toBe(2)
  })

  test('where there are shares each client has its own, in the group of the others (11)', () => {
    const ws = workingSet({}, parseExecutionConfig({ shares: {} }).config)
    const rows = [{ client: 'a' }, { client: 'b' }, { client: 'a' }, {}].map((whose) =>
      streamFor(ws, { lane: 'normal', type: 'work', ...whose }, ['client:a', 'model:m']),
    )
    expect(rows.map(({ id, client, key }) => [id, client, key])).toEqual([
      [2, 'a', '["[1,\\"work\\",\\"client:a\\",\\"model:m\\"]","a"]'],
      [3, 'b', '["[1,\\"work\\",\\"client:a\\",\\"model:m\\"]","b"]'],
      [2, 'a', '["[1,\\"work\\",\\"client:a\\",\\"model:m\\"]","a"]'],
      [4, '', '[1,"work","client:a","model:m"]'],
    ])
    expect(new Set(rows.map(({ group }) => group))).toEqual(new Set(['[1,"work","model:m"]']))
    expect(streamWith(ws, { laneRank: 1, type: 'work', client: 'b' }, ['client:a', 'model:m']).id).toBe(3)
  })

  test('a quota of each client is no difference between groups, one of a name that begins alike is', () => {
    expect(sharedKeys(['client:a', 'clients:b', 'model:client:c'])).toEqual(['clients:b', 'model:client:c'])
    expect(groupOf(0, 'work', ['client:a'])).toBe('[0,"work"]')
  })

  test('a task that never queued has none, and asking for it is a fault of ours', () => {
    expect(streamOf(task)).toBe(1)
    expect(() => streamOf({ ...task, stream: null })).toThrow('task 7 has no stream')
  })
})

describe('the queue (docs/semantics.md 2.2, 2.4)', () => {
  const queued = { ...task, state: 'queued', lease: null } as const

  test('a task that may start counts in the depth, in its order', () => {
    const ws = workingSet({})
    enqueue(ws, { ...queued, id: 9 })
    enqueue(ws, { ...queued, id: 8 })
    expect(ws.stream(1)).toMatchObject({ depth: 5, delayed: 3 })
    expect([ws.depth, ws.delayed]).toEqual([5, 3])
    expect(ws.queued.get(1)?.map(({ id }) => id)).toEqual([9, 8])
    dequeue(ws, { ...queued, id: 9 })
    expect(ws.stream(1)).toMatchObject({ depth: 4, delayed: 3 })
    expect([ws.depth, ws.delayed]).toEqual([4, 3])
  })

  test('a delayed task counts beside it, and may not start', () => {
    const ws = workingSet({})
    const delayed = { ...queued, dueAt: now.at + 1 }
    enqueue(ws, delayed)
    expect(ws.stream(1)).toMatchObject({ depth: 3, delayed: 4 })
    expect([ws.depth, ws.delayed, [...ws.queued]]).toEqual([3, 4, []])
    dequeue(ws, delayed)
    expect(ws.stream(1)).toMatchObject({ depth: 3, delayed: 3 })
  })
})

describe('the holders of a quota (docs/semantics.md 2.6)', () => {
  const quota = (key: string): QuotaRow => ({
    key,
    queued: 5,
    running: 5,
    windowStart: 1,
    windowCount: 2,
    windowTokens: 3,
    blockedUntil: 4,
  })
  const keys = ['model:m', 'tool:t']
  const limited = () =>
    workingSet({
      streams: [{ ...stream, quotaKeys: keys }],
      quotas: new Map([...keys, 'model:other'].map((key) => [key, quota(key)])),
    })

  test.each<[Holder, Holder, number, number]>([
    ['none', 'queued', 6, 5],
    ['queued', 'running', 4, 6],
    ['running', 'queued', 6, 4],
    ['running', 'none', 5, 4],
    ['queued', 'none', 4, 5],
    ['none', 'none', 5, 5],
    ['running', 'running', 5, 5],
  ])('from %s to %s, of each of its keys', (from, to, queued, running) => {
    const ws = limited()
    hold(ws, task, from, to)
    expect([...ws.quotas.changed.values()]).toStrictEqual(
      keys.map((key) => ({ ...quota(key), queued, running })),
    )
  })
})
