import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { PATCH_KEY } from '../../src/history/replay.ts'
import { InvalidTransition } from '../../src/error/errors.ts'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import { canMove, canMoveLease, leaseStates, type TaskState, taskStates } from '../../src/task/states.ts'
import {
  type EvaluationRow,
  newClient,
  noTotals,
  type ReputationRow,
  type ScheduleRow,
  type SignalRow,
  type TaskRow,
  type WaitRow,
} from '../../src/transition.ts'
import type { EntryRow } from '../../src/ledger/row.ts'
import {
  blobReference,
  childKey,
  entryKey,
  evaluationKey,
  storedText,
} from '../../src/transition/working-set.ts'
import {
  budget,
  budgetsIn,
  childRow,
  circuit,
  config,
  family,
  ids,
  lease,
  now,
  quota,
  stream,
  swarm,
  task,
  usage,
  worker,
  workingSet,
} from './rows.ts'

const { config: shared } = parseExecutionConfig({ shares: {} })
const other: TaskRow = { ...task, id: 8 }

describe('the rows that a flush sees: its own changes, and committed rows below them', () => {
  test('rows by their numbers', () => {
    const ws = workingSet({ tasks: [task, other], leases: [lease], workers: [worker] })
    expect([ws.task(7), ws.lease(3), ws.worker(4), ws.stream(1)]).toEqual([task, lease, worker, stream])
    expect([ws.task(9), ws.lease(9), ws.worker(9)]).toEqual([undefined, undefined, undefined])
    ws.tasks.put(7, { ...task, seq: 9 })
    ws.putLease({ ...lease, fence: 2 })
    ws.workers.put(4, { ...worker, capacity: 9 })
    expect([ws.task(7)?.seq, ws.lease(3)?.fence, ws.worker(4)?.capacity]).toEqual([9, 2, 9])
    expect(ws.taskNow({ id: 7 }).seq).toBe(9)
    expect(ws.task(8)).toBe(other)
  })

  test('a row that should have been loaded and was not is a fault of ours, and is named', () => {
    const ws = workingSet({})
    expect(() => ws.stream(9)).toThrow(new Error('stream 9 was not loaded'))
    expect(() => ws.budget(9)).toThrow(new Error('the budget of task 9 was not loaded'))
    expect(() => ws.taskNow({ id: 9 })).toThrow(new Error('task 9 was not loaded'))
  })

  test('a budget', () => {
    const ws = workingSet({ budgets: budgetsIn(budget()) })
    expect(ws.budget(7)).toStrictEqual(budget())
    ws.budgets.put(7, budget({ asks: 1 }))
    expect(ws.budget(7).asks).toBe(1)
  })

  test('a quota that nothing was ever counted for has nothing', () => {
    const ws = workingSet({ quotas: new Map([[quota.key, quota]]) })
    expect(ws.quota(quota.key)).toBe(quota)
    expect(ws.quotaRow('tool:x')).toBeUndefined()
    expect(ws.quota('tool:x')).toStrictEqual({
      key: 'tool:x',
      queued: 0,
      running: 0,
      windowStart: 0,
      windowCount: 0,
      windowTokens: 0,
      blockedUntil: 0,
    })
    ws.putQuota({ ...quota, running: 9 })
    expect([ws.quota(quota.key).running, ws.quotaRow(quota.key)?.running]).toEqual([9, 9])
  })

  test('the number behind an id, of the submitter in this flush or before, or of the store', () => {
    const ws = workingSet({ explicitIds: new Map([['mine', 7]]) })
    ws.explicitIds.put('new', 100)
    expect(['mine', 'new', ids.task(9), 'none'].map((id) => ws.taskNumber(id))).toEqual([
      7,
      100,
      9,
      undefined,
    ])
  })

  test('counts begin as they were committed', () => {
    const next = { task: 11, lease: 12, stream: 13, worker: 14, client: 15 }
    const ws = workingSet({ depth: 1, delayed: 2, scheduleCount: 3, agentCount: 4, next })
    expect([ws.depth, ws.delayed, ws.scheduleCount, ws.agentCount]).toEqual([1, 2, 3, 4])
    expect([ws.nextTask, ws.nextLease, ws.nextStream, ws.nextWorker, ws.nextClient]).toEqual([
      11, 12, 13, 14, 15,
    ])
    expect([ws.staleWrites, ws.events, ws.outputs, ws.notices, ws.evaluations]).toEqual([0, [], [], [], []])
  })

  test('sums rise in a draft: what is committed stays as it is', () => {
    const ws = workingSet({ totals: noTotals })
    expect(ws.totals).toBe(noTotals)
    ws.count('failed')
    ws.count('waiting', -2)
    ws.count('failed')
    expect(ws.totals).toStrictEqual({ ...noTotals, failed: 2, waiting: -2 })
    expect(noTotals).toMatchObject({ failed: 0, waiting: 0 })
  })
})

