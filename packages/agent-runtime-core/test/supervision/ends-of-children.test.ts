import { describe, expect, test } from 'vitest'
import { spawn } from '../../src/child/spawn.ts'
import { RETRY_KEY } from '../../src/history/replay.ts'
import type { Write } from '../../src/store/port.ts'
import { canonical } from '../../src/codec/codec.ts'
import { settleSupervisors } from '../../src/supervision/settle-supervisors.ts'
import {
  type ChildRestart,
  READY_KEY,
  SUPERVISOR_NAME,
  supervisedKey,
  supervisorKey,
} from '../../src/supervision/supervision.ts'
import { expire, settle } from '../../src/task/settle.ts'
import type { Settlement } from '../../src/task/settlement.ts'
import type { History, TaskRow, WorkingSet } from '../../src/transition.ts'
import type { WaitRow } from '../../src/wait/row.ts'
import { childRow, config, family, ids, lease, type Rows, task, workingSet } from '../transition/rows.ts'

const key = (restart: ChildRestart) => supervisedKey({ id: 'a', restart })
const waitOf = (of: number, named: string): WaitRow => ({
  task: of,
  key: named,
  position: 0,
  kind: 'signal',
  name: SUPERVISOR_NAME,
  dueAt: null,
  terms: null,
})
const supervisor: TaskRow = {
  ...task,
  id: 2,
  state: 'waiting',
  lease: null,
  waitReason: 'signal',
  waits: 2,
}
const history: History = {
  submission: '{"type":"work","lane":"batch","input":2}',
  memos: [],
  doubts: [],
  failedOf: [],
  lastFailure: 0,
}
const leaseId = ids.lease(3)

/** Task 7 runs as a child of supervisor 2, and waits between two tries of a step. */
function house(restart: ChildRestart, maxRestarts = 2, more: Rows = {}): WorkingSet {
  const terms = { strategy: 'one_for_one', maxRestarts, periodMs: 5_000, endsWith: 'children' } as const
  return workingSet({
    tasks: [supervisor, { ...task, parent: 2, waits: 2 }],
    leases: [lease],
    waits: new Map([
      [2, [waitOf(2, supervisorKey(terms))]],
      [7, [waitOf(7, `${RETRY_KEY}1/step`), waitOf(7, 'own')]],
    ]),
    ...family(childRow(2, 7, { key: key(restart) })),
    ...more,
  })
}
const end = (ws: WorkingSet, settlement: Settlement) => settle(ws, { kind: 'settle', leaseId, settlement })
const failed: Settlement = { as: 'failed', kind: 'error', error: '{"message":"no"}' }
const completed: Settlement = { as: 'completed', output: '1' }
const told = (ws: WorkingSet) => ws.events.map(({ task: of, type }) => `${of} ${type}`)
const dataOf = (ws: WorkingSet, type: string) =>
  ws.events.flatMap((event) => (event.type === type ? [JSON.parse(event.data) as object] : []))
const waitsOf = (ws: WorkingSet) => ws.waitsOf({ id: 7 }).map((wait) => wait.key)

