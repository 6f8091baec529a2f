import { describe, expect, test } from 'vitest'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import {
  ClaimRound,
  type Demander,
  type Heads,
  type LeaseRow,
  mergeHeads,
  noTotals,
  type StreamRow,
  type TaskRow,
} from '../../src/transition.ts'
import { enqueue } from '../../src/queue/stream.ts'
import { submit } from '../../src/submit/submit.ts'
import type { WorkingSet } from '../../src/transition/working-set.ts'
import {
  config,
  ids,
  lease,
  now,
  own,
  quota,
  type Rows,
  stream,
  task,
  workingSet,
} from '../transition/rows.ts'

const queued = (id: number, of = 1, changes: Partial<TaskRow> = {}): TaskRow => ({
  ...task,
  id,
  stream: of,
  state: 'queued',
  lease: null,
  fence: 0,
  seq: 1,
  startedAt: null,
  ...changes,
})
const lane = (id: number, laneRank: number, changes: Partial<StreamRow> = {}): StreamRow => ({
  ...stream,
  id,
  key: `key ${id}`,
  laneRank,
  delayed: 0,
  ...changes,
})
const demander = (changes: Partial<Demander> = {}): Demander => ({
  worker: 4,
  workerId: 'w',
  inFlight: 0,
  capacity: 1,
  lastSeenAt: now.leaseAt,
  draining: false,
  types: ['work'],
  ...changes,
})
const all = (rows: readonly TaskRow[]): Heads => ({ rows, upTo: rows.at(-1)?.id ?? 0, complete: true })

/** Streams with their queued tasks, all of which are known. */
const waiting = (of: readonly (readonly [StreamRow, readonly TaskRow[]])[], rows: Rows = {}): Rows => ({
  ...rows,
  streams: of.map(([row, tasks]) => ({ ...row, depth: tasks.length })),
  heads: new Map(of.map(([row, tasks]) => [row.id, all(tasks)])),
  depth: of.reduce((sum, [, tasks]) => sum + tasks.length, 0),
})
const roundOf = (
  rows: Rows,
  workers: readonly Demander[],
  {
    running = [],
    settings = config,
    fenceFloor,
  }: { running?: readonly LeaseRow[]; settings?: typeof config; fenceFloor?: number } = {},
) => {
  const ws = workingSet(rows, settings, fenceFloor)
  return { ws, round: new ClaimRound(ws, workers, new Map(running.map((row) => [row.id, row]))) }
}
const started = (round: ClaimRound) => round.grants.map(({ task: { id } }) => id)
const slots = (capacity: number) => [demander({ capacity })]
const settings = (changes: object) => parseExecutionConfig(changes).config

