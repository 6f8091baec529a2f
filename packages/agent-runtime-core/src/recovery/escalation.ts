import type { FailureKind } from '../task/failure-kind.ts'
import { RESERVED } from '../wait/wait.ts'
import type { FailureCategory } from './recovery.ts'

/** The key of the question to a person what becomes of a task after a failure; `seq`: the event of the failure. Source: `docs/semantics.md 14.3`. */
export function escalationKey(seq: number): string {
  return `${ESCALATION}${seq}`
}

/** Whether a request for an approval is such a question. */
export function isEscalation(key: unknown): boolean {
  return typeof key === 'string' && key.startsWith(ESCALATION)
}

/** The event of the failure that such a question is about. */
export function failureAsked(key: string): number | undefined {
  return isEscalation(key) ? Number(key.slice(ESCALATION.length)) : undefined
}

/** The content of such a question: its artifact. */
export interface Escalation {
  /** The failure. */
  readonly escalated: FailureCategory
  readonly kind: FailureKind
  readonly error: { readonly name: string; readonly message: string; readonly code?: string }
  /** The attempt that failed. */
  readonly attempt: number
}

const ESCALATION = `${RESERVED}escalation/`
