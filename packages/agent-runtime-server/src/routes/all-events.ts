import { z } from '../wire/zod.ts'
import { answer } from '../serving.ts'
import { wantsStream } from '../streams/event-stream.ts'
import { followAll, isPattern, matches } from '../streams/follow-all.ts'
import { LimitText } from '../wire/parameters.ts'
import { EventSchema } from '../wire/records.ts'
import { endpoint } from './endpoint.ts'

export const allEvents = endpoint({
  method: 'get',
  path: '/events',
  id: 'allEvents',
  tag: 'events',
  summary: 'The events of all tasks, as a page of the newest or as a stream',
  description:
    'The stream begins now. After a broken connection the header Last-Event-ID goes on where it was, if the server still keeps what came meanwhile; if not, an event `missed` says so first. The page has what the server keeps, newest last: it keeps events while somebody reads the stream, and for a minute after.',
  scope: 'read',
  bound: 'none',
  query: z.strictObject({
    pattern: z
      .string()
      .refine(isPattern, { error: "the name of an event, a pattern such as 'task.*', or '*'" })
      .optional(),
    limit: LimitText,
  }),
  headers: z.object({ 'last-event-id': z.string().optional() }),
  answers: {
    200: {
      description: 'The newest events',
      schema: z.object({ events: z.array(EventSchema) }),
      also: { 'text/event-stream': 'The same as server-sent events, from now on' },
    },
  },
  async run({ serving, caller, request, query: { pattern = '*', limit = 100 } }) {
    if (wantsStream(request)) return followAll(serving, caller, request, pattern)
    const { events } = serving.recent.after(0)
    const wanted = events.map(({ event }) => event).filter(({ type }) => matches(pattern, type))
    return answer(serving, { events: wanted.slice(-limit) })
  },
})