describe('a claim (docs/semantics.md 1.1, 1.4)', () => {
  test('moves the task, grants the lease and takes slot and quotas in one commit', () => {
    const limited = settings({
      quotaConfig: { models: { big: { tokensPerWindow: 100, onExceeded: 'defer' } } },
    })
    const row = queued(7, 1, { attempt: 2, fence: 1, tokens: 30 })
    const worker = demander({ capacity: 2 })
    const { ws, round } = roundOf(
      waiting([[{ ...stream, quotaKeys: [quota.key] }, [row]]], { quotas: new Map([[quota.key, quota]]) }),
      [worker],
      { settings: limited },
    )
    expect(round.run()).toBeUndefined()
    const leaseId = ids.lease(100)
    expect(ws.events.map(({ type, data, also }) => [type, data, also])).toEqual([
      [
        'task.started',
        `{"attempt":2,"dispatch":100,"fencingToken":2,"lane":"batch","leaseId":"${leaseId}","type":"work","waitMs":10000,"workerId":"w"}`,
        ['lease.acquired'],
      ],
    ])
    expect(ws.task(7)).toMatchObject({
      state: 'running',
      lease: 100,
      fence: 2,
      attempt: 2,
      startedAt: now.at,
      seq: 2,
    })
    expect(ws.lease(100)).toStrictEqual({
      ...lease,
      id: 100,
      task: 7,
      worker: 4,
      process: own,
      attempt: 2,
      fence: 2,
      acquiredAt: now.leaseAt,
      expiresAt: now.leaseAt + config.leaseTtlMs,
      lastHeartbeatAt: now.leaseAt,
    })
    expect(round.grants).toStrictEqual([{ task: ws.task(7), lease: ws.lease(100), workerId: 'w' }])
    expect([worker.inFlight, ws.nextLease, ws.depth, ws.stream(1).depth]).toEqual([1, 101, 0, 0])
    // It has started before: its tokens are reserved already.
    expect(ws.quota(quota.key)).toStrictEqual({ ...quota, queued: 1, running: 2, windowCount: 2 })
    expect(ws.totals).toStrictEqual({ ...noTotals, running: 6 })
  })

  test.each([
    [now.at, 0],
    [now.at - 1, 1],
    [now.at + 1, 0],
  ])('a task that could be claimed since %i, at 50000, waited %i ms', (queuedAt, waitMs) => {
    const { ws, round } = roundOf(waiting([[stream, [queued(7, 1, { queuedAt })]]]), slots(1))
    round.run()
    expect(JSON.parse(ws.events[0]?.data ?? '{}')).toMatchObject({ waitMs })
  })

  test('in a later incarnation has a token above all of the earlier ones, and then the next (docs/reliability.md D25)', () => {
    const tasks = [queued(7, 1, { fence: 3 }), queued(8), queued(9, 1, { fence: 1_001 })]
    const { ws, round } = roundOf(waiting([[stream, tasks]]), slots(3), { fenceFloor: 1_000 })
    round.run()
    expect([7, 8, 9].map((id) => ws.task(id)?.fence)).toEqual([1_001, 1_001, 1_002])
    expect(ws.events.map(({ data }) => (JSON.parse(data) as { fencingToken: number }).fencingToken)).toEqual([
      1_001, 1_001, 1_002,
    ])
    expect(round.grants.map(({ lease: { fence } }) => fence)).toEqual([1_001, 1_001, 1_002])
  })

  test('each has the next number of all', () => {
    const { round } = roundOf(waiting([[stream, [queued(7), queued(8)]]]), slots(3))
    round.run()
    expect(round.grants.map(({ task: { id }, lease: granted }) => [id, granted.id])).toEqual([
      [7, 100],
      [8, 101],
    ])
  })
})

describe('which worker (docs/semantics.md 3.1, 3.2)', () => {
  test('two idle ones of capacity 4 and four tasks give 2 + 2', () => {
    const workers = [
      demander({ worker: 4, workerId: 'a', capacity: 4 }),
      demander({ worker: 5, workerId: 'b', capacity: 4 }),
    ]
    const { round } = roundOf(waiting([[stream, [1, 2, 3, 4].map((id) => queued(id))]]), workers)
    round.run()
    expect(round.grants.map(({ workerId, lease: { worker } }) => [workerId, worker])).toEqual([
      ['a', 4],
      ['b', 5],
      ['a', 4],
      ['b', 5],
    ])
    expect(round.freeSlots).toBe(4)
  })

  test.each([
    ['free', {}, 1],
    ['full', { inFlight: 1 }, 0],
    ['draining', { draining: true }, 0],
    ['unseen for a ms less than leaseTtlMs', { lastSeenAt: now.leaseAt - config.leaseTtlMs + 1 }, 1],
    ['unseen for leaseTtlMs', { lastSeenAt: now.leaseAt - config.leaseTtlMs }, 0],
  ])('one that is %s', (_, changes, free) => {
    const { ws, round } = roundOf(waiting([[stream, [queued(7)]]]), [demander(changes)])
    expect(round.freeSlots).toBe(free)
    expect(round.run()).toBeUndefined()
    expect(started(round)).toHaveLength(free)
    expect(ws.events).toHaveLength(free)
  })

  test('that some take none keeps no other from it', () => {
    const workers = [
      demander({ worker: 5, workerId: 'full', inFlight: 1 }),
      demander({ worker: 6, workerId: 'other', types: ['other'] }),
      demander({ worker: 7, workerId: 'every', types: ['*'] }),
    ]
    const { round } = roundOf(waiting([[stream, [queued(7), queued(8)]]]), workers)
    round.run()
    expect(round.grants.map(({ workerId }) => workerId)).toEqual(['every'])
  })

  test('a task that no worker can take is not even looked for: no head is asked for', () => {
    const { round } = roundOf({ streams: [stream] }, [demander({ inFlight: 1 })])
    expect(round.run()).toBeUndefined()
  })

  test('free slots are those of all that may take a task', () => {
    const workers = [
      demander({ capacity: 4, inFlight: 1 }),
      demander({ capacity: 2 }),
      demander({ capacity: 8, draining: true }),
    ]
    expect(roundOf({}, workers).round.freeSlots).toBe(5)
  })
})

