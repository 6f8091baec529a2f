import type { BulkActions } from './bulk/bulk-actions.ts'
import type { ServerLimits } from './limits.ts'
import type { Served } from './options.ts'
import type { RecentEvents } from './streams/recent-events.ts'
import type { Streams } from './streams/streams.ts'
import type { Surroundings } from './system.ts'
import type { ToJson } from './wire/answer.ts'

/** What the routes of a server share. */
export interface Serving {
  readonly runtime: Served
  readonly limits: ServerLimits
  readonly environment: Surroundings
  readonly toJson: ToJson
  readonly streams: Streams
  readonly recent: RecentEvents
  readonly bulk: BulkActions
  readonly report: (error: unknown) => void
}

/** An answer in JSON. */
export function answer(
  serving: Serving,
  record: unknown,
  status = 200,
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify(serving.toJson(record)), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  })
}
