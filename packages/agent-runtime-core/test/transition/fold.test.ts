import { describe, expect, test } from 'vitest'
import { approvalName } from '../../src/approval/approval.ts'
import { noUse } from '../../src/budget/budget.ts'
import { dimensions, domainWeights, type Scores } from '../../src/evaluation/evaluation.ts'
import type { ScheduleDefinition } from '../../src/schedule/schedule.ts'
import type { Write, WriteKind } from '../../src/store/port.ts'
import type { Submission } from '../../src/submit/submission.ts'
import { emptyLog, published, stageBegun } from '../../src/pipeline/log.ts'
import { supervisedKey, supervisorKey, SUPERVISOR_NAME } from '../../src/supervision/supervision.ts'
import { flushRank, fold, foldOrder, lastRank } from '../../src/transition/fold.ts'
import {
  type LeaseRow,
  newClient,
  type ScheduleRow,
  type TaskRow,
  type WaitRow,
} from '../../src/transition.ts'
import {
  accessToken,
  childRow,
  family,
  budget,
  budgetsIn,
  ids,
  lease,
  now,
  type Rows,
  swarm,
  task,
  usage,
  worker,
  workingSet,
} from './rows.ts'

const leaseId = ids.lease(lease.id)
const taskId = ids.task(task.id)
const submission: Submission = { type: 'work', lane: 'batch', input: '1' }
const step = { key: 'a', position: 0, durationMs: 1 } as const
const running: Rows = { tasks: [task], leases: [lease], workers: [worker] }
const asleep: TaskRow = { ...task, state: 'waiting', lease: null, waitReason: 'approval', waits: 1 }
const wait: WaitRow = {
  task: 7,
  key: 'ok',
  position: 1,
  kind: 'approval',
  name: approvalName('ok'),
  dueAt: null,
  terms: { asked: true, maxRetries: 0, onReject: 'rerun', onTimeout: 'throw', request: 2 },
}
const waiting: Rows = { tasks: [asleep], waits: new Map([[7, [wait]]]) }
const supervising: Rows = {
  tasks: [asleep],
  waits: new Map([
    [
      7,
      [
        {
          ...wait,
          kind: 'signal',
          key: supervisorKey({
            strategy: 'one_for_one',
            maxRestarts: 5,
            periodMs: 60_000,
            endsWith: 'cancel',
          }),
          name: SUPERVISOR_NAME,
          terms: null,
        },
      ],
    ],
  ]),
}
const pipelineTerms = {
  stages: [
    { stage: 'from', publishes: ['x'], subscribes: [] },
    { stage: 'to', publishes: ['y'], subscribes: ['x'] },
  ],
  maxUnread: 5,
}
const inPipeline = (stage: string): Rows => {
  const row = { task: 2, terms: pipelineTerms, log: emptyLog(pipelineTerms) }
  const begun = { ...row, log: stageBegun(row, { stage }, 7) }
  return {
    ...running,
    tasks: [
      { ...task, parent: 2 },
      { ...asleep, id: 2, waitReason: 'children' },
    ],
    pipelines: new Map([[2, { ...begun, log: published(begun, 'x', { count: 2 }) }]]),
  }
}
const parked: TaskRow = { ...asleep, waitReason: 'divergence', waits: 0 }
const over: TaskRow = { ...task, state: 'failed', lease: null, finishedAt: now.at }
const ended: LeaseRow = { ...lease, state: 'canceled', endReason: 'canceled', endSeq: 2, endedAt: 9_500 }
const history = {
  submission: '{"input":1,"lane":"batch","type":"work"}',
  memos: [],
  doubts: [],
  failedOf: [],
  lastFailure: 0,
}
const timing = { everyMs: 100, anchorAt: 5 }
const definition: ScheduleDefinition = {
  timing,
  run: submission,
  catchUp: 'all',
  graceMs: 0,
  overlap: 'allow',
}
const schedule: ScheduleRow = {
  name: 'tidy',
  definition,
  paused: false,
  createdAt: 1_000,
  changedAt: 2_000,
  nextAt: 49_905,
  lastAt: null,
  lastDueAt: null,
  lastTask: null,
  runs: 0,
  rejected: 0,
  missed: 0,
  skipped: 0,
}
const scheduled: Rows = { schedules: new Map([['tidy', schedule]]), scheduleCount: 1 }
const used: Rows = { ...running, usages: new Map([[7, usage({ lease: 3 })]]) }
const asking = budget({
  limits: { tokens: 10 },
  soft: { tokens: 5 },
  used: { ...noUse, tokens: 6 },
  asked: { field: 'tokens', at: 1, by: 7 },
  asks: 1,
})
const scores = Object.fromEntries(dimensions.map((dimension) => [dimension, 0.5])) as Scores

