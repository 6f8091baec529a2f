import { describe, expect, test } from 'vitest'
import { lostText } from '../../src/supervision/lost-text.ts'
import { settleSupervisors } from '../../src/supervision/settle-supervisors.ts'
import { labelsWithShutdown, SHUTDOWN_LABEL } from '../../src/supervision/shutdown.ts'
import {
  forgetRestarts,
  isAfterOver,
  isThere,
  openChildren,
  restartTimes,
  supervisorOf,
} from '../../src/supervision/standing.ts'
import { restartChild, startChild } from '../../src/supervision/start-child.ts'
import {
  afterKey,
  afterText,
  type ChildRestart,
  READY_KEY,
  RESTART_NAME,
  type Sibling,
  SUPERVISOR_NAME,
  supervisedKey,
  type SupervisorTerms,
  supervisorKey,
} from '../../src/supervision/supervision.ts'
import type { ChildRow, SignalRow, TaskRow, WorkingSet } from '../../src/transition.ts'
import type { WaitRow } from '../../src/wait/row.ts'
import { childRow, config, family, ids, lease, now, type Rows, task, workingSet } from '../transition/rows.ts'

const terms: SupervisorTerms = {
  strategy: 'one_for_one',
  maxRestarts: 2,
  periodMs: 5_000,
  endsWith: 'children',
}
const waitOf = (key: string, more: Partial<WaitRow> = {}): WaitRow => ({
  task: 7,
  key,
  position: 0,
  kind: 'signal',
  name: SUPERVISOR_NAME,
  dueAt: null,
  terms: null,
  ...more,
})
const seat = (id: string, restart: ChildRestart = 'permanent') => supervisedKey({ id, restart })
const supervisor: TaskRow = { ...task, state: 'waiting', lease: null, waitReason: 'signal', waits: 2 }
const waiting = (id: number, changes: Partial<TaskRow> = {}): TaskRow => ({
  ...supervisor,
  id,
  parent: 7,
  waits: 0,
  ...changes,
})
const signalOf = (seq: number, at: number, name = RESTART_NAME): SignalRow => ({
  task: 7,
  seq,
  name,
  at,
  value: '1',
  blob: null,
  outcome: 'received',
})

/** Supervisor 7 with these children, all of which wait. */
function house(
  children: readonly ChildRow[],
  {
    keys = [supervisorKey(terms)],
    tasks = [supervisor, ...children.map((row) => waiting(row.task))],
    ...more
  }: Omit<Rows, 'waits' | 'keys'> & { keys?: readonly string[] } = {},
  settings = config,
): WorkingSet {
  const waits = new Map([[7, keys.map((key) => waitOf(key))]])
  return workingSet({ tasks, waits, ...family(...children), ...more }, settings)
}
const told = (ws: WorkingSet) => ws.events.map(({ task: of, type }) => `${of} ${type}`)
const dataOf = (ws: WorkingSet, type: string) =>
  ws.events.flatMap((event) => (event.type === type ? [JSON.parse(event.data) as object] : []))

