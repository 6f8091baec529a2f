import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { budgetLines } from '../screen/budget.ts'

export const run: Run = async ({ options, print, settings }) => {
  const { limit = 20, cursor } = options as { readonly limit?: number; readonly cursor?: number }
  await using client = await connect(await settings())
  const page = await client.budgets.list({ limit, cursor })
  print.answer(page, () =>
    page.budgets.length === 0 ? ['no budget asks for more'] : page.budgets.flatMap(budgetLines),
  )
  if (page.cursor !== undefined && page.budgets.length > 0)
    print.note(`there may be more: --cursor ${page.cursor}`)
  return 0
}
