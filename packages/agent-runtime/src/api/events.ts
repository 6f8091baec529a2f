import type { EvaluationRecord, EventData, EventType, PaperEvent } from '@ku0/agent-runtime-core'
import type { StuckTask } from './watchdog.ts'

/** An event as the runtime publishes it, with parsed data and decoded values. */
export type RuntimeEvent = { [T in EventType]: EventOf<T> }[EventType]

/**
 * A pattern of events for `on`: a name of an event (`task.completed`), all names that begin so (`task.*` or `task:*`), all of them (`*`), or a
 * telemetry name of the scheduler paper (`agent_terminated`), which stands for one event or several. Source: `docs/semantics.md 1.6`.
 */
export type EventPattern = '*' | EventType | PaperEvent | `${PrefixOf<EventType>}${'.*' | ':*'}`

type PrefixOf<T extends string> = T extends `${infer First}.${infer Rest}`
  ? First | `${First}.${PrefixOf<Rest>}`
  : never

/**
 * The event of one name. An event that is derived from the row of another one (`lease.*`) has that row's
 * data.
 */
export interface EventOf<T extends EventType> {
  readonly type: T
  /** Empty for an evaluation that names no task, and for an event of the store. */
  readonly taskId: string
  /** Rises by one within the task. Events derived from one row share it; 0 for an event without a row. */
  readonly seq: number
  /** Epoch ms. */
  readonly at: number
  readonly data: T extends keyof PublishedData ? PublishedData[T] : Readonly<Record<string, unknown>>
  /** The integrity chain up to this event, 64 hex digits. Absent from an event without a row. */
  readonly hash?: string
  /** True when another process committed it. */
  readonly elsewhere?: boolean
}

/** The data of each event name. */
interface PublishedData extends EventData {
  'lease.acquired': EventData['task.started']
  'lease.expired': EventData['task.requeued'] | EventData['task.failed']
  'task.parked': EventData['task.waiting']
  'lease.lost': { leaseId: string; workerId: string }
  'step.replayed': { key: string; position: number }
  /** Published in the process whose watchdog found it, once while it stays stuck. */
  'task.stuck': Omit<StuckTask, 'taskId'>
  /** Published in each process that cannot reach the server of its store any more, and when it can again. */
  'store.disconnected': { location: string; reason: string }
  'store.reconnected': { location: string; awayMs: number }
  /** Published in the process that recorded it, like the next one. */
  'evaluation.recorded': EvaluationRecord
  /** Published if its `distance` from the average before it is above the threshold. */
  'evaluation.drifted': EvaluationRecord & { threshold: number }
}
