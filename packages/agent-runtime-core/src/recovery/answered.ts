import { decode, encode } from '../codec/codec.ts'
import type { ErrorRecord } from '../error/record.ts'
import type { FailureKind } from '../task/failure-kind.ts'
import { approvalName } from '../approval/approval.ts'
import type { WaitRequest } from '../wait/wait.ts'
import { categoriesOf, categoryOfKind } from './categories.ts'
import type { Recovered } from './decide.ts'
import { type Escalation, escalationKey } from './escalation.ts'
import type { PastFailure } from './past-failure.ts'

/** The error of a try before. Source: `docs/semantics.md 14.3`. */
export function errorOfPast({ error, reason }: PastFailure): ErrorRecord {
  if (error !== undefined) return decode(error) as ErrorRecord
  const message = reason === 'expired' ? 'its lease expired: its process fell silent' : 'its process died'
  return { name: 'RuntimeError', message, code: 'lease_lost' }
}

/** The answer to it. Where no table decided, a supervisor, the retry policy or the end of the process did. Source: `docs/semantics.md 14.3`. */
export function decisionOfPast(failure: PastFailure): Pick<Recovered, 'category' | 'kind' | 'strategy'> {
  if (failure.recovery !== undefined) return failure.recovery
  if (failure.reason !== 'retry') return { category: 'crash', kind: 'crashed', strategy: 'restart' }
  const error = errorOfPast(failure)
  const kind = kindOf(error)
  const category = kind === 'error' ? categoriesOf(error)[0] : categoryOfKind(kind)
  const strategy = failure.restartedBy === undefined ? 'retry_with_backoff' : 'restart'
  return { category: category ?? 'crash', kind, strategy }
}

/** The wait of a task for a person who says what becomes of it after a failure. Source: `docs/semantics.md 14.3`. */
export function escalationWait(failure: PastFailure): WaitRequest {
  const { category, kind } = decisionOfPast(failure)
  const { name, message, code } = errorOfPast(failure)
  const question: Escalation = {
    escalated: category,
    kind,
    error: { name, message, ...(code === undefined ? {} : { code }) },
    attempt: failure.attempt,
  }
  const key = escalationKey(failure.seq)
  return {
    key,
    position: 0,
    kind: 'approval',
    name: approvalName(key),
    approval: {
      artifact: encode(question, { what: 'the question what becomes of a task after its failure' }),
      mode: 'supervised',
      asked: true,
      maxRetries: 0,
      onReject: 'throw',
      onTimeout: 'throw',
    },
  }
}

/** The codes that are kinds by themselves. */
const own: ReadonlySet<unknown> = new Set(['timeout', 'invalid_output', 'crashed', 'gateway_unreachable'])

function kindOf({ code }: ErrorRecord): FailureKind {
  return own.has(code) ? (code as FailureKind) : 'error'
}
