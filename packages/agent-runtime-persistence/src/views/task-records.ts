import {
  canonical,
  lanes,
  type EventData,
  type ExecutionLease,
  type FailureKind,
  type Lane,
  type ProfileTerms,
  type Reads,
  type RejectionReason,
  type TaskFilter,
  type TaskRecord,
  usageOf,
  type WaitReason,
} from '@ku0/agent-runtime-core'
import { CALLER, type LeaseRow, type TaskRow } from '@ku0/agent-runtime-core/transition'
import type { RowOf } from '../sqlite/columns.ts'
import { taskOf } from '../sqlite/load.ts'
import { FALLBACKS } from '../sqlite/schema.ts'
import { openWaitOf } from './memos.ts'
import { compileTaskCount, compileTaskPage, looksAtSubmissions } from './task-page.ts'
import { DamagedRow, storedObject } from '../sqlite/stored.ts'
import type { prepareBudgets } from './budgets.ts'
import { MAX_PAGE_CHARS, type ReadContext } from './read-context.ts'

/** Answers what is asked of single tasks and of pages of them. */
export function prepareTaskRecords({ db, tables }: ReadContext, budgets: ReturnType<typeof prepareBudgets>) {
  const { load, ids } = tables
  const finalEvent = db.prepare<[number, number], { seq: number; data: string; blob: string | null }>(
    "SELECT seq, data, blob FROM event WHERE task = ? AND seq <= ? AND type IN ('task.completed', 'task.failed', 'task.canceled', 'task.rejected') ORDER BY seq DESC LIMIT 1",
  )
  /** A large input stays in the database. */
  const submissionFacts = db
    .prepare<[number], string>(
      `SELECT CASE WHEN blob IS NULL AND octet_length(data) > ${MAX_WHOLE_BYTES} AND json_valid(data) THEN json_remove(data, '$.input') ELSE data END FROM event WHERE task = ? AND seq = 1`,
    )
    .pluck()
  const lastWaiting = db
    .prepare<[number], string>(
      "SELECT data FROM event WHERE task = ? AND type = 'task.waiting' ORDER BY seq DESC LIMIT 1",
    )
    .pluck()
  const starts = db
    .prepare<[number, number], string>(
      "SELECT data FROM event WHERE task = ? AND type = 'task.started' ORDER BY seq DESC LIMIT ? + 0",
    )
    .pluck()
  const checkpointSeq = db.prepare<[number], number>('SELECT seq FROM checkpoint WHERE task = ?').pluck()
  const progressAfter = db
    .prepare<[number, number], number>(
      "SELECT seq FROM event WHERE task = ? AND seq > ? AND type IN ('task.started', 'step.started', 'step.completed', 'step.failed', 'child.spawned', 'wait.started', 'wait.resolved', 'approval.requested') LIMIT 1",
    )
    .pluck()
  const fallbacks = db.prepare<[number], string>(FALLBACKS_OF_TASK).pluck()
  const waitCount = db.prepare<[number], number>('SELECT count(*) FROM wait WHERE task = ?').pluck()
  const newestTask = db.prepare<[], number | null>('SELECT max(id) FROM task').pluck()
  const workerName = db.prepare<[number], string>('SELECT worker_id FROM worker WHERE id = ?').pluck()

  return { find, nameOf, recordOf, wholeOf, leasesOf, page, idPage, countSlice }

  function find(taskId: string): TaskRow | undefined {
    const guess = ids.taskNumber(taskId)
    // Where answers take their time, both are asked for at once.
    db.ahead([load.explicit, () => (guess === undefined ? undefined : load.task(guess))], (read) =>
      read(taskId),
    )
    const number = load.explicit(taskId) ?? guess
    return number === undefined ? undefined : load.task(number)
  }

  function nameOf(row: TaskRow): string {
    return row.explicitId ?? ids.task(row.id)
  }

  /** With all that it waits for. */
  function wholeOf(row: TaskRow): TaskRecord {
    const record = recordOf(row)
    if (record.state !== 'waiting' || record.moreWaits === undefined) return record
    const { moreWaits: _, ...rest } = record
    return { ...rest, waits: load.waits(row.id).map(openWaitOf) }
  }

  /** As in a list. */
  function recordOf(row: TaskRow): TaskRecord {
    return recordFrom(row, readable(tables.event(row.id, 1)) ?? submissionLost(row), true)
  }

  /** The same without its input, and with `null` as its output. */
  function factsOf(row: TaskRow): TaskRecord {
    const { input: _, ...first } = readable(submissionFacts.get(row.id)) ?? submissionLost(row)
    return recordFrom(row, first, false)
  }

  function recordFrom(row: TaskRow, first: Record<string, unknown>, values: boolean): TaskRecord {
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
      ...modelOf(row, first),
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
          waitingFor: row.waitReason as WaitReason,
          ...waitsOf(row),
          ...(row.waitReason === 'divergence' ? divergenceOf(row) : {}),
        }
      case 'completed':
        return { ...base, ...finished, state: 'completed', output: values ? ended('output') : 'null' }
      case 'failed': {
        const data = end()
        return {
          ...base,
          ...finished,
          state: 'failed',
          kind: data['kind'] as FailureKind,
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
          reason: data['reason'] as RejectionReason,
          message: data['message'] as string,
        }
      }
    }
  }

  /** The model of the submission, or the one that the task has fallen back to, which is a further attempt. */
  function modelOf({ id, attempt }: TaskRow, first: Record<string, unknown>): { readonly model?: string } {
    if (attempt > 1)
      for (const data of fallbacks.all(id)) {
        const model = fallbackIn(readable(data))
        if (model !== undefined) return { model }
      }
    return typeof first['model'] === 'string' ? { model: first['model'] } : {}
  }

  /** A task may have thousands of them, and a list a thousand such tasks. A supervisor is known by its own wait, whatever its children come after. */
  function waitsOf({ id }: TaskRow): Pick<Waiting, 'waits' | 'moreWaits'> {
    const found = load.firstWaits(id, MAX_WAITS + 1)
    if (found.length <= MAX_WAITS) return { waits: found.map(openWaitOf) }
    const first = found.slice(0, MAX_WAITS)
    const own = load.supervisorWait(id)
    const named = own === undefined || first.some(({ key }) => key === own.key) ? first : [...first, own]
    const moreWaits = (waitCount.get(id) ?? 0) - named.length
    return { waits: named.map(openWaitOf), ...(moreWaits > 0 ? { moreWaits } : {}) }
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

  function leasesOf(row: TaskRow, limit = Number.MAX_SAFE_INTEGER): ExecutionLease[] {
    const dispatches = starts
      .all(row.id, Math.max(1, limit))
      .map((data) => (JSON.parse(data) as { dispatch: number }).dispatch)
      .toReversed()
    const leaseOf = (dispatch: number) => {
      const lease = load.lease(dispatch)
      return lease === undefined ? [] : [leaseRecord(lease, row)]
    }
    db.ahead(dispatches, leaseOf)
    return dispatches.flatMap(leaseOf)
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
      ...(lease.progressAt === null ? {} : { progressAt: lease.progressAt }),
      ...abort,
    }
  }

  /** One slice of the work that a list can be: nothing else happens in this thread meanwhile, not even a renewal. */
  function page(filter: TaskFilter): Reads['tasks']['answer'] {
    const { rows, from, isWhole } = slice(filter)
    const tasks: TaskRecord[] = []
    let chars = 0
    const read = filter.values === false ? factsOf : recordOf
    db.ahead(rows, read)
    for (const row of rows) {
      if (chars > MAX_PAGE_CHARS) break
      const record = read(row)
      tasks.push(record)
      chars += sizeOf(record)
    }
    const next = isWhole && rows.length === tasks.length ? from : tasks.at(-1)?.sequence
    return { tasks, ...(next === undefined ? {} : { cursor: next }) }
  }

  function idPage(filter: TaskFilter): Reads['taskIds']['answer'] {
    const { rows, start, from, isWhole } = slice(filter)
    const next = isWhole ? from : rows.at(-1)?.id
    return { taskIds: rows.map(nameOf), start, ...(next === undefined ? {} : { cursor: next }) }
  }

  function countSlice(filter: TaskFilter): Reads['taskCount']['answer'] {
    const whole = rangeOf(filter)
    const { end: start } = whole
    if (whole.isEmpty) return { count: 0, start }
    // A count without a limit looks at every row of its range.
    const from =
      typeof whole.parent === 'number' ? whole.from : Math.max(whole.from, start - mostScanned(filter))
    const range = { ...whole, from }
    const { sql, parameters } = compileTaskCount(filter, range)
    const count = Number(
      db
        .prepare(sql)
        .pluck()
        .get(...parameters),
    )
    return { count, start, ...(from > 1 ? { cursor: from } : {}) }
  }

  /** `from`: where the next slice begins, if this one holds all that it looked at. */
  function slice(filter: TaskFilter) {
    const limit = Math.min(1000, Math.max(1, filter.limit ?? 100))
    const range = rangeOf(filter)
    const { end: start, from } = range
    if (range.isEmpty) return { rows: [], start, from: undefined, isWhole: true }
    const { sql, parameters } = compileTaskPage(filter, range, limit + 1)
    const found = (
      db
        .prepare(sql)
        .raw()
        .all(...parameters) as RowOf<'task'>[]
    ).map(taskOf)
    return {
      rows: found.slice(0, limit),
      start,
      from: from > 1 ? from : undefined,
      isWhole: found.length <= limit,
    }
  }

  /** The tasks that one slice looks at. `isEmpty`: there is no such parent. */
  function rangeOf(filter: TaskFilter) {
    const isNamed = typeof filter.parent === 'string'
    const parent = isNamed ? find(filter.parent) : undefined
    const end = filter.cursor ?? (newestTask.get() ?? 0) + 1
    const { cursor: _, limit: __, values: ___, ...selects } = filter
    const isFiltered = !isNamed && Object.values(selects).some((it) => it !== undefined)
    const from = isFiltered ? Math.max(1, end - mostScanned(filter)) : 1
    const isEmpty = isNamed && parent === undefined
    return { from, end, parent: filter.parent === null ? null : parent?.id, isEmpty }
  }
}

