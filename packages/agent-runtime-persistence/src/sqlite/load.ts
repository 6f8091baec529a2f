import {
  childPolicies,
  clientTiers,
  leaseStates,
  taskStates,
  quotaKeysOf,
  waitKinds,
  type QuotaNames,
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
} from '@ku0/agent-runtime-core/transition'
import { prepareEvaluationLoad } from './evaluations.ts'
import type { Statements } from './statements.ts'
import { prepareWorkLoad } from './work.ts'
import { storedList, storedObject } from './stored.ts'
import { WAITING_BY_INDEX } from './schema.ts'

/** The statements that read a working set; each says what it reads, prepared once. All run inside the flush's transaction. */
export type Load = ReturnType<typeof prepareLoad>

export const taskColumns =
  'id, stream, state, attempt, fence, lease, crashes, steps, waits, seq, tail, submitted_at, due_at, queued_at, started_at, finished_at, wait_reason, tokens, explicit_id, parent, account, budget'
const leaseColumns =
  'id, task, worker, process, attempt, fence, state, acquired_at, expires_at, last_heartbeat_at, ended_at, end_reason, end_seq, yield_asked_at, abort_acknowledged_at, abort_grace_expired_at, progress'

const scheduleColumns =
  'name, definition, paused, created_at, changed_at, next_at, last_at, last_due_at, last_task, runs, rejected, missed, skipped'

