import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { unlikeLines, inForceFor } from '../screen/in-force.ts'
import { show } from '../screen/repeat.ts'
import { table } from '../screen/table.ts'
import { ago } from '../screen/words.ts'

export const run: Run = async (call) => {
  const { print, system } = call
  const read = await call.settings()
  await using client = await connect(read)
  return await show(call, async (isWatching) => {
    const workers = await client.workers()
    const { configurations = [] } = await client.stats()
    const unlike = unlikeLines(configurations, await inForceFor(configurations, read.config))
    const lines = () => [...rows(), ...(unlike.length === 0 ? [] : ['', ...unlike])]
    const rows = () =>
      workers.length === 0
        ? ['no worker is registered; start one with agent-runtime worker']
        : table(
            ['WORKER', 'STATE', 'TASKS', 'SEEN', 'LANES', 'TYPES'],
            workers.map(({ workerId, state, inFlight, capacity, lastSeenAt, types, lanes }) => [
              workerId,
              state,
              `${inFlight} of ${capacity}`,
              ago(lastSeenAt, system.now()),
              lanes?.join(', ') ?? 'all',
              types.join(', '),
            ]),
          )
    if (isWatching) print.screen(workers, lines)
    else print.answer(workers, lines)
  })
}
