import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { noTask } from '../missing-task.ts'
import { recoveryWords } from '../screen/recovery-words.ts'
import { pairs } from '../screen/table.ts'
import { stateText } from '../screen/tasks.ts'
import { ago, count, lasting, many } from '../screen/words.ts'

export const run: Run = async ({ args: [taskId = ''], print, settings, system }) => {
  await using client = await connect(await settings())
  const told = await client.explain(taskId)
  if (told === undefined) throw noTask(taskId)
  const { state, summary, until, ahead, start, requeued, failure } = told
  print.answer(told, () => [
    [stateText(state), ': ', summary],
    ...pairs([
      [
        'until',
        until === undefined ? undefined : `${new Date(until).toISOString()} (${ago(until, system.now())})`,
      ],
      ['ahead', ahead === undefined ? undefined : count(ahead)],
      ['starts', start === undefined ? undefined : startText(start)],
      [
        'requeued',
        requeued === undefined
          ? undefined
          : `${many(requeued.times, 'time')}, last: ${requeued.last.reason}${
              requeued.last.recovery === undefined ? '' : `, ${recoveryWords(requeued.last.recovery)}`
            }`,
      ],
      ['error', failure === undefined || summary.includes(failure.message) ? undefined : failure.message],
    ]),
  ])
  return 0
}

function startText({
  startsInMs,
  restsOn,
}: NonNullable<import('@ku0/agent-runtime').Explanation['start']>): string {
  if (startsInMs !== null) return `in about ${lasting(startsInMs)}`
  if (restsOn.as !== 'nothing') return 'unknown'
  switch (restsOn.because) {
    case 'paused':
      return 'unknown: it is paused'
    case 'no_worker':
      return 'unknown: no worker runs its type'
    case 'no_recent_starts':
      return 'unknown: nothing started lately'
    case 'other_tasks':
      return 'unknown: it depends on the end of other tasks'
  }
}
