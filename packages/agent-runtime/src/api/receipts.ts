import type { RejectionReason } from '@ku0/agent-runtime-core'
import type { Exchange } from './exchange.ts'

/**
 * The id of a task. If it came from a submission of a definition, its type carries the type of the task's
 * result, and the schemas of its signals, approvals and emits. `typedTaskId` gives any id such a type.
 */
export type TaskId<Output = unknown, X extends Exchange = Exchange> = string & {
  readonly [outputOf]?: Output
  readonly [exchangeOf]?: X
}
declare const outputOf: unique symbol
declare const exchangeOf: unique symbol

/** The answer to a submission. Both kinds are records of the store that can be looked up by `taskId`. */
export type Receipt<Output = unknown, X extends Exchange = Exchange> =
  | Accepted<Output, X>
  | Rejected<Output, X>

export interface Accepted<Output = unknown, X extends Exchange = Exchange> {
  readonly accepted: true
  readonly taskId: TaskId<Output, X>
  /** The order of submission in this store. */
  readonly sequence: number
  /** True if an earlier submission with the same idempotency key was answered with this task. */
  readonly deduplicated: boolean
}

export interface Rejected<Output = unknown, X extends Exchange = Exchange> {
  readonly accepted: false
  readonly taskId: TaskId<Output, X>
  readonly sequence: number
  readonly reason: RejectionReason
  /** The error and what to do about it, for people. */
  readonly message: string
  /** With the present settings the task can never be accepted: do not submit it again. */
  readonly forGood?: true
}
