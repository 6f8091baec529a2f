import { findStuck } from '@ku0/agent-runtime'
import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { cliExitCodes } from '../exit-codes.ts'
import { table } from '../screen/table.ts'
import { unlikeText } from '../screen/unlike.ts'
import { count, cut, lasting, many } from '../screen/words.ts'

export const run: Run = async ({ print, settings, system, outlet }) => {
  const read = await settings()
  await using client = await connect(read)
  const { everyMs: _everyMs, ...limits } = read.watchdog
  const report = await findStuck(client, limits, system.now())
  const { ok, found, differing, settings: unlike, looked } = report
  print.answer(report, () =>
    ok
      ? [{ text: 'well: nothing is stuck', style: 'green' }]
      : [
          { text: many(found.length + differing.length + unlike.length, 'problem'), style: 'red' },
          ...(found.length === 0
            ? []
            : table(
                ['WHAT', 'TYPE', 'TASKS', 'FOR', 'TASK', 'WHY'],
                found.map(({ what, type, tasks, forMs, taskId, why }) => [
                  what,
                  type,
                  tasks === 1 ? '' : count(tasks),
                  lasting(forMs),
                  taskId,
                  cut(why, Math.max(60, (outlet.columns ?? 240) - 90)),
                ]),
              )),
          ...differing.map(
            ({ type, setting, here, there, first, workerId }) =>
              `workers know the type ${type} differently: its ${setting} is ${here ?? 'not set'} for ${first}, and ${there ?? 'not set'} for ${workerId}`,
          ),
          ...unlike.map(unlikeText),
        ],
  )
  if (looked.waiting < looked.ofWaiting)
    print.note(`looked at the newest ${count(looked.waiting)} of ${count(looked.ofWaiting)} waiting tasks`)
  return ok ? cliExitCodes.ok : cliExitCodes.failed
}
