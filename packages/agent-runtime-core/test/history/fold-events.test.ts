import { describe, expect, test } from 'vitest'
import { approvalName } from '../../src/approval/approval.ts'
import { childName } from '../../src/child/child.ts'
import { RETRY_KEY } from '../../src/history/replay.ts'
import type { EventType } from '../../src/event/event.ts'
import { foldEvents } from '../../src/history/fold-events.ts'
import { RESTART_NAME, supervisedKey } from '../../src/supervision/supervision.ts'

type Told = readonly [type: EventType, data?: object]

/** The fold of these events: their seqs rise by one from 1, their times by ten from 10. */
function fold(...events: readonly Told[]) {
  return foldEvents(
    events.map(([type, data = {}], index) => ({
      type,
      data: JSON.stringify(data),
      seq: index + 1,
      at: (index + 1) * 10,
    })),
  )
}

const queued: Told = ['task.queued', { type: 'work', lane: 'normal', input: 1 }]
const start = (fencingToken = 1, attempt = 1): Told => ['task.started', { fencingToken, attempt }]
const requeued = (reason: string, attempt: number): Told => ['task.requeued', { reason, attempt }]
const completed: Told = ['task.completed', { output: 1 }]
const waiting = (...waits: readonly object[]): Told => ['task.waiting', { reason: 'signal', waits }]
const timer = (key: string, position = 0) => ({ key, kind: 'timer', position })
const awaits = (key: string, name: string, position = 0) => ({ key, kind: 'signal', name, position })
const signal = (name: string): Told => ['signal.received', { name, value: 1 }]
const spawned = (key: string): Told => [
  'child.spawned',
  { key, policy: 'cancel', position: 0, taskId: key, type: 'work' },
]
const ended = (key: string): Told => [
  'child.ended',
  { key, name: childName(key), state: 'completed', taskId: key },
]
const resolved = (key: string, outcome: string, more: object = {}) => ({ key, outcome, ...more })
/** The history of a task that is in this state. */
const histories = {
  queued: [queued],
  running: [queued, start()],
  waiting: [queued, start(), waiting(timer('t'))],
  completed: [queued, start(), completed],
  failed: [queued, start(), ['task.failed', { kind: 'error', error: {} }]],
  canceled: [queued, ['task.canceled', { from: 'queued' }]],
  rejected: [['task.rejected', {}]],
} as const satisfies Record<string, readonly Told[]>
const over = ['completed', 'failed', 'canceled', 'rejected'] as const
const keysOf = ({ waits }: ReturnType<typeof fold>) => waits.map(({ key }) => key)
const signalsOf = ({ signals }: ReturnType<typeof fold>) => [...signals]
const childrenOf = ({ children }: ReturnType<typeof fold>) => [...children.keys()]

/** A task that is claimed again and again, under these tokens. */
function problemsWith(tokens: readonly number[], fenceFloors?: readonly number[]): readonly string[] {
  const event = (type: EventType, data: object) => ({ type, data: JSON.stringify(data) })
  const claims = tokens.flatMap((fencingToken) => [
    event('task.started', { fencingToken, attempt: 1 }),
    event('task.requeued', { reason: 'yielded', attempt: 1 }),
  ])
  const all = [event('task.queued', { type: 'work', lane: 'normal', input: 1 }), ...claims]
  return foldEvents(
    all.map((it, index) => ({ ...it, seq: index + 1, at: 1 })),
    fenceFloors,
  ).problems
}

