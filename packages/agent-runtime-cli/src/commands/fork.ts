import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { taskIn } from '../task-id.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { printReceipt } from '../screen/receipt.ts'

interface Options {
  readonly from?: string
  readonly edit?: Readonly<Record<string, unknown>>
  readonly key?: string
  readonly id?: string
}

export const run: Run = async ({ args: [given = ''], options, print, settings }) => {
  const { from, edit, key, id } = options as Options
  await using client = await connect(await settings())
  const taskId = await taskIn(client, given)
  const receipt = await client.fork(taskId, { fromStep: from, edits: edit, idempotencyKey: key, taskId: id })
  printReceipt(print, receipt, { forkOf: taskId })
  return receipt.accepted ? cliExitCodes.ok : cliExitCodes.failed
}