describe('a move of a task', () => {
  test('is an event with the next seq, in its chain, and the row with the changes', () => {
    const ws = workingSet({ tasks: [task] })
    const tail = createHash('sha256')
      .update(task.tail)
      .update(`ku0.1\n7\n3\ntask.completed\n${now.at}\n{}`)
      .digest()
    const row = ws.move(
      task,
      { state: 'completed', finishedAt: now.at },
      'task.completed',
      '{}',
      ['lease.released'],
      'sha',
    )
    expect(row).toStrictEqual({ ...task, state: 'completed', finishedAt: now.at, seq: 3, tail })
    expect(ws.task(7)).toBe(row)
    expect(ws.events).toStrictEqual([
      {
        task: 7,
        seq: 3,
        type: 'task.completed',
        at: now.at,
        data: '{}',
        blob: 'sha',
        hash: tail,
        also: ['lease.released'],
      },
    ])
  })

  test('an event names nothing else, and refers to no blob, unless it says so', () => {
    const ws = workingSet({ tasks: [task] })
    ws.move(task, {}, 'step.completed', '{}')
    expect(ws.events[0]).toMatchObject({ also: [], blob: null })
  })

  const pairs = taskStates.flatMap((from) => taskStates.map((to) => [from, to] as const))
  const isLegal = ([from, to]: (typeof pairs)[number]) => from === to || canMove(from, to)
  const moving = (state: TaskState, to: TaskState) => {
    const ws = workingSet({ tasks: [{ ...task, state }] })
    return { ws, move: () => ws.move({ ...task, state }, { state: to }, 'task.completed', '{}') }
  }

  test.each(pairs.filter(isLegal))('from %s to %s is in the table of states', (from, to) => {
    const { ws, move } = moving(from, to)
    expect(move().state).toBe(to)
    expect(ws.events).toHaveLength(1)
  })

  test.each(pairs.filter((pair) => !isLegal(pair)))('from %s to %s is refused', (from, to) => {
    const { ws, move } = moving(from, to)
    expect(move).toThrow(InvalidTransition)
    expect([ws.events, ws.task(7)?.state]).toEqual([[], from])
  })
})

describe('a lease', () => {
  const pairs = leaseStates.flatMap((from) => leaseStates.map((to) => [from, to] as const))
  const isLegal = ([from, to]: (typeof pairs)[number]) => from === to || canMoveLease(from, to)

  test.each(pairs.filter(isLegal))('may go from %s to %s', (from, to) => {
    const ws = workingSet({ leases: [{ ...lease, state: from }] })
    ws.putLease({ ...lease, state: to })
    expect(ws.lease(3)?.state).toBe(to)
  })

  test.each(pairs.filter((pair) => !isLegal(pair)))('may not go from %s to %s', (from, to) => {
    const ws = workingSet({ leases: [{ ...lease, state: from }] })
    expect(() => ws.putLease({ ...lease, state: to })).toThrow(
      new Error(`lease 3 cannot move from ${from} to ${to}`),
    )
    expect(ws.lease(3)?.state).toBe(from)
  })

  test('that is new may be in any state', () => {
    const ws = workingSet({})
    ws.putLease({ ...lease, state: 'failed' })
    expect(ws.lease(3)?.state).toBe('failed')
  })
})

