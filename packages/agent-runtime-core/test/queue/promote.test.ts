import { describe, expect, test } from 'vitest'
import { promote } from '../../src/queue/promote.ts'
import type { TaskRow } from '../../src/transition.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import { now, task, workingSet } from '../transition/rows.ts'

const told = (ws: WorkingSet) => ws.events.map(({ task: of, type }) => [of, type])

describe('tasks whose time has come (docs/semantics.md 2.2, 12.3)', () => {
  const delayed: TaskRow = { ...task, state: 'queued', lease: null, dueAt: now.at, queuedAt: now.at }

  test('one that is queued leaves the delayed, counts in the depth and is claimable since it was due', () => {
    const ws = workingSet({ tasks: [{ ...delayed, dueAt: now.at - 5 }] })
    promote(ws, [delayed])
    expect(ws.task(7)).toMatchObject({ state: 'queued', dueAt: null, queuedAt: now.at - 5 })
    expect(ws.stream(1)).toMatchObject({ depth: 4, delayed: 2 })
    expect([ws.depth, ws.delayed]).toEqual([4, 2])
    expect(ws.queued.get(1)?.map(({ id }) => id)).toEqual([7])
    expect(ws.events).toEqual([])
  })

  test('one that waits for something that has come by now goes on', () => {
    const waiting: TaskRow = { ...delayed, state: 'waiting', waitReason: 'timer', waits: 1 }
    const ws = workingSet({ tasks: [waiting] })
    ws.waits.put(7, [
      { task: 7, key: 'nap', position: 1, kind: 'timer', name: null, dueAt: now.at, terms: null },
    ])
    promote(ws, [waiting])
    expect(ws.task(7)?.state).toBe('queued')
    expect(told(ws)).toEqual([[7, 'task.resumed']])
    expect(ws.delayed).toBe(3)
  })

  test.each<[string, TaskRow | undefined]>([
    ['is gone', undefined],
    ['was promoted in this flush', { ...delayed, dueAt: null }],
    ['is due one ms later by now', { ...delayed, dueAt: now.at + 1 }],
    ['runs', { ...delayed, state: 'running' }],
    ['was canceled in this flush', { ...delayed, state: 'canceled' }],
  ])('one that %s is left alone', (_, row) => {
    const ws = workingSet({ tasks: row === undefined ? [] : [row] })
    promote(ws, [delayed])
    expect([ws.events, [...ws.tasks.changed], ws.depth, ws.delayed]).toEqual([[], [], 3, 3])
  })

  test('one that is due one ms later does not hold up the one behind it', () => {
    const later = { ...delayed, dueAt: now.at + 1 }
    const ws = workingSet({ tasks: [later, { ...delayed, id: 8 }] })
    promote(ws, [later, { ...delayed, id: 8 }])
    expect([...ws.tasks.changed.keys()]).toEqual([8])
  })
})
