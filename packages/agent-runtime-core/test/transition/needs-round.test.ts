import { expect, test } from 'vitest'
import type { Write } from '../../src/store/port.ts'
import { type Base, type Duties, NeedsRound, newClient } from '../../src/transition.ts'
import { ids, lease, type Rows, task, workingSet } from './rows.ts'

const nothingDue: Duties = { lapsed: [], orphans: [], due: [], budgets: [] }

/** A round over committed rows, to which a test adds what was wanted. */
function roundOver(rows: Rows, operations: readonly Write[], duties: Duties = nothingDue) {
  const { base } = workingSet(rows)
  return { base, round: new NeedsRound(base, ids, operations, duties) }
}

/** What a store would have found is known from now on. */
function found(base: Base, { tasks = [], leases = [] }: Pick<Rows, 'tasks' | 'leases'>): void {
  for (const row of tasks) (base.tasks as Map<number, typeof row>).set(row.id, row)
  for (const row of leases) (base.leases as Map<number, typeof row>).set(row.id, row)
}

const step: Write = {
  kind: 'recordStep',
  leaseId: ids.lease(3),
  key: 'fetch',
  position: 0,
  durationMs: 1,
  result: '1',
}
const settle: Write = {
  kind: 'settle',
  leaseId: ids.lease(3),
  settlement: { as: 'completed', output: '1' },
}

test('a step and a settlement of a task that is kept need nothing', () => {
  const { round } = roundOver({ tasks: [task], leases: [lease] }, [step, settle])
  expect(round.run()).toBeUndefined()
})

test('a row that another one leads to is wanted in the next round, each once, however many operations touch it', () => {
  const { base, round } = roundOver({}, [step, settle])
  expect(round.run()).toEqual({ leases: [3] })
  found(base, { leases: [lease] })
  expect(round.run()).toEqual({ tasks: [7] })
  found(base, { tasks: [{ ...task, parent: 2, steps: 1 }] })
  expect(round.run()).toEqual({ memos: [7], tasks: [2] })
  found(base, { tasks: [{ ...task, id: 2, lease: null, state: 'queued' }] })
  ;(base.memos as Map<number, ReadonlyMap<string, number>>).set(7, new Map([['fetch', 3]]))
  expect(round.run()).toEqual({ events: [[7, 3]] })
  expect(round.run()).toBeUndefined()
})

test('a row that was wanted and is still not known does not exist, and is asked for no more', () => {
  const { round } = roundOver({}, [step, { kind: 'cancel', taskId: 'mine' }])
  expect(round.run()).toEqual({ leases: [3], explicitIds: ['mine'] })
  expect(round.run()).toBeUndefined()
})

test('a client needs the task that it asks credits for, which its answer names', () => {
  const asking = { ...newClient(1, 'ada'), asks: { task: 7, at: 1, cost: 1 } }
  const clients = new Map([['ada', asking]])
  for (const kind of ['putClient', 'removeClient'] as const) {
    const { base, round } = roundOver({ clients }, [{ kind, name: 'ada' }])
    expect(round.run()).toEqual({ tasks: [7] })
    found(base, { tasks: [task] })
    expect(round.run()).toBeUndefined()
  }
})

test('a lease that has run out needs its task, and what the end of that touches', () => {
  const { base, round } = roundOver({ leases: [lease] }, [], { ...nothingDue, lapsed: [lease] })
  expect(round.run()).toEqual({ tasks: [7] })
  found(base, { tasks: [{ ...task, parent: 2, budget: 2 }] })
  expect(round.run()).toEqual({ budgets: [2], tasks: [2] })
  expect(round.run()).toBeUndefined()
})
