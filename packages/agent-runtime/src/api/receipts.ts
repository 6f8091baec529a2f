import type { RejectionReason } from '@ku0/agent-runtime-core'

/**
 * The id of a task. If it came from a submission of a definition, its type carries the type of the task's
 * result.
 */
export type TaskId<Output = unknown> = string & { readonly [outputOf]?: Output }
declare const outputOf: unique symbol

/** The answer to a submission. Both kinds are records of the store that can be looked up by `taskId`. */
export type Receipt<Output = unknown> = Accepted<Output> | Rejected<Output>

export interface Accepted<Output = unknown> {
  readonly accepted: true
  readonly taskId: TaskId<Output>
  /** The order of submission in this store. */
  readonly sequence: number
  /** True if an earlier submission with the same idempotency key was answered with this task. */
  readonly deduplicated: boolean
}

export interface Rejected<Output = unknown> {
  readonly accepted: false
  readonly taskId: TaskId<Output>
  readonly sequence: number
  readonly reason: RejectionReason
  /** What was wrong and what to do, for people. */
  readonly message: string
  /** With the present settings the task can never be accepted: do not submit it again. */
  readonly forGood?: true
}