describe('the standing of a supervisor (docs/semantics.md 14.1, 14.2)', () => {
  test('14.1 a task is one while it waits under the key of its terms', () => {
    const ws = house([], { keys: ['nap', supervisorKey(terms)] })
    expect(supervisorOf(ws, { id: 7 })).toEqual({
      task: ws.task(7),
      wait: waitOf(supervisorKey(terms)),
      terms,
    })
    expect(supervisorOf(house([], { keys: ['nap'] }), { id: 7 })).toBeUndefined()
    expect(supervisorOf(ws, { id: 8 })).toBeUndefined()
  })

  test('14.1 its open children come in the order in which they were started first; another child is none of them', () => {
    const child = (id: number, position: number, key = seat(`c${id}`)) => childRow(7, id, { key, position })
    const ws = house([child(8, 3), child(10, 1), child(9, 1), child(11, 0, 'own'), child(12, 2)])
    expect(openChildren(ws, { id: 7 }).map(({ id, restart, row }) => [id, restart, row.task])).toEqual([
      ['c9', 'permanent', 9],
      ['c10', 'permanent', 10],
      ['c12', 'permanent', 12],
      ['c8', 'permanent', 8],
    ])
    expect(openChildren(ws, { id: 8 })).toEqual([])
  })

  test.each<[string, Sibling['until'], Partial<TaskRow>, number, boolean]>([
    ['that completed', 'completed', { state: 'completed' }, 0, true],
    ['that completed without a word', 'ready', { state: 'completed' }, 0, true],
    ['that failed', 'completed', { state: 'failed' }, 0, false],
    ['that is ready', 'ready', {}, 4, true],
    ['that was ready and failed', 'ready', { state: 'failed' }, 4, true],
    ['that is only ready', 'completed', {}, 4, false],
    ['whose word is void', 'ready', {}, 0, false],
  ])('14.2 a sibling %s, where another waits until it is %s', (_, until, changes, memo, there) => {
    const sibling = { id: 'a', restart: 'permanent', until } as const
    const ws = house([childRow(7, 8, { key: seat('a') })], {
      tasks: [supervisor, waiting(8, changes)],
      memos: new Map([[8, new Map([[READY_KEY, memo]])]]),
    })
    expect(isThere(ws, { id: 7 }, sibling)).toBe(there)
    expect(isThere(ws, { id: 7 }, { ...sibling, id: 'b' })).toBe(false)
    expect(isThere(ws, { id: 7 }, { ...sibling, restart: 'transient' })).toBe(false)
  })

  test('14.2 a child may start once all before it are there; another wait is never over by that', () => {
    const ws = house([childRow(7, 8, { key: seat('a') }), childRow(7, 9, { key: seat('b') })], {
      tasks: [supervisor, waiting(8, { state: 'completed' }), waiting(9)],
    })
    const after = (...names: readonly string[]) =>
      isAfterOver(
        ws,
        { id: 7 },
        {
          key: afterKey(
            0,
            'c',
            names.map((id) => ({ id, restart: 'permanent', until: 'completed' })),
          ),
        },
      )
    expect([after(), after('a'), after('a', 'b'), after('none')]).toEqual([true, true, false, false])
    expect(isAfterOver(ws, { id: 7 }, { key: 'nap' })).toBe(false)
  })

  test('14.2 restarts count by their times; another signal is none of them', () => {
    const signals = new Map([[7, [signalOf(1, 10), signalOf(2, 20, 'mail'), signalOf(3, 30)]]])
    const ws = house([], { signals })
    expect(restartTimes(ws, { id: 7 })).toEqual([10, 30])
    expect(restartTimes(ws, { id: 8 })).toEqual([])
  })

  test.each([
    [undefined, [20]],
    [0, [20]],
    [1, [20, 30]],
    [2, [10, 20, 30]],
  ] as const)('14.2 all restarts but the last are forgotten, and no other signal: %j', (left, kept) => {
    const signals = new Map([[7, [signalOf(1, 10), signalOf(2, 20, 'mail'), signalOf(3, 30)]]])
    const ws = house([], { signals })
    forgetRestarts(ws, { id: 7 }, left)
    expect(ws.signalsOf({ id: 7 }).map(({ at }) => at)).toEqual(kept)
  })
})

