import { createHash } from 'node:crypto'
import { openWorkingSet } from '../../src/transition/open-working-set.ts'
import { noUse } from '../../src/budget/budget.ts'
import { type ExecutionConfig } from '../../src/config/schema.ts'
import { parseExecutionConfig } from '../../src/config/parse-config.ts'
import { createIdCodec } from '../../src/store/ids.ts'
import { profileConfigs } from '../../src/profile/profile.ts'
import type { ResourceLimits } from '../../src/profile/schema.ts'
import type { PrunableRow } from '../../src/retention/row.ts'
import { unused } from '../../src/swarm/agents.ts'
import {
  type AccessTokenRow,
  type Base,
  type BudgetRow,
  childKey,
  type ChildRow,
  type CircuitRow,
  type Instant,
  type LeaseRow,
  noTotals,
  type QuotaRow,
  type StreamRow,
  type SwarmRow,
  type TaskRow,
  type UsageRow,
  type WorkerRow,
  type WorkingSet,
} from '../../src/transition.ts'

/** The process whose flush it is. */
export const own = 1
export const ids = createIdCodec('0123456789abcdef0')
export const now: Instant = { at: 50_000, leaseAt: 10_000 }
export const { config } = parseExecutionConfig()

/** The stream of tasks of the type `work`: it has three that are queued, and three that are delayed. */
export const stream: StreamRow = {
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

/** What a test says of committed rows; what it says nothing of there is not. */
export interface Rows extends Partial<Omit<Base, 'tasks' | 'leases' | 'workers' | 'streams'>> {
  readonly tasks?: readonly TaskRow[]
  readonly leases?: readonly LeaseRow[]
  readonly workers?: readonly WorkerRow[]
  readonly streams?: readonly StreamRow[]
}

/** Committed rows, and a flush over them that has changed nothing yet. */
export function workingSet(
  { tasks, leases, workers, streams = [stream], ...rest }: Rows,
  settings: ExecutionConfig = config,
  fenceFloor = 0,
): WorkingSet {
  const byId = <R extends { readonly id: number }>(all: readonly R[] = []) =>
    new Map(all.map((row) => [row.id, row]))
  const base: Base = {
    process: own,
    remote: undefined,
    tasks: byId(tasks),
    leases: byId(leases),
    streams: byId(streams),
    streamsByKey: new Map(streams.map((row) => [row.key, row])),
    clients: new Map(),
    streamsByClient: new Map(),
    shares: { trees: new Map(), ages: new Map(), entries: new Map(), pools: new Map() },
    workers: byId(workers),
    workersNamed: new Map(),
    quotas: new Map(),
    entries: new Map(),
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
    prunable: new Map(),
    foldable: new Map(),
    schedules: new Map(),
    accessTokens: new Map(),
    accessTokenCount: 0,
    budgets: new Map(),
    parked: new Map(),
    scheduleCount: 0,
    reputationOf: () => undefined,
    evaluations: new Map(),
    agentCount: 0,
    pipelines: new Map(),
    circuits: new Map(),
    usages: new Map(),
    swarms: new Map(),
    totals: { ...noTotals, running: 5 },
    depth: 3,
    delayed: 3,
    next: { task: 100, lease: 100, stream: 2, worker: 100, client: 1 },
    ...rest,
  }
  return openWorkingSet(base, now, {
    config: settings,
    ids,
    chain: (previous, text) => createHash('sha256').update(previous).update(text).digest(),
    sha256Hex: (text) => createHash('sha256').update(text).digest('hex'),
    fenceFloor,
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
  progressAt: null,
}

/** Worker 4 of this process. */
export const worker: WorkerRow = {
  id: 4,
  workerId: 'w',
  process: own,
  capacity: 2,
  draining: false,
  drainAsked: false,
  types: ['work'],
  lastSeenAt: 9_500,
  registered: true,
}

/** An open child of a task, under a key of its number. */
export function childRow(parent: number, id: number, changes: Partial<ChildRow> = {}): ChildRow {
  return { parent, key: `c${id}`, task: id, position: 0, policy: 'cancel', seq: 2, state: 'open', ...changes }
}

/** Children as they were loaded: all of them by their keys, and those that are open by their parents. */
export function family(...rows: readonly ChildRow[]): Pick<Base, 'children' | 'childKeys'> {
  const children = new Map<number, Map<number, ChildRow>>()
  for (const row of rows.filter(({ state }) => state === 'open')) {
    const siblings = children.get(row.parent) ?? new Map<number, ChildRow>()
    children.set(row.parent, siblings.set(row.task, row))
  }
  return { children, childKeys: new Map(rows.map((row) => [childKey(row.parent, row.key), row])) }
}

/** A quota with one task running and two in line. */
export const quota: QuotaRow = {
  key: 'model:big',
  queued: 2,
  running: 1,
  windowStart: 0,
  windowCount: 1,
  windowTokens: 10,
  blockedUntil: 0,
}

/** The circuit of the route `work`, which is closed: something went wrong, and nothing has succeeded since. */
export function circuit(changes: Partial<CircuitRow> = {}): CircuitRow {
  return {
    route: 'work',
    state: 'closed',
    scar: 0,
    scarAt: 0,
    openedAt: null,
    probeAt: null,
    unhealthy: true,
    probe: null,
    ...changes,
  }
}
/** The tasks of the stream hold the quota. */
export const limited: Rows = {
  streams: [{ ...stream, quotaKeys: [quota.key] }],
  quotas: new Map([[quota.key, quota]]),
}
/** Settings by which that quota counts tokens. */
export const { config: counting } = parseExecutionConfig({
  quotaConfig: { models: { big: { tokensPerWindow: 100 } } },
})

/** Task 7 is the probe that finds out whether its route is well again. */
export const probing: Rows = {
  circuits: new Map([['work', circuit({ state: 'half_open', openedAt: 1, probeAt: 2, probe: 7 })]]),
}

const terms = { profile: 'STANDARD', config: profileConfigs.STANDARD, grantedMs: 30_000 } as const

/** What task 7, which is in no swarm, has used: nothing yet. */
export function usage(changes: Partial<UsageRow> = {}, limits: ResourceLimits = {}): UsageRow {
  return { ...unused, task: 7, route: 'work', terms: { ...terms, limits }, ...changes }
}

/** A swarm that shares 1 000 µs and 1 000 bytes; agents that have ended took 100 µs of it. */
export const swarm: SwarmRow = {
  name: 's',
  terms: {
    route: 'work',
    terms: { ...terms, limits: {} },
    maxAgents: 9,
    threshold: 1,
    sharedBudget: { totalCpuTimeUs: 1_000, totalMemoryBytes: 1_000 },
  },
  spentUs: 100,
  spawned: 2,
  createdAt: 0,
}

/** A budget of task 7 that limits nothing and of which nothing is used. */
export function budget(changes: Partial<BudgetRow> = {}): BudgetRow {
  return {
    task: 7,
    above: null,
    limits: {},
    soft: {},
    used: noUse,
    own: noUse,
    startedAt: null,
    dueAt: null,
    asked: null,
    asks: 0,
    ...changes,
  }
}

/** Budgets as they were loaded. */
export function budgetsIn(...rows: readonly BudgetRow[]): ReadonlyMap<number, BudgetRow> {
  return new Map(rows.map((row) => [row.task, row]))
}

/** An accepted access token. */
export const accessToken = (changes: Partial<AccessTokenRow> = {}): AccessTokenRow => ({
  name: 'ci',
  hash: 'ab'.repeat(32),
  scopes: ['read'],
  client: null,
  types: null,
  createdAt: 10,
  expiresAt: null,
  revokedAt: null,
  ...changes,
})

/** A task that completed a second ago, and that nothing keeps. */
export function prunableRow(changes: Partial<PrunableRow> = {}): PrunableRow {
  return {
    id: 7,
    state: 'completed',
    type: 'work',
    finishedAt: now.at - 1_000,
    parent: null,
    hasOpenChildren: false,
    isLastRun: false,
    isDamaged: false,
    isNewest: false,
    key: null,
    leases: [],
    blobs: [],
    hashes: new Uint8Array(),
    sums: new Map(),
    named: new Map(),
    ...changes,
  }
}
