import { eventCatalogue } from '@ku0/agent-runtime-core'
import type { Caller } from '../access/caller.ts'
import { fieldsRefused } from '../problem/problem.ts'
import type { Serving } from '../serving.ts'
import type { Incoming, Reply } from '../wire/messages.ts'
import { type Frame, frameOf, signFrame } from './frame.ts'

/** The events of all tasks from now on, or after an id of this server, as a stream. */
export function followAll(
  { recent, streams, toJson }: Serving,
  caller: Caller,
  request: Incoming,
  pattern: string,
): Reply {
  const given = request.header('last-event-id')
  if (given !== null && !/^[\da-f]{8}-\d{1,15}$/.test(given))
    throw fieldsRefused([{ field: 'header.last-event-id', allowed: 'an id of this stream' }])
  return streams.answer(caller, request, async function* (signal): AsyncGenerator<Frame, void> {
    using _ = recent.listen()
    let last = given === null ? recent.last : recent.numberOf(given)
    if (last === undefined) {
      last = recent.last
      yield missedAt(recent.idOf(last))
    }
    while (!signal.aborted) {
      const { events, missed } = recent.after(last)
      if (missed) yield missedAt(recent.idOf(last))
      for (const { number, event } of events) {
        last = number
        if (!matches(pattern, event.type)) continue
        yield streams.frames.take(`* ${recent.idOf(number)}`, () =>
          frameOf(recent.idOf(number), toJson(event)),
        )
      }
      if (last === recent.last) await recent.more(signal)
    }
  })
}

/** Says that events are gone: a reader that keeps a picture of the tasks reads it again. */
function missedAt(id: string): Frame {
  return { id, bytes: signFrame('missed', {}, id) }
}

/** Whether a pattern selects an event: a name, `task.*`, or `*`. */
export function matches(pattern: string, type: string): boolean {
  return (
    pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1)))
  )
}

/** Whether a pattern selects any event at all. */
export function isPattern(pattern: string): boolean {
  return Object.keys(eventCatalogue).some((type) => matches(pattern, type))
}