describe('a supervised child that fails (docs/semantics.md 14.2)', () => {
  test('14.2 goes back to the queue for its next try, without the pauses between tries of its steps', () => {
    const ws = house('transient')
    expect(end(ws, failed)).toBe('ok')
    expect(told(ws)).toEqual(['2 supervisor.restarted', '7 task.requeued'])
    expect(dataOf(ws, 'task.requeued')).toEqual([
      { attempt: 2, error: { message: 'no' }, leaseId, reason: 'retry', restartedBy: ids.task(2) },
    ])
    expect(ws.task(7)).toMatchObject({ state: 'queued', attempt: 2, crashes: 0, waits: 1 })
    expect(waitsOf(ws)).toEqual(['own'])
    expect(ws.lease(3)).toMatchObject({ state: 'failed', endReason: 'retry' })
  })

  test('14.2 answers the same failure again, and no other', () => {
    const ws = house('transient')
    end(ws, failed)
    const before = ws.events.length
    expect(end(ws, failed)).toBe('ok')
    expect(end(ws, { ...failed, error: '{"message":"other"}' })).toBe('stale')
    expect(end(ws, completed)).toBe('stale')
    expect(end(ws, { as: 'retry', error: '{"message":"other"}', delayMs: 0 })).toBe('stale')
    expect(ws.events).toHaveLength(before)
  })

  test('14.2 fails permanently where it is temporary, or lacks what no restart brings', () => {
    const temporary = house('temporary')
    end(temporary, failed)
    expect(told(temporary)).toEqual(['7 task.failed', '2 child.ended'])
    expect(temporary.isGivenUp(2)).toBe(false)
    for (const kind of ['budget_exceeded', 'not_approved'] as const) {
      const ws = house('permanent')
      end(ws, { ...failed, kind })
      expect(told(ws)).toEqual(['7 task.failed', '2 child.ended'])
      expect(ws.isGivenUp(2)).toBe(true)
    }
  })

  test('14.2 is started again by no supervisor that is about to fail', () => {
    const ws = house('permanent', 2, {
      tasks: [
        supervisor,
        { ...task, parent: 2 },
        { ...task, id: 8, parent: 2, lease: 4, explicitId: 'other' },
      ],
      leases: [lease, { ...lease, id: 4, task: 8 }],
      ...family(
        childRow(2, 7, { key: key('permanent') }),
        childRow(2, 8, { key: supervisedKey({ id: 'b', restart: 'permanent' }) }),
      ),
    })
    end(ws, { ...failed, kind: 'budget_exceeded' })
    settle(ws, { kind: 'settle', leaseId: ids.lease(4), settlement: failed })
    expect(told(ws)).toEqual(['7 task.failed', '2 child.ended', '8 task.failed', '2 child.ended'])
  })

  test('14.2 takes its supervisor along once it has failed too often', () => {
    const ws = house('permanent', 0)
    end(ws, failed)
    settleSupervisors(ws)
    expect(told(ws)).toEqual(['7 task.failed', '2 child.ended', '2 task.failed'])
    expect(dataOf(ws, 'task.failed')[1]).toMatchObject({
      kind: 'escalated',
      error: { cause: { message: 'no' }, details: { child: 'a', restarts: 0 } },
    })
  })

  test.each(['expired', 'owner_dead'] as const)(
    '14.2 %s: a crash counts as before, and the last one of many starts it again as a failure does',
    (reason) => {
      const ws = house('permanent')
      expire(ws, ws.lease(3) ?? lease, reason)
      expect(told(ws)).toEqual(['7 task.requeued'])
      expect(ws.task(7)).toMatchObject({ attempt: 2, crashes: 1 })
      const often = house('permanent', 2, {
        tasks: [supervisor, { ...task, parent: 2, waits: 2, crashes: config.maxCrashes - 1 }],
      })
      expire(often, often.lease(3) ?? lease, reason)
      expect(told(often)).toEqual(['2 supervisor.restarted', '7 task.requeued'])
      const [data] = dataOf(often, 'task.requeued') as { error?: object }[]
      expect(data).toMatchObject({ reason, restartedBy: ids.task(2) })
      // What its holder says of the lost lease comes late, even in the very words.
      expect(end(often, { ...failed, error: canonical(data?.error) })).toBe('stale')
      expect(waitsOf(often)).toHaveLength(2)
      expect(often.task(7)).toMatchObject({ attempt: 2, crashes: config.maxCrashes })
    },
  )
})