describe('the fencing tokens of a history (docs/reliability.md I10, D25)', () => {
  test('rise by one with each claim', () => {
    expect(problemsWith([1, 2, 3])).toEqual([])
    expect(problemsWith([1, 3])).toEqual(['I10 start 4 has fencing token 3, not 2'])
    expect(problemsWith([1, 1])).toEqual(['I10 start 4 has fencing token 1, not 2'])
  })

  test('go on above the floor of an incarnation, once', () => {
    const floors = [100, 200]
    for (const tokens of [
      [1, 2, 101, 102],
      [101, 201, 202],
      [1, 201],
    ])
      expect(problemsWith(tokens, floors)).toEqual([])
    expect(problemsWith([1, 2, 3], [2])).toEqual([])
    expect(problemsWith([1, 102], floors)).toEqual(['I10 start 4 has fencing token 102, not 101'])
    expect(problemsWith([201, 102], floors)).toEqual(['I10 start 4 has fencing token 102, not 202'])
  })
})

describe('the row that the events of a task make', () => {
  test('has what it was submitted with, and nothing of what it was not', () => {
    expect(fold(queued).row).toStrictEqual({
      attempt: 1,
      crashes: 0,
      steps: 0,
      state: 'queued',
      type: 'work',
      lane: 'normal',
      input: '1',
      submittedAt: 10,
    })
    const given = { cost: 2, schedule: 'daily', scheduledFor: 5, held: true, swarm: 's', agent: 'a' }
    const { row } = fold([
      'task.queued',
      { type: 'work', lane: 'batch', input: { b: 1, a: 2 }, parentId: 'p', ...given },
    ])
    expect(row).toMatchObject({ lane: 'batch', input: '{"a":2,"b":1}', parent: 'p', ...given })
  })

  test('a status of no events is that of no task', () => {
    expect(fold()).toStrictEqual({
      row: { attempt: 1, crashes: 0, steps: 0 },
      waits: [],
      signals: new Map(),
      children: new Map(),
      childrenSince: new Map(),
      waitDueAt: null,
      problems: [],
    })
  })

  test('a status of a rejected task says the type, and why', () => {
    const why = { type: 'work', lane: 'batch', reason: 'queue_full', message: 'full' }
    expect(fold(['task.rejected', { ...why, verdict: {} }]).row).toStrictEqual({
      attempt: 1,
      crashes: 0,
      steps: 0,
      state: 'rejected',
      finishedAt: 10,
      ...why,
    })
  })

  test('a status of a running task says since when, and that it has made no checkpoint; that of an ended one how it ended', () => {
    expect(fold(queued, start()).row).toMatchObject({ state: 'running', startedAt: 20, checkpointed: false })
    const { row } = fold(queued, start(), ['task.completed', { output: { b: 1, a: 2 } }])
    expect(row).toMatchObject({ state: 'completed', output: '{"a":2,"b":1}', finishedAt: 30 })
    expect(row).not.toHaveProperty('checkpointed')
    expect(
      fold(queued, start(), ['task.failed', { kind: 'timeout', error: { b: 1, a: 2 } }]).row,
    ).toMatchObject({
      state: 'failed',
      kind: 'timeout',
      error: '{"a":2,"b":1}',
      finishedAt: 30,
      crashes: 0,
    })
  })

  test('a status of a canceled task has the reason, if one was given', () => {
    const { row } = fold(queued, ['task.canceled', { from: 'queued', reason: 'user' }])
    expect(row).toMatchObject({ state: 'canceled', reason: 'user', finishedAt: 20 })
    expect(fold(...histories.canceled).row).not.toHaveProperty('reason')
  })

  test('counts the steps that it has recorded or inherited, and not those that failed or only began', () => {
    const { row, problems } = fold(
      queued,
      ['step.inherited', { key: 'a', position: 0 }],
      ['step.inherited', { key: 'b', position: 1 }],
      ['wait.inherited', { key: 'w', position: 2 }],
      start(),
      ['step.started', { key: 'c', position: 3 }],
      ['step.failed', { key: 'c', position: 3 }],
      ['step.completed', { key: 'c', position: 3 }],
    )
    expect([row['steps'], problems]).toEqual([3, []])
  })

  test('has a checkpoint while that is the last thing that the pass recorded', () => {
    const checkpoint: Told = ['checkpoint.created', { hash: 'h', size: 1 }]
    expect(fold(queued, start(), checkpoint).row['checkpointed']).toBe(true)
    expect(fold(queued, start(), checkpoint, ['step.completed', { key: 'a' }]).row['checkpointed']).toBe(
      false,
    )
    expect(fold(queued, start(), checkpoint, requeued('yielded', 1)).row).not.toHaveProperty('checkpointed')
    expect(fold(queued, start(), checkpoint, requeued('yielded', 1), start(2)).row['checkpointed']).toBe(
      false,
    )
  })

  test('adds up what was used, whichever event tells it; what a fork inherited was used by another task', () => {
    const charged = (tokens: number) => ({ charged: { tokens, money: 500_000, cost: 0 } })
    expect(fold(queued, ['step.inherited', { key: 'a', ...charged(9) }]).row).not.toHaveProperty('used')
    const { row } = fold(
      queued,
      start(),
      ['step.completed', { key: 'a', ...charged(2) }],
      ['task.completed', { output: 1, ...charged(3) }],
      ['task.charged', charged(4)],
    )
    expect(row['used']).toEqual({ tokens: 9, money: 1.5, cost: 0 })
    expect(row['state']).toBe('completed')
  })
})

