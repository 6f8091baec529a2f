import { describe, expect, test } from 'vitest'
import { emptyLog, stageBegun } from '../../src/pipeline/log.ts'
import { stageWaitKey } from '../../src/pipeline/pipeline.ts'
import type { Write } from '../../src/store/port.ts'
import { afterKey, supervisedKey } from '../../src/supervision/supervision.ts'
import { type Duties, NeedsRound, newClient } from '../../src/transition.ts'
import { entryKey, evaluationKey } from '../../src/transition/working-set.ts'
import type { WaitRow } from '../../src/wait/row.ts'
import {
  accessToken,
  budget,
  budgetsIn,
  childRow,
  circuit,
  family,
  ids,
  lease,
  type Rows,
  stream,
  task,
  workingSet,
} from './rows.ts'

const nothingDue: Duties = { lapsed: [], orphans: [], due: [], budgets: [] }
const roundOf = (rows: Rows, operations: readonly Write[], duties: Partial<Duties> = {}) =>
  new NeedsRound(workingSet(rows).base, ids, operations, { ...nothingDue, ...duties })
/** What the store is asked for before it can do this, in its first round. */
const wanted = (rows: Rows, ...operations: readonly Write[]) => roundOf(rows, operations).run()
const due = (rows: Rows, duties: Partial<Duties>) => roundOf(rows, [], duties).run()

const leaseId = ids.lease(3)
const held: Rows = { tasks: [task], leases: [lease] }
const mine: Rows = { ...held, explicitIds: new Map([['mine', 7]]) }
const wait = (more: Partial<WaitRow> = {}): WaitRow => ({
  task: 7,
  key: 'w',
  position: 0,
  kind: 'signal',
  name: 'mail',
  dueAt: null,
  terms: null,
  ...more,
})
const waitsOf = (...waits: readonly WaitRow[]): Rows => ({
  tasks: [{ ...task, waits: 1 }],
  waits: new Map([[7, waits]]),
})
const progress: Write = { kind: 'progress', leaseId, progress: '1' }
const checkpoint: Write = { kind: 'checkpoint', leaseId, data: '1' }
const cancel: Write = { kind: 'cancel', taskId: 'mine' }
const settle: Write = { kind: 'settle', leaseId, settlement: { as: 'completed', output: '1' } }
const suspend = (...waits: readonly object[]): Write =>
  ({ kind: 'suspend', leaseId, waits, stay: false }) as unknown as Write

describe('the rows behind a lease or an id', () => {
  test('a report may end its task: also the rows that this touches', () => {
    const report = { kind: 'report', leaseId, report: {} } as unknown as Write
    expect(wanted(held, report)).toBeUndefined()
    expect(wanted({ ...held, tasks: [{ ...task, parent: 5 }] }, report)).toEqual({ tasks: [5] })
  })

  test('a holder: its lease, then its task', () => {
    expect(wanted({}, progress)).toEqual({ leases: [3] })
    expect(wanted({ leases: [lease] }, progress)).toEqual({ tasks: [7] })
    expect(wanted(held, progress)).toBeUndefined()
    expect(wanted({}, { ...checkpoint, leaseId: 'no lease' })).toBeUndefined()
  })

  test('a named task: the one of the name, then the one of the number, with its lease', () => {
    expect(wanted({}, cancel)).toEqual({ explicitIds: ['mine'] })
    expect(wanted({ explicitIds: new Map([['mine', 7]]) }, cancel)).toEqual({ tasks: [7] })
    expect(wanted({ ...mine, leases: [] }, cancel)).toEqual({ leases: [3] })
    expect(wanted(mine, cancel)).toBeUndefined()
    expect(wanted({ ...mine, tasks: [{ ...task, lease: null }], leases: [] }, cancel)).toBeUndefined()
    const own = ids.task(9)
    const asked = roundOf({}, [{ kind: 'cancel', taskId: own }])
    expect([asked.run(), asked.run()]).toEqual([{ explicitIds: [own] }, { tasks: [9] }])
  })

  test('asked for once are not asked for again, whoever needs them', () => {
    const round = roundOf({}, [progress, checkpoint, cancel])
    expect(round.run()).toEqual({ leases: [3], explicitIds: ['mine'] })
    expect(round.run()).toBeUndefined()
  })
})