describe('a supervised child that completes (docs/semantics.md 14.2)', () => {
  test('14.2 stays so, unless it is permanent', () => {
    for (const restart of ['transient', 'temporary'] as const) {
      const ws = house(restart, 2, { histories: new Map([[7, history]]) })
      end(ws, completed)
      expect(told(ws)).toEqual(['7 task.completed', '2 child.ended'])
      expect([ws.isGivenUp(2), ws.childrenOf({ id: 2 }).size]).toEqual([false, 0])
    }
  })

  test('14.2 is submitted again at its place where it is permanent', () => {
    const ws = house('permanent', 2, { histories: new Map([[7, history]]) })
    end(ws, completed)
    expect(told(ws)).toEqual([
      '2 supervisor.restarted',
      '7 task.completed',
      '2 child.ended',
      '100 task.queued',
      '2 child.spawned',
    ])
    expect([...ws.childrenOf({ id: 2 }).keys()]).toEqual([100])
    expect(ws.isGivenUp(2)).toBe(false)
  })

  test('14.2 is submitted again under its own key, whoever else there is', () => {
    const rows = [childRow(2, 6, { key: 'other' }), childRow(2, 7, { key: key('permanent') })]
    const ws = house('permanent', 2, { histories: new Map([[7, history]]), ...family(...rows) })
    end(ws, completed)
    expect(dataOf(ws, 'child.spawned')).toMatchObject([{ key: key('permanent') }])
  })

  test('14.2 takes its supervisor along where it cannot be submitted again, or completed too often', () => {
    for (const ws of [
      house('permanent'),
      house('permanent', 2, { histories: new Map([[7, { fault: { seq: 1, expected: 'a', actual: 'b' } }]]) }),
      house('permanent', 0, { histories: new Map([[7, history]]) }),
    ]) {
      end(ws, completed)
      expect(ws.isGivenUp(2)).toBe(true)
      expect(ws.task(7)?.state).toBe('completed')
      expect(ws.task(100)).toBeUndefined()
    }
  })
})

describe('a supervisor that spawns its children (docs/semantics.md 14.2)', () => {
  const it = (more: Partial<Write<'spawn'>> = {}): Write<'spawn'> => ({
    kind: 'spawn',
    leaseId,
    key: key('transient'),
    position: 3,
    policy: 'cancel',
    submission: { type: 'work', lane: 'batch', input: '2' },
    ...more,
  })
  const sibling = { id: 'b', restart: 'permanent', until: 'ready' } as const
  const before = (state: TaskRow['state']): Rows => ({
    tasks: [
      task,
      { ...task, id: 5, lease: null, explicitId: 'old', state: 'failed' },
      { ...task, id: 6, lease: null, parent: 5, state },
    ],
    leases: [lease],
    explicitIds: new Map([['old', 5]]),
    ...family(childRow(5, 6, { key: key('transient'), state: 'closed' })),
    histories: new Map([[6, history]]),
  })

  test('14.2 spawns none before those that come before it', () => {
    const rows = (memo: number): Rows => ({
      tasks: [task, { ...task, id: 8, lease: null, parent: 7 }],
      leases: [lease],
      ...family(childRow(7, 8, { key: supervisedKey(sibling) })),
      memos: new Map([[8, new Map([[READY_KEY, memo]])]]),
    })
    const after = (memo: number) => spawn(workingSet(rows(memo)), it({ after: [sibling] }))
    expect(after(0)).toEqual({ fenced: 'ok', as: 'not_yet' })
    expect(after(4)).toMatchObject({ as: 'spawned' })
    expect(spawn(workingSet(rows(0)), it({ after: [] }))).toMatchObject({ as: 'spawned' })
  })

  test('14.2 keeps a child of the one that it is a retry of, where that completed', () => {
    const ws = workingSet(before('completed'))
    expect(spawn(ws, it({ retryOf: 'old' }))).toMatchObject({
      as: 'spawned',
      child: { key: key('transient'), position: 3, taskId: ids.task(6), seq: 3 },
    })
    expect(dataOf(ws, 'child.inherited')).toEqual([
      { key: key('transient'), policy: 'cancel', position: 3, taskId: ids.task(6), type: 'work' },
    ])
    expect(told(ws)).toEqual(['7 child.inherited'])
    expect(ws.child(7, key('transient'))).toMatchObject({ task: 6, state: 'closed' })
    expect(ws.childrenOf(task).size).toBe(0)
  })

  test('6.3 tries a child again that failed, as a fork of it', () => {
    const ws = workingSet(before('failed'))
    spawn(ws, it({ retryOf: 'old' }))
    expect(told(ws)).toEqual(['100 task.queued', '7 child.spawned'])
    expect(dataOf(ws, 'task.queued')).toMatchObject([{ forkOf: ids.task(6), asRetry: true }])
    const fresh = workingSet(before('failed'))
    spawn(fresh, it())
    expect(dataOf(fresh, 'task.queued')[0]).not.toHaveProperty('forkOf')
  })
})