describe('the moves of a history (docs/reliability.md I4)', () => {
  const moves: Readonly<Record<string, Told>> = {
    queued,
    running: start(),
    completed,
    failed: ['task.failed', { kind: 'error', error: {} }],
    rejected: ['task.rejected', {}],
    waiting: waiting(),
  }
  test.each(Object.entries(moves))(
    'moves to %s are reported, except from where the table has them',
    (to, event) => {
      const from = Object.entries(histories).flatMap(([state, events]) => {
        const told = `I4 event ${events.length + 1} moves ${state} to ${to}`
        return fold(...events, event).problems.includes(told) ? [] : [state]
      })
      const allowed: Readonly<Record<string, readonly string[]>> = {
        queued: ['running', 'waiting'],
        running: ['queued'],
        completed: ['running'],
        failed: ['queued', 'running', 'waiting'],
        rejected: [],
        waiting: ['running'],
      }
      expect(from).toEqual(allowed[to])
    },
  )

  test('a cancel says from which state it was', () => {
    for (const from of ['queued', 'running', 'waiting'] as const)
      expect(fold(...histories[from], ['task.canceled', { from }]).problems).toEqual([])
    expect(fold(queued, ['task.canceled', { from: 'running' }]).problems).toEqual([
      'I4 cancel 2 is from running, not queued',
    ])
    expect(fold(...histories.completed, ['task.canceled', { from: 'completed' }]).problems).toEqual([
      'I4 event 4 moves completed to canceled',
    ])
  })

  test('nothing arrives at a task that is over', () => {
    const late: readonly (readonly [Told, string])[] = [
      [signal('go'), 'I4 signal N for a task that is STATE'],
      [['approval.resolved', { key: 'ok' }], 'I4 verdict N for a task that is STATE'],
      [ended('c'), 'I4 the end of a child, N, for a task that is STATE'],
      [['budget.asked', {}], 'I4 budget.asked N for a task that is STATE'],
      [['agreement.missed', {}], 'I4 agreement.missed N for a task that is STATE'],
    ]
    for (const [event, told] of late) {
      for (const state of over) {
        const events = histories[state]
        expect(fold(...events, event).problems).toContain(
          told.replace('N', String(events.length + 1)).replace('STATE', state),
        )
      }
      for (const state of ['queued', 'running', 'waiting'] as const)
        expect(fold(...histories[state], event).problems.filter((it) => it.startsWith('I4'))).toEqual([])
    }
  })

  test('credits are asked for by a task in the queue only', () => {
    for (const [state, events] of Object.entries(histories))
      expect(fold(...events, ['credits.asked', {}]).problems).toEqual(
        state === 'queued' ? [] : [`I4 credits.asked ${events.length + 1} for a task that is ${state}`],
      )
  })

  test('an event of an unknown type is reported', () => {
    expect(fold(queued, ['task.dreamt' as EventType]).problems).toEqual([
      'I4 event 2 of type task.dreamt is not known here',
    ])
  })
})

