import { describe, expect, test } from 'vitest'
import { Rows } from '../../src/transition/rows.ts'
import { tablesThatAre } from '../../src/transition.ts'
import { workingSet } from './rows.ts'

const committed = new Map([
  ['a', 1],
  ['b', 2],
  ['c', 3],
])

describe('the rows of a table in a flush', () => {
  test('a row that nothing has put is the committed one', () => {
    const rows = new Rows(committed)
    expect(['a', 'x'].map((key) => rows.get(key))).toEqual([1, undefined])
    expect([...rows.all()]).toEqual([1, 2, 3])
    expect([...rows.changed]).toEqual([])
  })

  test('a row that was put stands before the committed one, in its place; new rows come last', () => {
    const rows = new Rows(committed)
    rows.put('x', 9)
    rows.put('b', 5)
    expect(['a', 'b', 'x'].map((key) => rows.get(key))).toEqual([1, 5, 9])
    expect([...rows.all()]).toEqual([1, 5, 3, 9])
    expect([...rows.changed]).toEqual([
      ['x', 9],
      ['b', 5],
    ])
  })

  test('a row that was dropped is gone, and can be put again', () => {
    const rows = new Rows<string, number, undefined>(committed)
    rows.put('x', 9)
    for (const key of ['b', 'x']) rows.drop(key)
    expect(['a', 'b', 'x'].map((key) => rows.get(key))).toEqual([1, undefined, undefined])
    expect([...rows.all()]).toEqual([1, 3])
    expect([...rows.changed]).toEqual([
      ['x', undefined],
      ['b', undefined],
    ])
    rows.put('b', 7)
    expect([rows.get('b'), [...rows.all()]]).toEqual([7, [1, 7, 3]])
  })

  test('the committed rows stay as they are', () => {
    const rows = new Rows<string, number, undefined>(committed)
    rows.put('a', 9)
    rows.drop('b')
    expect([...committed.values()]).toEqual([1, 2, 3])
  })
})

describe('the tables below a flush', () => {
  test('each has one lifetime', () => {
    const named = (['lookedUp', 'kept', 'told', 'whole'] as const).flatMap(tablesThatAre)
    const tables = Object.entries(workingSet({}).base).flatMap(([name, table]) =>
      table instanceof Map ? [name] : [],
    )
    expect(new Set<string>(named)).toEqual(new Set(tables))
    expect(named).toHaveLength(tables.length)
  })
})

describe('a flush has something to write', () => {
  test('when a row of its own tables has changed, or an event was appended', () => {
    expect(workingSet({}).hasChanges).toBe(false)
    const ws = workingSet({})
    ws.putQuota({ ...ws.quota('model:big'), queued: 1 })
    expect(ws.hasChanges).toBe(true)
    const told = workingSet({})
    told.events.push({
      task: 7,
      seq: 1,
      type: 'task.queued',
      at: 1,
      data: '{}',
      blob: null,
      hash: new Uint8Array(32),
      also: [],
    })
    expect(told.hasChanges).toBe(true)
  })

  test('has nothing to write when only the place of a stream was corrected', () => {
    const ws = workingSet({})
    ws.moveHead(1, { id: 9, account: null })
    expect([ws.streams.changed.size, ws.hasChanges]).toEqual([1, false])
  })
})
