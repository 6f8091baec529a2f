import { type RejectionReason, RuntimeError, type Receipt as StoreReceipt } from '@ku0/agent-runtime-core'

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

/** The receipts of one commit. All of them are told with the error of one: the others are committed. */
export function openReceipts(receipts: readonly StoreReceipt[]): readonly Receipt[] {
  return receipts.map((receipt, index) => {
    try {
      return openReceipt(receipt)
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error
      throw new RuntimeError(error.code, `item ${index}: ${error.message}`, {
        details: { ...error.details, index, receipts },
      })
    }
  })
}

/** A receipt as callers get it. Throws for a key or id that another task has, and a swarm that is not there. Source: `docs/semantics.md 2.7`. */
export function openReceipt(receipt: StoreReceipt): Receipt {
  if (receipt.accepted) return receipt
  const { reason, message, ...rest } = receipt
  if (reason === 'not_found') throw new RuntimeError(reason, message)
  if (reason === 'idempotency_conflict' || reason === 'already_exists') {
    const { taskId, sequence } = rest
    throw new RuntimeError(reason, message, { details: { taskId, sequence } })
  }
  return { ...rest, reason, message }
}