/** For each operation one that is taken: over which rows, what it answers, and what is told of it. */
const operations: {
  readonly [K in WriteKind]: readonly [
    write: Omit<Write<K>, 'kind'>,
    rows: Rows,
    outcome: unknown,
    ...told: readonly string[],
  ]
} = {
  submit: [{ tasks: [submission] }, {}, [{ accepted: true, sequence: 100 }], 'task.queued'],
  settle: [{ leaseId, settlement: { as: 'completed', output: '1' } }, running, 'ok', 'task.completed'],
  release: [{ leaseId, reason: 'yielded' }, running, 'ok', 'task.requeued'],
  recordStep: [{ leaseId, ...step, result: '1' }, running, { fenced: 'ok' }, 'step.completed'],
  startStep: [{ leaseId, key: 'a', position: 0 }, running, 'ok', 'step.started'],
  failStep: [{ leaseId, ...step, error: '{}' }, running, 'ok', 'step.failed'],
  checkpoint: [{ leaseId, data: '1' }, running, 'ok', 'checkpoint.created'],
  appendOutput: [{ leaseId, chunks: ['1'] }, running, 'ok'],
  progress: [{ leaseId, progress: '0.5' }, running, 'ok'],
  suspend: [
    { leaseId, waits: [{ key: 'nap', position: 0, kind: 'timer', delayMs: 5 }], stay: false },
    running,
    { suspended: true },
    'task.waiting',
  ],
  diverge: [
    { leaseId, divergence: { kind: 'missing_step', key: 'a', position: 0, expected: 'a' } },
    running,
    'ok',
    'task.waiting',
  ],
  spawn: [
    { leaseId, key: 'c', position: 0, policy: 'cancel', submission },
    running,
    { as: 'spawned' },
    'task.queued',
    'child.spawned',
  ],
  startChild: [
    { taskId, id: 'late', restart: 'transient', submission },
    supervising,
    { as: 'started', child: { position: 0 } },
    'task.queued',
    'child.spawned',
  ],
  restartChild: [
    { taskId, id: 'part' },
    {
      ...supervising,
      tasks: [...(supervising.tasks ?? []), { ...over, id: 9, parent: 7 }],
      ...family(
        childRow(7, 9, { key: supervisedKey({ id: 'part', restart: 'transient' }), state: 'closed' }),
      ),
      histories: new Map([[9, history]]),
    },
    { as: 'started' },
    'task.queued',
    'child.spawned',
  ],
  prune: [{ tasks: [7] }, running, { pruned: { completed: 0, failed: 0, canceled: 0 }, looked: 1 }],
  foldLedger: [{ until: 0 }, {}, { folded: 0 }],
  registerWorkers: [{ workers: [{ workerId: 'v', capacity: 1, types: ['*'] }] }, {}, true],
  drainWorkers: [{ workerIds: ['w'] }, running, true],
  claimTask: [
    { taskId, workerId: 'w' },
    { tasks: [{ ...task, state: 'queued', lease: null }] },
    { as: 'refused', why: 'no_room' },
  ],
  pauseQueue: [{ types: ['mail'], lanes: ['batch'], paused: true }, running, 2],
  askDrain: [{ workerId: 'w', draining: true }, running, 1],
  removeWorkers: [{ workerIds: ['w'] }, running, true, 'task.requeued'],
  cancel: [{ taskId, reason: 'enough' }, running, { canceled: true }, 'task.canceled'],
  cancelMany: [{ taskIds: [taskId], reason: 'enough' }, running, { canceled: 1 }, 'task.canceled'],
  signal: [{ taskId, name: 'mail', value: '1' }, running, { delivered: true }, 'signal.received'],
  resolveApproval: [
    { taskId, request: 2, verdict: 'approved', value: '{}' },
    waiting,
    { as: 'resolved', state: 'queued' },
    'approval.resolved',
    'task.resumed',
  ],
  resume: [{ taskId }, { tasks: [parked] }, { resumed: true }, 'task.resumed'],
  fork: [
    { taskId, edits: {}, onlyOver: false, change: {} },
    { tasks: [over], histories: new Map([[7, history]]) },
    { as: 'submitted' },
    'task.queued',
  ],
  retryMany: [
    { taskIds: [taskId] },
    { tasks: [over], histories: new Map([[7, history]]) },
    { retried: 1, before: 0, rejected: 0, skipped: 0 },
    'task.queued',
  ],
  answerBudget: [
    { taskId, answer: { as: 'continue', raise: {} } },
    { tasks: [{ ...task, budget: 7 }], leases: [lease], budgets: budgetsIn(asking) },
    { as: 'answered', taskId },
    'budget.continued',
  ],
  abortSettled: [
    { leaseId, how: 'leaked', afterMs: 5 },
    { tasks: [over], leases: [ended] },
    true,
    'task.leaked',
  ],
  putSchedule: [{ name: 'new', definition, nextAt: 50_005 }, {}, { as: 'put', change: 'created' }],
  pauseSchedule: [{ name: 'tidy' }, scheduled, { paused: true }],
  resumeSchedule: [
    { name: 'tidy', timing, nextAt: 50_005 },
    { schedules: new Map([['tidy', { ...schedule, paused: true }]]) },
    { as: 'resumed' },
  ],
  removeSchedule: [{ name: 'tidy' }, scheduled, true],
  fireSchedule: [
    { name: 'tidy', timing, dueAt: 49_905, nextAt: 50_005, runs: [49_905], missed: 0 },
    scheduled,
    { fired: true },
    'task.queued',
  ],
  sample: [
    {
      samples: [
        {
          stepMs: 60_000,
          at: 60_000,
          type: '',
          lane: 'normal',
          running: 0,
          started: 1,
          completed: 1,
          failed: 0,
          waits: [1],
        },
      ],
    },
    {},
    { kept: 1 },
  ],
  openPipeline: [
    { leaseId, key: 'open', position: 0, terms: pipelineTerms },
    running,
    { fenced: 'ok', as: 'open' },
    'step.completed',
  ],
  publish: [
    { leaseId, key: 'say', position: 0, type: 'x', events: ['1', '2'] },
    inPipeline('from'),
    { fenced: 'ok', as: 'published' },
    'step.completed',
  ],
  receive: [
    { leaseId, key: 'hear', position: 0, types: ['x'], max: 9 },
    inPipeline('to'),
    { fenced: 'ok', as: 'received', ranges: [[1, 2]] },
    'step.completed',
  ],
  triggerSchedule: [{ name: 'tidy' }, scheduled, { accepted: true }, 'task.queued'],
  putClient: [{ name: 'ada', credits: 5 }, {}, { as: 'put', client: { credits: 5 } }],
  removeClient: [{ name: 'ada' }, { clients: new Map([['ada', newClient(1, 'ada')]]) }, { as: 'removed' }],
  putAccessToken: [
    { name: 'ci', hash: 'ab'.repeat(32), scopes: ['read'] },
    {},
    { as: 'put', token: { name: 'ci', scopes: ['read'], createdAt: 50_000 } },
  ],
  revokeAccessToken: [
    { name: 'ci' },
    { accessTokens: new Map([['ci', accessToken()]]), accessTokenCount: 1 },
    { name: 'ci', revokedAt: 50_000 },
  ],
  purchaseCredits: [
    { name: 'ada', amount: 5 },
    {},
    { as: 'purchased', entry: { amount: 5, credits: 1_005 } },
  ],
  evaluate: [
    { agentId: 'a', domain: 'default', weights: domainWeights.default, scores, missing: [] },
    {},
    { as: 'recorded' },
  ],
  report: [
    { leaseId, terms: usage().terms, sample: {}, heartbeat: true },
    used,
    { fenced: 'ok', verdict: 'within' },
  ],
  scar: [{ leaseId, cause: { as: 'silent' } }, used, 1],
  observeRoute: [{ route: 'work', baselineMs: 10 }, {}, { admitted: true, circuit: 'closed' }],
  putSwarm: [{ name: 's', terms: swarm.terms }, {}, { as: 'created' }],
  closeSwarm: [{ name: 's' }, { swarms: new Map([['s', swarm]]) }, { closed: true }],
  startLease: [
    { submission: { ...submission, profile: usage().terms } },
    {},
    { as: 'started' },
    'task.queued',
    'task.started',
  ],
}
const kinds = Object.keys(operations) as WriteKind[]
const apply = (kind: WriteKind) => {
  const [write, rows, outcome, ...told] = operations[kind]
  const ws = workingSet(rows)
  const it = { kind, ...write } as Write
  return { ws, outcome, told, given: fold(ws, it, ws.base.leases.values()) }
}

