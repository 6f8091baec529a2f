import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { scheduleTable } from '../screen/schedules.ts'

export const run: Run = async ({ print, settings, system }) => {
  await using client = await connect(await settings())
  const schedules = await client.schedules.list()
  print.answer(schedules, () =>
    schedules.length === 0 ? ['there is no schedule'] : scheduleTable(schedules, system.now()),
  )
  return 0
}