describe('which task (docs/semantics.md 3.3, 3.4)', () => {
  const lanes = waiting([
    [lane(1, 2), [queued(1, 1), queued(4, 1)]],
    [lane(2, 1), [queued(3, 2)]],
    [lane(3, 0), [queued(5, 3)]],
    [lane(4, 2), [queued(2, 4)]],
  ])

  test('lanes strictly, and in a lane in the order of submission, whatever the streams', () => {
    const { round, ws } = roundOf(lanes, slots(9))
    round.run()
    expect(started(round)).toEqual([5, 3, 1, 2, 4])
    expect(ws.events.map(({ data }) => (JSON.parse(data) as { lane: string }).lane)).toEqual([
      'interactive',
      'normal',
      'batch',
      'batch',
      'batch',
    ])
  })

  test('no more than there are slots', () => {
    const { round } = roundOf(lanes, slots(2))
    round.run()
    expect(started(round)).toEqual([5, 3])
  })

  test('waiting lifts a task by a lane for each whole period, where that is set (C5)', () => {
    const aging = settings({ agingMs: 1_000 })
    const of = (queuedAt: number) =>
      waiting([
        [lane(1, 1), [queued(1, 1, { queuedAt: now.at })]],
        [lane(2, 2), [queued(2, 2, { queuedAt })]],
        [lane(3, 2), []],
      ])
    const order = (queuedAt: number) => {
      const { round } = roundOf(of(queuedAt), slots(9), { settings: aging })
      expect(round.run()).toBeUndefined()
      return started(round)
    }
    // A ms less than a period, as urgent as the other and later, and more urgent.
    expect([now.at - 999, now.at - 1_000, now.at - 2_000].map(order)).toEqual([
      [1, 2],
      [1, 2],
      [2, 1],
    ])
    const unknown = roundOf({ ...of(now.at), heads: new Map([[1, all([])]]) }, slots(1), { settings: aging })
    expect(unknown.round.run()).toEqual([2])
  })

  test('a head that no worker here runs is passed over in place, with what is behind it', () => {
    const { round } = roundOf(
      waiting([
        [lane(1, 0, { type: 'other' }), [queued(1, 1), queued(2, 1)]],
        [lane(2, 0), [queued(3, 2)]],
        [lane(3, 2), [queued(4, 3)]],
      ]),
      slots(9),
    )
    expect(round.run()).toBeUndefined()
    expect(started(round)).toEqual([3, 4])
  })

  test.each([
    ['has room for one', { maxInFlight: 2 }, [1, 3]],
    ['has no room', { maxInFlight: 1 }, [3]],
    ['has room for both', { maxInFlight: 3 }, [1, 2, 3]],
  ])('a quota that defers and %s keeps the others in their place', (_, limit, order) => {
    const limited = settings({ quotaConfig: { models: { big: { ...limit, onExceeded: 'defer' } } } })
    const { round } = roundOf(
      waiting(
        [
          [lane(1, 1, { quotaKeys: [quota.key] }), [queued(1, 1), queued(2, 1)]],
          [lane(2, 2), [queued(3, 2)]],
        ],
        { quotas: new Map([[quota.key, quota]]) },
      ),
      slots(9),
      { settings: limited },
    )
    round.run()
    expect(started(round)).toEqual(order)
  })

  test('the changes of a flush count: a task that left the stream is no head of it', () => {
    const { ws, round } = roundOf(waiting([[stream, [1, 2, 3, 4, 5].map((id) => queued(id))]], {}), slots(9))
    ws.tasks.put(1, queued(1, 1, { state: 'canceled' }))
    ws.tasks.put(2, queued(2, 1, { dueAt: now.at + 1 }))
    ws.tasks.put(3, queued(3, 9))
    ws.tasks.put(4, queued(4, 1, { attempt: 6 }))
    expect(round.run()).toBeUndefined()
    expect(round.grants.map(({ task: { id, attempt } }) => [id, attempt])).toEqual([
      [4, 6],
      [5, 1],
    ])
    expect(ws.taken.get(1)).toBe(5)
  })

  test('a head of a stream that was taken, or passed over finally, is reported', () => {
    const taken = (tasks: readonly TaskRow[], depth: number, changed: readonly number[] = []) => {
      const { ws, round } = roundOf(
        { streams: [{ ...stream, depth }], heads: new Map([[1, all(tasks)]]) },
        slots(9),
      )
      for (const id of changed) ws.tasks.put(id, queued(id, 1, { state: 'canceled' }))
      round.run()
      return ws.taken.get(1)
    }
    const three = [1, 2, 3].map((id) => queued(id))
    expect(taken(three, 3)).toBe(3)
    expect(taken(three, 2, [1])).toBe(3)
    expect(taken(three, 1, [1, 2, 3])).toBe(3)
    // The second waits for room, here for a provider: it is where the next round begins.
    const { ws, round } = roundOf(
      waiting([[{ ...stream, quotaKeys: [quota.key] }, three]], {
        quotas: new Map([[quota.key, { ...quota, blockedUntil: now.at + 1 }]]),
      }),
      slots(9),
    )
    ws.tasks.put(1, queued(1, 1, { state: 'canceled' }))
    round.run()
    expect([started(round), ws.taken.get(1)]).toEqual([[], 1])
  })
})

