import { decisionOfPast, errorOfPast, escalationKey, type ValueCodec } from '@ku0/agent-runtime-core'
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
  const { category, kind, strategy } = decisionOfPast(failure)
  const { name, message, code } = errorOfPast(failure)
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
    ...(failure.restartedBy === undefined ? {} : { restartedBy: failure.restartedBy }),
    ...(feedback === undefined ? {} : { feedback }),
  }
}

function feedbackIn(values: ValueCodec, text: string): string | undefined {
  const { feedback } = values.decode(text) as { readonly feedback?: unknown }
  return typeof feedback === 'string' ? feedback : undefined
}
