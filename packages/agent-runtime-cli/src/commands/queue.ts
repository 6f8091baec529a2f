import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { show } from '../screen/repeat.ts'
import { table } from '../screen/table.ts'
import { ago, clientName, count, lasting, many } from '../screen/words.ts'

export const run: Run = async (call) => {
  const { print, system } = call
  await using client = await connect(await call.settings())
  return await show(call, async (isWatching) => {
    const histogram = await client.explainQueue()
    const { queued, waiting, reasons } = histogram
    const lines = () => [
      `${many(queued, 'task')} queued, ${count(waiting)} waiting`,
      ...(reasons.length === 0
        ? []
        : table(
            ['FOR', 'STATE', 'TASKS', 'OLDEST', 'TASK'],
            reasons.map(({ reason, state, count: tasks, oldest }) => [
              meanings[reason] ?? reason.replace(/^quota:/, 'quota '),
              state,
              count(tasks),
              lasting(oldest.ageMs),
              oldest.taskId,
            ]),
          )),
      ...reasons.flatMap(({ clients = [] }) =>
        clients.map(
          ({ client: name, credits, missing, since, count: tasks }) =>
            `client ${clientName(name)} has ${credits} credits: ${missing} missing, ${many(tasks, 'task')} queued${since === undefined ? '' : `; it was asked for credits ${ago(since, system.now())}`}`,
        ),
      ),
    ]
    if (isWatching) print.screen(histogram, lines)
    else print.answer(histogram, lines)
  })
}

const meanings: Readonly<Record<string, string>> = {
  delay: 'its time',
  paused: 'the end of a pause',
  slot: 'a free slot',
  worker: 'a worker of its type',
  suspect: 'another task that was lost to crashes',
  credits: 'credits of its client',
}
