import { z } from '../wire/zod.ts'
import { answer } from '../serving.ts'
import { followEvents, followOutput } from '../streams/follow-task.ts'
import { lastEventId, wantsStream } from '../streams/event-stream.ts'
import { SeqPage, TaskPath } from '../wire/parameters.ts'
import { EventSchema, OutputItemSchema } from '../wire/records.ts'
import { endpoint } from './endpoint.ts'

const streamed =
  'The same as server-sent events, when `Accept` asks for them: history, then live, until the final event. `id` is the `seq`; the header Last-Event-ID goes on after it. A task that has ended and has nothing after it is answered 204.'
const nothingLeft = {
  204: { description: 'As a stream: the task has ended, and nothing comes after this id' },
}

/** The answers of a route that answers pages or a stream, beside its pages. */
export const streamAnswers = { also: { 'text/event-stream': streamed }, nothingLeft }

export const streamHeaders = z.object({
  'last-event-id': z
    .string()
    .regex(/^\d{1,15}$/)
    .optional()
    .openapi({
      description: 'As a stream: the id after which to go on',
    }),
})

export const taskEvents = endpoint({
  method: 'get',
  path: '/tasks/{taskId}/events',
  id: 'taskEvents',
  tag: 'events',
  summary: 'The events of a task, as pages or as a stream',
  scope: 'read',
  bound: 'task',
  params: TaskPath,
  query: SeqPage,
  headers: streamHeaders,
  answers: {
    200: {
      description: 'A page of events',
      schema: z.object({ events: z.array(EventSchema), cursor: z.int().optional() }),
      also: streamAnswers.also,
    },
    ...nothingLeft,
  },
  problems: [404],
  async run({ serving, caller, request, params: { taskId }, query: { after, limit } }) {
    if (wantsStream(request))
      return followEvents(serving, caller, request, taskId, lastEventId(request) ?? after ?? 0)
    return answer(serving, await serving.runtime.history(taskId, { after, limit }))
  },
})

export const taskOutput = endpoint({
  method: 'get',
  path: '/tasks/{taskId}/output',
  id: 'taskOutput',
  tag: 'events',
  summary: 'The output of a task, as pages or as a stream',
  scope: 'read',
  bound: 'task',
  params: TaskPath,
  query: SeqPage,
  headers: streamHeaders,
  answers: {
    200: {
      description: 'A page of what it emitted',
      schema: z.object({ items: z.array(OutputItemSchema), cursor: z.int().optional() }),
      also: streamAnswers.also,
    },
    ...nothingLeft,
  },
  problems: [404],
  async run({ serving, caller, request, params: { taskId }, query: { after, limit } }) {
    if (wantsStream(request))
      return followOutput(serving, caller, request, taskId, lastEventId(request) ?? after ?? 0)
    return answer(serving, await serving.runtime.emitted(taskId, { after, limit, check: false }))
  },
})