describe('the records of a pass (docs/reliability.md I7)', () => {
  const recorded: readonly EventType[] = [
    'step.started',
    'child.spawned',
    'step.completed',
    'step.failed',
    'wait.started',
    'approval.requested',
    'checkpoint.created',
    'limit.warned',
  ]
  test.each(recorded)('%s comes from a running task only', (type) => {
    for (const [state, events] of Object.entries(histories))
      expect(fold(...events, [type, { key: 'k', position: 0 }]).problems).toEqual(
        state === 'running' ? [] : [`I7 ${type} ${events.length + 1} although the task was ${state}`],
      )
  })

  test('a supervised child alone is started from outside', () => {
    const own = { key: supervisedKey({ id: 'a', restart: 'permanent' }), position: 0 }
    expect(fold(queued, ['child.spawned', own]).problems).toEqual([])
    expect(fold(queued, ['step.completed', own]).problems).toEqual([
      'I7 step.completed 2 although the task was queued',
    ])
  })

  test('a wait is over in a running task only, in the pass that asked for it', () => {
    expect(fold(queued, ['wait.resolved', resolved('t', 'fired')]).problems).toEqual([
      'I7 wait.resolved 2 although the task was queued',
    ])
  })

  test.each(['child.inherited', 'doubt.inherited', 'step.inherited', 'wait.inherited'] as const)(
    '%s comes before the first start only',
    (type) => {
      expect(fold(queued, [type, { key: 'k' }]).problems).toEqual([])
      expect(fold(queued, start(), [type, { key: 'k' }]).problems).toEqual([
        `I7 ${type} 3 although it has begun`,
      ])
      expect(fold(queued, start(), requeued('yielded', 1), [type, { key: 'k' }]).problems).toEqual([
        `I7 ${type} 4 although it has begun`,
      ])
      expect(fold(...histories.canceled, [type, { key: 'k' }]).problems).toEqual([
        `I7 ${type} 3 although it has begun`,
      ])
    },
  )

  test('a leak and a late charge may come at any time, and change no state', () => {
    for (const [state, events] of Object.entries(histories))
      for (const type of ['task.leaked', 'task.killed', 'task.charged'] as const) {
        const { row, problems } = fold(...events, [type])
        expect([row['state'], problems]).toEqual([state, []])
      }
  })
})

describe('attempts and crashes (docs/reliability.md I10)', () => {
  test.each([
    ['expired', 2, 1],
    ['owner_dead', 2, 1],
    ['retry', 2, 0],
    ['yielded', 1, 0],
    ['drained', 1, 0],
    ['rate_limited', 1, 0],
  ])('%s leads to attempt %i, with %i crashes', (reason, attempt, crashes) => {
    const { row, problems } = fold(queued, start(), requeued(reason, attempt), start(2, attempt))
    expect([row['attempt'], row['crashes'], problems]).toEqual([attempt, crashes, []])
    const wrong = attempt === 1 ? 2 : 1
    expect(fold(queued, start(), requeued(reason, wrong)).problems).toEqual([
      `I10 requeue 3 (${reason}) goes from attempt 1 to ${wrong}`,
    ])
  })

  test('a start is of the attempt that the task is in', () => {
    expect(fold(queued, start(1, 2)).problems).toEqual(['I10 start 2 is of attempt 2, not 1'])
  })

  test('a task that failed as poisoned or with its lease has crashed once more', () => {
    const crashesOf = (kind: string) =>
      fold(queued, start(), requeued('expired', 2), start(2, 2), ['task.failed', { kind, error: {} }]).row[
        'crashes'
      ]
    expect(['poisoned', 'lease_lost', 'error', 'timeout'].map(crashesOf)).toEqual([2, 2, 1, 1])
  })
})