describe('the rows beside a task', () => {
  test('its waits, where its row says that there are some; their verdicts, where one is an approval', () => {
    expect(wanted({ ...held, tasks: [{ ...task, waits: 1 }] }, progress)).toEqual({ waits: [7] })
    expect(wanted({ ...held, ...waitsOf(wait()) }, progress)).toBeUndefined()
    expect(wanted({ ...held, ...waitsOf(wait(), wait({ kind: 'approval' })) }, progress)).toEqual({
      verdicts: [7],
      children: [7],
    })
  })

  test('one that waits for an approval: its memos, its children of old, and its family', () => {
    const verdicts = new Map([[7, { approvedSeq: 0, rejections: 0 }]])
    const asking = waitsOf(wait({ kind: 'approval' }))
    const rows: Rows = {
      ...held,
      ...asking,
      verdicts,
      tasks: [{ ...task, waits: 1, steps: 2, parent: 2 }],
      ...family(childRow(7, 8, { state: 'closed' }), childRow(9, 10), childRow(7, 11)),
    }
    expect(wanted(rows, progress)).toEqual({ memos: [7], children: [7], tasks: [8, 11, 2] })
    expect(
      wanted({ ...rows, tasks: [{ ...task, waits: 1 }], memos: new Map([[7, new Map()]]) }, progress),
    ).toEqual({ children: [7], tasks: [8, 11] })
  })

  test('the budgets that it draws on, each with its task, up to the top', () => {
    const tasks = [{ ...task, budget: 7 }]
    expect(wanted({ ...held, tasks }, progress)).toEqual({ budgets: [7] })
    const above = budgetsIn(budget({ above: 6 }))
    expect(wanted({ ...held, tasks, budgets: above }, progress)).toEqual({ budgets: [6] })
    const top = budgetsIn(budget({ above: 6 }), budget({ task: 6 }))
    expect(wanted({ ...held, tasks, budgets: top }, progress)).toEqual({ tasks: [6] })
  })

  test.each([
    ['that reserved credits', { reserved: 0 }, 'ada'],
    ['that asked for credits', { asked: 0 }, 'ada'],
    ['that did neither', {}, undefined],
    ['without an account', null, undefined],
  ] as const)('the client of one %s', (_, more, client) => {
    const account = more === null ? null : { cost: 1, used: null, charge: null, place: null, ...more }
    const rows = { ...held, tasks: [{ ...task, account }], streams: [{ ...stream, client: 'ada' }] }
    const rowsWanted = client === undefined ? undefined : { clients: [client], counts: ['nextClient'] }
    expect(wanted(rows, progress)).toEqual(rowsWanted)
    const clients = new Map([['ada', newClient(1, 'ada')]])
    expect(wanted({ ...rows, clients }, progress)).toBeUndefined()
    expect(wanted({ ...rows, streams: [] }, progress)).toBeUndefined()
    expect(wanted({ ...rows, tasks: [{ ...task, account, stream: null }] }, progress)).toBeUndefined()
  })

  test('the signals that a wait of it takes, where their values are elsewhere', () => {
    const signal = {
      task: 7,
      seq: 4,
      name: 'mail',
      at: 1,
      value: null,
      blob: 'sha',
      outcome: 'received',
    } as const
    const rows: Rows = {
      ...held,
      tasks: [{ ...task, waits: 1 }],
      waits: new Map([[7, []]]),
      signals: new Map([
        [7, [signal, { ...signal, seq: 5, name: 'news' }, { ...signal, seq: 6, value: '1' }]],
      ]),
    }
    const request = { key: 'w', position: 0, kind: 'signal', name: 'mail' }
    expect(wanted(rows, suspend(request))).toEqual({ signals: [signal] })
    expect(wanted(rows, suspend({ ...request, name: 'other' }))).toBeUndefined()
    expect(wanted({ ...rows, waits: new Map([[7, [wait({ name: 'news' })]]]) }, suspend())).toEqual({
      signals: [{ ...signal, seq: 5, name: 'news' }],
    })
    expect(wanted({ ...rows, signals: new Map() }, suspend(request))).toBeUndefined()
  })

  test('the pipeline above a stage that begins to wait, and the siblings that a child waits for', () => {
    const key = stageWaitKey('0', { for: 'room', type: 'x' })
    const child = { ...held, tasks: [{ ...task, parent: 2 }] }
    const request = { key, position: 0, kind: 'signal', name: 's' }
    expect(wanted(child, suspend(request))).toEqual({ pipelines: [2] })
    expect(wanted(held, suspend(request))).toBeUndefined()
    expect(wanted(child, suspend({ ...request, key: 'w' }))).toBeUndefined()
    const open = { ...child, ...waitsOf(wait({ key })), tasks: [{ ...task, parent: 2, waits: 1 }] }
    expect(wanted(open, suspend())).toEqual({ pipelines: [2] })
    const sibling = { id: 'a', restart: 'permanent', until: 'completed' } as const
    expect(wanted(held, suspend({ ...request, key: afterKey(0, 'b', [sibling]) }))).toEqual({
      child: [[7, supervisedKey(sibling)]],
    })
    expect(wanted(held, suspend({ key: 'ok', position: 0, kind: 'approval' }))).toEqual({
      verdicts: [7],
      children: [7],
    })
  })

  test('the tasks of stages that have not ended, with their pipeline', () => {
    const terms = { stages: [{ stage: 'a', publishes: ['x'], subscribes: [] }], maxUnread: 1 }
    const log = stageBegun({ terms, log: emptyLog(terms) }, { stage: 'a' }, 8)
    const pipelines = new Map([[2, { task: 2, terms, log }]])
    const publish: Write = { kind: 'publish', leaseId, key: 'p', position: 0, type: 'x', events: [] }
    const child = { ...held, tasks: [{ ...task, parent: 2 }] }
    expect(wanted(child, publish)).toEqual({ tasks: [2], pipelines: [2] })
    expect(wanted({ ...child, pipelines }, publish)).toEqual({ tasks: [2, 8] })
    const over = { ...log, parts: log.parts.map((part) => ({ ...part, ended: true })) }
    expect(wanted({ ...child, pipelines: new Map([[2, { task: 2, terms, log: over }]]) }, publish)).toEqual({
      tasks: [2],
    })
    expect(
      wanted({ ...child, pipelines: new Map([[2, { task: 2, terms, log: emptyLog(terms) }]]) }, publish),
    ).toEqual({ tasks: [2] })
    expect(wanted(held, publish)).toBeUndefined()
    const open: Write = { kind: 'openPipeline', leaseId, key: 'p', position: 0, terms }
    expect(wanted(held, open)).toEqual({ pipelines: [7] })
    expect(wanted({ ...held, pipelines: new Map([[7, { task: 7, terms, log }]]) }, open)).toBeUndefined()
  })
})