describe('heads that are not known yet (docs/semantics.md 3.3)', () => {
  test('are asked for, all of the lane together, and the lanes behind only when it is empty', () => {
    const { round } = roundOf(
      { streams: [lane(1, 1, { depth: 1 }), lane(2, 1, { depth: 1 }), lane(3, 2, { depth: 1 })] },
      slots(1),
    )
    expect(round.run()).toEqual([1, 2])
    expect(started(round)).toEqual([])
  })

  test('a stream without tasks is not asked for', () => {
    const { round } = roundOf({ streams: [lane(1, 1, { depth: 0 }), lane(2, 2, { depth: 1 })] }, slots(1))
    expect(round.run()).toEqual([2])
  })

  test.each([
    ['in the order of lanes', config],
    ['where waiting lifts tasks', settings({ agingMs: 1_000 })],
  ])('a stream of which nothing is left is not asked for more, %s', (_, its) => {
    const heads = new Map([[1, { rows: [queued(1)], upTo: 1, complete: false }]])
    const { round } = roundOf({ streams: [{ ...stream, depth: 1 }], heads }, slots(9), { settings: its })
    expect(round.run()).toBeUndefined()
    expect(started(round)).toEqual([1])
  })

  test('behind those that were loaded are asked for once those are taken, and the round goes on', () => {
    const heads = new Map([[1, { rows: [queued(1), queued(2)], upTo: 2, complete: false }]])
    const { round } = roundOf({ streams: [{ ...stream, depth: 3 }], heads }, slots(9))
    expect(round.run()).toEqual([1])
    expect(started(round)).toEqual([1, 2])
    heads.set(1, { rows: [queued(1), queued(2), queued(3)], upTo: 3, complete: true })
    round.loaded([1])
    expect(round.run()).toBeUndefined()
    expect(started(round)).toEqual([1, 2, 3])
  })

  test('a stream that is new in this flush has those that were queued in it', () => {
    const { ws, round } = roundOf({ streams: [] }, slots(9))
    const added: StreamRow = { ...stream, id: 2, depth: 0, delayed: 0 }
    ws.addStream(added)
    for (const id of [12, 11]) {
      ws.tasks.put(id, queued(id, 2))
      enqueue(ws, queued(id, 2))
    }
    expect(round.run()).toBeUndefined()
    expect(started(round)).toEqual([11, 12])
  })

  test('one that was queued in this flush beyond what was loaded waits until that is', () => {
    const heads = new Map([[1, { rows: [queued(1)], upTo: 3, complete: false }]])
    const { ws, round } = roundOf({ streams: [{ ...stream, depth: 1 }], heads }, slots(9))
    for (const id of [2, 4]) {
      ws.tasks.put(id, queued(id))
      enqueue(ws, queued(id))
    }
    expect(round.run()).toEqual([1])
    expect(started(round)).toEqual([1, 2])
  })

  test('loaded heads and those queued since come in the order of their submission', () => {
    const merged = (rows: readonly number[], fresh: readonly number[], upTo: number, complete: boolean) =>
      mergeHeads(
        { rows: rows.map((id) => queued(id)), upTo, complete },
        fresh.map((id) => queued(id)),
      ).map(({ id }) => id)
    expect(merged([1, 4], [], 4, false)).toEqual([1, 4])
    expect(merged([1, 4], [3, 2], 4, false)).toEqual([1, 2, 3, 4])
    expect(merged([1, 4], [6, 5], 4, true)).toEqual([1, 4, 5, 6])
    expect(merged([1, 4], [6, 5], 5, false)).toEqual([1, 4, 5])
    expect(merged([], [6, 5], 0, true)).toEqual([5, 6])
    expect(merged([2, 4], [5, 3], 9, true)).toEqual([2, 3, 4, 5])
    expect(merged([1, 4, 8], [6, 5], 8, true)).toEqual([1, 4, 5, 6, 8])
  })
})

