import {
  canonical,
  historyEdited,
  lanes,
  quotaStateOf,
  type ClientRecord,
  type EventData,
  type ExecutionConfig,
  type ExecutionLease,
  type Lane,
  type OutputChunk,
  type ProfileTerms,
  type Read,
  type ReadKind,
  type Reads,
  type ScheduleFilter,
  type StoredEvent,
  type StoreStats,
  type TaskFilter,
  type TaskRecord,
  usageOf,
  type WorkerStatus,
} from '@ku0/agent-runtime-core'
import {
  CALLER,
  clientRecordOf,
  scheduleRecordOf,
  type Instant,
  type LeaseRow,
  type TaskRow,
} from '@ku0/agent-runtime-core/transition'
import { prepareExplain } from './explain.ts'
import { prepareApprovals } from './approvals.ts'
import { prepareBudgets } from './budgets.ts'
import { prepareEvaluationReads } from './evaluations.ts'
import type { PlainEvent } from './integrity.ts'
import { taskOf } from './load.ts'
import { memoTypes, noMemos, openWaitOf, prepareMemos } from './memos.ts'
import type { Statements } from './statements.ts'
import type { SqliteTables } from './tables.ts'
import { prepareRoutes } from './routes.ts'
import { prepareQueueView } from './queue-view.ts'
import { compileTaskPage } from './task-page.ts'
import { prepareWaitCounts } from './wait-counts.ts'
import { DamagedRow, storedList, storedObject } from './stored.ts'

export interface ReadContext {
  readonly db: Statements
  readonly tables: SqliteTables
  readonly config: ExecutionConfig
  readonly now: () => Instant
  readonly processId: (process: number) => string | undefined
  /** What only this process's store knows. */
  readonly local: () => {
    readonly staleWrites: number
    readonly commits: number
    readonly repeatedFlushes: number
  }
}