describe('an operation of a flush', () => {
  test.each(kinds)('%s is done, answered and reported', (kind) => {
    const { ws, given, outcome, told } = apply(kind)
    expect([given]).toMatchObject([outcome])
    expect(ws.events.map(({ type }) => type)).toEqual(told)
  })

  test('a change of which nothing is reported leaves its row', () => {
    expect(apply('progress').ws.lease(3)?.progress).toBe('0.5')
    expect(apply('appendOutput').ws.outputs).toMatchObject([{ task: 7, data: '1' }])
    expect(apply('publish').ws.outputs.map(({ task: of, seq, data }) => [of, seq, data])).toEqual([
      [2, 3, '{"data":1,"stage":"from","type":"x"}'],
      [2, 4, '{"data":2,"stage":"from","type":"x"}'],
    ])
    expect([...apply('registerWorkers').ws.workers.changed.values()]).toMatchObject([{ workerId: 'v' }])
    expect(apply('drainWorkers').ws.worker(4)).toMatchObject({ draining: true, registered: true })
    expect(apply('askDrain').ws.worker(4)).toMatchObject({ draining: false, drainAsked: true })
    expect([...apply('pauseQueue').ws.quotas.changed.values()]).toMatchObject([
      { blockedUntil: 1 },
      { blockedUntil: 1 },
    ])
    expect(apply('removeWorkers').ws.worker(4)).toMatchObject({ registered: false })
    expect(apply('removeSchedule').ws.schedule('tidy')).toBeUndefined()
    expect(apply('report').ws.usage(7)).toMatchObject({ reports: 1 })
  })

  test('that removes workers ends the leases of this process, and no others', () => {
    const ws = workingSet(running)
    fold(ws, { kind: 'removeWorkers', workerIds: ['w'] }, [])
    expect([ws.events, [...ws.leases.changed]]).toEqual([[], []])
  })
})

