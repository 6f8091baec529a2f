import {
  childPolicies,
  clientTiers,
  leaseStates,
  taskStates,
  isEscalation,
  quotaKeysOf,
  waitKinds,
  type ChildPolicy,
  type ClientTier,
  type LeaseState,
  type QuotaNames,
  type TaskState,
  type WaitKind,
} from '@ku0/agent-runtime-core'
import {
  groupOf,
  memoSeqs,
  noTotals,
  OPEN,
  standing,
  standingMemos,
  verdictsOf,
  type BudgetRow,
  type ChildRow,
  type ClientRow,
  type KeyRow,
  type LeaseRow,
  type MemoRow,
  type PipelineRow,
  type PlainEvent,
  type QuotaRow,
  type ScheduleRow,
  type SignalRow,
  type StreamRow,
  type TaskRow,
  type TotalsRow,
  type VerdictsRow,
  type WaitRow,
  type WorkerRow,
  type StoredLog,
  logOf,
  readWorkerFlags,
} from '@ku0/agent-runtime-core/transition'
import { costIn } from './cost-in.ts'
import { prepareEvaluationLoad } from './evaluations.ts'
import { prepareFoldable } from './foldable.ts'
import { prepareLedgerLoad } from './ledger.ts'
import { lineKey } from './line-key.ts'
import { prepareAccessTokenLoad } from './access-tokens.ts'
import { listed, type RowOf, type StoreTables, type TableName } from './columns.ts'
import type { Queries } from '../views/queries.ts'
import { preparePrunable, prepareRetired } from './prunable.ts'
import { prepareWorkLoad } from './work.ts'
import { prepareConfigurationLoad } from './configurations.ts'
import { storedList, storedObject } from './stored.ts'
import { FALLBACKS, WAITING_BY_INDEX } from './schema.ts'

/** The statements that read a working set; each says what it reads, prepared once. All run inside the flush's transaction. */
export type Load = ReturnType<typeof prepareLoad>

