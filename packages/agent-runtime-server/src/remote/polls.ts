import type { Timer } from '@ku0/agent-runtime-core'
import type { Caller } from '../access/caller.ts'
import { refusal } from '../problem/problem.ts'
import type { LineEnd } from './connection.ts'
import { silentMs } from './ends.ts'
import type { LineHost } from './line-host.ts'

/** One connection that is made of requests. */
export class PolledConnection {
  readonly id: string
  readonly caller: Caller
  readonly #end: LineEnd
  readonly #host: LineHost
  readonly #onOver: () => void
  /** The messages that came down and were not confirmed, from the place `#first` on. */
  #frames: string[] = []
  #first = 0
  #bytes = 0
  #taken = 0
  #waking = Promise.withResolvers<void>()
  #isHeld = false
  #unholding = Promise.withResolvers<void>()
  #isOver = false
  #gone: Timer

  constructor(host: LineHost, caller: Caller, onOver: () => void) {
    this.#host = host
    this.id = host.environment.ids.uuid()
    this.caller = caller
    this.#onOver = onOver
    this.#gone = this.#arm()
    const waiting = () => this.#bytes
    this.#end = host.accept(
      {
        send: (text) => this.#put(text),
        get waiting() {
          return waiting()
        },
        hold: (held) => this.#hold(held),
        close: () => this.#finish(),
      },
      caller,
    )
  }

  /** Frames that came up, from the place `from` on. One that came before is left out. */
  async take(frames: readonly string[], from: number): Promise<void> {
    this.#stay()
    if (from > this.#taken)
      throw refusal('no_such_connection', 'frames of this connection are missing; open another one')
    for (const frame of frames.slice(this.#taken - from)) {
      this.#taken += 1
      this.#end.heard(frame)
      if (this.#isHeld) await this.#unholding.promise
    }
  }

  /** The messages that are to come down behind a place; waits until there is one. */
  async give(after: number, signal: AbortSignal): Promise<readonly string[]> {
    this.#stay()
    const confirmed = Math.min(this.#frames.length, Math.max(0, after - this.#first))
    for (const frame of this.#frames.splice(0, confirmed)) this.#bytes -= frame.length
    this.#first += confirmed
    if (this.#frames.length === 0 && !this.#isOver) {
      const { timers } = this.#host.environment
      const waited = Promise.withResolvers<void>()
      const timer = timers.after(silentMs(this.#host.lines.config.leaseTtlMs) / 2, waited.resolve)
      signal.addEventListener('abort', () => waited.resolve(), { once: true })
      await Promise.race([this.#waking.promise, waited.promise])
      timer.cancel()
    }
    this.#stay()
    if (this.#frames.length === 0 && this.#isOver) throw gone()
    return [...this.#frames]
  }

  #put(text: string): void {
    this.#frames.push(text)
    this.#bytes += text.length
    this.#waking.resolve()
    this.#waking = Promise.withResolvers<void>()
  }

  #hold(held: boolean): void {
    this.#isHeld = held
    if (held) return
    this.#unholding.resolve()
    this.#unholding = Promise.withResolvers<void>()
  }

  /** It was heard of. */
  #stay(): void {
    this.#gone.cancel()
    this.#gone = this.#arm()
  }

  #arm(): Timer {
    return this.#host.environment.timers.after(silentMs(this.#host.lines.config.leaseTtlMs), () => {
      this.#end.closed()
      this.#finish()
    })
  }

  /** Waiting messages may still be fetched once. */
  #finish(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#waking.resolve()
    this.#onOver()
  }
}

/** The connections that are made of requests, by their id, which only its process knows. */
export class PolledConnections {
  readonly #host: LineHost
  readonly #open = new Map<string, PolledConnection>()

  constructor(host: LineHost) {
    this.#host = host
  }

  open(caller: Caller): string {
    this.#host.assertRoom()
    const connection: PolledConnection = new PolledConnection(this.#host, caller, () => {
      // A last answer may be on its way to it.
      const { timers } = this.#host.environment
      timers.after(5_000, () => this.#open.delete(connection.id))
    })
    this.#open.set(connection.id, connection)
    return connection.id
  }

  find(id: string, caller: Caller): PolledConnection {
    const found = this.#open.get(id)
    if (found === undefined || found.caller !== caller) throw gone()
    return found
  }
}

function gone() {
  return refusal('no_such_connection', 'this connection is over; open another one')
}