export function prepareLoad(db: Statements) {
  const rows = (sql: string) => db.prepare<unknown[], unknown[]>(sql).raw()
  const task = rows(`SELECT ${taskColumns} FROM task WHERE id = ?`)
  // With the submission, unless that is long: a claim then needs no read of its own.
  const heads = rows(
    `SELECT ${taskColumns
      .split(', ')
      .map((column) => `task.${column}`)
      .join(', ')}, CASE WHEN event.blob IS NULL AND length(event.data) < 2048 THEN event.data END
     FROM task JOIN event ON event.task = task.id AND event.seq = 1
     WHERE stream = ? AND state = 0 AND due_at IS NULL AND id > ? ORDER BY id LIMIT ? + 0`,
  )
  // The first of each of many streams, where one statement for each would take ten times as long.
  const firstHeads = rows(
    `SELECT ${taskColumns
      .split(', ')
      .map((column) => `task.${column}`)
      .join(', ')}, CASE WHEN event.blob IS NULL AND length(event.data) < 2048 THEN event.data END
     FROM json_each(?) AS wanted
     JOIN task ON task.id = (
       SELECT min(id) FROM task AS queued
       WHERE queued.stream = wanted.value ->> 0 AND queued.state = 0 AND queued.due_at IS NULL AND queued.id > wanted.value ->> 1)
     JOIN event ON event.task = task.id AND event.seq = 1`,
  )
  const due = rows(`SELECT ${taskColumns} FROM task WHERE due_at <= ? ORDER BY due_at, id LIMIT ? + 0`)
  const lease = rows(`SELECT ${leaseColumns} FROM lease WHERE id = ?`)
  const lapsed = rows(
    `SELECT ${leaseColumns} FROM lease WHERE state = 0 AND expires_at <= ? ORDER BY expires_at, id LIMIT ? + 0`,
  )
  const running = rows(`SELECT ${leaseColumns} FROM lease WHERE state = 0 AND process = ?`)
  const nextDue = db
    .prepare<[], number | null>('SELECT min(due_at) FROM task WHERE due_at IS NOT NULL')
    .pluck()
  const nextExpiry = db
    .prepare<[], number | null>('SELECT min(expires_at) FROM lease WHERE state = 0')
    .pluck()
  const explicit = db.prepare<[string], number>('SELECT id FROM task WHERE explicit_id = ?').pluck()
  const key = rows('SELECT key, task, payload_hash FROM idempotency WHERE key = ?')
  const streamColumns = 'id, key, lane_rank, type, quota_keys, depth, delayed, client, head, place'
  const streams = rows(`SELECT ${streamColumns} FROM stream`)
  const streamsSince = rows(`SELECT ${streamColumns} FROM stream WHERE changed > ?`)
  const clientColumns = 'id, name, credits, tier, time, floor, spent'
  const clients = rows(`SELECT ${clientColumns} FROM client`)
  const clientsSince = rows(`SELECT ${clientColumns} FROM client WHERE changed > ?`)
  const clientsRemoved = db
    .prepare<[], string>("SELECT value FROM meta WHERE key = 'clients_removed'")
    .pluck()
  const client = rows(`SELECT ${clientColumns} FROM client WHERE name = ?`)
  const clientsFirst = rows(`SELECT ${clientColumns} FROM client ORDER BY name LIMIT ? + 0`)
  const clientsAfter = rows(`SELECT ${clientColumns} FROM client WHERE name > ? ORDER BY name LIMIT ? + 0`)
  const maxClient = db.prepare<[], number | null>('SELECT max(id) FROM client').pluck()
  const runningByStream = rows(
    'SELECT task.stream, count(*) FROM lease JOIN task ON task.id = lease.task WHERE lease.state = 0 GROUP BY task.stream',
  )
  const quotas = rows(
    'SELECT key, queued, running, window_start, window_count, window_tokens, blocked_until FROM quota',
  )
  const workers = rows(
    'SELECT id, worker_id, process, capacity, draining, types, last_seen_at, registered FROM worker WHERE registered = 1 AND process = ?',
  )
  const totals = rows(
    'SELECT submitted, rejected, rejected_pruned, completed, failed, canceled, requeued, expired, preempted, running, waiting FROM totals',
  )
  const event = db.prepare<[number, number], { data: string; blob: string | null }>(
    'SELECT data, blob FROM event WHERE task = ? AND seq = ?',
  )
  // `->` hands out the JSON text: json_extract would change a key that holds a lone surrogate.
  const memoKeys = rows(
    "SELECT data -> '$.key', seq FROM event WHERE task = ? AND type IN ('step.completed', 'step.inherited')",
  )
  const rejections = db.prepare<[number], { since: number; seq: number }>(
    "SELECT data ->> '$.since' AS since, seq FROM event WHERE task = ? AND type IN ('task.resumed', 'wait.inherited') AND data ->> '$.since' IS NOT NULL ORDER BY seq",
  )
  const lastApproval = db
    .prepare<[number], number>(
      "SELECT coalesce(max(seq), 0) FROM event WHERE task = ? AND type IN ('wait.resolved', 'wait.inherited', 'task.resumed') AND data ->> '$.kind' = 'approval' AND data ->> '$.outcome' IN ('approved', 'passed')",
    )
    .pluck()
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
  const waits = rows(
    'SELECT task, key, position, kind, name, due_at, terms FROM wait WHERE task = ? ORDER BY position, key',
  )
  // Without their values, which may be many and long: most are not taken now.
  const signals = db.prepare<[number], { seq: number; name: string; at: number }>(
    'SELECT signal.seq, name, event.at FROM signal JOIN event USING (task, seq) WHERE signal.task = ? ORDER BY signal.seq',
  )
  const schedule = rows(`SELECT ${scheduleColumns} FROM schedule WHERE name = ?`)
  const schedulesAfter = rows(
    `SELECT ${scheduleColumns} FROM schedule WHERE name > ? ORDER BY name LIMIT ? + 0`,
  )
  const schedulesDue = rows(
    `SELECT ${scheduleColumns} FROM schedule WHERE paused = 0 AND next_at <= ? ORDER BY next_at, name LIMIT ? + 0`,
  )
  const nextSchedule = db
    .prepare<[], number | null>('SELECT min(next_at) FROM schedule WHERE paused = 0 AND next_at IS NOT NULL')
    .pluck()
  const budgetColumns = 'task, above, limits, soft, used, own, started_at, due_at, asked, asks'
  const budget = rows(`SELECT ${budgetColumns} FROM budget WHERE task = ?`)
  const budgetsDue = rows(
    `SELECT ${budgetColumns} FROM budget WHERE due_at <= ? ORDER BY due_at, task LIMIT ? + 0`,
  )
  const nextBudget = db
    .prepare<[], number | null>('SELECT min(due_at) FROM budget WHERE due_at IS NOT NULL')
    .pluck()
  const budgetsAsking = rows(
    `SELECT ${budgetColumns} FROM budget WHERE asked IS NOT NULL AND task > ? ORDER BY task LIMIT ? + 0`,
  )
  const parked = db
    .prepare<[number], number>(
      `WITH RECURSIVE below (task) AS (VALUES (?) UNION SELECT budget.task FROM budget JOIN below ON budget.above = below.task)
       SELECT task.id FROM below JOIN task ON task.budget = below.task AND task.wait_reason = 'budget' ORDER BY task.id`,
    )
    .pluck()
  const scheduleCount = db.prepare<[], number>('SELECT count(*) FROM schedule').pluck()
  const childColumns = 'parent, key, task, position, policy, seq, open'
  const children = rows(`SELECT ${childColumns} FROM child WHERE parent = ? ORDER BY seq`)
  const openChildren = rows(`SELECT ${childColumns} FROM child WHERE parent = ? AND open = 1 ORDER BY task`)
  const child = rows(`SELECT ${childColumns} FROM child WHERE parent = ? AND key = ?`)
  const checkpoint = db.prepare<[number], { data: string; event: string | null }>(
    `SELECT checkpoint.data, event.data AS event FROM checkpoint
     LEFT JOIN event ON event.task = checkpoint.task AND event.seq = checkpoint.seq AND event.type = 'checkpoint.created'
     WHERE checkpoint.task = ?`,
  )
  const blobText = db.prepare<[string], string>('SELECT data FROM blob WHERE sha256 = ?').pluck()
  // All that are not over, each by an index of its own.
  const names = db.prepare<[], { task: number; names: string }>(
    `SELECT task, json_object('model', data -> '$.model', 'tools', data -> '$.tools', 'client', data -> '$.client', 'labels', data -> '$.labels') AS names
     FROM event WHERE seq = 1 AND task IN (
       SELECT id FROM task WHERE state = 0 AND due_at IS NULL AND stream IS NOT NULL
       UNION ALL SELECT id FROM task WHERE due_at IS NOT NULL
       UNION ALL SELECT id FROM task WHERE ${WAITING_BY_INDEX}
       UNION ALL SELECT task FROM lease WHERE state = 0)`,
  )
  const next = rows(
    'SELECT (SELECT max(id) FROM task), (SELECT max(id) FROM lease), (SELECT max(id) FROM stream), (SELECT max(id) FROM worker)',
  )
  const journal = rows('SELECT number, hash FROM journal ORDER BY number DESC LIMIT 1')
  const version = db.prepare<[], number>('PRAGMA user_version').pluck()
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck()

  const one = <T>(row: unknown[] | undefined, make: (row: unknown[]) => T) =>
    row === undefined ? undefined : make(row)

  return {
    task: (id: number) => one(task.get(id), taskOf),
    heads: (stream: number, after: number, limit: number) =>
      heads
        .all(stream, after, limit)
        .map((row) => ({ task: taskOf(row), submission: row.at(-1) as string | null })),
    /** The first queued task of each stream behind a sequence. */
    firstHeads: (wanted: readonly (readonly [stream: number, after: number])[]) =>
      firstHeads
        .all(JSON.stringify(wanted))
        .map((row) => ({ task: taskOf(row), submission: row.at(-1) as string | null })),
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
    clientsRemoved: () => clientsRemoved.get() ?? '0',
    clients: () => clients.all().map(clientOf),
    client: (name: string) => one(client.get(name), clientOf),
    /** From the first when there is no name; the one without a name is the first. */
    clientsAfter: (name: string | undefined, limit: number) =>
      (name === undefined ? clientsFirst.all(limit) : clientsAfter.all(name, limit)).map(clientOf),
    /** How many leases each stream has, of every process. */
    runningByStream: () => runningByStream.all() as [stream: number, running: number][],
    nextClient: () => (maxClient.get() ?? 0) + 1,
    quotas: () => quotas.all().map(quotaOf),
    naming: (keys: ReadonlySet<string>) => {
      const naming = new Map<string, number[]>()
      for (const row of names.iterate())
        for (const named of quotaKeysOf(namesIn(row.names)))
          if (keys.has(named)) addTo(naming, named, row.task)
      return naming
    },
    workers: (process: number) => workers.all(process).map(workerOf),
    totals: () => one(totals.get(), totalsOf) ?? noTotals,
    event: (taskId: number, seq: number) => event.get(taskId, seq),
    memoKeys: (taskId: number) => {
      const steps = (memoKeys.all(taskId) as [string, number][]).map(
        ([text, seq]) => [JSON.parse(text) as string, seq] as const,
      )
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
    verdicts: (taskId: number): VerdictsRow =>
      verdictsOf(lastApproval.get(taskId) ?? 0, rejections.all(taskId)),
    outputs: (taskId: number) => outputs.get(taskId) ?? 0,
    waits: (taskId: number) => waits.all(taskId).map(waitOf),
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
    evaluations: prepareEvaluationLoad(db),
    budget: (taskId: number) => one(budget.get(taskId), budgetOf),
    budgetsDue: (at: number, limit: number) => budgetsDue.all(at, limit).map(budgetOf),
    nextBudget: () => nextBudget.get() ?? undefined,
    budgetsAsking: (after: number, limit: number) => budgetsAsking.all(after, limit).map(budgetOf),
    /** Tasks that are parked for a budget, or for one below it. */
    parked: (taskId: number) => parked.all(taskId),
    /** The newest checkpoint, and the data of its event. */
    checkpoint: (taskId: number) => checkpoint.get(taskId),
    blob: (sha256: string) => blobText.get(sha256),
    next: () => next.get() as (number | null)[],
    work: prepareWorkLoad(db),
    journal: () => journal.get() as [number, Buffer] | undefined,
    /** Of the schema. */
    version: () => version.get() as number,
    dataVersion: () => dataVersion.get() as number,
  }
}

export function taskOf(row: unknown[]): TaskRow {
  const [
    id,
    stream,
    code,
    attempt,
    fence,
    lease,
    crashes,
    steps,
    waits,
    seq,
    tail,
    submittedAt,
    dueAt,
    queuedAt,
    startedAt,
  ] = row
  const [finishedAt, waitReason, tokens, explicitId, parent, account, budget] = row.slice(15)
  return {
    id,
    stream,
    state: taskStates[code as number],
    attempt,
    fence,
    lease,
    crashes,
    steps,
    waits,
    seq,
    tail,
    submittedAt,
    dueAt,
    queuedAt,
    startedAt,
    finishedAt,
    waitReason,
    tokens,
    explicitId,
    parent,
    account: typeof account === 'string' ? storedObject(account, 'task.account') : null,
    budget: budget ?? null,
  } as TaskRow
}

function leaseOf(row: unknown[]): LeaseRow {
  const [
    id,
    task,
    worker,
    process,
    attempt,
    fence,
    code,
    acquiredAt,
    expiresAt,
    lastHeartbeatAt,
    endedAt,
    endReason,
  ] = row
  const [endSeq, yieldAskedAt, abortAcknowledgedAt, abortGraceExpiredAt, progress] = row.slice(12)
  return {
    id,
    task,
    worker,
    process,
    attempt,
    fence,
    state: leaseStates[code as number],
    acquiredAt,
    expiresAt,
    lastHeartbeatAt,
    endedAt,
    endReason,
    endSeq,
    yieldAskedAt,
    abortAcknowledgedAt,
    abortGraceExpiredAt,
    progress,
  } as LeaseRow
}

function waitOf([task, key, position, kind, name, dueAt, terms]: unknown[]): WaitRow {
  return {
    task,
    key,
    position,
    kind: waitKinds[kind as number],
    name,
    dueAt,
    terms: terms === null ? null : storedObject(terms as string, 'wait.terms'),
  } as WaitRow
}

/** What came, and how it ends the wait that it is for: `value` is the last key of such an event, and a string before it has no bare quotes. */
function arrivalIn(data: string): Pick<SignalRow, 'value' | 'outcome'> {
  const at = data.indexOf(',"value":')
  const verdict = /"outcome":"(approved|rejected)"/.exec(data.slice(0, at))?.[1]
  return { value: data.slice(at + 9, -1), outcome: (verdict ?? 'received') as SignalRow['outcome'] }
}

function scheduleOf(row: unknown[]): ScheduleRow {
  const [name, definition, paused, createdAt, changedAt, nextAt, lastAt, lastDueAt, lastTask] = row
  const [runs, rejected, missed, skipped] = row.slice(9)
  return {
    name,
    definition: storedObject(
      definition as string,
      'schedule.definition',
    ) as unknown as ScheduleRow['definition'],
    paused: paused === 1,
    createdAt,
    changedAt,
    nextAt,
    lastAt,
    lastDueAt,
    lastTask,
    runs,
    rejected,
    missed,
    skipped,
  } as ScheduleRow
}

function budgetOf([
  task,
  above,
  limits,
  soft,
  used,
  own,
  startedAt,
  dueAt,
  asked,
  asks,
]: unknown[]): BudgetRow {
  return {
    task,
    above,
    limits: storedObject(limits as string, 'budget.limits'),
    soft: storedObject(soft as string, 'budget.soft'),
    used: storedObject(used as string, 'budget.used') as unknown,
    own: storedObject(own as string, 'budget.own') as unknown,
    startedAt,
    dueAt,
    asked: asked === null ? null : storedObject(asked as string, 'budget.asked'),
    asks,
  } as BudgetRow
}

function childOf([parent, key, task, position, policy, seq, open]: unknown[]): ChildRow {
  return {
    parent,
    key,
    task,
    position,
    policy: childPolicies[policy as number],
    seq,
    state: open === 1 ? 'open' : 'closed',
  } as ChildRow
}

function keyOf([key, task, payloadHash]: unknown[]): KeyRow {
  return { key, task, payloadHash } as KeyRow
}

function streamOf(row: unknown[]): StreamRow {
  const [id, key, laneRank, type, quotaKeys, depth, delayed, client, head, place] = row
  const keys = storedList<string>(quotaKeys as string, 'stream.quota_keys')
  const group = groupOf(laneRank as number, type as string, keys)
  return { id, key, laneRank, type, quotaKeys: keys, depth, delayed, client, group, head, place } as StreamRow
}

function clientOf([id, name, credits, tier, time, floor, spent]: unknown[]): ClientRow {
  return {
    id,
    name,
    credits,
    tier: clientTiers[tier as number],
    time,
    floor,
    spent,
    queued: 0,
    running: 0,
    pool: OPEN,
    seen: 0,
    stalled: false,
  } as ClientRow
}

function quotaOf([key, queued, running, start, count, tokens, blockedUntil]: unknown[]): QuotaRow {
  return {
    key,
    queued,
    running,
    windowStart: start,
    windowCount: count,
    windowTokens: tokens,
    blockedUntil,
  } as QuotaRow
}

function addTo(naming: Map<string, number[]>, key: string, task: number): void {
  const tasks = naming.get(key)
  if (tasks === undefined) naming.set(key, [task])
  else tasks.push(task)
}

/** What stands in a submission of that which quotas go by; what it does not name is null. */
function namesIn(text: string): QuotaNames {
  const named = Object.entries(storedObject(text, 'event.data'))
  return Object.fromEntries(named.filter(([, value]) => value !== null)) as QuotaNames
}

function workerOf([
  id,
  workerId,
  process,
  capacity,
  draining,
  types,
  lastSeenAt,
  registered,
]: unknown[]): WorkerRow {
  return {
    id,
    workerId,
    process,
    capacity,
    draining: draining === 1,
    types: storedList(types as string, 'worker.types'),
    lastSeenAt,
    registered: registered === 1,
  } as WorkerRow
}

function totalsOf(row: unknown[]): TotalsRow {
  const [
    submitted,
    rejected,
    rejectedPruned,
    completed,
    failed,
    canceled,
    requeued,
    expired,
    preempted,
    running,
    waiting,
  ] = row
  return {
    submitted,
    rejected,
    rejectedPruned,
    completed,
    failed,
    canceled,
    requeued,
    expired,
    preempted,
    running,
    waiting,
  } as TotalsRow
}
