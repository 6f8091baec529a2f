import { RuntimeError, type Receipt as StoreReceipt } from '@ku0/agent-runtime-core'
import { TaskRejected } from '../api/errors.ts'
import type { Receipt } from '../api/receipts.ts'
import type { SubmitItem, SubmitOptions } from '../api/submissions.ts'

/**
 * The receipts of one commit. If one of them is an error, or a rejection that its item wants thrown, all of them are in the details of what is
 * thrown, because the others are committed.
 */
export function openReceipts(
  receipts: readonly StoreReceipt[],
  items: readonly Pick<SubmitItem, 'options'>[],
): readonly Receipt[] {
  const opened = receipts.map((receipt, index) => {
    try {
      return openReceipt(receipt)
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error
      throw new RuntimeError(error.code, `item ${index}: ${error.message}`, {
        details: { ...error.details, index, receipts },
      })
    }
  })
  for (const [index, receipt] of opened.entries())
    unlessRejected(receipt, items[index]?.options, { index, receipts })
  return opened
}

/** Throws a rejection if the caller's options say so. Source: `docs/semantics.md 1.5`. */
export function unlessRejected(
  receipt: Receipt,
  options: SubmitOptions | undefined,
  many?: { readonly index: number; readonly receipts: readonly StoreReceipt[] },
): Receipt {
  if (receipt.accepted || options?.onReject !== 'throw') return receipt
  const { taskId, reason, forGood } = receipt
  const message = many === undefined ? receipt.message : `item ${many.index}: ${receipt.message}`
  throw new TaskRejected(taskId, reason, message, forGood, { ...many })
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
