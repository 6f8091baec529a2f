import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { show } from '../screen/repeat.ts'
import { taskTable } from '../screen/tasks.ts'
import { pageOf } from '../task-filter.ts'
import { withParentIn } from '../task-id.ts'

export const run: Run = async (call) => {
  const { print, system, outlet } = call
  await using client = await connect(await call.settings())
  const filter = await withParentIn(client, pageOf(call.options))
  return await show(call, async (isWatching) => {
    const page = await client.list(filter)
    const lines = () =>
      page.tasks.length === 0 ? ['no task matches'] : taskTable(page.tasks, system.now(), outlet.columns)
    if (isWatching) return print.screen(page, lines)
    print.answer(page, lines)
    if (page.cursor !== undefined && page.tasks.length > 0)
      print.note(`there may be more: --cursor ${page.cursor}`)
  })
}