describe('the order of a flush: what frees slots comes before what fills them (docs/ARCHITECTURE.md, A flush)', () => {
  test('each operation has a rank, none beyond the last', () => {
    expect(Object.keys(flushRank).toSorted()).toEqual(kinds.toSorted())
    for (const rank of Object.values(flushRank)) expect([1, 2, 3, 4]).toContain(rank)
    expect(lastRank).toBe(4)
  })

  test('the writes of a holder about its lease come first, in their order', () => {
    const ofLease = kinds.filter((kind) => 'leaseId' in operations[kind][0])
    const later = ofLease.filter((kind) => flushRank[kind] !== 1)
    // These two are said of leases that may have ended.
    expect(later.toSorted()).toEqual(['abortSettled', 'scar'])
  })

  test('a submission and what is said of its task keep their order, after workers and before leases', () => {
    const ofTask = ['cancel', 'fork', 'resolveApproval', 'resume', 'signal', 'answerBudget'] as const
    for (const kind of ofTask) expect(flushRank[kind]).toBe(flushRank.submit)
    expect(flushRank.submit).toBeGreaterThan(flushRank.registerWorkers)
    expect(flushRank.startLease).toBe(lastRank)
    expect(kinds.filter((kind) => flushRank[kind] === lastRank)).toEqual([
      'prune',
      'foldLedger',
      'claimTask',
      'startLease',
    ])
  })

  test('arrivals are folded by rank, and within a rank in their order', () => {
    const came = (['submit', 'startLease', 'settle', 'cancel', 'registerWorkers', 'recordStep'] as const).map(
      (kind) => ({ kind, ...operations[kind][0] }) as Write,
    )
    expect(foldOrder(came)).toEqual([2, 5, 4, 0, 3, 1])
    expect(foldOrder([])).toEqual([])
  })

  test('an unknown operation is refused by its name', () => {
    const unknown = { kind: 'constructor' } as unknown as Write
    expect(() => foldOrder([unknown])).toThrow('there is no operation constructor')
  })
})
