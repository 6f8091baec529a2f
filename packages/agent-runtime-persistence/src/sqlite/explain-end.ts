import {
  circuitStateAt,
  decideCircuit,
  scarNow,
  type AdmissionVerdict,
  type BudgetField,
  type CanceledBy,
  type EventData,
  type ExecutionConfig,
  type Explanation,
  type FailureReason,
  type TaskRecord,
} from '@ku0/agent-runtime-core'
import { type Instant, type TaskRow } from '@ku0/agent-runtime-core/transition'
import type { SqliteTables } from './tables.ts'

/** Tells why a task that is over ended as it did. */
export function prepareExplainEnd({
  tables,
  config,
  now,
}: {
  readonly tables: SqliteTables
  readonly config: ExecutionConfig
  readonly now: () => Instant
}) {
  const { load } = tables

  return {
    failure(row: TaskRow, record: Extract<TaskRecord, { state: 'failed' }>): FailureReason {
      const error = JSON.parse(record.error) as PlainError
      const circuit = circuitOf(record.type)
      return {
        kind: record.kind,
        message: messageIn(error),
        ...(typeof error.code === 'string' ? { code: error.code } : {}),
        attempt: row.attempt,
        crashes: row.crashes,
        ...budgetIn(record.kind, error),
        ...(circuit === undefined ? {} : { circuit }),
      }
    },
    canceled({ reason, parent, swarm }: Extract<TaskRecord, { state: 'canceled' }>): Explanation['canceled'] {
      const by = canceledBy(reason, { isChild: parent !== undefined, isAgent: swarm !== undefined })
      return {
        by,
        ...(parent === undefined || by === 'caller' || by === 'swarm' ? {} : { parent }),
        ...(swarm !== undefined && by === 'swarm' ? { swarm } : {}),
      }
    },
    /** What a rejection was decided on; those of earlier versions do not say. */
    verdict(row: TaskRow): AdmissionVerdict | undefined {
      const data = tables.event(row.id, 1)
      return data === undefined ? undefined : (JSON.parse(data) as EventData['task.rejected']).verdict
    },
  }

  function circuitOf(route: string): FailureReason['circuit'] {
    const row = load.work.circuits().find((it) => it.route === route)
    if (row === undefined || row.state === 'closed') return undefined
    const { leaseAt } = now()
    const verdict = decideCircuit(row, leaseAt, config)
    return {
      route,
      state: circuitStateAt(row, leaseAt, config),
      scar: scarNow(row, leaseAt),
      retryAfterMs: verdict.admitted ? 0 : verdict.retryAfterMs,
    }
  }
}

interface PlainError {
  readonly message?: unknown
  readonly code?: unknown
  readonly details?: unknown
}

/** The first line of an error's message, cut where nobody reads on. */
function messageIn({ message }: PlainError): string {
  const [line = ''] = typeof message === 'string' ? message.trim().split(/[\r\n]/, 1) : []
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE)}…` : line
}

const MAX_MESSAGE = 300

function budgetIn(
  kind: TaskRecord['state'] | FailureReason['kind'],
  { details }: PlainError,
): Pick<FailureReason, 'budget'> {
  if (kind !== 'budget_exceeded' || typeof details !== 'object' || details === null) return {}
  const { budget, field, limit, used, stopped } = details as Readonly<Record<string, unknown>>
  if (typeof budget !== 'string' || typeof limit !== 'number' || typeof used !== 'number') return {}
  return { budget: { taskId: budget, field: field as BudgetField, limit, used, stopped: stopped === true } }
}

/** The runtime says in its own words why it cancels what belongs to another task or a swarm. */
function canceledBy(
  reason: string | undefined,
  { isChild, isAgent }: { readonly isChild: boolean; readonly isAgent: boolean },
): CanceledBy {
  if (reason === undefined) return 'caller'
  if (isAgent && /^(shed: )?the swarm '/.test(reason)) return 'swarm'
  if (!isChild) return 'caller'
  if (reason === 'a budget above it was exceeded') return 'budget'
  if (reason === 'its branch was given up' || reason === 'its parent was sent back') return 'branch'
  return /^its parent (was canceled|has )/.test(reason) ? 'parent' : 'caller'
}