describe('suspects (docs/semantics.md 3.9)', () => {
  // Of maxCrashes 5, 3 make one.
  const suspect = (id: number, of = 1) => queued(id, of, { crashes: 3, attempt: 4 })
  const runs = (changes: Partial<LeaseRow> = {}, crashes = 3) => {
    const held: LeaseRow = { ...lease, id: 50, task: 90, attempt: 4, ...changes }
    const row: TaskRow = { ...task, id: 90, lease: 50, crashes, attempt: 4 }
    return { held, row }
  }

  test('one starts, the next keeps its place with what is behind it, and everything else starts', () => {
    const { round } = roundOf(
      waiting([
        [lane(1, 1), [suspect(1)]],
        [lane(2, 1), [suspect(2, 2), queued(3, 2)]],
        [lane(3, 1), [queued(4, 3, { crashes: 2, attempt: 3 }), queued(5, 3)]],
      ]),
      slots(9),
    )
    expect(round.run()).toBeUndefined()
    expect(started(round)).toEqual([1, 4, 5])
  })

  test.each<[string, Partial<LeaseRow>, number, boolean]>([
    ['runs here', {}, 3, false],
    ['ran here, and its lease has ended', { state: 'failed' }, 3, true],
    ['runs here, and is none', {}, 2, true],
  ])('one waits for another that %s', (_, changes, crashes, starts) => {
    const { held, row } = runs(changes, crashes)
    const { round } = roundOf(waiting([[stream, [suspect(1)]]], { tasks: [row], leases: [held] }), slots(9), {
      running: [lease, held],
    })
    round.run()
    expect(started(round)).toEqual(starts ? [1] : [])
  })

  test('one that comes behind others waits for none of them', () => {
    const { round } = roundOf(
      waiting([
        [lane(1, 1), [queued(1)]],
        [lane(2, 1), [suspect(2, 2)]],
      ]),
      slots(9),
    )
    round.run()
    expect(started(round)).toEqual([1, 2])
  })

  test('nobody waits for one whose lease ended in this flush', () => {
    const { held, row } = runs()
    const { ws, round } = roundOf(
      waiting([[stream, [suspect(1)]]], { tasks: [row], leases: [held] }),
      slots(9),
      { running: [held, { ...held, id: 99 }] },
    )
    ws.leases.put(50, { ...held, state: 'completed' })
    round.run()
    expect(started(round)).toEqual([1])
  })
})

