import { type Timer } from '@ku0/agent-runtime-core'
import { type Caller, owner } from '../access/caller.ts'
import { unauthenticated } from '../access/gate.ts'
import type { TokenWatch } from '../access/token-watch.ts'
import type { ServerLimits } from '../limits.ts'
import { named, refusal } from '../problem/problem.ts'
import type { Surroundings } from '../system.ts'
import type { Incoming, Reply } from '../wire/messages.ts'
import { EventStream } from './event-stream.ts'
import { FrameCache } from './frame-cache.ts'
import { type Frame, signFrame } from './frame.ts'

/** A request that waits for its answer. */
export interface Poll extends Disposable {
  /** Aborted when the caller is gone, its token is refused, or the server closes. */
  readonly signal: AbortSignal
  /** Whether the token, which was accepted when the request came, still is. */
  readonly isAccepted: () => boolean
  /** Throws the refusal of a token that no longer is. */
  readonly assertAccepted: () => void
}

/** All open streams and long polls of a server: their number, their beat, and their end with the server. */
export class Streams {
  readonly frames = new FrameCache()
  readonly #limits: ServerLimits
  readonly #environment: Surroundings
  readonly #watch: TokenWatch
  readonly #report: (error: unknown, instance: string) => void
  readonly #open = new Set<EventStream>()
  readonly #ofCaller = new Map<Caller, number>()
  readonly #closing = new AbortController()
  #counted = 0
  #beat: Timer | undefined

  constructor(
    limits: ServerLimits,
    environment: Surroundings,
    watch: TokenWatch,
    report: (error: unknown, instance: string) => void,
  ) {
    this.#report = report
    this.#limits = limits
    this.#environment = environment
    this.#watch = watch
  }

  /** Aborted when the server closes. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** How many are open. */
  get size(): number {
    return this.#counted
  }

  /** Counts a request that waits, until it is disposed. Throws a 429 above a limit. */
  poll(caller: Caller, request: Incoming): Poll {
    const refused = new AbortController()
    const counted = this.#count(caller, () => refused.abort())
    return {
      [Symbol.dispose]: () => counted[Symbol.dispose](),
      signal: AbortSignal.any([request.signal, refused.signal, this.closing]),
      isAccepted: () => !refused.signal.aborted,
      assertAccepted: () => {
        if (refused.signal.aborted) throw notAnyMore()
      },
    }
  }

  /** Answers with a stream of what `source` yields; it ends when the source does, the reader leaves, its token is refused, or the server closes. */
  answer(caller: Caller, request: Incoming, source: (signal: AbortSignal) => AsyncIterable<Frame>): Reply {
    if (request.method === 'HEAD') return { status: 200, headers: streamHeaders }
    const counted = this.#count(caller, () => stream.drop(() => this.#problem(notAnyMore())))
    const { maxStreamBufferBytes: maxBytes, maxStreamStallMs: stallMs } = this.#limits
    const { timers } = this.#environment
    const stream: EventStream = new EventStream({
      maxBytes,
      stallMs,
      timers,
      onGone: () => {
        counted[Symbol.dispose]()
        this.#open.delete(stream)
        if (this.#open.size > 0) return
        this.#beat?.cancel()
        this.#beat = undefined
      },
    })
    this.#open.add(stream)
    this.#beat ??= this.#armBeat()
    void this.#feed(stream, source(stream.gone))
    return { status: 200, headers: streamHeaders, body: stream.body }
  }

  /** Ends every stream with an id to go on from. */
  close(): void {
    this.#closing.abort()
    for (const stream of this.#open) stream.end((id) => signFrame('closing', { lastEventId: id }, id))
    this.#beat?.cancel()
  }

  /** Counts one that is open until it is disposed. `refuse` is called if its token is no longer accepted. */
  #count(caller: Caller, refuse: () => void): Disposable {
    const { maxStreams, maxStreamsPerToken } = this.#limits
    const own = this.#ofCaller.get(caller) ?? 0
    const later = { 'retry-after': '1' }
    if (this.#counted >= maxStreams)
      throw refusal('too_many_requests', `${maxStreams} streams are open (maxStreams)`, later)
    if (own >= maxStreamsPerToken && caller !== owner)
      throw refusal('too_many_requests', `the token has ${own} streams open (maxStreamsPerToken)`, later)
    this.#counted += 1
    this.#ofCaller.set(caller, own + 1)
    const watched = this.#watch.add(caller, refuse)
    let counts = true
    const release = () => {
      if (!counts) return
      counts = false
      watched[Symbol.dispose]()
      this.#counted -= 1
      const left = (this.#ofCaller.get(caller) ?? 1) - 1
      if (left === 0) this.#ofCaller.delete(caller)
      else this.#ofCaller.set(caller, left)
    }
    return { [Symbol.dispose]: release }
  }

  async #feed(stream: EventStream, source: AsyncIterable<Frame>): Promise<void> {
    try {
      for await (const frame of source) if (!(await stream.push(frame))) return
      stream.end(() => signFrame('end', {}))
    } catch (error) {
      if (!stream.gone.aborted) stream.end(() => this.#problem(error))
    }
  }

  /** The frame in place of an answer. */
  #problem(error: unknown) {
    const { problem, instance } = named(error, this.#environment.ids, this.#report)
    return signFrame('problem', { ...problem.body, instance })
  }

  #armBeat(): Timer {
    return this.#environment.timers.after(this.#limits.keepAliveMs, () => {
      for (const stream of this.#open) stream.beat()
      this.#beat = this.#open.size === 0 || this.closing.aborted ? undefined : this.#armBeat()
    })
  }
}

function notAnyMore() {
  return unauthenticated('the token was revoked or has expired')
}

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}