/** Answers questions from committed state, between flushes. */
export function prepareReads(context: ReadContext): (query: Read) => Reads[ReadKind]['answer'] {
  const { db, tables } = context
  const { load, ids, faultOf } = tables
  const finalEvent = db.prepare<[number, number], { seq: number; data: string; blob: string | null }>(
    "SELECT seq, data, blob FROM event WHERE task = ? AND seq <= ? AND type IN ('task.completed', 'task.failed', 'task.canceled', 'task.rejected') ORDER BY seq DESC LIMIT 1",
  )
  const events = db.prepare<[number, number, number], EventColumns>(
    'SELECT seq, type, at, data, blob, hash FROM event WHERE task = ? AND seq > ? ORDER BY seq LIMIT ? + 0',
  )
  const lastWaiting = db
    .prepare<[number], string>(
      "SELECT data FROM event WHERE task = ? AND type = 'task.waiting' ORDER BY seq DESC LIMIT 1",
    )
    .pluck()
  const starts = db
    .prepare<[number], string>("SELECT data FROM event WHERE task = ? AND type = 'task.started' ORDER BY seq")
    .pluck()
  const checkpointSeq = db.prepare<[number], number>('SELECT seq FROM checkpoint WHERE task = ?').pluck()
  const progressAfter = db
    .prepare<[number, number], number>(
      "SELECT seq FROM event WHERE task = ? AND seq > ? AND type IN ('task.started', 'step.started', 'step.completed', 'step.failed', 'child.spawned', 'wait.started', 'wait.resolved', 'approval.requested') LIMIT 1",
    )
    .pluck()
  const chunks = db.prepare<
    [number, number, number],
    { seq: number; attempt: number; at: number; data: string; round: number | null }
  >('SELECT seq, attempt, at, data, round FROM output WHERE task = ? AND seq > ? ORDER BY seq LIMIT ? + 0')
  const allWorkers = db.prepare<
    [],
    {
      id: number
      worker_id: string
      process: number
      capacity: number
      draining: number
      types: string
      last_seen_at: number
      in_flight: number
    }
  >(
    'SELECT *, (SELECT count(*) FROM lease WHERE lease.worker = worker.id AND lease.state = 0) AS in_flight FROM worker WHERE registered = 1 ORDER BY worker_id, id',
  )
  const newestTask = db.prepare<[], number | null>('SELECT max(id) FROM task').pluck()
  const workerName = db.prepare<[number], string>('SELECT worker_id FROM worker WHERE id = ?').pluck()

  const streamsOf = db.prepare<[string, string], { id: number; depth: number }>(
    "SELECT id, depth FROM stream WHERE client = ? AND client <> '' UNION ALL SELECT id, depth FROM stream WHERE client = '' AND ? = ''",
  )
  const approvals = prepareApprovals(db, tables, context.now)
  const evaluations = prepareEvaluationReads(db, tables)
  const budgets = prepareBudgets(tables, context.now)
  const queueView = prepareQueueView(context, workers)
  const explain = prepareExplain(context, queueView, (row) => budgets.askingAbove(row))
  const waitCounts = prepareWaitCounts(context, queueView)
  const memos = prepareMemos(db, tables)
  const { routes, swarms } = prepareRoutes(context)

  return (query) => {
    switch (query.kind) {
      case 'task': {
        const row = find(query.taskId)
        return row === undefined ? undefined : recordOf(row)
      }
      case 'tasks':
        return page(query.filter)
      case 'events': {
        const row = find(query.taskId)
        return row === undefined
          ? undefined
          : events.all(row.id, query.after, query.limit).map((it) => eventOf(row, it))
      }
      case 'steps': {
        const row = find(query.taskId)
        return row === undefined ? [] : memos.steps(row)
      }
      case 'integrity':
        return db.atOnce(() => {
          const row = find(query.taskId)
          return row === undefined ? undefined : faultOf(row)
        })
      case 'memos':
        return db.atOnce(() => {
          const row = find(query.taskId)
          if (row === undefined) return noMemos
          const passed: PlainEvent[] = []
          let hasChildren = false
          const fault = faultOf(row, (event) => {
            if (memoTypes.has(event.type)) passed.push(event)
            hasChildren ||= event.type === 'child.spawned' || event.type === 'child.inherited'
          })
          if (fault !== undefined) throw historyEdited(query.taskId, fault)
          return memos.memos(row, passed, hasChildren)
        })
      case 'approvals':
        return approvals(query)
      case 'budget': {
        const row = find(query.taskId)
        return row === undefined ? undefined : budgets.of(row)
      }
      case 'budgets':
        return budgets.asking(query)
      case 'output': {
        const row = find(query.taskId)
        if (row === undefined) return undefined
        return chunks.all(row.id, query.after, query.limit).map(({ round, ...it }): OutputChunk => ({
          taskId: query.taskId,
          ...it,
          ...(round === null ? {} : { round }),
        }))
      }
      case 'leases': {
        const row = find(query.taskId)
        return row === undefined ? [] : leasesOf(row)
      }
      case 'schedules':
        return schedules(query.filter)
      case 'clients':
        return clients(query)
      case 'reputation':
      case 'evaluations':
      case 'similar':
        return evaluations(query)
      case 'workers':
        return workers()
      case 'stats':
        return stats()
      case 'routes':
        return routes()
      case 'swarms':
        return swarms(query.name)
      case 'explain':
        return db.atOnce(() => {
          const row = find(query.taskId)
          return row === undefined ? undefined : explain(row, recordOf(row))
        })
      case 'waits':
        return db.atOnce(waitCounts)
    }
  }

  function clients({ name, after, limit = 100 }: Read<'clients'>): readonly ClientRecord[] {
    const one = name === undefined ? undefined : load.client(name)
    const most = Math.min(1000, Math.max(1, limit))
    const rows = name === undefined ? load.clientsAfter(after, most) : one === undefined ? [] : [one]
    const inUse = new Map(load.runningByStream())
    return rows.map((row) => {
      const streams = streamsOf.all(row.name, row.name)
      const queued = streams.reduce((sum, { depth }) => sum + depth, 0)
      const running = streams.reduce((sum, { id }) => sum + (inUse.get(id) ?? 0), 0)
      return clientRecordOf({ ...row, queued, running })
    })
  }

  function find(taskId: string): TaskRow | undefined {
    const number = load.explicit(taskId) ?? ids.taskNumber(taskId)
    return number === undefined ? undefined : load.task(number)
  }

  function nameOf(row: TaskRow): string {
    return row.explicitId ?? ids.task(row.id)
  }

  function recordOf(row: TaskRow): TaskRecord {
    const first = readable(tables.event(row.id, 1)) ?? submissionLost(row)
    const budget = budgets.of(row)
    const text = (name: string) => (typeof first[name] === 'string' ? { [name]: first[name] } : {})
    const base = {
      taskId: nameOf(row),
      sequence: row.id,
      type: first['type'] as string,
      lane: first['lane'] as Lane,
      attempt: row.attempt,
      crashes: row.crashes,
      steps: row.steps,
      submittedAt: row.submittedAt,
      ...text('client'),
      ...(typeof first['cost'] === 'number' ? { cost: first['cost'] } : {}),
      ...(row.account?.used ? { used: usageOf(row.account.used) } : {}),
      ...text('swarm'),
      ...text('agent'),
      ...(first['held'] === true ? { held: true as const } : {}),
      ...(first['profile'] === undefined ? {} : { profile: first['profile'] as ProfileTerms }),
      ...(budget === undefined ? {} : { budget }),
      ...text('model'),
      ...text('schedule'),
      ...(typeof first['scheduledFor'] === 'number' ? { scheduledFor: first['scheduledFor'] } : {}),
      ...(row.parent === null ? {} : { parent: first['parentId'] as string }),
      tools: (first['tools'] as string[] | undefined) ?? [],
      labels: (first['labels'] as Record<string, string> | undefined) ?? {},
      ...('input' in first ? { input: canonical(first['input']) } : {}),
    }
    const started = row.startedAt ?? row.submittedAt
    const finished = {
      ...(row.startedAt === null ? {} : { startedAt: row.startedAt }),
      finishedAt: row.finishedAt ?? 0,
    }
    const end = () => storedObject(finalText(row), 'event.data')
    const ended = (name: string) => storedValue(end(), name, row)
    switch (row.state) {
      case 'queued':
        return { ...base, state: 'queued', ...(row.dueAt === null ? {} : { dueAt: row.dueAt }) }
      case 'running':
        return {
          ...base,
          state: 'running',
          startedAt: started,
          lease: leaseRecord(load.lease(row.lease as number) as LeaseRow, row),
          checkpointed: isCheckpointed(row),
        }
      case 'waiting':
        return {
          ...base,
          state: 'waiting',
          startedAt: started,
          waitingFor: row.waitReason as never,
          waits: load.waits(row.id).map(openWaitOf),
          ...(row.waitReason === 'divergence' ? divergenceOf(row) : {}),
        }
      case 'completed':
        return { ...base, ...finished, state: 'completed', output: ended('output') }
      case 'failed': {
        const data = end()
        return {
          ...base,
          ...finished,
          state: 'failed',
          kind: data['kind'] as never,
          error: ended('error'),
        }
      }
      case 'canceled': {
        const data = end()
        const lease =
          typeof data['leaseId'] === 'string' ? load.lease(ids.leaseNumber(data['leaseId']) ?? 0) : undefined
        const abort = lease === undefined ? undefined : leaseRecord(lease, row).abort
        return {
          ...base,
          ...finished,
          state: 'canceled',
          ...(typeof data['reason'] === 'string' ? { reason: data['reason'] } : {}),
          ...(abort === undefined ? {} : { abort }),
        }
      }
      case 'rejected': {
        const data = end()
        return {
          ...base,
          ...finished,
          state: 'rejected',
          reason: data['reason'] as never,
          message: data['message'] as string,
        }
      }
    }
  }

  function storedValue(data: Record<string, unknown>, name: string, row: TaskRow): string {
    if (name in data) return canonical(data[name])
    throw new DamagedRow(
      `task ${row.id} has ended, and event ${row.seq} of it does not say with what ${name}`,
    )
  }

  /** Somebody changed the row of the submission: the task is still listed, as far as its other rows tell of it. */
  function submissionLost(row: TaskRow): Record<string, unknown> {
    const stream = load.streams().find(({ id }) => id === row.stream)
    return { type: stream?.type ?? '', lane: lanes[stream?.laneRank ?? 1] }
  }

  /** Signals, verdicts, ends of children, and handlers of earlier leases are no progress of the pass. */
  function isCheckpointed(row: TaskRow): boolean {
    const seq = checkpointSeq.get(row.id)
    return seq !== undefined && progressAfter.get(row.id, seq) === undefined
  }

  function divergenceOf(row: TaskRow): Pick<EventData['task.waiting'], 'divergence'> {
    const { divergence } = JSON.parse(lastWaiting.get(row.id) ?? '{}') as Partial<EventData['task.waiting']>
    return divergence === undefined ? {} : { divergence }
  }

  function finalText(row: TaskRow): string {
    const event = finalEvent.get(row.id, row.seq)
    if (event === undefined) return '{}'
    return event.blob === null
      ? event.data
      : tables.withBlob(event.data, event.blob, load.blob(event.blob) ?? '')
  }

  function eventOf(row: TaskRow, it: EventColumns): StoredEvent {
    const data = it.blob === null ? it.data : tables.withBlob(it.data, it.blob, load.blob(it.blob) ?? '')
    return { taskId: nameOf(row), seq: it.seq, type: it.type, at: it.at, data, hash: it.hash.toString('hex') }
  }

  function leasesOf(row: TaskRow): ExecutionLease[] {
    return starts.all(row.id).flatMap((data) => {
      const { dispatch } = JSON.parse(data) as { dispatch: number }
      const lease = load.lease(dispatch)
      return lease === undefined ? [] : [leaseRecord(lease, row)]
    })
  }

  function leaseRecord(lease: LeaseRow, row: TaskRow): ExecutionLease {
    const abort =
      lease.endReason === 'canceled' ||
      lease.abortAcknowledgedAt !== null ||
      lease.abortGraceExpiredAt !== null
        ? {
            abort: {
              requestedAt: lease.endedAt ?? lease.acquiredAt,
              ...(lease.abortAcknowledgedAt === null ? {} : { acknowledgedAt: lease.abortAcknowledgedAt }),
              ...(lease.abortGraceExpiredAt === null ? {} : { graceExpiredAt: lease.abortGraceExpiredAt }),
            },
          }
        : {}
    return {
      leaseId: ids.lease(lease.id),
      taskId: nameOf(row),
      workerId: lease.worker === CALLER ? 'caller' : (workerName.get(lease.worker) ?? String(lease.worker)),
      status: lease.state,
      acquiredAt: lease.acquiredAt,
      expiresAt: lease.expiresAt,
      lastHeartbeatAt: lease.lastHeartbeatAt,
      attempt: lease.attempt,
      fencingToken: lease.fence,
      dispatch: lease.id,
      ...(lease.endedAt === null ? {} : { endedAt: lease.endedAt }),
      ...(lease.endReason === null ? {} : { endReason: lease.endReason }),
      ...(lease.progress === null ? {} : { progress: JSON.parse(lease.progress) as unknown }),
      ...abort,
    }
  }

  function workers(): WorkerStatus[] {
    return allWorkers.all().map((row) => ({
      workerId: row.worker_id,
      state: row.draining === 1 ? 'draining' : row.in_flight > 0 ? 'busy' : 'idle',
      capacity: row.capacity,
      inFlight: row.in_flight,
      lastSeenAt: row.last_seen_at,
      types: storedList<string>(row.types, 'worker.types'),
      processId: context.processId(row.process) ?? String(row.process),
    }))
  }

  function schedules({ name, after = '', dueBy, limit = 100 }: ScheduleFilter): Reads['schedules']['answer'] {
    const most = Math.min(1000, Math.max(1, limit))
    const one = name === undefined ? undefined : load.schedule(name)
    const rows =
      name !== undefined
        ? one === undefined
          ? []
          : [one]
        : dueBy === undefined
          ? load.schedulesAfter(after, most)
          : load.schedulesDue(dueBy, most)
    return rows.map((row) => scheduleRecordOf(row, (task) => ids.task(task)))
  }

  function stats(): StoreStats {
    const depth = { interactive: 0, normal: 0, batch: 0 }
    let delayed = 0
    for (const stream of load.streams()) {
      depth[lanes[stream.laneRank] as Lane] += stream.depth
      delayed += stream.delayed
    }
    const { running, waiting, rejectedPruned: _, ...totals } = load.totals()
    const { at } = context.now()
    const quotas = load.quotas().map((row) => quotaStateOf(context.config.quotaConfig, row, at))
    return { depth, delayed, running, waiting, totals, quotas, ...context.local() }
  }

  /** One slice of the work that a list can be: nothing else happens in this thread meanwhile, not even a renewal. */
  function page(filter: TaskFilter): Reads['tasks']['answer'] {
    const limit = Math.min(1000, Math.max(1, filter.limit ?? 100))
    const parent = filter.parent === undefined ? undefined : find(filter.parent)
    if (filter.parent !== undefined && parent === undefined) return { tasks: [] }
    const isFiltered = !parent && (filter.states ?? filter.types ?? filter.lanes) !== undefined
    const end = filter.cursor ?? (newestTask.get() ?? 0) + 1
    const from = isFiltered ? Math.max(1, end - maxScanned) : 1
    const { sql, parameters } = compileTaskPage(filter, { from, end, parent: parent?.id }, limit + 1)
    const rows = (
      db
        .prepare(sql)
        .raw()
        .all(...parameters) as unknown[][]
    ).map(taskOf)
    const tasks: TaskRecord[] = []
    let chars = 0
    for (const row of rows.slice(0, limit)) {
      if (chars > maxPageChars) break
      const record = recordOf(row)
      tasks.push(record)
      chars += (record.input?.length ?? 0) + (record.state === 'completed' ? record.output.length : 0)
    }
    const cursor = rows.length > tasks.length ? tasks.at(-1)?.sequence : from > 1 ? from : undefined
    return { tasks, ...(cursor === undefined ? {} : { cursor }) }
  }
}

/** Undefined for a text that the store never wrote. */
function readable(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** Rows that one slice of a filtered list looks at: some 20 ms. */
const maxScanned = 20_000
/** Characters of inputs and outputs in one slice. */
const maxPageChars = 4_194_304

interface EventColumns {
  readonly seq: number
  readonly type: StoredEvent['type']
  readonly at: number
  readonly data: string
  readonly blob: string | null
  readonly hash: Buffer
}