describe('the open waits', () => {
  test('stand in the order of their calls, and of their keys where one call made several', () => {
    const { waits } = fold(
      queued,
      start(),
      waiting(timer('d', 2), timer('b', 1), timer('c', 1), timer('a', 1), timer('e')),
    )
    expect(waits.map(({ key }) => key)).toEqual(['e', 'a', 'b', 'c', 'd'])
  })

  test('have their times, and the task is due at the first', () => {
    const asked = {
      reason: 'timer',
      waits: [timer('a'), timer('b', 1), awaits('c', 'go', 2)],
      dueAt: { a: 70, b: 60 },
    }
    const { waits, waitDueAt, row } = fold(queued, start(), ['task.waiting', asked])
    expect(waits).toStrictEqual([
      { ...timer('a'), dueAt: 70 },
      { ...timer('b', 1), dueAt: 60 },
      awaits('c', 'go', 2),
    ])
    expect([waitDueAt, row['waitingFor'], row['state']]).toEqual([60, 'timer', 'waiting'])
    const later = fold(
      queued,
      start(),
      ['task.waiting', asked],
      ['task.resumed', { reason: 'timer', key: 'b', outcome: 'fired' }],
    )
    expect([later.waitDueAt, later.row['state'], keysOf(later)]).toEqual([null, 'queued', ['a', 'c']])
    expect(later.row).not.toHaveProperty('waitingFor')
    expect(fold(...histories.waiting).waitDueAt).toBeNull()
  })

  test('keep the time that they began with', () => {
    const begun: Told = ['wait.started', { ...timer('a'), dueAt: 50 }]
    const { waits } = fold(queued, start(), begun, [
      'task.waiting',
      { reason: 'timer', waits: [timer('a')], dueAt: { a: 90 } },
    ])
    expect(waits).toEqual([{ ...timer('a'), dueAt: 50 }])
  })

  test('waits of an approval wait for its verdict, until its time if it has one', () => {
    const asking = (more: object): Told => [
      'approval.requested',
      { key: 'ok', position: 3, asked: true, ...more },
    ]
    const wait = { key: 'ok', position: 3, kind: 'approval', name: approvalName('ok') }
    expect(fold(queued, start(), asking({})).waits).toStrictEqual([wait])
    expect(fold(queued, start(), asking({ dueAt: 9 })).waits).toStrictEqual([{ ...wait, dueAt: 9 }])
  })

  test('between the tries of steps end with a retry of the task, and the others do not', () => {
    const open: readonly Told[] = [
      queued,
      start(),
      ['wait.started', timer(`${RETRY_KEY}1/a`)],
      ['wait.started', timer('t', 1)],
    ]
    expect(keysOf(fold(...open, requeued('retry', 2)))).toEqual(['t'])
    for (const [reason, attempt] of [
      ['expired', 2],
      ['yielded', 1],
    ] as const)
      expect(keysOf(fold(...open, requeued(reason, attempt)))).toEqual([`${RETRY_KEY}1/a`, 't'])
  })

  test('are dropped by what makes them needless: a step, the next wait', () => {
    const open: readonly Told[] = [
      queued,
      start(),
      ['wait.started', timer('a')],
      ['wait.started', timer('b')],
    ]
    expect(keysOf(fold(...open, ['step.completed', { key: 's', dropped: ['a'] }]))).toEqual(['b'])
    expect(keysOf(fold(...open, ['wait.resolved', resolved('b', 'fired', { dropped: ['a'] })]))).toEqual([])
  })

  test('are none of a task that is over, nor has it signals or children', () => {
    const busy: readonly Told[] = [queued, start(), ['wait.started', timer('a')], signal('go'), spawned('c')]
    const before = fold(...busy)
    expect([keysOf(before), signalsOf(before), childrenOf(before)]).toEqual([['a'], [[4, 'go']], ['c']])
    const after = fold(...busy, completed)
    expect([keysOf(after), signalsOf(after), childrenOf(after)]).toEqual([[], [], []])
  })
})

