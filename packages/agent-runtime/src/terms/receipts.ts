import { RuntimeError, type Receipt as StoreReceipt } from '@ku0/agent-runtime-core'
import type { Receipt } from '../api/receipts.ts'

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
