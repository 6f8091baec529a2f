import { describe, expect, test } from 'vitest'
import { retryMany } from '../../src/history/retry-many.ts'
import type { History, TaskRow } from '../../src/transition.ts'
import { config, ids, type Rows, task, workingSet } from '../transition/rows.ts'

const history: History = {
  submission: '{"type":"work","lane":"batch","input":1}',
  memos: [],
  doubts: [],
  failedOf: [],
  lastFailure: 0,
}
const over = (id: number, state: TaskRow['state']): TaskRow => ({ ...task, id, lease: null, state })
const tasks = [over(1, 'failed'), over(2, 'canceled'), over(3, 'completed'), over(4, 'failed')]
const histories = new Map(tasks.map(({ id }) => [id, history]))
const taskIds = [1, 2, 3, 4].map((id) => ids.task(id))
const retried = (it: Partial<Parameters<typeof retryMany>[1]> = {}, rows: Rows = {}) => {
  const ws = workingSet({ tasks, histories, ...rows })
  return { ws, counts: retryMany(ws, { taskIds, ...it }) }
}
const none = { retried: 0, before: 0, rejected: 0, skipped: 0 }

describe('many tasks that are tried again (docs/semantics.md 6.3)', () => {
  test('6.3 are those that failed or were canceled, each once', () => {
    const { ws, counts } = retried({ taskIds: [...taskIds, ...taskIds, 'nobody'] })
    expect(counts).toEqual({ ...none, retried: 3, skipped: 2 })
    expect(ws.events.filter(({ type }) => type === 'task.queued')).toHaveLength(3)
  })

  test('6.3 are those of the states that are asked for', () => {
    expect(retried({ states: ['canceled'] }).counts).toEqual({ ...none, retried: 1, skipped: 3 })
    expect(retried({ states: ['completed'] }).counts).toEqual({ ...none, skipped: 4 })
    expect(retried({ taskIds: [] }).counts).toEqual(none)
  })

  test('6.3 are tried again once, unless it is asked for again', () => {
    const { ws } = retried()
    expect(retryMany(ws, { taskIds })).toEqual({ ...none, before: 3, skipped: 1 })
    expect(retryMany(ws, { taskIds, again: false })).toEqual({ ...none, before: 3, skipped: 1 })
    expect(retryMany(ws, { taskIds, again: true })).toEqual({ ...none, retried: 3, skipped: 1 })
  })

  test('6.3 are passed over without a history that can be trusted', () => {
    const fault = { fault: { seq: 1, expected: 'a', actual: 'b' } }
    const some = new Map<number, History>([
      [1, history],
      [2, fault],
    ])
    expect(retried({}, { histories: some }).counts).toEqual({ ...none, retried: 1, skipped: 3 })
  })

  test('6.3 wait where there is no room for more: the rest is for another time', () => {
    const { ws, counts } = retried({}, { depth: config.batchBackpressureThreshold - 1 })
    expect(counts).toMatchObject({ ...none, retried: 1, full: { reason: expect.any(String) } })
    expect(ws.events.filter(({ type }) => type === 'task.rejected')).toEqual([])
  })
})