describe('signals and verdicts (docs/reliability.md I16)', () => {
  const asked: readonly Told[] = [queued, start(), ['wait.started', awaits('k', 'go')]]
  const take = (outcome: string, more: object = {}): Told => [
    'wait.resolved',
    resolved('k', outcome, { name: 'go', ...more }),
  ]

  test('are taken by the wait for their name, the first first', () => {
    const { signals, waits, problems } = fold(
      ...asked,
      signal('stop'),
      signal('go'),
      signal('go'),
      take('received'),
    )
    expect([[...signals], waits, problems]).toEqual([
      [
        [4, 'stop'],
        [6, 'go'],
      ],
      [],
      [],
    ])
  })

  test('waits that do not exist are reported', () => {
    expect(fold(...asked, signal('stop'), take('received')).problems).toEqual([
      'I16 event 5 takes a signal go that was not sent',
    ])
    expect(fold(...asked, take('approved', { value: {} })).problems).toEqual([
      'I16 event 4 takes a signal go that was not sent',
    ])
  })

  test.each(['fired', 'timed_out', 'passed'])('are not taken by a wait that %s', (outcome) => {
    const { signals, waits, problems } = fold(...asked, signal('go'), take(outcome))
    expect([[...signals], waits, problems]).toEqual([[[4, 'go']], [], []])
  })

  test('need not be there for a verdict that time gave', () => {
    expect(fold(...asked, take('approved', { value: { by: 'timeout' } })).problems).toEqual([])
    expect(fold(...asked, take('rejected', { value: { by: 'timeout' } })).problems).toEqual([])
    expect(fold(...asked, take('approved', { value: { by: 'ada' } })).problems).toHaveLength(1)
    expect(fold(...asked, take('received', { value: { by: 'timeout' } })).problems).toHaveLength(1)
    const { signals, problems } = fold(...asked, signal('go'), take('approved', { value: { by: 'timeout' } }))
    expect([[...signals], problems]).toEqual([[], []])
  })

  test('a verdict arrives under the name of its approval', () => {
    const { signals } = fold(queued, start(), ['approval.resolved', { key: 'ok' }])
    expect([...signals]).toEqual([[3, approvalName('ok')]])
  })

  test('a wait that ends while the task waits takes its signal as well', () => {
    const parked: readonly Told[] = [queued, start(), waiting(awaits('k', 'go')), signal('go')]
    const resumed = fold(...parked, [
      'task.resumed',
      { reason: 'signal', ...resolved('k', 'received', { name: 'go' }) },
    ])
    expect([keysOf(resumed), signalsOf(resumed), resumed.problems]).toEqual([[], [], []])
  })
})

describe('children (docs/reliability.md I22)', () => {
  const parent: readonly Told[] = [queued, start(), spawned('a'), spawned('b')]

  test('are open from their spawn to their end, which arrives as a signal', () => {
    const { children, signals, problems } = fold(...parent, ended('a'))
    expect([[...children.keys()], [...signals], problems]).toEqual([['b'], [[5, childName('a')]], []])
    expect(children.get('b')).toEqual(spawned('b')[1])
  })

  test('a second wait of one key, and the end of one that is not open, are reported', () => {
    expect(fold(...parent, spawned('a')).problems).toEqual(['I22 event 5 spawns a second child a'])
    expect(fold(...parent, ended('a'), spawned('a')).problems).toEqual([])
    expect(fold(...parent, ended('c')).problems).toEqual(['I22 event 5 ends child c, which is not open'])
  })

  test('that a fork inherited end before it starts', () => {
    const inherited = ['child.inherited', { key: 'a' }] as const
    const { children, problems } = fold(queued, inherited, ended('a'))
    expect([children.size, problems]).toEqual([0, []])
  })

  test('waits of a branch that was given up are dropped, once', () => {
    const drop: Told = ['step.completed', { key: 's', droppedChildren: ['a'] }]
    expect(childrenOf(fold(...parent, drop))).toEqual(['b'])
    expect(fold(...parent, drop).problems).toEqual([])
    expect(fold(...parent, drop, drop).problems).toEqual(['I22 event 6 drops child a, which is not open'])
  })
})