describe('clients', () => {
  const names = (ws: ReturnType<typeof workingSet>) => [...ws.clients.all()].map(({ name }) => name)
  const ada = newClient(1, 'ada')
  const clients = new Map([
    ['ada', ada],
    ['bob', newClient(2, 'bob')],
  ])
  const next = { task: 1, lease: 1, stream: 2, worker: 1, client: 3 }

  test('one that is unknown is made when it is asked for, under the next number; one that is known is as it was', () => {
    const ws = workingSet({ clients, next })
    expect(ws.client('ada')).toBe(ada)
    expect([ws.clientCount, ws.nextClient]).toEqual([2, 3])
    expect(ws.clients.get('cy')).toBeUndefined()
    expect(ws.client('cy')).toStrictEqual(newClient(3, 'cy'))
    expect(ws.client('cy').id).toBe(3)
    expect([ws.clientCount, ws.nextClient]).toEqual([3, 4])
    expect(names(ws)).toEqual(['ada', 'bob', 'cy'])
  })

  test('a change goes before the committed row, and is reported once', () => {
    const ws = workingSet({ clients, next })
    ws.clients.put('ada', { ...ada, credits: 5 })
    expect(ws.clients.get('ada')?.credits).toBe(5)
    expect(names(ws)).toEqual(['ada', 'bob'])
  })

  test('a row that is forgotten is unknown, and is made again by a later one', () => {
    const ws = workingSet({ clients, next })
    ws.clients.put('ada', { ...ada, credits: 5 })
    ws.dropClient('ada')
    expect(ws.clients.get('ada')).toBeUndefined()
    expect([ws.clientCount, names(ws), [...ws.clients.changed]]).toEqual([1, ['bob'], [['ada', undefined]]])
    expect(ws.client('ada')).toStrictEqual(newClient(3, 'ada'))
    expect([ws.clientCount, names(ws), [...ws.clients.changed.keys()]]).toEqual([2, ['ada', 'bob'], ['ada']])
  })

  test('the purchase of a key is that of this flush, or the committed one of that client, until the client is forgotten', () => {
    const before = { client: 'ada', key: 'k', seq: 1 } as EntryRow
    const ws = workingSet({ clients, next, entries: new Map([[entryKey('ada', 'k'), before]]) })
    expect([ws.entry('ada', 'k'), ws.entry('bob', 'k'), ws.entry('ada', 'l')]).toEqual([
      before,
      undefined,
      undefined,
    ])
    expect(() => ws.lastEntry).toThrow('no entry was added')
    const added = ['k', 'l'].flatMap((of) =>
      ['ada', 'bob'].map((client) => ({ client, key: of, seq: 2 }) as EntryRow),
    )
    for (const row of added) ws.addEntry(row)
    expect(ws.lastEntry).toBe(added[3])
    expect(added.map(({ client, key }) => ws.entry(client, key ?? ''))).toEqual(added)
    ws.dropClient('ada')
    expect([ws.entry('ada', 'k'), ws.entry('ada', 'l'), ws.entry('bob', 'l')]).toEqual([
      undefined,
      undefined,
      added[3],
    ])
    expect(ws.ledger).toEqual([added[1], added[3]])
  })

  test('one that came in this flush can be forgotten in it', () => {
    const ws = workingSet({ clients, next })
    ws.client('cy')
    ws.dropClient('cy')
    expect([ws.clients.get('cy'), ws.clientCount, names(ws)]).toEqual([undefined, 2, ['ada', 'bob']])
  })
})

describe('streams', () => {
  const added = { ...stream, id: 2, key: 'other', client: 'ada' }

  test('rows of this flush come after the committed ones, with its changes', () => {
    const ws = workingSet({ streams: [stream, { ...stream, id: 3, key: 'third' }] })
    ws.addStream(added)
    ws.shift(1, 'depth', 2)
    expect([...ws.streams.all()].map(({ id, depth }) => [id, depth])).toEqual([
      [1, 5],
      [3, 3],
      [2, 3],
    ])
    expect(ws.streamsByKey.changed.get('other')).toBe(added)
    expect([...ws.streamsOf('ada')]).toEqual([])
  })

  test('where there are shares, a client has those of before and those of this flush', () => {
    const ws = workingSet({ streamsByClient: new Map([['ada', [1]]]) }, shared)
    expect([...ws.streamsOf('ada')]).toEqual([1])
    ws.addStream(added)
    ws.addStream({ ...added, id: 4, key: 'fourth' })
    ws.addStream({ ...added, id: 5, key: 'fifth', client: 'bob' })
    expect([...ws.streamsOf('ada')]).toEqual([1, 2, 4])
    expect([...ws.streamsOf('bob')]).toEqual([5])
    expect([...ws.streamsOf('cy')]).toEqual([])
  })

  test('a change is a draft, known by its key; the committed row stays as it is', () => {
    const ws = workingSet({})
    const draft = ws.draftStream(1)
    expect(draft).toStrictEqual(stream)
    expect(draft).not.toBe(stream)
    expect(ws.draftStream(1)).toBe(draft)
    expect(ws.streamsByKey.changed.get('key')).toBe(draft)
    ws.shift(1, 'delayed', -1)
    ws.shift(1, 'depth', 2)
    expect(ws.stream(1)).toMatchObject({ depth: 5, delayed: 2 })
    expect([ws.depth, ws.delayed, stream.depth, stream.delayed]).toEqual([5, 2, 3, 3])
  })

  test('where there are shares, a client counts what is queued, and not what is delayed', () => {
    const ws = workingSet({}, shared)
    ws.shift(1, 'delayed', 1)
    expect(ws.clients.get('')).toBeUndefined()
    ws.shift(1, 'depth', 1)
    expect(ws.clients.get('')?.queued).toBe(1)
  })

  test('its head is a task and that task’s place, where it has one', () => {
    const ws = workingSet({ streams: [{ ...stream, place: 9 }] })
    const account = { cost: 1, used: null, charge: null, place: 4 }
    ws.moveHead(1, { id: 7, account: null })
    expect(ws.stream(1)).toMatchObject({ head: 7, place: 9 })
    ws.moveHead(1, { id: 8, account })
    expect(ws.stream(1)).toMatchObject({ head: 8, place: 4 })
    ws.moveHead(1, { id: 9, account: { ...account, place: null } })
    expect(ws.stream(1)).toMatchObject({ head: 9, place: 4 })
  })
})

