import {
  decode,
  type EvaluationRecord,
  type EventData,
  type EventType,
  type StoredEvent,
} from '@ku0/agent-runtime-core'

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
  'lease.lost': { leaseId: string; workerId: string }
  'step.replayed': { key: string; position: number }
  /** Told in the process that recorded it, as is the next. */
  'evaluation.recorded': EvaluationRecord
  /** Its `distance` from the average before it is above the threshold. */
  'evaluation.drifted': EvaluationRecord & { threshold: number }
}

/** A stored event under one of its names. The data are parsed when they are first looked at, which most listeners never do. */
export function toRuntimeEvent(event: StoredEvent, type: EventType = event.type): RuntimeEvent {
  return new StoredFact(event, type) as unknown as RuntimeEvent
}

class StoredFact {
  readonly type: EventType
  readonly taskId: string
  readonly seq: number
  readonly at: number
  readonly hash: string
  readonly elsewhere?: boolean
  readonly #text: string
  #data: unknown

  constructor(event: StoredEvent & { readonly elsewhere?: boolean }, type: EventType) {
    this.type = type
    this.taskId = event.taskId
    this.seq = event.seq
    this.at = event.at
    this.hash = event.hash
    if (event.elsewhere !== undefined) this.elsewhere = event.elsewhere
    this.#text = event.data
  }

  get data(): unknown {
    this.#data ??= readData(this.#text)
    return this.#data
  }

  toJSON(): unknown {
    const { type, taskId, seq, at, hash } = this
    const data = JSON.parse(this.#text) as unknown
    return { type, taskId, seq, at, data, hash, ...(this.elsewhere === true ? { elsewhere: true } : {}) }
  }
}

/** A user's label that looks like a tag of the codec leaves the data as they are stored. */
function readData(text: string): unknown {
  try {
    return decode(text)
  } catch {
    return JSON.parse(text)
  }
}
