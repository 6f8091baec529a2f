import { expect, test } from 'vitest'
import type { TaskRow } from '@ku0/agent-runtime-core/transition'
import { HeadsAhead } from '../../src/postgres/reads/heads-ahead.ts'

const wanted = [{ stream: 7, after: 0, limit: 20 }]

function found(stream: number): {
  heads: { stream: number; after: number; limit: number; rows: TaskRow[]; texts: string[] }[]
} {
  return { heads: [{ stream, after: 0, limit: 20, rows: [], texts: [] }] }
}

test('nothing is asked for ahead before a flush has claimed', () => {
  expect(new HeadsAhead().begin()).toEqual([])
})

test('the streams of the last claim are asked for from their beginning', () => {
  const ahead = new HeadsAhead()
  expect(ahead.answer({ heads: [{ stream: 7, after: 30, limit: 20 }] })).toBeUndefined()
  expect(ahead.begin()).toEqual(wanted)
})

test('a flush is answered once by rows that were read ahead', () => {
  const ahead = new HeadsAhead()
  ahead.answer({ heads: wanted })
  ahead.take(found(7))
  expect(ahead.answer({ heads: [{ stream: 7, after: 0, limit: 500 }] })).toEqual(found(7))
  expect(ahead.answer({ heads: wanted })).toBeUndefined()
})

test('a flush that wants another stream, or later tasks, is not answered by rows that were read ahead', () => {
  const ahead = new HeadsAhead()
  ahead.take(found(7))
  expect(ahead.answer({ heads: [...wanted, { stream: 8, after: 0, limit: 20 }] })).toBeUndefined()
  ahead.take(found(7))
  expect(ahead.answer({ heads: [{ stream: 7, after: 3, limit: 20 }] })).toBeUndefined()
})

test('rows of the transaction before are forgotten', () => {
  const ahead = new HeadsAhead()
  ahead.answer({ heads: wanted })
  ahead.take(found(7))
  ahead.begin()
  expect(ahead.answer({ heads: wanted })).toBeUndefined()
})

test('streams are no longer asked for that two flushes had no use for', () => {
  const ahead = new HeadsAhead()
  ahead.answer({ heads: wanted })
  expect([ahead.begin(), ahead.begin(), ahead.begin()]).toEqual([wanted, wanted, []])
})

test('a flush with many streams asks for none of them ahead', () => {
  const ahead = new HeadsAhead()
  ahead.answer({ heads: Array.from({ length: 9 }, (_, stream) => ({ stream, after: 0, limit: 1 })) })
  expect(ahead.begin()).toEqual([])
})

test('a flush that wants one stream after the other has both of them ahead the next time', () => {
  const ahead = new HeadsAhead()
  const second = [{ stream: 8, after: 0, limit: 5 }]
  ahead.answer({ heads: wanted })
  ahead.answer({ heads: second })
  expect(ahead.begin()).toEqual([...wanted, ...second])
  ahead.take(found(7))
  ahead.take(found(8))
  expect(ahead.answer({ heads: wanted })).toEqual(found(7))
  expect(ahead.answer({ heads: second })).toEqual(found(8))
})

test('where each flush wants another stream than the one before it, none is asked for, until one wants the same', () => {
  const ahead = new HeadsAhead()
  const asked = (stream: number) => {
    const streams = ahead.begin().map((it) => it.stream)
    ahead.answer({ heads: [{ stream, after: 0, limit: 20 }] })
    return streams
  }
  expect([7, 8, 7, 8, 7, 8].map(asked)).toEqual([[], [7], [8], [], [], []])
  expect([8, 8].map(asked)).toEqual([[], [8]])
})