describe('rows that can be removed', () => {
  test('a schedule, by its name', () => {
    const row = { name: 's', paused: false } as ScheduleRow
    const ws = workingSet({ schedules: new Map([['s', row]]), scheduleCount: 4 })
    expect(ws.schedule('s')).toBe(row)
    ws.putSchedule({ ...row, paused: true })
    expect([ws.schedule('s')?.paused, ws.scheduleCount]).toEqual([true, 4])
    ws.putSchedule({ ...row, name: 't' })
    expect([ws.schedule('t')?.name, ws.scheduleCount]).toEqual(['t', 5])
    ws.dropSchedule('s')
    expect([ws.schedule('s'), ws.scheduleCount, ws.schedules.changed.has('s')]).toEqual([undefined, 4, true])
    ws.putSchedule(row)
    expect([ws.schedule('s'), ws.scheduleCount]).toEqual([row, 5])
  })

  test('a circuit, by its route; one that is not there is not removed', () => {
    const ws = workingSet({ circuits: new Map([['work', circuit()]]) })
    expect(ws.circuit('work')).toStrictEqual(circuit())
    ws.dropCircuit('none')
    expect(ws.circuits.changed.size).toBe(0)
    ws.putCircuit(circuit({ scar: 1 }))
    expect(ws.circuit('work')?.scar).toBe(1)
    ws.dropCircuit('work')
    expect([ws.circuit('work'), ws.circuits.changed.has('work')]).toEqual([undefined, true])
  })

  test('a usage, by its task; the agents of a swarm are in the order in which they were spawned', () => {
    const agent = (id: number, order: number, name = 's') => usage({ task: id, swarm: name, order })
    const rows = [agent(7, 2), agent(8, 1), agent(9, 4), agent(10, 0, 'other'), usage({ task: 11 })]
    const ws = workingSet({ usages: new Map(rows.map((row) => [row.task, row])) })
    const order = () => ws.agentsOf('s').map((row) => [row.task, row.order])
    expect(order()).toEqual([
      [8, 1],
      [7, 2],
      [9, 4],
    ])
    ws.putUsage(agent(7, 5))
    ws.putUsage(agent(12, 3))
    ws.dropUsage(8)
    expect(order()).toEqual([
      [12, 3],
      [9, 4],
      [7, 5],
    ])
    expect([ws.usage(7)?.order, ws.usage(8), ws.usage(9)?.order]).toEqual([5, undefined, 4])
  })

  test('a swarm, by its name', () => {
    const ws = workingSet({ swarms: new Map([['s', swarm]]) })
    expect(ws.swarm('s')).toBe(swarm)
    ws.putSwarm({ ...swarm, spawned: 9 })
    expect(ws.swarm('s')?.spawned).toBe(9)
    ws.dropSwarm('s')
    expect([ws.swarm('s'), ws.swarm('t')]).toEqual([undefined, undefined])
  })
})

