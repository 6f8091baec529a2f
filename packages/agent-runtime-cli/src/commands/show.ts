import type { RuntimeEvent, TaskStatus } from '@ku0/agent-runtime'
import type { ErrorRecord } from '@ku0/agent-runtime-core'
import type { Run } from '../call.ts'
import { connect } from '../connect.ts'
import { taskIn } from '../task-id.ts'
import { noTask } from '../missing-task.ts'
import { agreementText } from '../screen/agreement.ts'
import { shown } from '../screen/json.ts'
import type { Piece } from '../screen/printer.ts'
import { pairs } from '../screen/table.ts'
import { notesOf, stateText } from '../screen/tasks.ts'
import { barsOf, waterfall } from '../screen/waterfall.ts'
import { recoveryWords } from '../screen/recovery-words.ts'
import { ago, cut, dated } from '../screen/words.ts'

export const run: Run = async ({ args: [given = ''], print, settings, system, outlet }) => {
  await using client = await connect(await settings())
  const taskId = await taskIn(client, given)
  const task = await client.status(taskId)
  if (task === undefined) throw noTask(taskId)
  const events: RuntimeEvent[] = []
  for await (const event of client.events(taskId, { live: false })) events.push(event)
  const told = task.labels['agreement'] === undefined ? undefined : await client.explain(taskId)
  const now = system.now()
  const bars = barsOf(events)
  const time = (at: number | undefined) => (at === undefined ? undefined : `${dated(at)} (${ago(at, now)})`)
  print.answer({ ...task, bars }, () => [
    [{ text: task.type, style: 'bold' }, ' ', stateText(task.state), ' ', notesOf(task, now)],
    ...pairs([
      ['task', task.taskId],
      ['lane', task.lane],
      ['model', task.model],
      ['attempt', task.attempt === 1 ? undefined : String(task.attempt)],
      ['recovery', recoveryIn(events)],
      ['parent', task.parent],
      ...keptRows(events),
      ['client', task.client],
      ['agreement', told && agreementText(told)],
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
      ...(task.state === 'failed' ? errorRows(task.error) : lastErrorRow(task, events)),
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

/** The task of which this one is a retry or a fork, and what it has kept of it. */
function keptRows(events: readonly RuntimeEvent[]): readonly (readonly [string, Piece])[] {
  const [first] = events
  if (first?.type !== 'task.queued' || first.data.forkOf === undefined) return []
  const keys = events.flatMap(({ type, data }) =>
    type === 'step.inherited' || type === 'child.inherited' ? [data.key] : [],
  )
  return [
    [first.data.asRetry === true ? 'retry of' : 'fork of', first.data.forkOf],
    ['kept', keys.length === 0 ? 'nothing' : cut(keys.join(', '), MOST)],
  ]
}

/** The error after which a task, or a step of it, is tried again. */
function lastErrorRow(
  { state }: TaskStatus,
  events: readonly RuntimeEvent[],
): readonly (readonly [string, Piece])[] {
  if (state !== 'queued' && state !== 'waiting' && state !== 'running') return []
  const last = events.findLast(({ type }) => endsOfTries.has(type))
  if (last?.type === 'step.failed')
    return [['last error', redLine(`step ${last.data.key}: ${textOf(last.data.error)}`)]]
  return last?.type === 'task.requeued' && last.data.error !== undefined
    ? [['last error', redLine(textOf(last.data.error))]]
    : []
}

const endsOfTries: ReadonlySet<RuntimeEvent['type']> = new Set([
  'step.completed',
  'step.failed',
  'task.requeued',
])

function textOf(error: unknown): string {
  const { name, message } = error as Partial<ErrorRecord>
  return `${name ?? 'Error'}: ${message ?? ''}`
}

function redLine(text: string): Piece {
  return { text: cut(text, MOST), style: 'red' }
}

/** The recovery from the last failure, by the table of the task's type. */
function recoveryIn(events: readonly RuntimeEvent[]): string | undefined {
  // A process that died since, or gave it back, decided nothing.
  const last = events.findLast(
    ({ type, data }) => type === 'task.requeued' && (data.recovery ?? data.restartedBy) !== undefined,
  )
  const recovery = last?.type === 'task.requeued' ? last.data.recovery : undefined
  return recovery === undefined ? undefined : `after ${recovery.category}: ${recoveryWords(recovery)}`
}

/** So much of a value is shown: `--json` and `agent-runtime result` have all of it. */
const MOST = 500
