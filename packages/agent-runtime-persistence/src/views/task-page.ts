import type { TaskFilter } from '@ku0/agent-runtime-core'
import { laneRank, taskStates } from '@ku0/agent-runtime-core'
import { listed } from '../sqlite/columns.ts'

interface Condition {
  readonly text: string
  readonly values: readonly unknown[]
}

/** The tasks from `from` up to before `end`; only the children of `parent` if it is given, and if it is null only those that are no child. */
interface Range {
  readonly from: number
  readonly end: number
  readonly parent?: number | null | undefined
}

interface Compiled {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** The query behind a page of tasks, newest first. */
export function compileTaskPage(filter: TaskFilter, range: Range, limit: number): Compiled {
  const { text, values } = selection(filter, range)
  return {
    sql: `SELECT ${listed('task', 'task.')} FROM task WHERE ${text} ORDER BY task.id DESC LIMIT ? + 0`,
    parameters: [...values, limit],
  }
}

/** The query behind their number: it makes no row of any of them. */
export function compileTaskCount(filter: TaskFilter, range: Range): Compiled {
  const { text, values } = selection(filter, range)
  return { sql: `SELECT count(*) FROM task WHERE ${text}`, parameters: values }
}

function selection(filter: TaskFilter, { from, end, parent }: Range): Condition {
  return all([
    { text: 'task.id >= ? AND task.id < ?', values: [from, end] },
    listCondition(
      'task.state',
      filter.states?.map((state) => taskStates.indexOf(state)),
    ),
    ...parentConditions(parent),
    ...streamConditions(filter),
    ...submissionConditions(filter),
  ])
}

function parentConditions(parent: Range['parent']): readonly Condition[] {
  if (parent === undefined) return []
  return [
    parent === null
      ? { text: 'task.parent IS NULL', values: [] }
      : { text: 'task.parent = ?', values: [parent] },
  ]
}

/** A task's type and lane are those of its stream. A rejected task never queued and has no stream: its event says what it was. */
function streamConditions({ types, lanes }: TaskFilter): readonly Condition[] {
  if (types === undefined && lanes === undefined) return []
  const ranks = lanes?.map((lane) => laneRank[lane])
  const streams = all([listCondition('stream.type', types), listCondition('stream.lane_rank', ranks)])
  const refusals = all([listCondition(`data ->> '$.type'`, types), listCondition(`data ->> '$.lane'`, lanes)])
  const text = `(task.stream IN (SELECT stream.id FROM stream WHERE ${streams.text}) OR (task.stream IS NULL AND EXISTS (
    SELECT 1 FROM event WHERE event.task = task.id AND event.type = 'task.rejected' AND ${refusals.text})))`
  return [{ text, values: [...streams.values, ...refusals.values] }]
}

/** A task's client and labels are those that its first event names. */
function submissionConditions({ client, labels = {} }: TaskFilter): readonly Condition[] {
  const parts: readonly Condition[] = [
    ...(client === undefined ? [] : [{ text: `data ->> '$.client' = ?`, values: [client] }]),
    ...Object.entries(labels).map((label) => ({
      text: `EXISTS (SELECT 1 FROM json_each(data, '$.labels') AS label WHERE label.key = ? AND label.value = ?)`,
      values: label,
    })),
  ]
  if (parts.length === 0) return []
  const { text, values } = all(parts)
  return [
    {
      text: `EXISTS (SELECT 1 FROM event WHERE event.task = task.id AND event.seq = 1 AND ${text})`,
      values,
    },
  ]
}

/** Whether a column has one of the values; without a list everything does, and of an empty one nothing. */
function listCondition(column: string, values: readonly unknown[] | undefined): Condition {
  if (values === undefined) return { text: 'true', values: [] }
  if (values.length === 0) return { text: 'false', values: [] }
  return { text: `${column} IN (${values.map(() => '?').join(', ')})`, values }
}

function all(conditions: readonly Condition[]): Condition {
  return {
    text: conditions.map(({ text }) => text).join(' AND '),
    values: conditions.flatMap(({ values }) => values),
  }
}