describe('evaluations', () => {
  const row = { agent: 'a', seq: 2, key: 'k' } as EvaluationRow
  const standing = { agent: 'a', reputation: 0.5 } as ReputationRow

  test('an agent stands where its last evaluation left it', () => {
    const before = { ...standing, reputation: 0.25 }
    const ws = workingSet({ reputationOf: (agent) => (agent === 'a' ? before : undefined), agentCount: 3 })
    expect([ws.reputation('a'), ws.reputation('b'), ws.reputationRow('a')]).toEqual([0.25, undefined, before])
    ws.addEvaluation(row, standing)
    expect([ws.reputation('a'), ws.reputationRow('a')]).toEqual([0.5, standing])
    expect([ws.evaluations, ws.agentCount]).toEqual([[row], 3])
  })

  test('the first one of an agent makes it one more', () => {
    const ws = workingSet({ agentCount: 3 })
    ws.addEvaluation({ ...row, seq: 1 }, standing)
    expect(ws.agentCount).toBe(4)
  })

  test('one with a key is known by it, to its agent only', () => {
    const old = { ...row, key: 'old' }
    const ws = workingSet({ evaluations: new Map([[evaluationKey('a', 'old'), old]]) })
    ws.addEvaluation(row, standing)
    ws.addEvaluation({ ...row, seq: 3, key: null }, standing)
    expect([ws.evaluation('a', 'old'), ws.evaluation('a', 'k'), ws.evaluation('b', 'k')]).toEqual([
      old,
      row,
      undefined,
    ])
    expect(ws.evaluationKeys.changed.size).toBe(1)
    // No agent's name can run into a key.
    expect(evaluationKey('a', 'b')).toBe('["a","b"]')
  })
})

describe('the waits of a task', () => {
  const wait = { task: 7, key: 'w' } as WaitRow
  const letter = (seq: number): SignalRow => ({
    task: 7,
    seq,
    name: 'mail',
    at: now.at,
    value: '1',
    blob: null,
    outcome: 'received',
  })

  test('its row counts open waits, unread signals and open children', () => {
    const ws = workingSet({ tasks: [task], ...family(childRow(7, 30)) })
    ws.putWaits(task, [wait, { ...wait, key: 'v' }])
    expect(ws.taskNow(task).waits).toBe(3)
    ws.keepSignal(task, letter(3))
    ws.keepSignal(task, letter(4))
    expect(ws.taskNow(task).waits).toBe(5)
    ws.takeSignal(task, letter(3))
    expect([ws.taskNow(task).waits, ws.signalsOf(task)]).toEqual([4, [letter(4)]])
    ws.putChild(childRow(7, 31))
    expect(ws.taskNow(task).waits).toBe(5)
    ws.putChild(childRow(7, 30, { state: 'closed' }))
    expect(ws.taskNow(task).waits).toBe(4)
    ws.putWaits(task, [])
    expect(ws.taskNow(task).waits).toBe(2)
  })

  test('nothing, where nothing was loaded; else what is committed, until it changes', () => {
    const ws = workingSet({
      tasks: [task, other],
      waits: new Map([[7, [wait]]]),
      signals: new Map([[7, [letter(3)]]]),
      verdicts: new Map([[7, { approvedSeq: 5, rejections: 2 }]]),
    })
    expect([ws.waitsOf(task), ws.signalsOf(task)]).toEqual([[wait], [letter(3)]])
    expect([ws.waitsOf(other), ws.signalsOf(other), [...ws.childrenOf(other)]]).toEqual([[], [], []])
    expect(ws.verdictsOf(task)).toStrictEqual({ approvedSeq: 5, rejections: 2 })
    expect(ws.verdictsOf(other)).toStrictEqual({ approvedSeq: 0, rejections: 0 })
    ws.verdicts.put(7, { approvedSeq: 6, rejections: 0 })
    expect(ws.verdictsOf(task).approvedSeq).toBe(6)
    ws.keepSignal(task, letter(4))
    expect(ws.signalsOf(task)).toEqual([letter(3), letter(4)])
  })
})

