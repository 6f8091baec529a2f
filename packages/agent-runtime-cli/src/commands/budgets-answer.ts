import type { BudgetLimits } from '@ku0/agent-runtime'
import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { many } from '../screen/words.ts'
import { taskIn } from '../task-id.ts'

/** Lets the tasks under a budget go on. */
export const goOn: Run = async ({ args: [given = ''], options, print, settings }) => {
  const { raise } = options as { readonly raise?: BudgetLimits }
  await using client = await connect(await settings())
  const receipt = await client.budgets.continue(
    await taskIn(client, given),
    raise === undefined ? {} : { raise },
  )
  print.answer(receipt, () => [
    `the budget of task ${receipt.taskId} goes on; ${many(receipt.resumed, 'parked task')} resumed`,
  ])
  return 0
}

/** Ends the tasks under a budget. */
export const stop: Run = async ({ args: [given = ''], print, settings }) => {
  await using client = await connect(await settings())
  const receipt = await client.budgets.stop(await taskIn(client, given))
  print.answer(receipt, () => [`task ${receipt.taskId} and the tasks below it were stopped`])
  return 0
}