export function prepareLoad(db: Queries) {
  const rows = <Row extends readonly unknown[]>(sql: string) => db.prepare<unknown[], Row>(sql).raw()
  /** Whole rows of a table. */
  const from = <T extends TableName>(table: T, rest = '') =>
    rows<RowOf<T>>(`SELECT ${listed(table)} FROM ${table} ${rest}`)
  const task = from('task', 'WHERE id = ?')
  // With the submission, unless that is long: a claim then needs no read of its own.
  const heads = rows<HeadRow>(
    `SELECT ${listed('task', 'task.')}, ${shortSubmission}
     FROM task JOIN event ON event.task = task.id AND event.seq = 1
     WHERE stream = ? AND state = 0 AND due_at IS NULL AND id > ? ORDER BY id LIMIT ? + 0`,
  )
  // The first of each of many streams, where one statement for each would take ten times as long.
  const firstHeads = rows<HeadRow>(
    `SELECT ${listed('task', 'task.')}, ${shortSubmission}
     FROM json_each(?) AS wanted
     JOIN task ON task.id = (
       SELECT min(id) FROM task AS queued
       WHERE queued.stream = wanted.value ->> 0 AND queued.state = 0 AND queued.due_at IS NULL AND queued.id > wanted.value ->> 1)
     JOIN event ON event.task = task.id AND event.seq = 1`,
  )
  const due = from('task', 'WHERE due_at <= ? ORDER BY due_at, id LIMIT ? + 0')
  const lease = from('lease', 'WHERE id = ?')
  const lapsed = from('lease', 'WHERE state = 0 AND expires_at <= ? ORDER BY expires_at, id LIMIT ? + 0')
  const running = from('lease', 'WHERE state = 0 AND process = ?')
  const nextDue = db
    .prepare<[], number | null>('SELECT min(due_at) FROM task WHERE due_at IS NOT NULL')
    .pluck()
  const nextExpiry = db
    .prepare<[], number | null>('SELECT min(expires_at) FROM lease WHERE state = 0')
    .pluck()
  const explicit = db.prepare<[string], number>('SELECT id FROM task WHERE explicit_id = ?').pluck()
  const key = from('idempotency', 'WHERE key = ?')
  const streams = from('stream', 'ORDER BY id')
  const streamsSince = from('stream', 'WHERE changed > ? ORDER BY id')
  const clients = from('client', 'ORDER BY id')
  const clientsSince = from('client', 'WHERE changed > ? ORDER BY id')
  const clientsRemoved = db
    .prepare<[], string>("SELECT value FROM meta WHERE key = 'clients_removed'")
    .pluck()
  const line = db.prepare<[string], string>('SELECT value FROM meta WHERE key = ?').pluck()
  const client = from('client', 'WHERE name = ?')
  const clientsFirst = from('client', 'ORDER BY name LIMIT ? + 0')
  const clientsAfter = from('client', 'WHERE name > ? ORDER BY name LIMIT ? + 0')
  const maxClient = db.prepare<[], number | null>('SELECT max(id) FROM client').pluck()
  const runningByStream = rows<readonly [stream: number, running: number]>(
    'SELECT task.stream, count(*) FROM lease JOIN task ON task.id = lease.task WHERE lease.state = 0 GROUP BY task.stream ORDER BY task.stream',
  )
  const heldByStream = rows<readonly [stream: number, tokens: number, account: string | null]>(
    'SELECT task.stream, task.tokens, task.account FROM lease JOIN task ON task.id = lease.task WHERE lease.state = 0 ORDER BY task.id',
  )
  const quotas = from('quota', 'ORDER BY key')
  const workers = from('worker', 'WHERE registered = 1 AND process = ? ORDER BY id')
  const workersNamed = from('worker', 'WHERE registered = 1 AND worker_id = ? ORDER BY id')
  const totals = from('totals')
  const event = db.prepare<[number, number], { data: string; blob: string | null }>(
    'SELECT data, blob FROM event WHERE task = ? AND seq = ?',
  )
  // `->` hands out the JSON text: json_extract would change a key that holds a lone surrogate.
  const memoKeys = rows<readonly [key: string, seq: number]>(
    "SELECT data -> '$.key', seq FROM event WHERE task = ? AND type IN ('step.completed', 'step.inherited')",
  )
  const rejections = db.prepare<[number], { since: number; seq: number }>(
    "SELECT CAST(data ->> '$.since' AS INTEGER) AS since, seq FROM event WHERE task = ? AND type IN ('task.resumed', 'wait.inherited') AND data ->> '$.since' IS NOT NULL ORDER BY seq",
  )
  const approvals = rows<readonly [key: string, seq: number]>(
    "SELECT data -> '$.key', seq FROM event WHERE task = ? AND type IN ('wait.resolved', 'wait.inherited', 'task.resumed') AND data ->> '$.kind' = 'approval' AND data ->> '$.outcome' IN ('approved', 'passed') ORDER BY seq DESC",
  )
  const memos = db.prepare<[number], MemoRow & { readonly seq: number }>(
    "SELECT seq, type, data, blob FROM event WHERE task = ? AND type IN ('step.completed', 'step.inherited', 'wait.resolved', 'wait.inherited', 'task.resumed', 'child.spawned', 'child.inherited', 'child.ended') ORDER BY seq",
  )
  const stepEvents = db.prepare<[number], PlainEvent>(
    "SELECT seq, type, at, data, blob FROM event WHERE task = ? AND type IN ('step.started', 'doubt.inherited', 'step.failed', 'step.completed', 'step.inherited') ORDER BY seq",
  )
  const failed = db
    .prepare<[number], string>("SELECT data FROM event WHERE task = ? AND type = 'task.failed'")
    .pluck()
  const lastFailure = db
    .prepare<[number], number>(
      "SELECT coalesce(max(seq), 0) FROM event WHERE task = ? AND type = 'step.failed'",
    )
    .pluck()
  const outputs = db
    .prepare<[number], number>('SELECT coalesce(max(seq), 0) FROM output WHERE task = ?')
    .pluck()
  const waits = from('wait', 'WHERE task = ? ORDER BY position, key')
  const firstWaits = from('wait', 'WHERE task = ? ORDER BY position, key LIMIT ? + 0')
  const supervisorWait = from('wait', "WHERE name = '$ku0/supervisor' AND task = ?")
  // Without their values, which may be many and long: most are not taken now.
  const signals = db.prepare<[number], { seq: number; name: string; at: number }>(
    'SELECT signal.seq, name, event.at FROM signal JOIN event USING (task, seq) WHERE signal.task = ? ORDER BY signal.seq',
  )
  const schedule = from('schedule', 'WHERE name = ?')
  const schedulesAfter = from('schedule', 'WHERE name > ? ORDER BY name LIMIT ? + 0')
  const schedulesDue = from(
    'schedule',
    'WHERE paused = 0 AND next_at <= ? ORDER BY next_at, name LIMIT ? + 0',
  )
  const nextSchedule = db
    .prepare<[], number | null>('SELECT min(next_at) FROM schedule WHERE paused = 0 AND next_at IS NOT NULL')
    .pluck()
  const budget = from('budget', 'WHERE task = ?')
  const pipeline = from('pipeline', 'WHERE task = ?')
  const pipelinesBefore = from('pipeline', 'WHERE task < ? ORDER BY task DESC LIMIT ? + 0')
  const budgetsDue = from('budget', 'WHERE due_at <= ? ORDER BY due_at, task LIMIT ? + 0')
  const nextBudget = db
    .prepare<[], number | null>('SELECT min(due_at) FROM budget WHERE due_at IS NOT NULL')
    .pluck()
  const budgetsAsking = from('budget', 'WHERE asked IS NOT NULL AND task > ? ORDER BY task LIMIT ? + 0')
  const parked = db
    .prepare<[number], number>(
      `WITH RECURSIVE below (task) AS (VALUES (?) UNION SELECT budget.task FROM budget JOIN below ON budget.above = below.task)
       SELECT task.id FROM below JOIN task ON task.budget = below.task AND task.wait_reason = 'budget' ORDER BY task.id`,
    )
    .pluck()
  const scheduleCount = db.prepare<[], number>('SELECT count(*) FROM schedule').pluck()
  const children = from('child', 'WHERE parent = ? ORDER BY seq')
  const openChildren = from('child', 'WHERE parent = ? AND open = 1 ORDER BY task')
  const child = from('child', 'WHERE parent = ? AND key = ?')
  const checkpoint = db.prepare<[number], { seq: number; at: number; data: string; event: string | null }>(
    `SELECT checkpoint.seq, checkpoint.at, checkpoint.data, event.data AS event FROM checkpoint
     LEFT JOIN event ON event.task = checkpoint.task AND event.seq = checkpoint.seq AND event.type = 'checkpoint.created'
     WHERE checkpoint.task = ?`,
  )
  const blobText = db.prepare<[string], string>('SELECT data FROM blob WHERE sha256 = ?').pluck()
  const names = db.prepare<[], { task: number; names: string }>(
    `SELECT task, json_object('model', data -> '$.model', 'tools', data -> '$.tools', 'client', data -> '$.client', 'labels', data -> '$.labels') AS names
     FROM event WHERE seq = 1 AND task IN (${NOT_OVER})`,
  )
  const fallenBack = db.prepare<[], { task: number; recovery: string }>(
    `SELECT task, data -> '$.recovery' AS recovery FROM ${FALLBACKS} AND data ->> '$.recovery' IS NOT NULL
       AND task IN (SELECT id FROM task WHERE attempt > 1 AND id IN (${NOT_OVER})) ORDER BY task, seq`,
  )
  const next = rows<readonly (number | null)[]>(
    'SELECT (SELECT max(id) FROM task), (SELECT max(id) FROM lease), (SELECT max(id) FROM stream), (SELECT max(id) FROM worker)',
  )
  const journal = rows<readonly [StoreTables['journal']['number'], StoreTables['journal']['hash']]>(
    'SELECT number, hash FROM journal ORDER BY number DESC LIMIT 1',
  )
  const version = db.prepare<[], number>('PRAGMA user_version').pluck()
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck()

  const lastApproval = (taskId: number) =>
    approvals.all(taskId).find(([name]) => !isEscalation(JSON.parse(name)))?.[1] ?? 0

  const one = <Row, T>(row: Row | undefined, make: (row: Row) => T) =>
    row === undefined ? undefined : make(row)

  const ledger = prepareLedgerLoad(db)

  return {
    task: (id: number) => one(task.get(id), taskOf),
    heads: (stream: number, after: number, limit: number) => heads.all(stream, after, limit).map(headOf),
    /** The first queued task of each stream behind a sequence. */
    firstHeads: (wanted: readonly (readonly [stream: number, after: number])[]) =>
      firstHeads.all(JSON.stringify(wanted)).map(headOf),
    due: (at: number, limit: number) => due.all(at, limit).map(taskOf),
    lease: (id: number) => one(lease.get(id), leaseOf),
    lapsed: (at: number, limit: number) => lapsed.all(at, limit).map(leaseOf),
    running: (process: number) => running.all(process).map(leaseOf),
    nextDue: () => nextDue.get() ?? undefined,
    nextExpiry: () => nextExpiry.get() ?? undefined,
    explicit: (id: string) => explicit.get(id),
    key: (name: string) => one(key.get(name), keyOf),
    streams: () => streams.all().map(streamOf),
    /** Those that changed after this commit. */
    streamsSince: (commit: number) => streamsSince.all(commit).map(streamOf),
    clientsSince: (commit: number) => clientsSince.all(commit).map(clientOf),
    line: (name: string) => line.get(lineKey(name)),
    clientsRemoved: () => clientsRemoved.get() ?? '0',
    clients: () => clients.all().map(clientOf),
    client: (name: string) => one(client.get(name), clientOf),
    /** From the first when there is no name; the one without a name is the first. */
    clientsAfter: (name: string | undefined, limit: number) =>
      (name === undefined ? clientsFirst.all(limit) : clientsAfter.all(name, limit)).map(clientOf),
    /** How many leases each stream has, of every process. */
    runningByStream: () => runningByStream.all(),
    heldByStream: () =>
      heldByStream.all().map(([stream, tokens, account]) => [stream, tokens, costIn(account)] as const),
    nextClient: () => (maxClient.get() ?? 0) + 1,
    quotas: () => quotas.all().map(quotaOf),
    naming: (keys: ReadonlySet<string>) => {
      const naming = new Map<string, number[]>()
      const models = new Map<number, string>()
      for (const { task: id, recovery } of fallenBack.all()) {
        const { model } = storedObject(recovery, 'event.data')
        if (typeof model === 'string') models.set(id, model)
      }
      for (const row of names.iterate())
        for (const named of quotaKeysOf({ ...namesIn(row.names), ...modelOf(models.get(row.task)) }))
          if (keys.has(named)) addTo(naming, named, row.task)
      return naming
    },
    workers: (process: number) => workers.all(process).map(workerOf),
    /** Of every process. */
    workersNamed: (workerId: string) => workersNamed.all(workerId).map(workerOf),
    totals: () => one(totals.get(), totalsOf) ?? noTotals,
    event: (taskId: number, seq: number) => event.get(taskId, seq),
    memoKeys: (taskId: number) => {
      const steps = memoKeys.all(taskId).map(([text, seq]) => [JSON.parse(text) as string, seq] as const)
      return memoSeqs(steps, rejections.all(taskId))
    },
    /** Those that count, with the rejections that count them. */
    memos: (taskId: number) =>
      standingMemos(memos.all(taskId), rejections.all(taskId), children.all(taskId).map(childOf)),
    /** What counts of the starts and ends of its steps. */
    stepEvents: (taskId: number) => standing(stepEvents.all(taskId), rejections.all(taskId), () => undefined),
    /** What a task failed of, as far as it says. */
    failure: (taskId: number): { failedOf: readonly string[]; lastFailure: number } => {
      const { waits: failedOf = [] } = JSON.parse(failed.get(taskId) ?? '{}') as { waits?: readonly string[] }
      return { failedOf, lastFailure: lastFailure.get(taskId) ?? 0 }
    },
    rejections: (taskId: number) => rejections.all(taskId),
    verdicts: (taskId: number): VerdictsRow => verdictsOf(lastApproval(taskId), rejections.all(taskId)),
    outputs: (taskId: number) => outputs.get(taskId) ?? 0,
    waits: (taskId: number) => waits.all(taskId).map(waitOf),
    firstWaits: (taskId: number, limit: number) => firstWaits.all(taskId, limit).map(waitOf),
    supervisorWait: (taskId: number) => supervisorWait.all(taskId).map(waitOf)[0],
    signals: (taskId: number): SignalRow[] =>
      signals
        .all(taskId)
        .map((signal) => ({ task: taskId, ...signal, value: null, blob: null, outcome: 'received' })),
    /** The same with its value. */
    signalValue: (signal: SignalRow): SignalRow => {
      const { data, blob } = event.get(signal.task, signal.seq) as { data: string; blob: string | null }
      return { ...signal, ...arrivalIn(data), blob }
    },
    children: (parent: number) => children.all(parent).map(childOf),
    openChildren: (parent: number) => openChildren.all(parent).map(childOf),
    child: (parent: number, name: string) => one(child.get(parent, name), childOf),
    schedule: (name: string) => one(schedule.get(name), scheduleOf),
    schedulesAfter: (name: string, limit: number) => schedulesAfter.all(name, limit).map(scheduleOf),
    schedulesDue: (at: number, limit: number) => schedulesDue.all(at, limit).map(scheduleOf),
    nextSchedule: () => nextSchedule.get() ?? undefined,
    scheduleCount: () => scheduleCount.get() ?? 0,
    accessTokens: prepareAccessTokenLoad(db),
    evaluations: prepareEvaluationLoad(db),
    ledger,
    foldable: prepareFoldable(db, ledger),
    budget: (taskId: number) => one(budget.get(taskId), budgetOf),
    pipeline: (taskId: number) => one(pipeline.get(taskId), pipelineOf),
    pipelinesBefore: (taskId: number, limit: number) => pipelinesBefore.all(taskId, limit).map(pipelineOf),
    budgetsDue: (at: number, limit: number) => budgetsDue.all(at, limit).map(budgetOf),
    nextBudget: () => nextBudget.get() ?? undefined,
    budgetsAsking: (after: number, limit: number) => budgetsAsking.all(after, limit).map(budgetOf),
    /** Tasks that are parked for a budget, or for one below it. */
    parked: (taskId: number) => parked.all(taskId),
    /** The newest checkpoint, and the data of its event. */
    checkpoint: (taskId: number) => checkpoint.get(taskId),
    blob: (sha256: string) => blobText.get(sha256),
    retired: prepareRetired(db),
    prunable: preparePrunable(db),
    next: () => next.get() ?? [],
    work: prepareWorkLoad(db),
    configurations: prepareConfigurationLoad(db),
    journal: () => journal.get(),
    /** Of the schema. */
    version: () => version.get() as number,
    dataVersion: () => dataVersion.get() as number,
  }
}