type Waiting = Extract<TaskRecord, { state: 'waiting' }>

/** How many characters of a task there may be many of. Waits that are not named were counted all the same. */
function sizeOf(record: TaskRecord): number {
  const input = record.input?.length ?? 0
  if (record.state === 'completed') return input + record.output.length
  if (record.state !== 'waiting') return input
  const named = record.waits.reduce(
    (sum, { key, name = '' }) => sum + WAIT_CHARS + key.length + name.length,
    0,
  )
  return input + named + WAIT_CHARS * (record.moreWaits ?? 0)
}

/** Characters of a wait besides its names. */
const WAIT_CHARS = 64
/** Waits that a list names of a task, besides that of a supervisor. */
const MAX_WAITS = 100

/** Undefined for a text that the store never wrote. */
function readable(text: string | undefined): Record<string, unknown> | undefined {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}

function fallbackIn(data: Record<string, unknown> | undefined): string | undefined {
  return (data as Partial<EventData['task.requeued']> | undefined)?.recovery?.model
}

/** The last first. */
export const FALLBACKS_OF_TASK = `SELECT data FROM ${FALLBACKS} AND task = ? ORDER BY seq DESC`

/** Rows that one slice of a filtered list looks at: some 20 ms, and up to 50 with their submissions. Other reads wait meanwhile. */
function mostScanned(filter: TaskFilter): number {
  return looksAtSubmissions(filter) ? 5_000 : 20_000
}

/** Where values are left out, the submission of a task is read whole up to this size, which costs less than to take the input out of it. */
const MAX_WHOLE_BYTES = 4_096