describe('a supervisor that is looked at (docs/semantics.md 14.2)', () => {
  const settled = (ws: WorkingSet, lost?: string) => {
    ws.superviseLater(7, lost)
    settleSupervisors(ws)
    expect(ws.nextSupervisor()).toBeUndefined()
    return ws
  }
  const a = childRow(7, 8, { key: seat('a'), position: 0 })
  const b = childRow(7, 9, { key: seat('b'), position: 1 })

  test('14.2 fails of a lost child with all that is left, the last one first', () => {
    const other = childRow(7, 10, { key: 'own', position: 2 })
    const ws = settled(
      house([a, b, other], {
        tasks: [supervisor, waiting(8), waiting(9, { explicitId: 'b' }), waiting(10)],
        explicitIds: new Map([['b', 9]]),
      }),
      '{"message":"lost"}',
    )
    expect(told(ws).filter((it) => it.endsWith('canceled') || it.endsWith('failed'))).toEqual([
      '9 task.canceled',
      '8 task.canceled',
      '10 task.canceled',
      '7 task.failed',
    ])
    expect(dataOf(ws, 'task.canceled')).toMatchObject([
      { reason: 'its supervisor has failed' },
      { reason: 'its supervisor has failed' },
      { reason: 'its parent has failed' },
    ])
    expect(dataOf(ws, 'task.failed')).toEqual([{ error: { message: 'lost' }, kind: 'escalated' }])
  })

  test('14.2 that has ended, or supervises no more, is left', () => {
    for (const it of [
      house([a], { tasks: [{ ...supervisor, state: 'failed' }, waiting(8)] }),
      house([a], { keys: ['nap'] }),
    ])
      expect(told(settled(it, '{}'))).toEqual([])
  })

  test('14.2 goes on when no child is left, unless it ends only when it is canceled', () => {
    const ws = settled(house([]))
    expect(told(ws)).toEqual(['7 task.resumed'])
    expect(dataOf(ws, 'task.resumed')).toMatchObject([{ key: supervisorKey(terms), outcome: 'fired' }])
    expect(told(settled(house([a])))).toEqual([])
    const stays = { keys: [supervisorKey({ ...terms, endsWith: 'cancel' })] }
    expect(told(settled(house([], stays)))).toEqual([])
  })

  test('14.2 goes on for a child that can start now, and waits for its others', () => {
    const key = afterKey(0, 'c', [{ id: 'a', restart: 'permanent', until: 'completed' }])
    const keys = [supervisorKey(terms), key]
    const tasks = (state: TaskRow['state']) => [supervisor, waiting(8, { state })]
    const ws = settled(house([a], { keys, tasks: tasks('completed') }))
    expect(dataOf(ws, 'task.resumed')).toMatchObject([{ key, outcome: 'fired' }])
    expect(ws.waitsOf({ id: 7 }).map((wait) => wait.key)).toEqual([supervisorKey(terms)])
    expect(told(settled(house([a], { keys, tasks: tasks('waiting') })))).toEqual([])
  })

  test.each<Partial<TaskRow>>([
    { waitReason: 'divergence' },
    { waitReason: 'budget' },
    { state: 'queued', waitReason: null },
  ])('14.2 %j: looks for itself when it comes to wait', (changes) => {
    const key = afterKey(0, 'c', [])
    for (const keys of [[supervisorKey(terms)], [supervisorKey(terms), key]])
      expect(told(settled(house([], { keys, tasks: [{ ...supervisor, ...changes }] })))).toEqual([])
  })
})

