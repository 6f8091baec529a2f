import {
  type EventType,
  type StoredEvent,
  parseJson,
  plainValues,
  type ValueCodec,
} from '@ku0/agent-runtime-core'
import type { RuntimeEvent } from '../api/events.ts'
import { shown } from './task-status.ts'

const inspected: unique symbol = Symbol.for('nodejs.util.inspect.custom')

/**
 * A stored event under one of its names. The data is parsed on first access, which most listeners never do.
 */
export function toRuntimeEvent(
  event: StoredEvent,
  type: EventType = event.type,
  values: ValueCodec = plainValues,
): RuntimeEvent {
  return new StoredFact(event, type, values) as unknown as RuntimeEvent
}

class StoredFact {
  readonly type: EventType
  readonly taskId: string
  readonly seq: number
  readonly at: number
  readonly hash: string
  readonly elsewhere?: boolean
  readonly #text: string
  readonly #values: ValueCodec
  #data: unknown

  constructor(event: StoredEvent & { readonly elsewhere?: boolean }, type: EventType, values: ValueCodec) {
    this.type = type
    this.taskId = event.taskId
    this.seq = event.seq
    this.at = event.at
    this.hash = event.hash
    if (event.elsewhere !== undefined) this.elsewhere = event.elsewhere
    this.#text = event.data
    this.#values = values
  }

  /** If a user's label looks like a tag of the codec, the data is left as it is stored. */
  get data(): unknown {
    this.#data ??= shown(this.#values, this.#text)
    return this.#data
  }

  /** What `console.log` shows: the data is no property of its own. */
  [inspected](): object {
    const { type, taskId, seq, at, data, hash } = this
    return { type, taskId, seq, at, data, hash, ...(this.elsewhere === true ? { elsewhere: true } : {}) }
  }

  toJSON(): unknown {
    const { type, taskId, seq, at, hash } = this
    const data = parseJson(this.#text)
    return { type, taskId, seq, at, data, hash, ...(this.elsewhere === true ? { elsewhere: true } : {}) }
  }
}
