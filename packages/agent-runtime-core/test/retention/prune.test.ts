import { describe, expect, test } from 'vitest'
import { prune } from '../../src/retention/prune.ts'
import type { PrunableRow } from '../../src/retention/row.ts'
import { parseExecutionConfig } from '../../src/schemas.ts'
import { NeedsRound, type TaskRow } from '../../src/transition.ts'
import { ids, now, prunableRow, type Rows, task, workingSet } from '../transition/rows.ts'

const { config: rules } = parseExecutionConfig({
  retention: { completed: { ageMs: 1_000 }, failed: { count: 2 }, canceled: 'forever' },
})
const over = (id: number, changes: Partial<TaskRow> = {}): TaskRow => ({
  ...task,
  id,
  state: 'completed',
  lease: null,
  finishedAt: now.at - 1_000,
  ...changes,
})
const prunable = (id: number, changes: Partial<PrunableRow> = {}) => prunableRow({ id, ...changes })
const rowsOf = (...all: readonly PrunableRow[]): Rows => ({
  tasks: all.map(({ id, state }) => over(id, { state })),
  prunable: new Map(all.map((row) => [row.id, row])),
})
const range = (count: number) => Array.from({ length: count }, (_, at) => at + 1)
const none = { completed: 0, failed: 0, canceled: 0 }

function pruned(rows: Rows, it: Parameters<typeof prune>[1], settings = rules) {
  const ws = workingSet(rows, settings)
  return { ...prune(ws, it), gone: ws.pruned.map(({ id }) => id), ws }
}

describe('a pass over tasks that ended (docs/semantics.md 6.6)', () => {
  test('6.6 deletes those that the rules no longer keep, and counts them by state', () => {
    const rows = rowsOf(
      prunable(1),
      prunable(2, { finishedAt: now.at - 999 }),
      prunable(3, { state: 'failed' }),
      prunable(4, { state: 'failed' }),
      prunable(5, { state: 'canceled' }),
    )
    const newest = [{ state: 'failed', count: 2, from: 4 }] as const
    const { ws: _, ...outcome } = pruned(rows, { tasks: [1, 2, 3, 4, 5], newest })
    expect(outcome).toEqual({ pruned: { completed: 1, failed: 1, canceled: 0 }, looked: 5, gone: [1, 3] })
    expect(pruned(rows, { tasks: [1, 2, 3, 4, 5] }).gone).toEqual([1])
  })

  test('6.6 deletes nothing without rules, and need not look at them', () => {
    const { config } = parseExecutionConfig()
    const { ws: _, ...outcome } = pruned(rowsOf(prunable(1)), { tasks: range(201) }, config)
    expect(outcome).toEqual({ pruned: none, looked: 201, gone: [] })
  })

  test('6.6 passes over a task that is not there, that changed in the same commit, or that another pass deleted', () => {
    const rows = rowsOf(prunable(1), prunable(2))
    const ws = workingSet(rows, rules)
    ws.tasks.put(2, over(2, { seq: 9 }))
    expect(prune(ws, { tasks: [1, 2, 3] })).toEqual({ pruned: { ...none, completed: 1 }, looked: 3 })
    expect(prune(ws, { tasks: [1] })).toEqual({ pruned: none, looked: 1 })
    expect(ws.pruned.map(({ id }) => id)).toEqual([1])
  })

  test('6.6 deletes a child with its parent, in a dry run and behind another pass, too', () => {
    const rows = rowsOf(prunable(1), prunable(2, { parent: 1 }), prunable(3, { parent: 9 }))
    expect(pruned(rows, { tasks: [1, 2, 3] }).gone).toEqual([1, 2])
    expect(pruned(rows, { tasks: [2, 1] }).gone).toEqual([1])
    const { ws: _, ...dry } = pruned(rows, { tasks: [1, 2, 3], dryRun: true })
    expect(dry).toEqual({ pruned: { ...none, completed: 2 }, looked: 3, gone: [] })
    const ws = workingSet(rows, rules)
    prune(ws, { tasks: [1] })
    prune(ws, { tasks: [2], dryRun: false })
    expect(ws.pruned.map(({ id }) => id)).toEqual([1, 2])
  })

  test('6.6 looks at 200 tasks at the most', () => {
    const rows = rowsOf(...range(201).map((id) => prunable(id)))
    expect(pruned(rows, { tasks: range(200) })).toMatchObject({ looked: 200 })
    expect(pruned(rows, { tasks: range(201) })).toMatchObject({ looked: 200, pruned: { completed: 200 } })
    expect(pruned(rows, { tasks: [] })).toMatchObject({ looked: 0, pruned: none })
  })

  test.each([
    [[800, 1], 1],
    [[799, 1, 1], 2],
    [[799, 1], 2],
    [[400, 399, 400, 1], 3],
    [[9_000], 1],
  ] as const)('6.6 looks at tasks with %j events, until there are 800: %i of them', (events, looked) => {
    const all = events.map((_, at) => prunable(at + 1))
    const tasks = events.map((seq, at) => over(at + 1, { seq }))
    expect(pruned({ ...rowsOf(...all), tasks }, { tasks: range(events.length) })).toMatchObject({
      looked,
      pruned: { completed: looked },
    })
  })

  test('6.6 a task that is not there any more has no events', () => {
    const rows = rowsOf(prunable(2))
    expect(pruned(rows, { tasks: [1, 2] })).toMatchObject({ looked: 2, gone: [2] })
  })
})

describe('the rows that a pass over tasks that ended needs (docs/semantics.md 6.6)', () => {
  const wanted = (rows: Rows, tasks: readonly number[]) =>
    new NeedsRound(workingSet(rows).base, ids, [{ kind: 'prune', tasks }], {
      lapsed: [],
      orphans: [],
      due: [],
      budgets: [],
    }).run()

  test('6.6 the tasks first, 200 of them at the most', () => {
    expect(wanted({}, [1, 2])).toEqual({ tasks: [1, 2] })
    expect(wanted({ tasks: [over(1)] }, [1, 2])).toEqual({ tasks: [2] })
    expect(wanted({}, range(201))).toEqual({ tasks: range(200) })
  })

  test('6.6 then what decides about those that are looked at and have ended', () => {
    const open = { ...task, id: 2, finishedAt: null }
    const rows = { tasks: [over(1), open, over(3)], prunable: new Map([[3, prunable(3)]]) }
    expect(wanted(rows, [1, 2, 3])).toEqual({ prunable: [over(1)] })
    const many = { tasks: [over(1, { seq: 800 }), over(2)] }
    expect(wanted(many, [1, 2])).toEqual({ prunable: [over(1, { seq: 800 })] })
    expect(wanted({ tasks: [open] }, [2])).toBeUndefined()
  })
})