describe('a child that a supervisor gets later (docs/semantics.md 14.2)', () => {
  const submission = { type: 'work', lane: 'batch', input: '1' } as const
  const start = (ws: WorkingSet, more: object = {}) =>
    startChild(ws, {
      kind: 'startChild',
      taskId: ids.task(7),
      id: 'a',
      restart: 'permanent',
      submission,
      ...more,
    })
  const closed = (restart: ChildRestart, more: Partial<ChildRow> = {}) =>
    childRow(7, 8, { key: seat('a', restart), state: 'closed', ...more })

  test('14.2 is spawned behind the others, under its key', () => {
    const ws = house([childRow(7, 9, { key: seat('b'), position: 4 })])
    expect(start(ws)).toMatchObject({
      as: 'started',
      child: { key: seat('a'), position: 5, policy: 'cancel' },
    })
    expect(told(ws)).toEqual(['100 task.queued', '7 child.spawned'])
    expect(dataOf(ws, 'child.spawned')).toEqual([
      { key: seat('a'), policy: 'cancel', position: 5, taskId: ids.task(100), type: 'work' },
    ])
    expect(ws.task(100)).toMatchObject({ parent: 7, state: 'queued' })
    expect(ws.child(7, seat('a'))).toMatchObject({ task: 100, state: 'open' })
    const first = start(house([]))
    expect('child' in first && first.child.position).toBe(0)
  })

  test('14.2 is none of a task that is no supervisor, or is over, or is not there', () => {
    const none = { as: 'no_supervisor' }
    expect(start(house([]), { taskId: 'nobody' })).toEqual(none)
    expect(start(house([], { keys: ['nap'] }))).toEqual(none)
    expect(start(house([], { tasks: [{ ...supervisor, state: 'failed' }] }))).toEqual(none)
    expect(start(house([], { tasks: [] }))).toEqual(none)
  })

  test('14.2 is there already, by its id, however it is started again', () => {
    for (const restart of ['permanent', 'transient', 'temporary'] as const)
      expect(start(house([childRow(7, 8, { key: seat('a', restart) })]))).toMatchObject({
        as: 'already_started',
        child: { taskId: ids.task(8) },
      })
    expect(start(house([closed('transient')], {}))).toMatchObject({ as: 'already_present' })
    expect(start(house([closed('permanent')], {}))).toMatchObject({ as: 'already_present' })
    expect(start(house([closed('temporary')], {}))).toMatchObject({ as: 'started' })
  })

  test('14.2 is known by the one that came last under its id', () => {
    const rows = (older: ChildRestart, newer: ChildRestart) => [
      closed(older, { task: 8, seq: 3 }),
      closed(newer, { task: 9, seq: 4 }),
    ]
    expect(start(house(rows('transient', 'temporary'))).as).toBe('started')
    expect(start(house(rows('temporary', 'transient'))).as).toBe('already_present')
  })

  test('14.2 has no place beyond the most children that a task may have', () => {
    const settings = (maxChildren: number) => ({ ...config, maxChildren })
    const one = [childRow(7, 9, { key: seat('b') })]
    expect(start(house(one, {}, settings(1)))).toEqual({ as: 'full' })
    expect(start(house(one, {}, settings(2))).as).toBe('started')
  })

  test('14.2 is refused where the queue has no room, with the receipt that says so', () => {
    const ws = house([], {}, { ...config, queueDepthLimit: 0 })
    expect(start(ws)).toMatchObject({ as: 'refused', receipt: { accepted: false, reason: 'queue_full' } })
    expect(told(ws)).toEqual(['100 task.rejected'])
  })

  test('14.2 has the time to stop that its supervisor gives, unless it has its own', () => {
    const keys = [supervisorKey({ ...terms, shutdownMs: 9 })]
    const labelsAfter = (more: object, of: readonly string[] = keys) => {
      const ws = house([], { keys: of })
      start(ws, { submission: { ...submission, ...more } })
      return dataOf(ws, 'task.queued').map((it) => ('labels' in it ? it.labels : undefined))
    }
    expect(labelsAfter({})).toEqual([{ [SHUTDOWN_LABEL]: '9' }])
    expect(labelsAfter({ labels: { [SHUTDOWN_LABEL]: '5' } })).toEqual([{ [SHUTDOWN_LABEL]: '5' }])
    expect(labelsAfter({ labels: { a: 'b' } }, [supervisorKey(terms)])).toEqual([{ a: 'b' }])
    expect(labelsAfter({}, [supervisorKey(terms)])).toEqual([undefined])
    expect(labelsWithShutdown({ a: 'b' }, {})).toEqual({ labels: { a: 'b' } })
  })

  test('14.2 that ended starts again with its submission, at its place', () => {
    const history = {
      submission: '{"type":"mail","lane":"batch","input":2}',
      memos: [],
      doubts: [],
      failedOf: [],
      lastFailure: 0,
    }
    const again = (child: ChildRow, more: Rows = { histories: new Map([[8, history]]) }, id = 'a') => {
      const ws = house([child], { tasks: [supervisor, waiting(8, { state: 'failed' })], ...more } as object)
      return { ws, outcome: restartChild(ws, { kind: 'restartChild', taskId: ids.task(7), id }) }
    }
    const { ws, outcome } = again(closed('transient', { position: 3 }))
    expect(outcome).toMatchObject({
      as: 'started',
      child: { key: seat('a', 'transient'), position: 3, taskId: ids.task(100), type: 'mail' },
    })
    expect(ws.task(100)).toMatchObject({ parent: 7, state: 'queued' })
    expect(dataOf(ws, 'task.queued')).toMatchObject([{ type: 'mail', input: 2, parentId: ids.task(7) }])
    expect(again(childRow(7, 8, { key: seat('a') })).outcome).toMatchObject({ as: 'running' })
    expect(again(closed('transient'), undefined, 'b').outcome).toEqual({ as: 'unknown_child' })
    expect(again(closed('transient'), {}).outcome).toEqual({ as: 'unknown_child' })
    const fault = { fault: { kind: 'gap' } } as never
    expect(again(closed('transient'), { histories: new Map([[8, fault]]) }).outcome).toEqual({
      as: 'unknown_child',
    })
    const nobody = house([], { keys: ['nap'] })
    expect(restartChild(nobody, { kind: 'restartChild', taskId: ids.task(7), id: 'a' })).toEqual({
      as: 'no_supervisor',
    })
  })
})

