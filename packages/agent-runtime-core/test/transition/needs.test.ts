import { describe, expect, test } from 'vitest'
import { retryKey } from '../../src/history/retry-key.ts'
import { emptyLog } from '../../src/pipeline/log.ts'
import { stageKey } from '../../src/pipeline/pipeline.ts'
import type { Write } from '../../src/store/port.ts'
import { afterKey, READY_KEY, supervisedKey, supervisorKey } from '../../src/supervision/supervision.ts'
import { type Duties, NeedsRound } from '../../src/transition.ts'
import type { WaitRow } from '../../src/wait/row.ts'
import { childRow, family, ids, lease, type Rows, task, usage, workingSet } from './rows.ts'

const nothingDue: Duties = { lapsed: [], orphans: [], due: [], budgets: [] }

/** What the store is asked for before it can do this, in its first round. */
const wanted = (rows: Rows, ...operations: readonly Write[]) =>
  new NeedsRound(workingSet(rows).base, ids, operations, nothingDue).run()

const named = (id: string, number: number): Rows => ({ explicitIds: new Map([[id, number]]) })
const leaseId = ids.lease(3)
const held: Rows = { tasks: [task], leases: [lease] }
const wait = (of: number, key: string): WaitRow => ({
  task: of,
  key,
  position: 0,
  kind: 'signal',
  name: null,
  dueAt: null,
  terms: null,
})
const waiting = { ...task, state: 'waiting', lease: null, waits: 1 } as const
const terms = { strategy: 'one_for_all', maxRestarts: 2, periodMs: 5_000, endsWith: 'children' } as const