describe('a rejection that sends a task back', () => {
  const name = approvalName('ok')
  const asking: Told = waiting({ key: 'ok', kind: 'approval', name, position: 1 })
  const verdict: Told = ['approval.resolved', { key: 'ok' }]
  const back = (since: number, dropped?: readonly string[]): Told => [
    'task.resumed',
    { reason: 'approval', ...resolved('ok', 'rejected', { name, since, dropped }) },
  ]

  test('takes the children with it that were spawned after the last approval, and their ends', () => {
    const both: readonly Told[] = [
      queued,
      start(),
      spawned('a'),
      spawned('b'),
      spawned('c'),
      ended('a'),
      ended('b'),
      asking,
      verdict,
    ]
    const after = fold(...both, back(3))
    expect([childrenOf(after), signalsOf(after), after.problems]).toEqual([[], [[6, childName('a')]], []])
    expect([...after.childrenSince]).toEqual([['a', 3]])
    expect(childrenOf(fold(...both, back(5)))).toEqual(['c'])
    const all = fold(...both, back(5))
    expect(signalsOf(all)).toEqual([
      [6, childName('a')],
      [7, childName('b')],
    ])
  })

  test('takes the waits with it that it names, with verdicts that came for them', () => {
    const doubt = { key: 'd', kind: 'approval', name: approvalName('d'), position: 2 }
    const both: readonly Told[] = [
      queued,
      start(),
      ['wait.started', doubt],
      ['wait.started', timer('t', 3)],
      asking,
      ['approval.resolved', { key: 'd' }],
      verdict,
    ]
    const after = fold(...both, signal('go'), back(0, ['d']))
    expect([keysOf(after), signalsOf(after)]).toEqual([['t'], [[8, 'go']]])
    const kept = fold(...both, back(0))
    expect([keysOf(kept), signalsOf(kept)]).toEqual([['d', 't'], [[6, approvalName('d')]]])
  })

  test('that a fork inherited takes the ends of children with it as well', () => {
    const inherited: readonly Told[] = [
      queued,
      ['child.inherited', { key: 'a' }],
      ended('a'),
      ['child.inherited', { key: 'b' }],
      ended('b'),
    ]
    expect(signalsOf(fold(...inherited, ['wait.inherited', { key: 'ok', since: 2 }]))).toEqual([
      [3, childName('a')],
    ])
    expect(signalsOf(fold(...inherited, ['wait.inherited', { key: 'ok' }]))).toHaveLength(2)
  })

  test('an end without one leaves the children alone', () => {
    expect(
      childrenOf(
        fold(queued, start(), spawned('a'), asking, verdict, [
          'task.resumed',
          { reason: 'approval', ...resolved('ok', 'approved', { name }) },
        ]),
      ),
    ).toEqual(['a'])
  })
})