/** The ids of all tasks that are not over, each by an index of its own. */
const NOT_OVER = `SELECT id FROM task WHERE state = 0 AND due_at IS NULL AND stream IS NOT NULL
       UNION ALL SELECT id FROM task WHERE due_at IS NOT NULL
       UNION ALL SELECT id FROM task WHERE ${WAITING_BY_INDEX}
       UNION ALL SELECT task FROM lease WHERE state = 0`

/** What stands in the first event of a task, unless that is long. */
export const shortSubmission =
  'CASE WHEN event.blob IS NULL AND length(event.data) < 2048 THEN event.data END'

/** A task with its submission, unless that is long. */
export type HeadRow = readonly [...RowOf<'task'>, submission: string | null]

export function headOf(row: HeadRow): { readonly task: TaskRow; readonly submission: string | null } {
  const submission = row.at(-1) as string | null
  return { task: taskOf(row as unknown as RowOf<'task'>), submission }
}

export function taskOf(row: RowOf<'task'>): TaskRow {
  return {
    id: row[0],
    stream: row[1],
    state: taskStates[row[2]] as TaskState,
    attempt: row[3],
    fence: row[4],
    lease: row[5],
    crashes: row[6],
    steps: row[7],
    waits: row[8],
    seq: row[9],
    tail: row[10],
    submittedAt: row[11],
    dueAt: row[12],
    queuedAt: row[13],
    startedAt: row[14],
    finishedAt: row[15],
    waitReason: row[16] as TaskRow['waitReason'],
    tokens: row[17],
    explicitId: row[18],
    parent: row[19],
    account:
      row[20] === null ? null : (storedObject(row[20], 'task.account') as unknown as TaskRow['account']),
    budget: row[21],
  }
}

