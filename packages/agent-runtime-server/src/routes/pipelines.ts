import { z } from '../wire/zod.ts'
import type { PipelineEvent } from '@ku0/agent-runtime'
import { taskStates } from '@ku0/agent-runtime-core'
import { isBound, sees } from '../access/caller.ts'
import { answer, type Serving } from '../serving.ts'
import { lastEventId, wantsStream } from '../streams/event-stream.ts'
import { followPipeline } from '../streams/follow-task.ts'
import { commaList, CursorText, LimitText, SeqPage, TaskPath } from '../wire/parameters.ts'
import { Moment, Value } from '../wire/schema.ts'
import { endpoint } from './endpoint.ts'
import { streamAnswers, streamHeaders } from './task-events.ts'

const Counts = z.record(z.string(), z.int())
const names = z.array(z.string())

const StageTaskSchema = z.object({
  partition: z.int().optional().openapi({ description: 'From 1; absent in a stage that is one task' }),
  taskId: z.string().optional().openapi({ description: 'Absent until it was started' }),
  state: z.enum(taskStates).optional(),
  ended: z.boolean(),
  taken: Counts,
  unread: Counts,
})

const StageSchema = z.object({
  stage: z.string(),
  ended: z.boolean().openapi({ description: 'Whether its tasks have completed: it publishes no more' }),
  taken: Counts.openapi({ description: 'By type: how many events it has received' }),
  unread: Counts.openapi({ description: 'By type: how many events its tasks have to receive now' }),
  heldBack: names.openapi({
    description: 'The types that it cannot publish now, because a task has `maxUnread` of them to receive',
  }),
  tasks: z.array(StageTaskSchema).openapi({ description: 'One, or one for each partition in order' }),
})

const PipelineSchema = z
  .object({
    taskId: z.string(),
    type: z.string(),
    state: z.enum(taskStates),
    terms: z.object({
      stages: z.array(
        z.object({
          stage: z.string(),
          publishes: names,
          subscribes: names,
          partitions: z.int().optional(),
        }),
      ),
      maxUnread: z.int(),
    }),
    seq: z.int().openapi({ description: 'The sequence of the last event, 0 before the first' }),
    published: Counts.openapi({ description: 'By type: how many events were published' }),
    stages: z.array(StageSchema).openapi({ description: 'In the order of the terms' }),
  })
  .openapi('Pipeline')

const PipelineEventSchema = z
  .object({
    sequence: z.int(),
    type: z.string(),
    stage: z.string(),
    partition: z.int().optional(),
    keyHash: z.int().optional().openapi({ description: 'The hash of the key that it was published with' }),
    data: Value,
    at: Moment,
  })
  .openapi('PipelineEvent')

export const listPipelines = endpoint({
  method: 'get',
  path: '/pipelines',
  id: 'listPipelines',
  tag: 'tasks',
  summary: 'The pipelines and how far their stages have come, newest first',
  scope: 'read',
  bound: 'own',
  query: z.strictObject({ limit: LimitText, cursor: CursorText }),
  answers: {
    200: {
      description: 'A page of pipelines',
      schema: z.object({ pipelines: z.array(PipelineSchema), cursor: z.string().optional() }),
    },
  },
  async run({ serving, caller, query }) {
    const { pipelines, cursor } = await serving.runtime.pipelines(query)
    const seen = isBound(caller)
      ? await Promise.all(
          pipelines.map(async ({ taskId }) => {
            const task = await serving.runtime.status(taskId)
            return task !== undefined && sees(caller, task)
          }),
        )
      : undefined
    return answer(serving, {
      pipelines: pipelines.filter((_, index) => seen?.[index] ?? true),
      ...(cursor === undefined ? {} : { cursor: String(cursor) }),
    })
  },
})

export const showPipeline = endpoint({
  method: 'get',
  path: '/pipelines/{taskId}',
  id: 'showPipeline',
  tag: 'tasks',
  summary: 'A pipeline: its stages, the events of each, and who holds whom back',
  scope: 'read',
  bound: 'task',
  params: TaskPath,
  answers: { 200: { description: 'The pipeline', schema: PipelineSchema } },
  problems: [404],
  run: async ({ serving, params: { taskId } }) =>
    answer(serving, await serving.runtime.pipeline(taskId).status()),
})

export const pipelineEvents = endpoint({
  method: 'get',
  path: '/pipelines/{taskId}/events',
  id: 'pipelineEvents',
  tag: 'events',
  summary: 'The events that the stages of a pipeline have published, as pages or as a stream',
  description:
    'While a page has a `cursor` there may be more, even after a short or empty one: a page looks at a bounded number of events. Data is as it is stored. A type that no stage publishes is `invalid_argument`.',
  scope: 'read',
  bound: 'task',
  params: TaskPath,
  query: SeqPage.extend({
    types: commaList(z.string().min(1).max(255)).openapi({ description: 'Only events of these types' }),
  }),
  headers: streamHeaders,
  answers: {
    200: {
      description: 'A page of events',
      schema: z.object({ events: z.array(PipelineEventSchema), cursor: z.int().optional() }),
      also: streamAnswers.also,
    },
    ...streamAnswers.nothingLeft,
  },
  problems: [404],
  async run({ serving, caller, request, params: { taskId }, query: { after = 0, limit = 100, types } }) {
    if (types !== undefined) await assertPublished(serving, taskId, types)
    if (wantsStream(request))
      return followPipeline(serving, caller, request, taskId, { after: lastEventId(request) ?? after, types })
    return answer(serving, await pageOf(serving, taskId, { after, limit, types }))
  },
})

/** The reader refuses types that no stage publishes before it looks for events, of which there are none so far up. */
async function assertPublished(
  { runtime }: Serving,
  taskId: string,
  types: readonly string[],
): Promise<void> {
  const none = { after: Number.MAX_SAFE_INTEGER, live: false, check: false }
  for await (const _ of runtime.pipeline(taskId).events({ ...none, types })) break
}

async function pageOf(
  { runtime, limits }: Serving,
  taskId: string,
  {
    after,
    limit,
    types,
  }: { readonly after: number; readonly limit: number; readonly types: readonly string[] | undefined },
): Promise<{ readonly events: readonly PipelineEvent[]; readonly cursor?: number }> {
  const events: PipelineEvent[] = []
  let last = after
  for await (const event of runtime.pipeline(taskId).events({ after, live: false, check: false })) {
    if (events.length === limit || last - after === limits.maxScannedTasks) return { events, cursor: last }
    last = event.sequence
    if (types === undefined || types.includes(event.type)) events.push(event)
  }
  return { events }
}
