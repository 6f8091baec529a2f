import { mergeHeads, type Heads, type TaskRow } from '@ku0/agent-runtime-core/transition'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { headsLeft } from '../../src/engine/heads.ts'

type Flushed = Parameters<typeof headsLeft>[1]

const row = (id: number, state: TaskRow['state'] = 'queued', stream = 1) =>
  ({ id, state, stream, dueAt: null }) as TaskRow
const rows = (...ids: readonly number[]) => ids.map((id) => row(id))
const flushed = (it: Partial<Flushed>): Flushed => ({
  stream: 1,
  queued: [],
  taken: 0,
  changed: new Map(),
  most: 8,
  ...it,
})
const all = Number.MAX_SAFE_INTEGER

/** The same, with every row looked at. */
function lookedThrough(known: Heads, it: Flushed): Heads {
  const merged = mergeHeads(known.rows, it.queued, known.upTo, known.complete).slice(it.taken)
  const left = merged.flatMap(({ id }) => {
    const task = it.changed.get(id) ?? row(id)
    return task.state === 'queued' && task.dueAt === null && task.stream === 1 ? [task] : []
  })
  const kept = left.slice(0, it.most)
  const complete = known.complete && kept.length === left.length
  const upTo = complete ? all : kept.length === left.length ? known.upTo : (kept.at(-1)?.id ?? 0)
  return { rows: kept, upTo, complete }
}

test('a task that is queued behind what is kept changes nothing', () => {
  const known: Heads = { rows: rows(1, 2, 3), upTo: 3, complete: false }
  const queued = [row(9)]
  expect(headsLeft(known, flushed({ queued, changed: new Map([[9, row(9)]]) }))).toBe(known)
})

test('one that is queued where all are known comes behind the others, and only it is new', () => {
  const queued = [row(9)]
  const left = headsLeft(
    { rows: rows(1, 2), upTo: all, complete: true },
    flushed({ queued, changed: new Map([[9, row(9)]]) }),
  )
  expect(left).toEqual({ rows: rows(1, 2, 9), upTo: all, complete: true, fresh: rows(9), dropped: [] })
})

test('what is left is what looking at every row leaves', () => {
  const ids = fc.uniqueArray(fc.integer({ min: 1, max: 30 }), { maxLength: 20 })
  const states = fc.constantFrom<TaskRow['state'][]>('queued', 'running', 'canceled')
  fc.assert(
    fc.property(
      ids,
      ids,
      fc.array(fc.tuple(fc.integer({ min: 1, max: 30 }), states, fc.constantFrom(1, 2))),
      fc.nat(6),
      fc.boolean(),
      (headIds, queuedIds, changes, taken, complete) => {
        const known = headIds.toSorted((a, b) => a - b)
        const upTo = complete ? all : (known.at(-1) ?? 0)
        const queued = queuedIds.filter((id) => !headIds.includes(id)).map((id) => row(id))
        const changed = new Map(queued.map((it) => [it.id, it]))
        for (const [id, state, stream] of changes) changed.set(id, row(id, state, stream))
        const heads: Heads = { rows: known.map((id) => row(id)), upTo, complete }
        const it = flushed({ queued, changed, taken })
        const { rows: left, upTo: known2, complete: whole } = headsLeft(heads, it)
        expect({ rows: left, upTo: known2, complete: whole }).toEqual(lookedThrough(heads, it))
      },
    ),
    { seed: 20260730, numRuns: 500 },
  )
})
