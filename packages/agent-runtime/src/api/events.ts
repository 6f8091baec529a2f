import type { EvaluationRecord, EventData, EventType } from '@ku0/agent-runtime-core'

/** An event as the runtime hands it on, its data parsed and its values decoded. */
export type RuntimeEvent = { [T in EventType]: EventOf<T> }[EventType]

/** The event of one name. A name that is published from another's row (`lease.*`) has that row's data. */
export interface EventOf<T extends EventType> {
  readonly type: T
  /** Empty for an evaluation that names no task. */
  readonly taskId: string
  /** Rises by one within the task; names published from one row share it; 0 for what is no row. */
  readonly seq: number
  /** Epoch ms. */
  readonly at: number
  readonly data: T extends keyof PublishedData ? PublishedData[T] : Readonly<Record<string, unknown>>
  /** The integrity chain up to this event, 64 hex digits; absent from what is no row. */
  readonly hash?: string
  /** True when another process committed it. */
  readonly elsewhere?: boolean
}

/** The data of each name. */
interface PublishedData extends EventData {
  'lease.acquired': EventData['task.started']
  'lease.expired': EventData['task.requeued'] | EventData['task.failed']
  'task.parked': EventData['task.waiting']
  'lease.lost': { leaseId: string; workerId: string }
  'step.replayed': { key: string; position: number }
  /** Told in the process that recorded it, as is the next. */
  'evaluation.recorded': EvaluationRecord
  /** Its `distance` from the average before it is above the threshold. */
  'evaluation.drifted': EvaluationRecord & { threshold: number }
}
