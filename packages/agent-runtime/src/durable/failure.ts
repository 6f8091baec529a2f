import {
  categoriesOf,
  categoryOfKind,
  decode,
  type ErrorRecord,
  escalationKey,
  type FailureKind,
  type PastFailure,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import type { TaskFailure } from '../api/recovery.ts'
import type { Memos } from './pass/memos.ts'

/** The end of the try before: its failure, or a rejection that came after it. Source: `docs/semantics.md 14.3`. */
export function failureIn(memos: Memos, values: ValueCodec, attempt: number): TaskFailure | undefined {
  // Where a person was asked about it, the end of a process is what was decided last.
  const isAsked = memos.crash !== undefined && memos.waits.has(escalationKey(memos.crash.seq))
  const failure = isAsked ? memos.crash : (memos.failure ?? memos.crash)
  const rejection = memos.rejections.at(-1)
  if (rejection !== undefined && rejection.seq > (failure?.seq ?? 0)) {
    const said = feedbackIn(values, rejection.value)
    const message = `'${rejection.key}' was rejected${said === undefined ? '' : `: ${said}`}`
    return {
      category: 'human_rejection',
      strategy: 'retry_with_feedback',
      kind: 'not_approved',
      error: { name: 'RuntimeError', message, code: 'not_approved' },
      attempt,
      ...(said === undefined ? {} : { feedback: said }),
    }
  }
  if (failure === undefined) return undefined
  const { category, kind, strategy } = decisionOf(failure)
  const { name, message, code } = errorOf(failure)
  const verdict = memos.waits.get(escalationKey(failure.seq))?.value
  const feedback =
    verdict !== undefined
      ? feedbackIn(values, verdict)
      : strategy === 'retry_with_feedback'
        ? message
        : undefined
  return {
    category,
    strategy: verdict === undefined ? strategy : 'human_escalation',
    kind,
    error: { name, message, ...(code === undefined ? {} : { code }) },
    attempt: failure.attempt,
    ...(feedback === undefined ? {} : { feedback }),
  }
}

/** The error of a try before. */
export function errorOf({ error, reason }: PastFailure): ErrorRecord {
  if (error !== undefined) return decode(error) as ErrorRecord
  const message = reason === 'expired' ? 'its lease expired: its process fell silent' : 'its process died'
  return { name: 'RuntimeError', message, code: 'lease_lost' }
}

/** The answer to it. Where no table decided, the retry policy or the end of the process did. */
export function decisionOf(failure: PastFailure): Pick<TaskFailure, 'category' | 'kind' | 'strategy'> {
  if (failure.recovery !== undefined) return failure.recovery
  if (failure.reason !== 'retry') return { category: 'crash', kind: 'crashed', strategy: 'restart' }
  const error = errorOf(failure)
  const kind = kindOf(error)
  const category = kind === 'error' ? categoriesOf(error)[0] : categoryOfKind(kind)
  return { category: category ?? 'crash', kind, strategy: 'retry_with_backoff' }
}

/** The codes that are kinds by themselves. */
const own: ReadonlySet<unknown> = new Set(['timeout', 'invalid_output', 'crashed', 'gateway_unreachable'])

function kindOf({ code }: ErrorRecord): FailureKind {
  return own.has(code) ? (code as FailureKind) : 'error'
}

function feedbackIn(values: ValueCodec, text: string): string | undefined {
  const { feedback } = values.decode(text) as { readonly feedback?: unknown }
  return typeof feedback === 'string' ? feedback : undefined
}
