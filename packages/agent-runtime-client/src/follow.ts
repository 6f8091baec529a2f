import { ApiError, type ProblemBody } from './errors.ts'
import { readEvents } from './read-events.ts'
import { withTimes } from './times.ts'
import { isPassing, type Query, type Transport, waitOf } from './transport.ts'

/** Where a reader begins, and what ends it. */
export interface FollowOptions {
  /** The `seq`, or the `sequence`, of the last item that you already have; 0 by default. */
  readonly after?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * The items of a stream of a task, history first, without gap and without repetition. If the connection breaks, or the server stops, it
 * comes back and goes on after the last item; it ends with the task.
 */
export async function* follow<Item>(
  transport: Transport,
  path: string,
  { after = 0, signal }: FollowOptions,
  query: Query = {},
): AsyncGenerator<Item, void, undefined> {
  let last = after
  for (let attempt = 0; ; attempt += 1) {
    try {
      const headers = { accept: 'text/event-stream', 'last-event-id': String(last) }
      const answer = await transport.send({ path, query, headers, signal, repeatable: false })
      if (answer.status === 204 || answer.body === null) return
      for await (const { name, data, id } of readEvents(answer.body, signal)) {
        if (name === 'end') return
        if (name === 'problem') throw new ApiError(JSON.parse(data) as ProblemBody)
        if (name !== '' || id === undefined) continue
        attempt = 0
        last = Number(id)
        yield withTimes(JSON.parse(data)) as Item
      }
    } catch (error) {
      if (signal?.aborted === true || (error instanceof ApiError && !isPassing(error))) throw error
    }
    await transport.pause(waitOf(attempt), signal)
  }
}
