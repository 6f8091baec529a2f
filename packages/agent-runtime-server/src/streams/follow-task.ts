import { isFinal } from '@ku0/agent-runtime-core'
import type { Caller } from '../access/caller.ts'
import { noTask } from '../problem/problem.ts'
import { nothing, type Serving } from '../serving.ts'
import type { Incoming, Reply } from '../wire/messages.ts'
import { type Frame, frameOf } from './frame.ts'

/** The events of a task after a seq, as a stream. */
export async function followEvents(
  serving: Serving,
  caller: Caller,
  request: Incoming,
  taskId: string,
  after: number,
): Promise<Reply> {
  const { runtime, toJson, streams } = serving
  const isOver = async () => (await runtime.history(taskId, { after, limit: 1 })).events.length === 0
  return follow(serving, caller, request, taskId, isOver, async function* (signal) {
    for await (const event of runtime.events(taskId, { after, signal }))
      yield streams.frames.take(`${taskId} ${event.seq}`, () => frameOf(String(event.seq), toJson(event)))
  })
}

/** The values that a task emits after a seq, as a stream. */
export async function followOutput(
  serving: Serving,
  caller: Caller,
  request: Incoming,
  taskId: string,
  after: number,
): Promise<Reply> {
  const { runtime, toJson, streams } = serving
  const isOver = async () =>
    (await runtime.emitted(taskId, { after, limit: 1, check: false })).items.length === 0
  return follow(serving, caller, request, taskId, isOver, async function* (signal) {
    for await (const item of runtime.output(taskId, { after, signal, check: false }))
      yield streams.frames.take(`${taskId} ${item.type} ${item.seq}`, () =>
        frameOf(String(item.seq), toJson(item)),
      )
  })
}

/** The events that the stages of a pipeline publish after a sequence, as a stream. */
export async function followPipeline(
  serving: Serving,
  caller: Caller,
  request: Incoming,
  taskId: string,
  { after, types }: { readonly after: number; readonly types: readonly string[] | undefined },
): Promise<Reply> {
  const { runtime, toJson, streams } = serving
  const pipeline = runtime.pipeline(taskId)
  const isOver = async () => {
    for await (const _ of pipeline.events({ after, types, live: false, check: false })) return false
    return true
  }
  return follow(serving, caller, request, taskId, isOver, async function* (signal) {
    for await (const event of pipeline.events({ after, types, signal, check: false }))
      yield streams.frames.take(`${taskId} pipeline ${event.sequence}`, () =>
        frameOf(String(event.sequence), toJson(event)),
      )
  })
}

async function follow(
  { runtime, streams }: Serving,
  caller: Caller,
  request: Incoming,
  taskId: string,
  isOver: () => Promise<boolean>,
  source: (signal: AbortSignal) => AsyncIterable<Frame>,
): Promise<Reply> {
  const task = await runtime.status(taskId)
  if (task === undefined) throw noTask(taskId)
  // A browser comes back after the end of a stream, until it is answered like this.
  if (request.header('last-event-id') !== null && isFinal(task.state) && (await isOver())) return nothing
  return streams.answer(caller, request, source)
}
