import { RuntimeError, type Receipt as StoreReceipt } from '@ku0/agent-runtime-core'
import type { Receipt } from '../api/receipts.ts'

/**
 * The receipts of one commit. If one of them is an error, all of them are in its details, because the others
 * are committed.
 */
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

/**
 * A receipt for callers. Throws for a key or id that another task has, and for a swarm that does not exist.
 * Source: `docs/semantics.md 2.7`.
 */
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