function leaseOf(row: RowOf<'lease'>): LeaseRow {
  return {
    id: row[0],
    task: row[1],
    worker: row[2],
    process: row[3],
    attempt: row[4],
    fence: row[5],
    state: leaseStates[row[6]] as LeaseState,
    acquiredAt: row[7],
    expiresAt: row[8],
    lastHeartbeatAt: row[9],
    endedAt: row[10],
    endReason: row[11] as LeaseRow['endReason'],
    endSeq: row[12],
    yieldAskedAt: row[13],
    abortAcknowledgedAt: row[14],
    abortGraceExpiredAt: row[15],
    progress: row[16],
    progressAt: row[17],
  }
}

function waitOf([task, key, position, kind, name, dueAt, terms]: RowOf<'wait'>): WaitRow {
  return {
    task,
    key,
    position,
    kind: waitKinds[kind] as WaitKind,
    name,
    dueAt,
    terms: terms === null ? null : (storedObject(terms, 'wait.terms') as unknown as WaitRow['terms']),
  }
}

/** What came, and how it ends the wait that it is for: `value` is the last key of such an event, and a string before it has no bare quotes. */
function arrivalIn(data: string): Pick<SignalRow, 'value' | 'outcome'> {
  const at = data.indexOf(',"value":')
  const verdict = /"outcome":"(approved|rejected)"/.exec(data.slice(0, at))?.[1]
  return { value: data.slice(at + 9, -1), outcome: (verdict ?? 'received') as SignalRow['outcome'] }
}

