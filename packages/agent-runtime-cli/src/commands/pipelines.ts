import type { PipelineView } from '@ku0/agent-runtime'
import type { Call, Run } from '../call.ts'
import { UsageError } from '../complain.ts'
import { connect } from '../connect.ts'
import type { Connection } from '../remote.ts'
import { toJson } from '../screen/json.ts'
import type { Line } from '../screen/printer.ts'
import { show } from '../screen/repeat.ts'
import { pairs, table } from '../screen/table.ts'
import { stateText } from '../screen/tasks.ts'
import { count, cut, dated } from '../screen/words.ts'
import { taskIn } from '../task-id.ts'

interface Options {
  readonly events?: boolean
  readonly follow?: boolean
  readonly type?: readonly string[]
  readonly after?: number
  readonly limit?: number
  readonly cursor?: number
}

export const run: Run = async (call) => {
  const [given] = call.args
  const { events, follow, type, after, ...page } = call.options as Options
  const wantsEvents = events === true || follow === true
  if (given === undefined && wantsEvents) throw new UsageError('name the pipeline whose events you want')
  if (!wantsEvents && (type ?? after) !== undefined)
    throw new UsageError('--type and --after are for the events: add --events or --follow')
  await using client = await connect(await call.settings())
  if (given === undefined) return await show(call, (isWatching) => list(call, client, page, isWatching))
  const taskId = await taskIn(client, given)
  if (!wantsEvents) return await show(call, (isWatching) => showOne(call, client, taskId, isWatching))
  const { limit = follow === true ? Number.POSITIVE_INFINITY : 20 } = page
  return await followEvents(call, client, taskId, limit, { types: type, after, live: follow === true })
}

async function list(
  { print }: Call,
  client: Connection,
  { limit = 20, cursor }: Pick<Options, 'cursor' | 'limit'>,
  isWatching: boolean,
): Promise<void> {
  const page = await client.pipelines({ limit, ...(cursor === undefined ? {} : { cursor }) })
  const lines = () =>
    page.pipelines.length === 0
      ? ['no pipeline has begun']
      : table(
          ['PIPELINE', 'TYPE', 'STATE', 'STAGES', 'EVENTS', 'UNREAD', 'NO ROOM FOR'],
          page.pipelines.map(({ taskId, type, state, seq, stages }) => [
            taskId,
            type,
            stateText(state),
            `${stages.filter(({ ended }) => ended).length} of ${stages.length} ended`,
            count(seq),
            count(sum(stages.flatMap(({ unread }) => Object.values(unread)))),
            { text: [...new Set(stages.flatMap(({ heldBack }) => heldBack))].join(', '), style: 'yellow' },
          ]),
        )
  if (isWatching) print.screen(page, lines)
  else print.answer(page, lines)
  if (page.cursor !== undefined) print.note(`there are more: --cursor ${page.cursor}`)
}

async function showOne(
  { print }: Call,
  client: Connection,
  taskId: string,
  isWatching: boolean,
): Promise<void> {
  const pipeline = await client.pipeline(taskId).status()
  const lines = () => linesOf(pipeline)
  if (isWatching) print.screen(pipeline, lines)
  else print.answer(pipeline, lines)
}

function linesOf({ taskId, type, state, seq, terms, published, stages }: PipelineView): readonly Line[] {
  const types = [...new Set(terms.stages.flatMap(({ publishes }) => publishes))]
  return [
    ...pairs([
      ['pipeline', taskId],
      ['type', type],
      ['state', stateText(state)],
      ['events', count(seq)],
      ['max unread', count(terms.maxUnread)],
    ]),
    '',
    ...table(
      ['STAGE', 'PART', 'STATE', 'RECEIVED', 'UNREAD', 'NO ROOM FOR', 'TASK'],
      stages.flatMap(({ stage, heldBack, tasks }) =>
        tasks.map((task) => [
          stage,
          task.partition === undefined ? '' : String(task.partition),
          task.state === undefined ? 'not started' : stateText(task.state),
          counts(task.taken),
          counts(task.unread),
          { text: heldBack.join(', '), style: 'yellow' as const },
          task.taskId ?? '',
        ]),
      ),
    ),
    ...(types.length === 0
      ? []
      : [
          '',
          ...table(
            ['EVENT', 'PUBLISHED', 'FROM', 'TO'],
            types.map((name) => [
              name,
              count(published[name] ?? 0),
              namesOf(terms.stages.filter(({ publishes }) => publishes.includes(name))),
              namesOf(terms.stages.filter(({ subscribes }) => subscribes.includes(name))),
            ]),
          ),
        ]),
  ]
}

async function followEvents(
  { print, signal, outlet }: Call,
  client: Connection,
  taskId: string,
  limit: number,
  options: {
    readonly types: readonly string[] | undefined
    readonly after: number | undefined
    readonly live: boolean
  },
): Promise<number> {
  const room = Math.max(40, (outlet.columns ?? 160) - 70)
  try {
    const events = client.pipeline(taskId).events({ ...options, signal, check: false })
    let shown = 0
    let last = 0
    for await (const event of events) {
      if (shown === limit) {
        print.note(`there are more: --after ${last}`)
        break
      }
      print.item(event, () => [
        { text: String(event.sequence).padStart(6), style: 'dim' },
        ` ${dated(event.at)}  `,
        event.stage.padEnd(16),
        ' ',
        event.type.padEnd(20),
        ' ',
        { text: cut(toJson(event.data), room), style: 'dim' },
      ])
      shown += 1
      last = event.sequence
      // One that follows does not wait for an event that it does not show.
      if (options.live && shown === limit) break
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  return 0
}

function counts(byType: Readonly<Record<string, number>>): string {
  return Object.entries(byType)
    .filter(([, number]) => number > 0)
    .map(([type, number]) => `${type} ${count(number)}`)
    .join(', ')
}

function namesOf(stages: readonly { readonly stage: string }[]): string {
  return stages.map(({ stage }) => stage).join(', ')
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, number) => all + number, 0)
}
