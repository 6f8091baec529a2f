import type { ApprovalTerms } from '../approval/approval.ts'
import type { WaitKind, WaitOutcome } from './wait.ts'

/** An open wait of a task. */
export interface WaitRow {
  readonly task: number
  readonly key: string
  readonly position: number
  readonly kind: WaitKind
  /** The name under which the thing that it waits for arrives. */
  readonly name: string | null
  readonly dueAt: number | null
  /** The terms of an approval. */
  readonly terms: ApprovalTerms | null
}

/** A signal that its task has not taken yet; its value is in the event `seq`. */
export interface SignalRow {
  readonly task: number
  readonly seq: number
  readonly name: string
  readonly at: number
  /** As in the event: the value's text, or the reference to a blob; null if it is not needed. */
  readonly value: string | null
  readonly blob: string | null
  /** How it ends the wait that it is for. */
  readonly outcome: Extract<WaitOutcome, 'received' | 'approved' | 'rejected'>
}