describe('the rows of a step', () => {
  const record = (more: object = {}): Write => ({
    kind: 'recordStep',
    leaseId,
    key: 'a',
    position: 0,
    durationMs: 1,
    result: '1',
    ...more,
  })

  test('the memo of its key, where there is one that counts', () => {
    const rows = { ...held, tasks: [{ ...task, steps: 1 }] }
    expect(wanted(rows, record())).toEqual({ memos: [7] })
    const memos = (seq: number) => ({ ...rows, memos: new Map([[7, new Map([['a', seq]])]]) })
    expect(wanted(memos(4), record())).toEqual({ events: [[7, 4]] })
    expect(wanted(memos(0), record())).toBeUndefined()
    expect(wanted(memos(4), record({ key: 'b' }))).toBeUndefined()
    expect(wanted({ ...memos(4), events: new Map([['7:4', '{}']]) }, record())).toBeUndefined()
  })

  test('the children that it drops, with theirs, and those of a step that failed', () => {
    const rows = { ...held, ...family(childRow(7, 8), childRow(8, 9)) }
    const failed = { kind: 'failStep', leaseId, key: 'a', position: 0, error: '{}', durationMs: 1 }
    for (const it of [record, (more: object = {}) => ({ ...failed, ...more }) as unknown as Write]) {
      expect(wanted(rows, it({ dropsChildren: ['c8'] }))).toEqual({ tasks: [8, 9] })
      expect(wanted(rows, it())).toBeUndefined()
    }
  })

  test('how much output there is', () => {
    const append: Write = { kind: 'appendOutput', leaseId, chunks: ['1'] }
    expect(wanted(held, append)).toEqual({ outputs: [7] })
    expect(wanted({ ...held, outputs: new Map([[7, 0]]) }, append)).toBeUndefined()
  })
})

