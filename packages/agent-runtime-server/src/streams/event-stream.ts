import type { Timer, Timers } from '@ku0/agent-runtime-core'
import { fieldsRefused } from '../problem/problem.ts'
import type { Incoming } from '../wire/messages.ts'
import { type Frame, keepAlive, opening, signFrame } from './frame.ts'

/**
 * One reader of server-sent events. Events that it has not taken wait in a buffer with a bound; a full buffer holds up the source, which
 * reads on from the store later. A reader that takes nothing for a while is cut off, and its buffer is dropped.
 */
export class EventStream {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>
  readonly #maxBytes: number
  readonly #stallMs: number
  readonly #timers: Timers
  readonly #gone = new AbortController()
  #queue: Frame[] = []
  #bytes = 0
  /** The last part, once there is one: after it the stream is closed. */
  #last: Uint8Array<ArrayBuffer> | undefined
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined
  #wanted: (() => void) | undefined
  #drained: (() => void) | undefined
  /** The id of the last event that the reader took. */
  #taken = ''
  /** A silent stream sends a comment at the next beat. */
  #silent = false

  constructor(options: {
    readonly maxBytes: number
    readonly stallMs: number
    readonly timers: Timers
    readonly onGone: () => void
  }) {
    this.#maxBytes = options.maxBytes
    this.#stallMs = options.stallMs
    this.#timers = options.timers
    this.#gone.signal.addEventListener('abort', options.onGone, { once: true })
    this.#queue.push({ id: '', bytes: opening })
    this.body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: (controller) => this.#pull(controller),
        cancel: () => this.#leave(),
      },
      { highWaterMark: 0 },
    )
  }

  /** Aborted when the reader has left, was cut off, or has everything. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** Hands over an event, once there is room; false if the stream is over. */
  async push(frame: Frame): Promise<boolean> {
    while (this.#bytes >= this.#maxBytes && !this.gone.aborted && this.#last === undefined)
      if (!(await this.#room())) this.drop((id) => signFrame('cut', { lastEventId: id }, id))
    if (this.gone.aborted || this.#last !== undefined) return false
    this.#queue.push(frame)
    this.#bytes += frame.bytes.byteLength
    this.#silent = false
    this.#wake()
    return true
  }

  /** Ends the stream after what waits, with a last word. */
  end(last: (taken: string) => Uint8Array<ArrayBuffer>): void {
    this.#last ??= last(this.#queue.at(-1)?.id ?? this.#taken)
    this.#wake()
  }

  /** Ends the stream without what waits, also for a reader that takes nothing. */
  drop(last: (taken: string) => Uint8Array<ArrayBuffer>): void {
    this.#queue = []
    this.#bytes = 0
    this.end(last)
    // From here on it costs nothing but its connection, and that only for as long again.
    this.#gone.abort()
    this.#timers.after(this.#stallMs, () => this.#controller?.error(new Error('the reader takes nothing')))
  }

  /** Sends a comment if nothing was sent since the last beat and nothing waits. */
  beat(): void {
    if (this.#silent && this.#queue.length === 0 && this.#last === undefined) {
      this.#queue.push({ id: this.#taken, bytes: keepAlive })
      this.#wake()
    }
    this.#silent = true
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> {
    if (this.#queue.length === 0 && this.#last === undefined) {
      const wanted = Promise.withResolvers<void>()
      this.#wanted = wanted.resolve
      await wanted.promise
    }
    const frames = this.#queue
    this.#queue = []
    this.#bytes = 0
    this.#taken = frames.at(-1)?.id || this.#taken
    const parts = frames.map(({ bytes }) => bytes)
    const part = parts.length === 1 ? parts[0] : Buffer.concat(parts)
    if (part !== undefined && part.byteLength > 0) controller.enqueue(part)
    this.#drained?.()
    if (this.#last === undefined) return
    controller.enqueue(this.#last)
    controller.close()
    this.#controller = undefined
    this.#leave()
  }

  /** Whether the reader made room in time. */
  async #room(): Promise<boolean> {
    const drained = Promise.withResolvers<boolean>()
    this.#drained = () => drained.resolve(true)
    const stall: Timer = this.#timers.after(this.#stallMs, () => drained.resolve(false))
    const made = await drained.promise
    stall.cancel()
    this.#drained = undefined
    return made
  }

  #leave(): void {
    this.#controller = undefined
    if (!this.gone.aborted) this.#gone.abort()
    this.#queue = []
    this.#bytes = 0
    this.#drained?.()
    this.#wake()
  }

  #wake(): void {
    this.#wanted?.()
    this.#wanted = undefined
  }
}

/** Whether a request asks for a stream instead of a page. */
export function wantsStream(request: Incoming): boolean {
  return /(^|,) *text\/event-stream/i.test(request.header('accept') ?? '')
}

/** The id after which a reader goes on. Throws for one that no stream of a task sends. */
export function lastEventId(request: Incoming): number | undefined {
  const given = request.header('last-event-id')
  if (given === null || given === '') return undefined
  if (/^\d{1,15}$/.test(given)) return Number(given)
  throw fieldsRefused([{ field: 'header.last-event-id', allowed: 'an id of this stream: a whole number' }])
}
