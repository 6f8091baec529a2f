import type {
  EventData,
  EventType,
  RouteRecord,
  StoreInfo,
  StoreStats,
  WorkerStatus,
} from '@ku0/agent-runtime-core'

/**
 * The part of a runtime that telemetry uses: nothing else is read, and nothing is ever written. Subscribing to a type makes its
 * events cross a thread, so telemetry asks for the types that somebody will see and no others.
 */
export interface TelemetrySource {
  /** Gets the events of one type, in the order of their commits, until disposed. */
  on(pattern: EventType, listener: (event: TelemetryEvent) => void): Disposable
  /** The store's counters. Asked once per collection of metrics. */
  stats(): Promise<Pick<StoreStats, 'depth' | 'staleWrites' | 'quotas'>>
  /** The registered workers, of every process. Asked once per collection of metrics. */
  workers(): Promise<readonly Pick<WorkerStatus, 'workerId' | 'processId' | 'inFlight'>[]>
  /** How routes stand of which anything is known. Asked once per collection of metrics. */
  routes?(): Promise<readonly Pick<RouteRecord, 'route' | 'pressure' | 'scar' | 'circuit'>[]>
  /** The tasks that the watchdog of this process found stuck at its last look. Asked once per collection of metrics. */
  stuck?(): readonly { readonly what: string; readonly type: string; readonly tasks: number }[]
  readonly storeInfo: Pick<StoreInfo, 'storeId' | 'processId'>
  /**
   * The trace context that was stored with a task that runs here, for tasks that were submitted before telemetry could
   * listen: by another process, or before a restart.
   */
  traceOf?(taskId: string): TraceCarrier | undefined
  /** Reports handlers of this process that had to stop: those that did, and those that outlived their grace. */
  onHandlerStopped?(listener: (stop: HandlerStop) => void): Disposable
}

/** How long a handler took to stop. It is no event: nothing about the task changes. */
export interface HandlerStop {
  readonly taskId: string
  readonly leaseId: string
  /** Why it had to stop. */
  readonly reason: 'canceled' | 'lost' | 'timeout' | 'yielded' | 'shutdown' | 'budget_exceeded'
  /** From the request to stop to the stop, or to the end of the grace. */
  readonly afterMs: number
  /** True when the grace ended first. */
  readonly leaked: boolean
}

/** An event as the runtime publishes it, its data parsed. */
export interface TelemetryEvent {
  readonly type: EventType
  readonly taskId: string
  readonly seq: number
  /** Epoch ms by the store's clock. */
  readonly at: number
  readonly data: unknown
  /**
   * True when another process committed it. Every process gets every event; each counts, logs and traces its own, so
   * that sums over processes are right.
   */
  readonly elsewhere?: boolean
}

/** A trace context on its way with a task: W3C `traceparent` and `tracestate`. */
export type TraceCarrier = Readonly<Record<string, string>>

/** The events that telemetry reads, with the data that each has. */
export type KnownEvent = {
  [T in keyof PublishedData]: Omit<TelemetryEvent, 'type' | 'data'> & {
    readonly type: T
    readonly data: PublishedData[T]
  }
}[keyof PublishedData]

/** Stored events, and those that are published only: the latter carry the data of the row they came from. */
interface PublishedData extends EventData {
  'task.preempted': EventData['task.requeued']
  'task.recovered': EventData['task.requeued']
  'lease.expired': EventData['task.requeued'] | EventData['task.failed']
  /** Published by the process whose write was refused: nothing is stored of it. */
  'lease.lost': { leaseId: string; workerId?: string }
  'step.replayed': { key: string; position: number }
}
