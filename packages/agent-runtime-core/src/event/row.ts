import type { EventType } from './event.ts'

export interface EventRow {
  readonly task: number
  readonly seq: number
  readonly type: EventType
  readonly at: number
  readonly data: string
  /** The sha256 (hex) of the one value that is in the blob table, if there is one. */
  readonly blob: string | null
  readonly hash: Uint8Array
  readonly also: readonly EventType[]
}

/** An event as it is stored, a long value still in its blob. */
export interface PlainEvent {
  readonly seq: number
  readonly type: EventType
  readonly at: number
  readonly data: string
  readonly blob: string | null
}
