import type { BudgetField } from '../budget/budget.ts'
import type { ExecutionConfig } from '../config/schema.ts'
import { circuitStateAt, decideCircuit, scarNow } from '../route/circuit.ts'
import type { CircuitRow } from '../route/row.ts'
import { isRecord } from '../check/rules.ts'
import type { CanceledBy, ErrorSummary, Explanation, FailureReason } from '../store/explanation.ts'
import type { TaskRow } from '../task/row.ts'
import type { TaskRecord } from '../task/schema.ts'

/** Why a task failed. `circuit`: that of its route, if there is one. */
export function failureReason(
  { attempt, crashes }: Pick<TaskRow, 'attempt' | 'crashes'>,
  record: Extract<TaskRecord, { state: 'failed' }>,
  circuit: CircuitRow | undefined,
  leaseAt: number,
  config: ExecutionConfig,
): FailureReason {
  const error = JSON.parse(record.error) as PlainError
  const found = circuitOf(circuit, leaseAt, config)
  return {
    kind: record.kind,
    ...errorSummary(error),
    ...causesOf(error),
    attempt,
    crashes,
    ...budgetIn(record.kind, error),
    ...(found === undefined ? {} : { circuit: found }),
  }
}

/** The cause of a cancel. */
export function cancelReason({
  reason,
  parent,
  swarm,
}: Extract<TaskRecord, { state: 'canceled' }>): Explanation['canceled'] {
  const by = canceledBy(reason, { isChild: parent !== undefined, isAgent: swarm !== undefined })
  return {
    by,
    ...(parent === undefined || by === 'caller' || by === 'swarm' ? {} : { parent }),
    ...(swarm !== undefined && by === 'swarm' ? { swarm } : {}),
  }
}

function circuitOf(
  row: CircuitRow | undefined,
  leaseAt: number,
  config: ExecutionConfig,
): FailureReason['circuit'] {
  if (row === undefined || row.state === 'closed') return undefined
  const verdict = decideCircuit(row, leaseAt, config)
  return {
    route: row.route,
    state: circuitStateAt(row, leaseAt, config),
    scar: scarNow(row, leaseAt),
    retryAfterMs: verdict.admitted ? 0 : verdict.retryAfterMs,
  }
}

interface PlainError {
  readonly message?: unknown
  readonly code?: unknown
  readonly details?: unknown
  readonly cause?: unknown
}

/** An error in short, of the form in which it is stored. */
export function errorSummary(error: unknown): ErrorSummary {
  const { message, code } = isRecord(error) ? (error as PlainError) : {}
  return { message: firstLine(message), ...(typeof code === 'string' ? { code } : {}) }
}

function causesOf({ cause }: PlainError): Pick<FailureReason, 'causes'> {
  const causes: ErrorSummary[] = []
  for (let next = cause; isRecord(next) && causes.length < MAX_CAUSES; next = next['cause'])
    causes.push(errorSummary(next))
  return causes.length === 0 ? {} : { causes }
}

const MAX_CAUSES = 5

/** The first line of an error's message, cut to a readable length. */
function firstLine(message: unknown): string {
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