describe('the rows of an end', () => {
  test('the event that ended the lease before, and the tree of one whose budget is spent', () => {
    expect(wanted({ ...held, leases: [{ ...lease, endSeq: 4 }] }, settle)).toEqual({ events: [[7, 4]] })
    const failed = (spent: object) =>
      ({ kind: 'settle', leaseId, settlement: { as: 'failed', error: '{}', ...spent } }) as unknown as Write
    expect(wanted(held, failed({ spent: true }))).toEqual({ recorded: [7] })
    expect(wanted(held, failed({ spent: false }))).toBeUndefined()
    expect(wanted(held, failed({}))).toBeUndefined()
    expect(wanted(held, { ...settle, backOff: { keys: ['k'], retryAfterMs: 1 } })).toEqual({ naming: ['k'] })
  })

  test('a lease that ran out, or whose process is gone: the task with its family', () => {
    const rows = { tasks: [{ ...task, parent: 2 }], ...family(childRow(7, 8)) }
    for (const kind of ['lapsed', 'orphans'] as const) {
      expect(due(rows, { [kind]: [lease] })).toEqual({ tasks: [2, 8] })
      expect(due({}, { [kind]: [lease] })).toEqual({ tasks: [7] })
    }
    expect(due({ tasks: [{ ...task, waits: 1 }] }, { lapsed: [lease] })).toEqual({ waits: [7] })
  })

  test('a task that is due: its waits, by its row as it is known', () => {
    expect(due({}, { due: [{ ...task, waits: 1 }] })).toEqual({ waits: [7] })
    expect(due({ tasks: [task] }, { due: [{ ...task, waits: 1 }] })).toBeUndefined()
  })

  test('a budget whose time is over: its task, with its family and what it recorded', () => {
    const rows = { tasks: [{ ...task, lease: null, parent: 2 }] }
    expect(due(rows, { budgets: [budget()] })).toEqual({ tasks: [2], recorded: [7] })
  })

  test('a route that is probed: the probe', () => {
    const probed = (probe: number | null) => ({ circuits: new Map([['work', circuit({ probe })]]) })
    expect(due(probed(7), {})).toEqual({ tasks: [7] })
    expect(due(probed(null), {})).toBeUndefined()
  })
})

describe('the rows of an answer to a budget', () => {
  const answer: Write = { kind: 'answerBudget', taskId: 'mine', answer: {} } as unknown as Write
  const asked = { field: 'tokens', at: 1, by: 7 } as const
  const asking = (own: object, above: object) => ({
    ...mine,
    tasks: [
      { ...task, budget: 7 },
      { ...task, id: 6, lease: null },
    ],
    budgets: budgetsIn(budget({ above: 6, ...own }), budget({ task: 6, ...above })),
  })

  test('the tasks that are parked for each budget that asks, with its task', () => {
    expect(wanted(asking({ asked }, {}), answer)).toEqual({ recorded: [7], parked: [7] })
    expect(wanted(asking({}, { asked }), answer)).toEqual({ recorded: [6], parked: [6] })
    expect(wanted(asking({}, {}), answer)).toBeUndefined()
    const parked = new Map([[7, [8]]])
    expect(wanted({ ...asking({ asked }, {}), parked }, answer)).toEqual({ recorded: [7, 8], tasks: [8] })
  })
})

describe('the rows of a line that is crossed', () => {
  const charged = { tokens: 4, money: 0, cost: 0 }
  const rows = (used: number, more: object = {}): Rows => ({
    ...held,
    tasks: [
      { ...task, budget: 6 },
      { ...task, id: 6, lease: null },
    ],
    budgets: budgetsIn(
      budget({
        task: 6,
        limits: { tokens: 10, steps: 2 },
        used: { ...budget().used, tokens: used, ...more },
      }),
    ),
  })
  const spend = (more: object = {}): Write => ({ ...settle, charged, ...more })
  const step = { kind: 'recordStep', leaseId, key: 'a', position: 0, durationMs: 1, result: '1' } as const

  test('the trees of the budget and of those that spend, and none short of it', () => {
    expect(wanted(rows(6), spend())).toBeUndefined()
    expect(wanted(rows(7), spend())).toEqual({ recorded: [6, 7] })
    expect(wanted(rows(3), spend(), spend({ kind: 'checkpoint', data: '1' }))).toEqual({ recorded: [6, 7] })
    expect(wanted(rows(2), spend(), spend({ kind: 'checkpoint', data: '1' }))).toBeUndefined()
    expect(wanted(rows(99), progress)).toBeUndefined()
  })

  test('steps count, too', () => {
    expect(wanted(rows(0, { steps: 1 }), step)).toBeUndefined()
    expect(wanted(rows(0, { steps: 2 }), step)).toEqual({ recorded: [6, 7] })
  })
})