function scheduleOf(row: RowOf<'schedule'>): ScheduleRow {
  return {
    name: row[0],
    definition: storedObject(row[1], 'schedule.definition') as unknown as ScheduleRow['definition'],
    paused: row[2] === 1,
    createdAt: row[3],
    changedAt: row[4],
    nextAt: row[5],
    lastAt: row[6],
    lastDueAt: row[7],
    lastTask: row[8],
    runs: row[9],
    rejected: row[10],
    missed: row[11],
    skipped: row[12],
  }
}

function budgetOf(row: RowOf<'budget'>): BudgetRow {
  const [task, above, limits, soft, used, own, startedAt, dueAt, asked, asks] = row
  return {
    task,
    above,
    limits: storedObject(limits, 'budget.limits'),
    soft: storedObject(soft, 'budget.soft'),
    used: storedObject(used, 'budget.used') as unknown as BudgetRow['used'],
    own: storedObject(own, 'budget.own') as unknown as BudgetRow['own'],
    startedAt,
    dueAt,
    asked: asked === null ? null : (storedObject(asked, 'budget.asked') as unknown as BudgetRow['asked']),
    asks,
  }
}

function pipelineOf([task, terms, log]: RowOf<'pipeline'>): PipelineRow {
  return {
    task,
    terms: storedObject(terms, 'pipeline.terms') as unknown as PipelineRow['terms'],
    log: logOf(storedObject(log, 'pipeline.log') as unknown as StoredLog),
  }
}

