import { z } from '../wire/zod.ts'
import type { ListFilter, TaskStatus } from '@ku0/agent-runtime'
import { lanes, taskStates } from '@ku0/agent-runtime-core'
import { type Caller, isBound, sees } from '../access/caller.ts'
import { answer, type Serving } from '../serving.ts'
import { commaList, CursorText, flagText, LimitText } from '../wire/parameters.ts'
import { TaskSchema } from '../wire/records.ts'
import { endpoint } from './endpoint.ts'

/** Which tasks: the filter of `runtime.list`, and what only the server looks at. */
const TaskQuery = z.strictObject({
  states: commaList(z.enum(taskStates)),
  types: commaList(z.string().min(1).max(255)),
  lanes: commaList(z.enum(lanes)),
  parent: z.string().min(1).max(255).optional().openapi({ description: 'The children of this task' }),
  client: z.string().max(255).optional(),
  label: z
    .union([z.string(), z.array(z.string())])
    .transform((given) => [given].flat())
    .pipe(z.array(z.string().regex(/^[^=]{1,255}=.{0,255}$/s, { error: 'name=value' })).max(16))
    .optional()
    .openapi({
      type: 'array',
      items: { type: 'string' },
      description: '`name=value`; all have to hold',
    } as never),
  text: z.string().min(1).max(255).optional().openapi({
    description: 'A part of the id, the type, the client, a label or the error, in any case',
  }),
})

/** Whether a page of tasks has their values. */
export const ValuesFlag = flagText.openapi({
  description: 'Whether tasks come with their inputs and outputs, which may be large; true by default',
})

/** Which tasks: what the library looks for, and what the server looks for in what the library found. */
export interface TaskWish extends Pick<ListFilter, 'states' | 'types' | 'lanes' | 'parent' | 'values'> {
  readonly client?: string | undefined
  /** `name=value` each. */
  readonly label?: readonly string[] | undefined
  readonly text?: string | undefined
  /** For failed tasks: of what kind. */
  readonly kind?: string | undefined
}

export const listTasks = endpoint({
  method: 'get',
  path: '/tasks',
  id: 'listTasks',
  tag: 'tasks',
  summary: 'List tasks, newest first',
  description:
    'While a page has a `cursor` there may be more, even after a short or empty one: a page looks at a bounded number of tasks, for a `text` at `maxScannedTasks` of those that the other filters leave. A `count` of a `text` looks at all of these.',
  scope: 'read',
  bound: 'own',
  query: TaskQuery.extend({
    limit: LimitText,
    cursor: CursorText,
    count: flagText.openapi({
      description: 'Whether to count all tasks of the filter, which may take a while',
    }),
    values: ValuesFlag,
  }),
  answers: {
    200: {
      description: 'A page of tasks',
      schema: z.object({
        tasks: z.array(TaskSchema),
        cursor: z.string().optional(),
        count: z.int().optional(),
      }),
    },
  },
  async run({ serving, caller, query: { limit = 100, cursor, count, values, ...wish } }) {
    const page = await pageOfTasks(serving, caller, { ...wish, values }, limit, cursor)
    if (count !== true) return answer(serving, page)
    return answer(serving, { ...page, count: await countTasks(serving, caller, wish) })
  },
})

/** A page of the tasks that are wished for and that the caller sees. */
export async function pageOfTasks(
  { runtime, limits, hidesMessages }: Serving,
  caller: Caller,
  wish: TaskWish,
  limit: number,
  from?: number,
): Promise<{ readonly tasks: readonly TaskStatus[]; readonly cursor?: string }> {
  const matches = matcherOf(wish, caller, hidesMessages)
  const filter = filterOf(wish)
  const read = (size: number, cursor?: number) =>
    runtime.list({ ...filter, limit: size, ...(cursor === undefined ? {} : { cursor }) })
  if (matches === undefined) {
    const page = await read(limit, from)
    return pageWith(page.tasks, page.cursor)
  }
  const tasks: TaskStatus[] = []
  let cursor = from
  // What few tasks match is looked for in larger and larger parts.
  for (let scanned = 0, size = limit; ; size = Math.min(1_000, size * 2, limits.maxScannedTasks - scanned)) {
    const page = await read(size, cursor)
    scanned += page.tasks.length
    tasks.push(...page.tasks.filter(matches))
    // A place in the list is the sequence of the task before it.
    if (tasks.length > limit) return pageWith(tasks.slice(0, limit), tasks[limit - 1]?.sequence)
    ;({ cursor } = page)
    if (cursor === undefined || tasks.length === limit || scanned >= limits.maxScannedTasks)
      return pageWith(tasks, cursor)
  }
}

function pageWith(tasks: readonly TaskStatus[], cursor: number | undefined) {
  return { tasks, ...(cursor === undefined ? {} : { cursor: String(cursor) }) }
}

async function countTasks(serving: Serving, caller: Caller, wish: TaskWish): Promise<number> {
  if (matcherOf(wish, caller, serving.hidesMessages) === undefined)
    return serving.runtime.count(filterOf(wish))
  let count = 0
  let cursor: number | undefined
  do {
    const page = await pageOfTasks(serving, caller, { ...wish, values: false }, 1_000, cursor)
    count += page.tasks.length
    cursor = page.cursor === undefined ? undefined : Number(page.cursor)
  } while (cursor !== undefined)
  return count
}

/** The part of a wish that the library answers. */
function filterOf({
  states,
  types,
  lanes: wanted,
  parent,
  values,
  client,
  label = [],
}: TaskWish): ListFilter {
  const labels = label.map((given) => {
    const at = given.indexOf('=')
    return [given.slice(0, at), given.slice(at + 1)] as const
  })
  // No client and none of a name are not the same to the library: tasks without one stay to the matcher.
  const named = client === '' ? undefined : client
  return { states, types, lanes: wanted, parent, values, client: named, labels: Object.fromEntries(labels) }
}

/** The rest of it; undefined if there is none. */
function matcherOf(
  { client, text, kind }: TaskWish,
  caller: Caller,
  hidesMessages: boolean,
): ((task: TaskStatus) => boolean) | undefined {
  if (client !== '' && text === undefined && kind === undefined && !isBound(caller)) return undefined
  const part = text?.toLowerCase()
  return (task) =>
    sees(caller, task) &&
    (kind === undefined || (task.state === 'failed' && task.kind === kind)) &&
    (client !== '' || task.client === undefined) &&
    (part === undefined || textsOf(task, hidesMessages).some((it) => it.toLowerCase().includes(part)))
}

/** Only of what is shown: a text that finds what is redacted would tell it, letter by letter. */
function textsOf(task: TaskStatus, hidesMessages: boolean): string[] {
  const error = task.state === 'failed' && !hidesMessages ? [task.error.message] : []
  return [task.taskId, task.type, task.client ?? '', ...Object.values(task.labels), ...error]
}