describe('the rows of names', () => {
  test('an idempotency key: its task', () => {
    const submit = {
      kind: 'submit',
      tasks: [{ type: 'work', lane: 'batch', input: '1', idempotencyKey: 'k' }],
    } as Write
    expect(wanted({}, submit)).toEqual({ keys: ['k'] })
    const keys = new Map([['k', { task: 9 }]]) as unknown as NonNullable<Rows['keys']>
    expect(wanted({ keys }, submit)).toEqual({ tasks: [9] })
  })

  test('a client: all that are known, and the task that it asks credits for', () => {
    const put: Write = { kind: 'putClient', name: 'ada' }
    expect(wanted({}, put)).toEqual({ clients: ['ada'], counts: ['nextClient'] })
    const clients = (asks: { task: number; at: number; cost: number } | null) =>
      new Map([['ada', { ...newClient(1, 'ada'), asks }]])
    expect(wanted({ clients: clients(null) }, put)).toBeUndefined()
    expect(wanted({ clients: clients({ task: 7, at: 1, cost: 1 }) }, put)).toEqual({ tasks: [7] })
  })

  test('a purchase: its client, and the one of its key', () => {
    const buy = (more: object = {}): Write => ({ kind: 'purchaseCredits', name: 'ada', amount: 1, ...more })
    const clients = new Map([['ada', newClient(1, 'ada')]])
    expect(wanted({ clients }, buy())).toBeUndefined()
    expect(wanted({ clients }, buy({ key: 'k' }))).toEqual({ entries: [['ada', 'k']] })
    const entries = new Map([[entryKey('ada', 'k'), {}]]) as unknown as NonNullable<Rows['entries']>
    expect(wanted({ clients, entries }, buy({ key: 'k' }))).toBeUndefined()
  })

  test('an evaluation: the one of its key, and how many agents there are if this is the first of one', () => {
    const evaluate = (more: object = {}) => ({ kind: 'evaluate', agentId: 'a', ...more }) as unknown as Write
    const first = { reputations: ['a'], counts: ['agents'] }
    expect(wanted({}, evaluate())).toEqual(first)
    expect(wanted({}, evaluate({ key: 'k' }))).toEqual({ ...first, evaluations: [['a', 'k']] })
    const known = { reputationOf: () => ({}) } as unknown as Rows
    expect(wanted(known, evaluate())).toBeUndefined()
    const evaluations = new Map([[evaluationKey('a', 'k'), {}]]) as unknown as NonNullable<
      Rows['evaluations']
    >
    expect(wanted({ ...known, evaluations }, evaluate({ key: 'k' }))).toBeUndefined()
  })

  test('an access token, and a worker of every process', () => {
    const token = { kind: 'revokeAccessToken', name: 'ci' } as unknown as Write
    expect(wanted({}, token)).toEqual({ accessTokens: ['ci'] })
    expect(wanted({ accessTokens: new Map([['ci', accessToken()]]) }, token)).toBeUndefined()
    const drain: Write = { kind: 'askDrain', workerId: 'w', draining: true }
    expect(wanted({}, drain)).toEqual({ workersNamed: ['w'] })
    expect(wanted({ workersNamed: new Map([['w', []]]) }, drain)).toBeUndefined()
  })

  test('a schedule: its runs by their keys', () => {
    const fire = { kind: 'fireSchedule', name: 'tidy', runs: [5, 6] } as unknown as Write
    expect(wanted({}, fire)).toMatchObject({
      schedules: ['tidy'],
      keys: [expect.any(String), expect.any(String)],
    })
    expect(wanted({}, { kind: 'triggerSchedule', name: 'tidy', idempotencyKey: 'k' })).toEqual({
      keys: ['k'],
      schedules: ['tidy'],
    })
  })
})
