import { ApiError, type ProblemBody } from './errors.ts'
import { readEvents } from './read-events.ts'
import type { RuntimeEvent } from './records.ts'
import { withTimes } from './times.ts'
import { isPassing, type Transport, waitOf } from './transport.ts'

/** Which events of the store to watch, and what ends it. */
export interface WatchOptions {
  /** The name of an event, a pattern such as `task.*`, or `*`, the default. */
  readonly pattern?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** A message to a watcher: an event, or that events were missed, so that lists should be read again. */
export type Watched = RuntimeEvent | { readonly type: 'missed' }

/**
 * The events of all tasks from now on, across broken connections, until the signal is aborted. Where the reader was away for so long that
 * events are gone, it gets `missed`.
 */
export async function* watchAll(
  transport: Transport,
  { pattern, signal }: WatchOptions,
): AsyncGenerator<Watched, void, undefined> {
  let last: string | undefined
  for (let attempt = 0; !isOver(signal); attempt += 1) {
    try {
      const headers = {
        accept: 'text/event-stream',
        ...(last === undefined ? {} : { 'last-event-id': last }),
      }
      const answer = await transport.send({
        path: '/events',
        query: { pattern },
        headers,
        signal,
        repeatable: false,
      })
      // Events may have come while nobody listened and no id was known.
      if (attempt > 0 && last === undefined) yield { type: 'missed' }
      if (answer.body !== null)
        for await (const { name, data, id } of readEvents(answer.body, signal)) {
          if (name === 'problem') throw new ApiError(JSON.parse(data) as ProblemBody)
          if (id !== undefined) last = id
          if (name === 'missed') yield { type: 'missed' }
          if (name !== '') continue
          attempt = 0
          yield withTimes(JSON.parse(data)) as RuntimeEvent
        }
    } catch (error) {
      if (isOver(signal)) return
      if (error instanceof ApiError && !isPassing(error)) throw error
    }
    if (!isOver(signal)) await transport.pause(waitOf(attempt), signal).catch(() => {})
  }
}

function isOver(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}
