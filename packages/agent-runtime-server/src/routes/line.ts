import { LINE_VERSION, type LineOffer } from '@ku0/agent-runtime-persistence/lines'
import { maxFramesBytes } from '../limits.ts'
import { refusal } from '../problem/problem.ts'
import { answer, nothing, type Serving } from '../serving.ts'
import { z } from '../wire/zod.ts'
import { endpoint } from './endpoint.ts'

const ConnectionParams = z.strictObject({ connection: z.string().min(1).max(64) })
const Frames = z.strictObject({
  frames: z.array(z.string()).max(10_000).openapi({ description: 'Texts of the protocol, in order' }),
  from: z.int().min(0).openapi({ description: 'The number of frames that were sent before these' }),
})

export const showLine = endpoint({
  method: 'get',
  path: '/line',
  id: 'showLine',
  tag: 'workers',
  summary: 'Shows the versions and transports for remote workers',
  description:
    'A request for a WebSocket at this path opens a line. See docs/remote-workers.md for what passes over it.',
  scope: 'work',
  bound: 'own',
  problems: [404],
  answers: {
    200: {
      description: 'The versions of the protocol, and whether WebSockets are taken',
      schema: z.object({ versions: z.array(z.int()), webSocket: z.boolean() }),
    },
  },
  async run({ serving, caller }) {
    const { webSocket } = linesOf(serving)
    if (caller.client !== undefined) throw boundToClient()
    return answer(serving, { versions: [LINE_VERSION], webSocket } satisfies LineOffer)
  },
})

export const openConnection = endpoint({
  method: 'post',
  path: '/line/connections',
  id: 'openConnection',
  repeat: 'anew',
  tag: 'workers',
  summary: 'Opens a line that is made of requests, where WebSockets are not let through',
  scope: 'work',
  bound: 'own',
  problems: [404],
  body: Frames,
  answers: { 201: { description: 'The connection', schema: z.object({ connection: z.string() }) } },
  async run({ serving, caller }) {
    const { polled } = linesOf(serving)
    if (caller.client !== undefined) throw boundToClient()
    return answer(serving, { connection: polled.open(caller) }, 201)
  },
})

export const sendFrames = endpoint({
  method: 'post',
  path: '/line/connections/{connection}',
  id: 'sendFrames',
  repeat: 'harmless',
  tag: 'workers',
  summary: 'Carries frames up',
  description: 'The body may be twice as large as `maxLineFrameBytes`, and 4 MiB beside.',
  scope: 'work',
  bound: 'own',
  problems: [404],
  params: ConnectionParams,
  body: Frames,
  maxBytes: maxFramesBytes,
  answers: { 204: { description: 'They were taken' } },
  async run({ serving, caller, params, body }) {
    await linesOf(serving).polled.find(params.connection, caller).take(body.frames, body.from)
    return nothing
  },
})

export const receiveFrames = endpoint({
  method: 'get',
  path: '/line/connections/{connection}',
  id: 'receiveFrames',
  tag: 'workers',
  summary: 'Waits for frames that come down',
  scope: 'work',
  bound: 'own',
  problems: [404],
  params: ConnectionParams,
  query: z.strictObject({ after: z.string().regex(/^\d{1,15}$/) }),
  answers: {
    200: { description: 'The frames behind `after`', schema: z.object({ frames: z.array(z.string()) }) },
  },
  async run({ serving, caller, params, query, request }) {
    const connection = linesOf(serving).polled.find(params.connection, caller)
    using poll = serving.streams.poll(caller, request)
    const frames = await connection.give(Number(query.after), poll.signal)
    poll.assertAccepted()
    return answer(serving, { frames })
  },
})

/** Without a store that has lines there is nothing to connect to. */
function linesOf(serving: Serving) {
  if (serving.remote === undefined)
    throw refusal('no_remote_workers', 'this server takes no remote workers (the option remoteWorkers)')
  return serving.remote
}

/** Work is given by task type, whoever submitted it. */
function boundToClient() {
  return refusal('forbidden', 'the token is bound to a client, and a worker runs the tasks of all clients')
}