describe('children', () => {
  test('open children are known by their numbers, in order; all children by their keys', () => {
    const ws = workingSet({ tasks: [task], ...family(childRow(7, 30), childRow(7, 31)) })
    ws.putChild(childRow(7, 32))
    ws.putChild(childRow(7, 30, { state: 'closed' }))
    ws.putChild(childRow(7, 31, { state: 'dropped' }))
    expect([...ws.childrenOf(task).keys()]).toEqual([32])
    expect([...(ws.base.children.get(7)?.keys() ?? [])]).toEqual([30, 31])
    expect(ws.child(7, 'c30')).toMatchObject({ task: 30, state: 'closed' })
    expect(ws.child(7, 'c31')).toBeUndefined()
    expect(ws.child(7, 'c33')).toBeUndefined()
    expect(ws.allChildren(task).map(({ task: id }) => id)).toEqual([30, 32])
  })

  test('children of another task are none of its own', () => {
    const ws = workingSet({ tasks: [task, other], ...family(childRow(7, 30), childRow(8, 31)) })
    expect(ws.allChildren(task).map(({ task: id }) => id)).toEqual([30])
    expect(ws.child(8, 'c30')).toBeUndefined()
    expect(childKey(7, 'c')).toBe('7:c')
  })

  test('one that was dropped before has no key', () => {
    const ws = workingSet({ tasks: [task], ...family(childRow(7, 30, { state: 'dropped' })) })
    expect([ws.child(7, 'c30'), ws.allChildren(task)]).toEqual([undefined, []])
  })
})

describe('memos', () => {
  test('each step of a task has the last one that was made', () => {
    const ws = workingSet({})
    ws.remember(7, 'a', 3)
    ws.remember(7, 'b', 4)
    ws.remember(7, 'a', 5)
    ws.remember(8, 'a', 6)
    expect([ws.memos.get(7), ws.memos.get(8)]).toEqual([
      new Map([
        ['a', 5],
        ['b', 4],
      ]),
      new Map([['a', 6]]),
    ])
  })

  test('memos made after an approval are forgotten, of before and of this flush; marks of patches stay', () => {
    const patch = `${PATCH_KEY}p`
    const memos = new Map([
      ['a', 4],
      ['b', 5],
      ['c', 6],
      [patch, 7],
    ])
    const ws = workingSet({ memos: new Map([[7, memos]]) })
    ws.remember(7, 'd', 8)
    ws.remember(7, 'e', 5)
    ws.remember(8, 'f', 9)
    ws.forget(7, 5)
    expect(ws.memos.get(7)).toEqual(
      new Map([
        ['c', 0],
        ['d', 0],
        ['e', 5],
      ]),
    )
    expect(ws.memos.get(8)).toEqual(new Map([['f', 9]]))
    expect(memos.get('c')).toBe(6)
  })

  test('a task without any has none to forget', () => {
    const ws = workingSet({})
    ws.forget(7, 0)
    expect(ws.memos.size).toBe(0)
  })
})

describe('values', () => {
  const letter = (value: string | null, blob: string | null): SignalRow => ({
    task: 7,
    seq: 3,
    name: 'mail',
    at: now.at,
    value,
    blob,
    outcome: 'received',
  })

  test('stand in their events up to maxInlineBytes, and by their hash beyond', () => {
    const ws = workingSet({})
    const [fits, long] = [config.maxInlineBytes, config.maxInlineBytes + 1].map((size) => 'x'.repeat(size))
    if (fits === undefined || long === undefined) throw new Error('no texts')
    expect(ws.inline(fits)).toStrictEqual({ text: fits, blob: null })
    expect(ws.blobs.changed.size).toBe(0)
    const sha = createHash('sha256').update(long).digest('hex')
    const text = `{"$blob":"${sha}","size":${long.length}}`
    expect(ws.inline(long)).toStrictEqual({ text, blob: sha })
    expect([...ws.blobs.changed]).toEqual([[sha, long]])
  })

  test('values of a signal are whole again when they are read, wherever in them the blob stands', () => {
    const blob = (sha: string, size: number) => `{"output":${blobReference(sha, size)},"state":"completed"}`
    const ws = workingSet({ blobs: new Map([['old', '"$&"']]) })
    ws.blobs.put('new', '"n"')
    expect(ws.textOf(letter('1', null))).toBe('1')
    expect(ws.textOf(letter(blob('old', 4), 'old'))).toBe('{"output":"$&","state":"completed"}')
    expect(ws.textOf(letter(blob('new', 3), 'new'))).toBe('{"output":"n","state":"completed"}')
  })

  test('that were not loaded are a fault of ours, and say which', () => {
    const ws = workingSet({})
    expect(() => ws.textOf(letter('1', 'gone'))).toThrow(new Error('blob gone was not loaded'))
    expect(() => storedText(letter(null, null))).toThrow(new Error('the value of signal 7:3 was not loaded'))
    expect(storedText(letter('1', null))).toBe('1')
  })
})