function childOf([parent, key, task, position, policy, seq, open]: RowOf<'child'>): ChildRow {
  return {
    parent,
    key,
    task,
    position,
    policy: childPolicies[policy] as ChildPolicy,
    seq,
    state: open === 1 ? 'open' : 'closed',
  }
}

function keyOf([key, task, payloadHash]: RowOf<'idempotency'>): KeyRow {
  return { key, task, payloadHash }
}

function streamOf(row: RowOf<'stream'>): StreamRow {
  const [id, key, laneRank, type, quotaKeys, depth, delayed, client, head, place] = row
  const keys = storedList<string>(quotaKeys, 'stream.quota_keys')
  const group = groupOf(laneRank, type, keys)
  return { id, key, laneRank, type, quotaKeys: keys, depth, delayed, client, group, head, place }
}

function clientOf(row: RowOf<'client'>): ClientRow {
  const [id, name, credits, tier, time, floor, spent, , reserved, entries, asks] = row
  return {
    id,
    name,
    credits,
    tier: clientTiers[tier] as ClientTier,
    time,
    floor,
    spent,
    reserved,
    entries,
    asks: asks === null ? null : (storedObject(asks, 'client.asks') as unknown as ClientRow['asks']),
    queued: 0,
    running: 0,
    pool: OPEN,
    seen: 0,
    stalled: false,
  }
}