describe('a task that is parked', () => {
  const parked = (reason: string): readonly Told[] => [
    queued,
    start(),
    ['task.waiting', { reason, waits: [] }],
  ]
  const resume = (reason: string): Told => ['task.resumed', { reason, key: 't', outcome: 'fired' }]

  test.each(['divergence', 'budget'])('for a %s goes on with an answer to that only', (reason) => {
    expect(fold(...parked(reason), resume(reason)).problems).toEqual([])
    const other = reason === 'budget' ? 'divergence' : 'budget'
    for (const wrong of [other, 'timer'])
      expect(fold(...parked(reason), resume(wrong)).problems).toEqual([
        `I4 resume 4 is for ${wrong}, and the task was parked for ${reason}`,
      ])
    expect(fold(...parked('timer'), resume(reason)).problems).toEqual([
      `I4 resume 4 is for ${reason}, and the task was parked for nothing`,
    ])
  })

  test('keeps its waits when it goes on, and is parked no more by its next wait', () => {
    const events: readonly Told[] = [
      queued,
      start(),
      ['wait.started', timer('t')],
      ['task.waiting', { reason: 'budget', waits: [] }],
    ]
    const again = fold(...events, resume('budget'))
    expect([keysOf(again), again.problems]).toEqual([['t'], []])
    expect(
      fold(...events, resume('budget'), start(2), waiting(timer('t')), resume('timer')).problems,
    ).toEqual([])
  })
})

describe('a budget (docs/reliability.md I25)', () => {
  test('asks, and is answered, in turn', () => {
    const [ask, answer]: readonly Told[] = [['budget.asked'], ['budget.continued']]
    const problems = (...events: readonly Told[]) => fold(queued, ...events).problems
    expect(problems(ask as Told, answer as Told, ask as Told)).toEqual([])
    expect(problems(ask as Told, ask as Told)).toEqual(['I25 budget.asked 3 although it asks already'])
    expect(problems(answer as Told)).toEqual(['I25 budget.continued 2 although it has not asked'])
    expect(problems(ask as Told, answer as Told, answer as Told)).toEqual([
      'I25 budget.continued 4 although it has not asked',
    ])
  })
})

describe('the history of a supervisor (docs/semantics.md 14.1, 14.2)', () => {
  const key = supervisedKey({ id: 'a', restart: 'permanent' })
  const inherited = (of: string): Told => ['child.inherited', { key: of, position: 0 }]
  const restarts = (...events: readonly Told[]) =>
    [...fold(...histories.running, ...events).signals].filter(([, name]) => name === RESTART_NAME).length
  const restarted = (count: number): Told => ['supervisor.restarted', { count }]

  test('14.2 a retry keeps a supervised child while it runs, and any other before it has begun', () => {
    expect(fold(...histories.running, inherited(key)).problems).toEqual([])
    expect(fold(queued, inherited('a')).problems).toEqual([])
    expect(fold(queued, inherited(key)).problems).toEqual([
      'I7 child.inherited 2 although the task was queued',
    ])
    expect(fold(...histories.running, inherited('a')).problems).toEqual([
      'I7 child.inherited 3 although it has begun',
    ])
    expect(fold(...histories.running, ['step.inherited', { key }]).problems).toEqual([
      'I7 step.inherited 3 although it has begun',
    ])
  })

  test('14.2 the end of a supervised child is no signal', () => {
    expect(signalsOf(fold(queued, start(), ['child.spawned', { key }], ended(key)))).toEqual([])
  })

  test('14.2 so many restarts count as the last one says; none after an escalation or a new beginning', () => {
    expect(restarts(restarted(1), restarted(2), restarted(3))).toBe(3)
    expect(restarts(restarted(1), restarted(2), restarted(1))).toBe(1)
    for (const type of ['supervisor.escalated', 'supervisor.renewed'] as const)
      expect(restarts(restarted(1), restarted(2), [type])).toBe(0)
  })

  test.each([
    'supervisor.restarted',
    'supervisor.escalated',
    'supervisor.renewed',
    'agreement.missed',
  ] as const)('I4 %s is for no task that is over', (type) => {
    expect(fold(...histories.running, [type, { count: 1 }]).problems).toEqual([])
    expect(fold(...histories.completed, [type, { count: 1 }]).problems).toEqual([
      `I4 ${type} 4 for a task that is completed`,
    ])
  })
})
