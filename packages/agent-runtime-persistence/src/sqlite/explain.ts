import {
  childKeyOf,
  describeDivergence,
  isDoubt,
  isPatience,
  keyText,
  quotaObstacle,
  runsType,
  toReserve,
  type Divergence,
  type ExecutionConfig,
  type Explanation,
  type Instant,
  type OpenWait,
  type StreamRow,
  type TaskRecord,
  type TaskRow,
  type WorkerStatus,
} from '@ku0/agent-runtime-core'
import type { Db } from './open.ts'
import type { SqliteTables } from './tables.ts'

interface ExplainContext {
  readonly db: Db
  readonly tables: SqliteTables
  readonly config: ExecutionConfig
  readonly now: () => Instant
}

/** Says why a task is where it is, in words and in data; of a queued one, what keeps it from starting. */
export function prepareExplain(
  { db, tables, config, now }: ExplainContext,
  workers: () => readonly WorkerStatus[],
): (row: TaskRow, record: TaskRecord) => Explanation {
  const { load } = tables
  const ahead = db
    .prepare<[number, number], number>(
      'SELECT count(*) FROM task WHERE stream = ? AND state = 0 AND due_at IS NULL AND id < ?',
    )
    .pluck()

  return function explain(row: TaskRow, record: TaskRecord): Explanation {
    const base = { taskId: record.taskId, state: record.state }
    switch (record.state) {
      case 'queued':
        return { ...base, ...explainQueued(row, record.dueAt) }
      case 'running':
        return {
          ...base,
          summary:
            record.held === true
              ? 'is run by its caller'
              : `runs on ${record.lease.workerId}, attempt ${row.attempt}`,
          lease: record.lease,
        }
      case 'waiting':
        return {
          ...base,
          summary:
            record.waitingFor === 'budget'
              ? budgetText(record)
              : record.divergence === undefined
                ? `waits for ${waitsText(record.waits)}`
                : parkedText(record.divergence),
          reason: record.waitingFor,
        }
      case 'completed':
        return { ...base, summary: `completed in attempt ${row.attempt}` }
      case 'failed':
        return {
          ...base,
          summary: `failed (${record.kind}) in attempt ${row.attempt}${messageText(record.error)}`,
          reason: record.kind,
        }
      case 'canceled':
        return {
          ...base,
          summary: 'was canceled',
          ...(record.reason === undefined ? {} : { reason: record.reason }),
        }
      case 'rejected':
        return { ...base, summary: `was rejected: ${record.message}`, reason: record.reason }
    }
  }

  function explainQueued(
    row: TaskRow,
    dueAt: number | undefined,
  ): Pick<Explanation, 'summary' | 'waitsFor' | 'until' | 'ahead'> {
    if (dueAt !== undefined)
      return { summary: `is due at ${new Date(dueAt).toISOString()}`, waitsFor: 'delay' }
    const streams = load.streams()
    const own = streams.find((stream) => stream.id === row.stream) as StreamRow
    const before = streams
      .filter((stream) => stream.depth > 0)
      .reduce((sum, stream) => {
        if (stream.laneRank !== own.laneRank) return sum + (stream.laneRank < own.laneRank ? stream.depth : 0)
        return sum + (ahead.get(stream.id, row.id) ?? 0)
      }, 0)
    const { at, leaseAt } = now()
    const able = workers().filter((worker) => runsType(worker.types, own.type))
    const live = able.filter(
      (worker) => worker.state !== 'draining' && leaseAt - worker.lastSeenAt < config.leaseTtlMs,
    )
    if (live.length === 0)
      return {
        summary: `no worker runs type ${own.type}; start one that lists it`,
        waitsFor: 'worker',
        ahead: before,
      }
    const quotas = new Map(load.quotas().map((quota) => [quota.key, quota]))
    for (const key of own.quotaKeys) {
      const counters = quotas.get(key)
      const obstacle = counters && quotaObstacle(config.quotaConfig, counters, at, toReserve(row))
      if (obstacle !== undefined) return { ...obstacle, waitsFor: `quota:${key}`, ahead: before }
    }
    return { summary: `waits for a free slot, ${before} before it`, waitsFor: 'slot', ahead: before }
  }
}

function budgetText({ taskId, budget }: Extract<TaskRecord, { state: 'waiting' }>): string {
  const answer = 'answer it with budgets.continue or budgets.stop'
  if (budget?.asks === undefined) return `is parked: a budget above it has passed a soft line; ${answer}`
  const { field } = budget.asks
  const whose = budget.taskId === taskId ? 'its budget' : `the budget of task ${budget.taskId}`
  return `is parked: ${whose} has passed its soft line, ${budget.used[field]} of ${budget.limits[field]} ${field} are used; ${answer}`
}

function parkedText(divergence: Divergence): string {
  const text = describeDivergence(divergence)
  return divergence.kind === 'history_edited'
    ? `is parked, ${text}; restore its rows of the table event from a backup, then resume it`
    : `is parked, its code and its history part: ${text}; resume it once the code fits`
}

/** The first line of an error's message, cut where nobody reads on. */
function messageText(error: string): string {
  const { message } = JSON.parse(error) as { message?: unknown }
  const [line = ''] = typeof message === 'string' ? message.trim().split(/[\r\n]/, 1) : []
  if (line === '') return ''
  return `: ${line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE)}…` : line}`
}

const MAX_MESSAGE = 300

/** Children are counted, and the first few named. */
function waitsText(waits: readonly OpenWait[]): string {
  const keys = waits.flatMap(({ kind, name = '' }) => (kind === 'child' ? [`'${childKeyOf(name)}'`] : []))
  const more = keys.length > MAX_NAMED ? ` and ${keys.length - MAX_NAMED} more` : ''
  const children = `${keys.length === 1 ? 'the child' : `${keys.length} children:`} ${keys.slice(0, MAX_NAMED).join(', ')}${more}`
  const others = waits.filter(({ kind, key }) => kind !== 'child' && !isPatience(key)).map(waitText)
  return [...(keys.length === 0 ? [] : [children]), ...others].join(' or ')
}

/** More names than that are read by nobody. */
const MAX_NAMED = 5

function waitText({ key, kind, name, dueAt }: OpenWait): string {
  const until = dueAt === undefined ? '' : ` until ${new Date(dueAt).toISOString()}`
  if (isDoubt(key)) return `an answer to ${keyText(key)}`
  if (kind === 'approval') return `the approval '${key}'${until}`
  return kind === 'timer' ? `${keyText(key)}${until}` : `the signal '${name ?? key}'${until}`
}
