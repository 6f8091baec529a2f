import type { RejectionReason } from '@ku0/agent-runtime-core'

/** The id of a task. For the compiler it knows what the task's result is, when it came from a submission of a definition. */
export type TaskId<Output = unknown> = string & { readonly [outputOf]?: Output }
declare const outputOf: unique symbol

/** What a submission got. Both are records of the store that can be asked for by `taskId`. */
export type Receipt<Output = unknown> = Accepted<Output> | Rejected<Output>

export interface Accepted<Output = unknown> {
  readonly accepted: true
  readonly taskId: TaskId<Output>
  /** The order of submission in this store. */
  readonly sequence: number
  /** True when an earlier submission with the same idempotency key answered. */
  readonly deduplicated: boolean
}

export interface Rejected<Output = unknown> {
  readonly accepted: false
  readonly taskId: TaskId<Output>
  readonly sequence: number
  readonly reason: RejectionReason
  /** What was wrong and what to do, for people. */
  readonly message: string
  /** As things are set there will never be room for it: submitting it again does not help. */
  readonly forGood?: true
}