describe('preemption (docs/semantics.md 3.6)', () => {
  const preempting = settings({ preemption: true })
  /** Leases of tasks of a lane, one on each of these workers. */
  const held = (id: number, of: number, changes: Partial<LeaseRow> = {}) => ({
    row: { ...task, id, stream: of, lease: id } satisfies TaskRow,
    lease: { ...lease, id, task: id, ...changes } satisfies LeaseRow,
  })
  /** Streams 2 and 3 are of the lanes normal and batch. */
  const lower = [
    [lane(2, 1), []],
    [lane(3, 2), []],
  ] as const
  const asked = (ws: WorkingSet) =>
    [...ws.leases.changed.values()].map(({ id, yieldAskedAt }) => [id, yieldAskedAt] as const)
  const preempted = (
    interactive: readonly (readonly [StreamRow, readonly TaskRow[]])[],
    leases: readonly ReturnType<typeof held>[],
    workers: readonly Demander[] = [demander({ capacity: 4, inFlight: 4 })],
    { rows = {}, config: its = preempting }: { rows?: Rows; config?: typeof config } = {},
  ) => {
    const { ws, round } = roundOf(
      waiting([...interactive, ...lower], {
        ...rows,
        tasks: leases.map(({ row }) => row),
        leases: leases.map((it) => it.lease),
      }),
      workers,
      { running: leases.map((it) => it.lease), settings: its },
    )
    round.preempt()
    return ws
  }
  const chat = lane(1, 0)
  const running = [held(50, 2), held(51, 3), held(52, 3), held(53, 2)]
  const at = now.leaseAt

  test('as many are asked as interactive tasks wait: the lowest lane first, of it the youngest', () => {
    const ws = preempted([[chat, [queued(1)]]], running)
    expect(asked(ws)).toEqual([[52, at]])
    expect(ws.lease(52)).toStrictEqual({ ...running[2]?.lease, yieldAskedAt: at })
    expect(ws.notices).toStrictEqual([{ leaseId: ids.lease(52), taskId: ids.task(52), verdict: 'yield' }])
    const more = preempted([[chat, [1, 2, 3].map((id) => queued(id))]], running)
    expect(asked(more)).toEqual([
      [52, at],
      [51, at],
      [53, at],
    ])
  })

  test('tasks that were asked before count', () => {
    const before = [held(52, 3, { yieldAskedAt: 5 }), held(50, 2)]
    expect(asked(preempted([[chat, [queued(1)]]], before))).toEqual([])
    expect(asked(preempted([[chat, [queued(1), queued(2)]]], before))).toEqual([[50, at]])
  })

  test('nobody is asked where it is not set, or nothing interactive waits', () => {
    expect(asked(preempted([[chat, [queued(1)]]], running, undefined, { config }))).toEqual([])
    expect(asked(preempted([[chat, []]], running))).toEqual([])
    expect(asked(preempted([[lane(1, 1), [queued(1)]]], running))).toEqual([])
  })

  test('an interactive task does not yield, nor does one whose lease has ended', () => {
    const over = held(52, 3)
    const ws = preempted([[chat, [queued(1)]]], [held(50, 1), held(51, 3, { state: 'failed' })])
    expect(asked(ws)).toEqual([])
    const { ws: ended, round } = roundOf(
      waiting([[chat, [queued(1)]], ...lower], { tasks: [over.row], leases: [over.lease] }),
      [demander({ inFlight: 1 })],
      { running: [over.lease, { ...over.lease, id: 99 }], settings: preempting },
    )
    ended.leases.put(52, { ...over.lease, state: 'canceled' })
    round.preempt()
    expect(asked(ended)).toEqual([[52, null]])
  })

  test.each<[string, readonly Demander[], boolean]>([
    ['all that run its type are full', [demander({ inFlight: 1 })], true],
    ['one has a free slot', [demander({ inFlight: 1 }), demander({ worker: 5, workerId: 'v' })], false],
    ['none runs its type', [demander({ inFlight: 1, types: ['other'] })], false],
    ['the only one is draining', [demander({ inFlight: 1, draining: true })], false],
    [
      'the only one was not seen for leaseTtlMs',
      [demander({ inFlight: 1, lastSeenAt: at - config.leaseTtlMs })],
      false,
    ],
    [
      'one that runs another type has a free slot',
      [demander({ inFlight: 1 }), demander({ worker: 5, workerId: 'v', types: ['other'] })],
      true,
    ],
  ])('%s: whether somebody is asked', (_, workers, is) => {
    expect(asked(preempted([[chat, [queued(1)]]], [held(50, 2)], workers))).toEqual(is ? [[50, at]] : [])
  })

  test('a task that nobody here runs makes nobody yield, nor does a stream that nobody waits in', () => {
    const others = [
      [lane(4, 0, { type: 'nobody' }), [queued(3, 4)]],
      [lane(5, 0, { type: 'other' }), []],
    ] as const
    const workers = [
      demander({ inFlight: 2, capacity: 2 }),
      demander({ worker: 5, workerId: 'v', types: ['other'], inFlight: 1 }),
    ]
    const ws = preempted(
      [[chat, [queued(1)]], ...others],
      [held(50, 2), held(51, 2), held(52, 3, { worker: 5 })],
      workers,
    )
    expect(asked(ws)).toEqual([[51, at]])
  })

  test('the slots of either of two waiting types are of use', () => {
    const workers = [
      demander({ inFlight: 1 }),
      demander({ worker: 5, workerId: 'v', types: ['other'], inFlight: 1 }),
    ]
    const ws = preempted(
      [
        [chat, [queued(1)]],
        [lane(4, 0, { type: 'other' }), [queued(2, 4)]],
      ],
      [held(50, 2), held(51, 3, { worker: 5 })],
      workers,
    )
    expect(asked(ws)).toEqual([
      [51, at],
      [50, at],
    ])
  })

  test('only those are asked whose slot would be of use', () => {
    const workers = [
      demander({ inFlight: 1 }),
      demander({ worker: 5, workerId: 'v', types: ['other'], inFlight: 1 }),
    ]
    const ws = preempted(
      [[chat, [queued(1), queued(2)]]],
      [held(50, 2), held(51, 3, { worker: 5 }), held(52, 3, { worker: 6 })],
      workers,
    )
    expect(asked(ws)).toEqual([[50, at]])
  })

  test('no more are asked than quotas have room for, in tasks and in tokens, whatever the types', () => {
    const limited = (limit: object) =>
      settings({
        preemption: true,
        quotaConfig: { models: { big: { ...limit, onExceeded: 'defer' } } },
      })
    const keyed = (id: number) => lane(id, 0, { quotaKeys: [quota.key] })
    const count = (limit: object, tokens: number) =>
      preempted(
        [
          [keyed(1), [queued(1, 1, { tokens }), queued(2, 1, { tokens })]],
          [keyed(4), [queued(3, 4, { tokens })]],
        ],
        running,
        undefined,
        { config: limited(limit), rows: { quotas: new Map([[quota.key, quota]]) } },
      ).leases.changed.size
    // One runs, and 10 tokens of this window are used.
    expect([1, 2, 3, 4, 9].map((maxInFlight) => count({ maxInFlight }, 0))).toEqual([0, 1, 2, 3, 3])
    expect([29, 30, 49, 50, 70].map((max) => count({ tokensPerWindow: max }, 20))).toEqual([0, 1, 1, 2, 3])
  })

  test('a reservation of an earlier start is not asked for again; nothing is known of an unknown head', () => {
    const limited = settings({
      preemption: true,
      quotaConfig: { models: { big: { tokensPerWindow: 20, onExceeded: 'defer' } } },
    })
    const keyed = lane(1, 0, { quotaKeys: [quota.key] })
    const rows = { quotas: new Map([[quota.key, quota]]) }
    const again = queued(1, 1, { fence: 1, tokens: 90 })
    expect(
      asked(preempted([[keyed, [again]]], [held(50, 2)], undefined, { config: limited, rows })),
    ).toHaveLength(1)
    const { ws, round } = roundOf(
      {
        ...rows,
        streams: [{ ...keyed, depth: 1 }, lane(2, 1, { depth: 0 })],
        tasks: [held(50, 2).row],
        leases: [held(50, 2).lease],
      },
      [demander({ inFlight: 1 })],
      { running: [held(50, 2).lease], settings: limited },
    )
    round.preempt()
    expect(asked(ws)).toHaveLength(1)
  })

  test('a head that left the queue in this flush asks for nothing: it is the next one that does', () => {
    const limited = settings({
      preemption: true,
      quotaConfig: { models: { big: { tokensPerWindow: 40, onExceeded: 'defer' } } },
    })
    const askedWith = (tokens: number) => {
      const it = held(50, 2)
      const { ws, round } = roundOf(
        waiting(
          [
            [
              lane(1, 0, { quotaKeys: [quota.key] }),
              [queued(1, 1, { tokens: 31 }), queued(2, 1, { tokens })],
            ],
            ...lower,
          ],
          { tasks: [it.row], leases: [it.lease], quotas: new Map([[quota.key, quota]]) },
        ),
        [demander({ inFlight: 1 })],
        { running: [it.lease], settings: limited },
      )
      ws.tasks.put(1, queued(1, 1, { state: 'canceled', tokens: 31 }))
      round.preempt()
      return asked(ws).length
    }
    expect([askedWith(30), askedWith(31)]).toEqual([1, 0])
  })

  test('a suspect that waits for another asks nobody (3.9)', () => {
    const other: ReturnType<typeof held> = {
      row: { ...task, id: 50, stream: 2, lease: 50, crashes: 3 },
      lease: { ...lease, id: 50, task: 50, attempt: 4 },
    }
    const waits = (crashes: number) =>
      asked(preempted([[chat, [queued(1, 1, { crashes })]]], [other], [demander({ inFlight: 1 })]))
    expect([waits(2), waits(3)]).toEqual([[[50, at]], []])
  })
})

