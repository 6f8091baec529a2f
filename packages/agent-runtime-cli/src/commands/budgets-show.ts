import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { budgetLines } from '../screen/budget.ts'
import { taskIn } from '../task-id.ts'

export const run: Run = async ({ args: [given = ''], print, settings }) => {
  await using client = await connect(await settings())
  const budget = await client.budgets.get(await taskIn(client, given))
  print.answer(budget ?? null, () =>
    budget === undefined ? ['this task draws on no budget'] : budgetLines(budget),
  )
  return 0
}
