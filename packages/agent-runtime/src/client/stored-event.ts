import { decode, type EventType, type StoredEvent, parseJson } from '@ku0/agent-runtime-core'
import type { RuntimeEvent } from '../api/events.ts'

/**
 * A stored event under one of its names. The data is parsed on first access, which most listeners never do.
 */
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
    const data = parseJson(this.#text)
    return { type, taskId, seq, at, data, hash, ...(this.elsewhere === true ? { elsewhere: true } : {}) }
  }
}

/** If a user's label looks like a tag of the codec, the data is left as it is stored. */
function readData(text: string): unknown {
  try {
    return decode(text)
  } catch {
    return parseJson(text)
  }
}
