import type { BulkActions } from './bulk/bulk-actions.ts'
import type { StoreCare } from './care/store-care.ts'
import type { Verifications } from './care/verifications.ts'
import type { ServerLimits } from './limits.ts'
import type { Served } from './options.ts'
import type { LineHost } from './remote/line-host.ts'
import type { PolledConnections } from './remote/polls.ts'
import type { RequestWorkers } from './remote/request-workers.ts'
import type { ReportSource } from './reports.ts'
import type { RecentEvents } from './streams/recent-events.ts'
import type { Streams } from './streams/streams.ts'
import type { Surroundings } from './system.ts'
import type { Turns } from './turns.ts'
import type { Reply } from './wire/messages.ts'
import type { ToJson } from './wire/answer.ts'

/** The parts that the routes of a server share. */
export interface Serving {
  readonly runtime: Served
  readonly limits: ServerLimits
  readonly environment: Surroundings
  readonly toJson: ToJson
  /** Whether answers leave out messages of errors. */
  readonly hidesMessages: boolean
  /** Whether answers leave out anything. */
  readonly redacts: boolean
  readonly streams: Streams
  readonly recent: RecentEvents
  readonly bulk: BulkActions
  readonly verifications: Verifications
  readonly storeCare: StoreCare
  readonly turns: Turns
  readonly reports: ReportSource
  /** The lines of remote workers; undefined where the server takes none. */
  readonly remote:
    | {
        readonly host: LineHost
        readonly polled: PolledConnections
        readonly workers: RequestWorkers
        readonly webSocket: boolean
      }
    | undefined
  /** Whether routes that change something are refused. */
  readonly readOnly: boolean
  readonly report: (error: unknown) => void
}

/** An answer in JSON. */
export function answer(
  serving: Serving,
  record: unknown,
  status = 200,
  headers: Record<string, string> = {},
): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(serving.toJson(record)),
  }
}

/** An answer without a body. */
export const nothing: Reply = { status: 204, headers: {} }