function quotaOf([key, queued, running, start, count, tokens, blockedUntil]: RowOf<'quota'>): QuotaRow {
  return {
    key,
    queued,
    running,
    windowStart: start,
    windowCount: count,
    windowTokens: tokens,
    blockedUntil,
  }
}

function addTo(naming: Map<string, number[]>, key: string, task: number): void {
  const tasks = naming.get(key)
  if (tasks === undefined) naming.set(key, [task])
  else tasks.push(task)
}

function modelOf(model: string | undefined): Pick<QuotaNames, 'model'> {
  return model === undefined ? {} : { model }
}

/** What stands in a submission of that which quotas go by; what it does not name is null. */
function namesIn(text: string): QuotaNames {
  const named = Object.entries(storedObject(text, 'event.data'))
  return Object.fromEntries(named.filter(([, value]) => value !== null)) as QuotaNames
}

function workerOf(row: RowOf<'worker'>): WorkerRow {
  const [id, workerId, process, capacity, draining, types, lastSeenAt, registered, settings] = row
  return {
    id,
    workerId,
    process,
    capacity,
    ...readWorkerFlags(draining),
    types: storedList(types, 'worker.types'),
    lastSeenAt,
    registered: registered === 1,
    ...(settings === null
      ? {}
      : { settings: storedObject(settings, 'worker.settings') as NonNullable<WorkerRow['settings']> }),
  }
}

function totalsOf(row: RowOf<'totals'>): TotalsRow {
  return {
    submitted: row[1],
    rejected: row[2],
    rejectedPruned: row[3],
    completed: row[4],
    failed: row[5],
    canceled: row[6],
    requeued: row[7],
    expired: row[8],
    preempted: row[9],
    running: row[10],
    waiting: row[11],
  }
}