describe('the rows that a store has to load for an operation', () => {
  const fork = (change: Extract<Write, { kind: 'fork' }>['change']): Write =>
    ({ kind: 'fork', taskId: 'mine', change }) as Write

  test('a fork: the history of its task and its children, and what its new names may be of', () => {
    const rows = { ...named('mine', 7), tasks: [task], leases: [lease] }
    const own = { histories: [task], children: [7], pipelines: [7] }
    expect(wanted(rows, fork({}))).toEqual(own)
    expect(wanted(rows, fork({ taskId: 'other', idempotencyKey: 'k' }))).toEqual({
      ...own,
      explicitIds: ['other'],
      keys: ['k'],
    })
    expect(wanted({}, fork({ idempotencyKey: 'k' }))).toEqual({ explicitIds: ['mine'], keys: ['k'] })
  })

  test('a retry of many: the key of each, unless all are tried again', () => {
    const retry = (again?: true): Write => ({
      kind: 'retryMany',
      taskIds: ['mine', 'yours'],
      ...(again === undefined ? {} : { again }),
    })
    expect(wanted({}, retry())).toEqual({
      explicitIds: ['mine', 'yours'],
      keys: [retryKey('mine'), retryKey('yours')],
    })
    expect(wanted({}, retry(true))).toEqual({ explicitIds: ['mine', 'yours'] })
  })

  test('a schedule: its last run, if it has one', () => {
    const schedule = (lastTask: number | null): Rows =>
      ({ schedules: new Map([['daily', { name: 'daily', lastTask }]]) }) as unknown as Rows
    const remove: Write = { kind: 'triggerSchedule', name: 'daily' }
    expect(wanted({}, remove)).toEqual({ schedules: ['daily'] })
    expect(wanted(schedule(7), remove)).toEqual({ tasks: [7] })
    expect(wanted(schedule(null), remove)).toBeUndefined()
  })

  test('a sign that a child is ready: the siblings that its supervisor starts after it', () => {
    const record = (key: string): Write => ({
      kind: 'recordStep',
      leaseId,
      key,
      position: 0,
      durationMs: 1,
      result: '1',
    })
    const child = { ...task, parent: 2, steps: 0 }
    const rows = { tasks: [child], leases: [lease] }
    expect(wanted(rows, record(READY_KEY))).toEqual({ tasks: [2] })
    expect(wanted(rows, record('other'))).toBeUndefined()
    expect(wanted(held, record(READY_KEY))).toBeUndefined()
    const after = [
      { id: 'a', restart: 'permanent', until: 'ready' },
      { id: 'b', restart: 'permanent', until: 'completed' },
    ] as const
    const key = (id: string) => supervisedKey({ id, restart: 'permanent' })
    const house: Rows = {
      tasks: [
        child,
        { ...waiting, id: 2 },
        { ...task, id: 8, lease: null, steps: 1 },
        { ...task, id: 9, lease: null, steps: 1 },
      ],
      leases: [lease],
      waits: new Map([[2, [wait(2, afterKey(0, 'c', after))]]]),
    }
    expect(wanted(house, record(READY_KEY))).toEqual({
      child: [
        [2, key('a')],
        [2, key('b')],
      ],
    })
    const known = family(childRow(2, 8, { key: key('a') }), childRow(2, 9, { key: key('b') }))
    expect(wanted({ ...house, ...known }, record(READY_KEY))).toEqual({ memos: [8] })
  })

  test('the end of a child: its parent; where that supervises, also what it stops and starts with it', () => {
    const settle: Write = { kind: 'settle', leaseId, settlement: { as: 'completed', output: '1' } }
    const child = { ...task, parent: 2 }
    const parent = { ...waiting, id: 2, parent: 1 }
    const sibling = { ...task, id: 9, lease: 9, parent: 2 }
    const known = family(
      childRow(2, 7, { key: supervisedKey({ id: 'a', restart: 'permanent' }) }),
      childRow(2, 9, { key: supervisedKey({ id: 'b', restart: 'transient' }) }),
    )
    const rows: Rows = { ...known, tasks: [child, parent, sibling], leases: [lease] }
    expect(wanted(rows, settle)).toEqual({ waits: [2] })
    const waits = (key: string) => ({ ...rows, waits: new Map([[2, [wait(2, key)]]]) })
    expect(wanted(waits('go'), settle)).toBeUndefined()
    expect(wanted(waits(supervisorKey(terms)), settle)).toEqual({
      leases: [9],
      histories: [child],
      tasks: [1],
    })
  })

  test('the end of a task: open children that end with it, and theirs', () => {
    const cancel: Write = { kind: 'cancel', taskId: 'mine' }
    const rows = {
      ...named('mine', 7),
      tasks: [task],
      leases: [lease],
      ...family(childRow(7, 8), childRow(7, 9, { policy: 'abandon' }), childRow(8, 10)),
    }
    expect(wanted(rows, cancel)).toEqual({ tasks: [8, 10] })
  })

  test('the end of a stage: the other stages, by their pipeline', () => {
    const settle: Write = { kind: 'settle', leaseId, settlement: { as: 'completed', output: '1' } }
    const parent = { ...task, id: 2, lease: null }
    const rows = (key: string): Rows => ({
      tasks: [{ ...task, parent: 2 }, parent],
      leases: [lease],
      ...family(childRow(2, 7, { key })),
    })
    expect(wanted(rows(stageKey({ stage: 'pack' })), settle)).toEqual({ pipelines: [2] })
    expect(wanted(rows('pack'), settle)).toBeUndefined()
    const pipelineTerms = { stages: [{ stage: 'pack', publishes: [], subscribes: ['a'] }], maxUnread: 1 }
    const log = emptyLog(pipelineTerms)
    const parts = [
      { ...log.parts[0], task: 8, ended: false },
      { ...log.parts[0], task: 9, ended: true },
    ]
    const known = {
      ...rows(stageKey({ stage: 'pack' })),
      pipelines: new Map([[2, { task: 2, terms: pipelineTerms, log: { ...log, parts } }]]),
    } as Rows
    expect(wanted(known, settle)).toEqual({ tasks: [8] })
  })

  test('an agent of a swarm: the one that has its name; a report: those that it may end, of its swarm alone', () => {
    const swarms = new Map([['s', {}]]) as unknown as NonNullable<Rows['swarms']>
    const agent = (of: number, name: string, swarm: string | null, order: number) =>
      usage({ task: of, lease: of, swarm, agent: name, order })
    const usages = new Map([
      [7, agent(7, 'a', 's', 1)],
      [8, agent(8, 'b', 's', 2)],
      [9, agent(9, 'c', 't', 3)],
      [10, agent(10, 'd', 's', 4)],
    ])
    const rows: Rows = { ...held, swarms, usages }
    const submit: Write = {
      kind: 'submit',
      tasks: [{ type: 'work', lane: 'batch', input: '1', swarm: 's', agent: 'b' }],
    } as unknown as Write
    expect(wanted(rows, submit)).toEqual({ tasks: [8] })
    const report = { kind: 'report', leaseId, report: {} } as unknown as Write
    expect(wanted(rows, report)).toEqual({ tasks: [10] })
    expect(wanted(rows, report, report)).toEqual({ tasks: [10, 8] })
    // Each lease that ends in the same flush may make it one more.
    const ends: Duties = { ...nothingDue, lapsed: [lease] }
    expect(new NeedsRound(workingSet(rows).base, ids, [report], ends).run()).toEqual({ tasks: [10, 8] })
    expect(wanted({ ...rows, swarms: new Map() }, report)).toBeUndefined()
    expect(wanted(rows, { kind: 'closeSwarm', name: 's' })).toEqual({ tasks: [10, 8] })
    // They end with their children, and their parents are told.
    const known = [10, 8].map((id) => ({ ...task, id, lease: null, ...(id === 8 ? { parent: 2 } : {}) }))
    const families = { ...rows, tasks: [task, ...known], ...family(childRow(10, 12)) }
    expect(wanted(families, { kind: 'closeSwarm', name: 's' })).toEqual({ tasks: [12, 2] })
  })

  test('a child more of a supervisor: those of its id, however they are started again', () => {
    const rows = { ...named('mine', 7), tasks: [task], leases: [lease] }
    const keys = ['permanent', 'transient', 'temporary'] as const
    const children = keys.map((restart) => [7, supervisedKey({ id: 'a', restart })])
    const start = {
      kind: 'startChild',
      taskId: 'mine',
      id: 'a',
      restart: 'permanent',
      submission: { type: 'work', lane: 'batch', input: '1', taskId: 'other' },
    } as Write
    expect(wanted(rows, start)).toEqual({ child: children, children: [7], explicitIds: ['other'] })
    const restart = { kind: 'restartChild', taskId: 'mine', id: 'a' } as Write
    expect(wanted(rows, restart)).toEqual({ child: children })
    const child = { ...task, id: 8, lease: null }
    const known = family(childRow(7, 8, { key: supervisedKey({ id: 'a', restart: 'transient' }) }))
    expect(wanted({ ...rows, ...known, tasks: [task, child] }, restart)).toEqual({
      child: [children[0], children[2]],
      histories: [child],
    })
  })

  test('a child: the one of its key, what comes before it, and the one that it is a retry of', () => {
    const spawn = (rest: object): Write =>
      ({
        kind: 'spawn',
        leaseId,
        key: 'a',
        submission: { type: 'work', lane: 'batch', input: '1' },
        ...rest,
      }) as unknown as Write
    expect(wanted(held, spawn({}))).toEqual({ child: [[7, 'a']] })
    expect(wanted(held, spawn({ key: stageKey({ stage: 'pack' }) }))).toEqual({
      child: [[7, stageKey({ stage: 'pack' })]],
      pipelines: [7],
    })
    expect(
      wanted(held, spawn({ submission: { type: 'work', lane: 'batch', input: '1', taskId: 'x' } })),
    ).toEqual({
      child: [[7, 'a']],
      explicitIds: ['x'],
    })
    const sibling = { id: 'b', restart: 'transient', until: 'ready' }
    expect(wanted(held, spawn({ after: [sibling] }))).toEqual({
      child: [
        [7, 'a'],
        [7, supervisedKey({ id: 'b', restart: 'transient' })],
      ],
    })
    const before = { ...task, id: 2, lease: null }
    const child = { ...task, id: 8, lease: null }
    const rows: Rows = {
      ...named('before', 2),
      tasks: [task, before, child, { ...child, id: 9 }],
      leases: [lease],
      ...family(childRow(2, 8, { key: 'a' }), childRow(7, 9, { key: 'a' })),
    }
    expect(wanted(rows, spawn({}))).toBeUndefined()
    expect(wanted(rows, spawn({ retryOf: 'before' }))).toEqual({
      histories: [child],
      children: [8],
      pipelines: [8],
    })
  })

  test('a key that a provider blocks: the tasks that name it, unless it was blocked before', () => {
    const fail = {
      kind: 'failStep',
      leaseId,
      key: 'a',
      position: 0,
      backOff: { keys: ['k'], retryAfterMs: 1 },
    }
    expect(wanted(held, fail as unknown as Write)).toEqual({ naming: ['k'] })
    expect(wanted({ ...held, naming: new Map([['k', [8]]]) }, fail as unknown as Write)).toEqual({
      tasks: [8],
    })
    const quotas = new Map([['k', { key: 'k', blockedUntil: 1 }]]) as unknown as NonNullable<Rows['quotas']>
    expect(wanted({ ...held, quotas }, fail as unknown as Write)).toBeUndefined()
  })
})
