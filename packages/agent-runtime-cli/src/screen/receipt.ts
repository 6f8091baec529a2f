import type { Receipt } from '@ku0/agent-runtime'
import type { Printer } from './printer.ts'

/** Prints the id of a submitted task on standard output, where a script takes it from; that it was refused goes beside it, with the reason. */
export function printReceipt(print: Printer, receipt: Receipt, more: object = {}): void {
  if (!receipt.accepted) print.note(`refused (${receipt.reason}): ${receipt.message}`)
  print.answer({ ...more, ...receipt }, () => [receipt.taskId])
}
