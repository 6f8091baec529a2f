import type { RuntimeEvent } from '@ku0/agent-runtime'
import type { ErrorRecord } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { noTask } from '../missing-task.ts'
import { shown } from '../screen/json.ts'
import type { Piece } from '../screen/printer.ts'
import { pairs } from '../screen/table.ts'
import { notesOf, stateText } from '../screen/tasks.ts'
import { barsOf, waterfall } from '../screen/waterfall.ts'
import { recoveryWords } from '../screen/recovery-words.ts'
import { ago, cut, dated } from '../screen/words.ts'

export const run: Run = async ({ args: [taskId = ''], print, settings, system, outlet }) => {
  await using client = await connect(await settings())
  const task = await client.status(taskId)
  if (task === undefined) throw noTask(taskId)
  const events: RuntimeEvent[] = []
  for await (const event of client.events(taskId, { live: false })) events.push(event)
  const now = system.now()
  const bars = barsOf(events)
  const time = (at: number | undefined) => (at === undefined ? undefined : `${dated(at)} (${ago(at, now)})`)
  print.answer({ ...task, bars }, () => [
    [{ text: task.type, style: 'bold' }, ' ', stateText(task.state), ' ', notesOf(task, now)],
    ...pairs([
      ['task', task.taskId],
      ['lane', task.lane],
      ['attempt', task.attempt === 1 ? undefined : String(task.attempt)],
      ['recovery', recoveryIn(events)],
      ['parent', task.parent],
      ['client', task.client],
      ['schedule', task.schedule],
      [
        'labels',
        Object.entries(task.labels)
          .map(([key, value]) => `${key}=${value}`)
          .join(', '),
      ],
      ['submitted', time(task.submittedAt)],
      ['started', time(events.find(({ type }) => type === 'task.started')?.at)],
      ['ended', 'finishedAt' in task ? time(task.finishedAt) : undefined],
      ['input', 'input' in task ? cut(shown(task.input), MOST) : undefined],
      ['result', task.state === 'completed' ? cut(shown(task.output), MOST) : undefined],
      ...(task.state === 'failed' ? errorRows(task.error) : []),
    ]),
    ...(bars.length === 0 ? [] : ['', ...waterfall(bars, now, outlet.columns)]),
  ])
  return 0
}

/** An error with its causes, the outermost first. A supervisor that gave up fails because of an error of its child. */
function errorRows(error: ErrorRecord): readonly (readonly [string, Piece])[] {
  const rows: [string, Piece][] = []
  for (let next: ErrorRecord | undefined = error; next !== undefined; next = next.cause)
    rows.push([
      rows.length === 0 ? 'error' : 'because',
      { text: cut(`${next.name}: ${next.message}`, MOST), style: 'red' },
    ])
  return rows
}

/** The recovery from the last failure, by the table of the task's type. */
function recoveryIn(events: readonly RuntimeEvent[]): string | undefined {
  const last = events.findLast(({ type }) => type === 'task.requeued')
  const recovery = last?.type === 'task.requeued' ? last.data.recovery : undefined
  return recovery === undefined ? undefined : `after ${recovery.category}: ${recoveryWords(recovery)}`
}

/** So much of a value is shown: `--json` and `agent-runtime result` have all of it. */
const MOST = 500