describe('where there are shares (docs/semantics.md 11)', () => {
  /** Tasks of these clients, submitted in this order, and a round over them. */
  const shared = (clients: readonly string[], capacity: number, quotaConfig?: object, tokens = 0) => {
    const ws = workingSet(
      { streams: [], depth: 0, delayed: 0 },
      settings({ shares: {}, ...(quotaConfig === undefined ? {} : { quotaConfig }) }),
    )
    submit(
      ws,
      clients.map((client) => ({ type: 'work', lane: 'normal', input: '1', client, model: 'm', tokens })),
    )
    const round = new ClaimRound(ws, slots(capacity), new Map())
    const claim = () => {
      expect(round.run()).toBeUndefined()
      return round.grants.map(({ task: { id } }) => clients[id - 100]).join('')
    }
    return { ws, round, claim }
  }

  test('clients take turns, and each start says what it adds', () => {
    const { ws, claim } = shared(['a', 'a', 'a', 'b', 'b'], 9)
    expect(claim()).toBe('ababa')
    const starts = ws.events.filter(({ type }) => type === 'task.started')
    expect(starts.map(({ data }) => data.includes('"charge":1000000,'))).toEqual([
      true,
      true,
      true,
      true,
      true,
    ])
    expect(['a', 'b'].map((name) => ws.client(name).time)).toEqual([3_000_000, 2_000_000])
    expect(ws.task(100)?.account?.charge).toBe(1_000_000)
  })

  test('a stream stands where its next task does, and behind the last when there is none', () => {
    const heads = (capacity: number) => {
      const { ws, claim } = shared(['a', 'b', 'a', 'a'], capacity)
      claim()
      return [...ws.streams.changed.values()].map(({ client, head }) => [client, head])
    }
    expect(heads(1)).toEqual([
      ['a', 102],
      ['b', 101],
    ])
    expect(heads(3)).toEqual([
      ['a', 103],
      ['b', 102],
    ])
    expect(heads(4)).toEqual([
      ['a', 104],
      ['b', 102],
    ])
  })
  const deferring = { maxInFlight: 1, onExceeded: 'defer' }

  test('a client that a quota of its own holds back is set apart from one that waits at a shared one (11.3)', () => {
    const stalled = (clients: readonly string[], quotas: object) => {
      const { ws, claim } = shared(clients, 9, quotas)
      return [claim(), ['a', 'b'].filter((name) => ws.client(name).stalled).join('')]
    }
    const every = ['a', 'a', 'b', 'b']
    expect(stalled(every, { clients: { a: deferring } })).toEqual(['abb', 'a'])
    expect(stalled(every, { defaults: { client: deferring } })).toEqual(['ab', 'ab'])
    expect(stalled(every, { models: { m: deferring } })).toEqual(['a', ''])
    expect(stalled(every, { models: { m: deferring }, clients: { a: deferring } })).toEqual(['a', ''])
    expect(stalled(['a', 'b', 'b'], { clients: { a: deferring } })).toEqual(['abb', ''])
  })
  test('the usage of a round counts: the shared quota says first who is held back', () => {
    const { ws, claim } = shared(['a', 'a', 'b', 'b', 'b'], 9, {
      clients: { a: deferring },
      models: { m: { ...deferring, maxInFlight: 3 } },
    })
    expect(claim()).toBe('abb')
    expect(ws.client('a').stalled).toBe(false)
  })

  test.each([
    ['that wants more tokens than its window has left is not', 60, 'ab', false],
    ['that wants tokens of a window that is used up is', 100, 'ab', true],
    ['all of whose tasks have started is not', 50, 'aba', false],
  ])('a client %s held back (11.3)', (_, tokens, order, is) => {
    const quotas = { clients: { a: { tokensPerWindow: 100, onExceeded: 'defer' } } }
    const { ws, claim } = shared(['a', 'a', 'b'], 9, quotas, tokens)
    expect([claim(), ws.client('a').stalled]).toEqual([order, is])
  })

  test.each([
    ['no quota of its own', undefined],
    ['one that has room', { clients: { a: { ...deferring, maxInFlight: 2 } } }],
  ])('a suspect that waits for another is not held back by quotas, with %s (11.3)', (_, quotas) => {
    const other: LeaseRow = { ...lease, id: 50, task: 90, attempt: 4 }
    const { ws } = shared(['a', 'b'], 9, quotas)
    ws.leases.put(50, other)
    ws.tasks.put(90, { ...task, id: 90, lease: 50, crashes: 3, attempt: 4 })
    ws.tasks.put(100, { ...ws.taskNow({ id: 100 }), crashes: 3, attempt: 4 })
    const round = new ClaimRound(ws, slots(9), new Map([[50, other]]))
    expect(round.run()).toBeUndefined()
    expect(started(round)).toEqual([101])
    expect(ws.client('a').stalled).toBe(false)
  })
  test.each([
    ['that only lack a slot', 1, 5, 0],
    ['that run, where those that wait are held back', 9, 1, 1_000_000],
  ])('a new client begins beside those %s (11.3)', (_, capacity, maxInFlight, time) => {
    // Client a has started one and waits with b, whose time is 0, at the quota of the model.
    const { ws, claim } = shared(['a', 'a', 'b', 'b'], capacity, {
      models: { m: { ...deferring, maxInFlight } },
    })
    expect(claim()).toBe('a')
    submit(ws, [{ type: 'work', lane: 'normal', input: '1', client: 'c' }])
    expect(ws.client('c').time).toBe(time)
  })
})