describe('the error of a supervisor that lost a child (docs/semantics.md 14.2)', () => {
  const text = (times: readonly number[], end = '{"error":{"message":"no"}}', blob: string | null = null) => {
    const signals = new Map([[7, times.map((at, index) => signalOf(index, at))]])
    return JSON.parse(lostText(house([], { signals }), { id: 7 }, 'a', { text: end, blob })) as object
  }

  test('14.2 says how often it was started again, as far as that counts', () => {
    expect(text([now.at - 5_001, now.at - 5_000, now.at])).toEqual({
      cause: { message: 'no' },
      code: 'escalated',
      details: { child: 'a', maxRestarts: 2, periodMs: 5_000, restarts: 2 },
      message: "child 'a' ended after 2 restarts within 5 s, and maxRestarts is 2",
      name: 'RuntimeError',
      retryable: false,
    })
    expect(text([now.at])).toMatchObject({
      details: { restarts: 1 },
      message: "child 'a' ended in a way that a restart does not mend",
    })
  })

  test('14.2 has no cause where its error is elsewhere, or there is none', () => {
    expect(text([], '{}')).not.toHaveProperty('cause')
    expect(text([], '{"error":1}', 'sha')).not.toHaveProperty('cause')
    expect(text([], '{"error":1}')).toHaveProperty('cause', 1)
  })

  test('14.2 is that of one that supervises no more, or has a maximum of one', () => {
    const gone = house([], { keys: [] })
    expect(lostText(gone, { id: 7 }, 'a', { text: '{}', blob: null })).toContain(
      'after 0 restarts within 0 ms, and maxRestarts is 0',
    )
    const one = house([], {
      keys: [supervisorKey({ ...terms, maxRestarts: 1 })],
      signals: new Map([[7, [signalOf(1, now.at)]]]),
    })
    expect(lostText(one, { id: 7 }, 'a', { text: '{}', blob: null })).toContain('after 1 restart within 5 s')
  })
})

describe('words for what a child waits for (docs/semantics.md 14.2)', () => {
  test('14.2 name each before it', () => {
    const after = [
      { id: 'a', restart: 'permanent', until: 'ready' },
      { id: 'b', restart: 'permanent', until: 'completed' },
    ] as const
    expect(afterText({ id: 'c', after })).toBe(
      "the moment for child 'c' to start, once 'a' is ready and 'b' has completed",
    )
  })
})

describe('a lease of a supervisor that runs (docs/semantics.md 14.2)', () => {
  test('14.2 ends with the supervisor, and says how long it ran', () => {
    const ws = house([], { tasks: [{ ...supervisor, state: 'running', lease: 3 }], leases: [lease] })
    ws.superviseLater(7, '{}')
    settleSupervisors(ws)
    expect(ws.task(7)).toMatchObject({ state: 'failed', lease: null })
    expect(dataOf(ws, 'task.failed')).toEqual([
      { durationMs: now.at - 41_000, error: {}, kind: 'escalated', leaseId: ids.lease(3) },
    ])
  })
})
