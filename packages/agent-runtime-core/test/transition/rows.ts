import { createHash } from 'node:crypto'
import { parseExecutionConfig } from '../../src/config.ts'
import { createIdCodec } from '../../src/ids.ts'
import {
  type Base,
  type Instant,
  type LeaseRow,
  noTotals,
  type StreamRow,
  type TaskRow,
  type WorkerRow,
  WorkingSet,
} from '../../src/transition/index.ts'

/** The process whose flush it is. */
export const own = 1
export const ids = createIdCodec('0123456789abcdef0')
export const now: Instant = { at: 50_000, leaseAt: 10_000 }
export const { config } = parseExecutionConfig()

/** Committed rows, and a flush over them that has changed nothing yet. */
export function workingSet(rows: {
  readonly tasks?: readonly TaskRow[]
  readonly leases?: readonly LeaseRow[]
  readonly workers?: readonly WorkerRow[]
}): WorkingSet {
  const byId = <R extends { readonly id: number }>(all: readonly R[] = []) =>
    new Map(all.map((row) => [row.id, row]))
  const stream: StreamRow = {
    id: 1,
    key: 'key',
    laneRank: 2,
    type: 'work',
    quotaKeys: [],
    depth: 3,
    delayed: 3,
    client: '',
    group: 'group',
    head: 0,
    place: 0,
  }
  const base: Base = {
    process: own,
    tasks: byId(rows.tasks),
    leases: byId(rows.leases),
    streams: byId([stream]),
    streamsByKey: new Map([[stream.key, stream]]),
    clients: new Map(),
    streamsByClient: new Map(),
    shares: { trees: new Map(), ages: new Map(), entries: new Map(), pools: new Map() },
    workers: byId(rows.workers),
    quotas: new Map(),
    keys: new Map(),
    explicitIds: new Map(),
    heads: new Map(),
    memos: new Map(),
    outputs: new Map(),
    waits: new Map(),
    signals: new Map(),
    verdicts: new Map(),
    children: new Map(),
    childKeys: new Map(),
    histories: new Map(),
    naming: new Map(),
    blobs: new Map(),
    events: new Map(),
    schedules: new Map(),
    budgets: new Map(),
    parked: new Map(),
    scheduleCount: 0,
    reputationOf: () => undefined,
    evaluations: new Map(),
    agentCount: 0,
    circuits: new Map(),
    usages: new Map(),
    swarms: new Map(),
    totals: { ...noTotals, running: 5 },
    depth: 3,
    delayed: 3,
    next: { task: 100, lease: 100, stream: 2, worker: 100, client: 1 },
  }
  return new WorkingSet(base, now, {
    config,
    ids,
    chain: (previous, text) => createHash('sha256').update(previous).update(text).digest(),
    sha256Hex: (text) => createHash('sha256').update(text).digest('hex'),
  })
}

/** Task 7, which runs under lease 3. */
export const task: TaskRow = {
  id: 7,
  stream: 1,
  state: 'running',
  attempt: 1,
  fence: 1,
  lease: 3,
  crashes: 0,
  steps: 0,
  waits: 0,
  seq: 2,
  tail: new Uint8Array(32),
  submittedAt: 40_000,
  dueAt: null,
  queuedAt: 40_000,
  startedAt: 41_000,
  finishedAt: null,
  waitReason: null,
  tokens: 0,
  explicitId: null,
  parent: null,
  account: null,
  budget: null,
}

/** Lease 3 of task 7: it lasts one ms more. */
export const lease: LeaseRow = {
  id: 3,
  task: 7,
  worker: 4,
  process: own,
  attempt: 1,
  fence: 1,
  state: 'running',
  acquiredAt: 9_000,
  expiresAt: now.leaseAt + 1,
  lastHeartbeatAt: 9_000,
  endedAt: null,
  endReason: null,
  endSeq: null,
  yieldAskedAt: null,
  abortAcknowledgedAt: null,
  abortGraceExpiredAt: null,
  progress: null,
}

/** Worker 4 of this process. */
export const worker: WorkerRow = {
  id: 4,
  workerId: 'w',
  process: own,
  capacity: 2,
  draining: false,
  types: ['work'],
  lastSeenAt: 9_500,
  registered: true,
}
