import type { Timer } from '@ku0/agent-runtime-core'
import type { Surroundings } from '../system.ts'
import type { Caller } from './caller.ts'
import type { TokenBook } from './tokens.ts'

/**
 * Ends what stays open after its request was let in, once its token is no longer accepted: streams, long polls and lines of workers. While
 * something is open it looks at the tokens every `everyMs`.
 */
export class TokenWatch {
  readonly #tokens: TokenBook
  readonly #everyMs: number
  readonly #environment: Surroundings
  readonly #report: (error: unknown) => void
  readonly #open = new Set<{ readonly caller: Caller; readonly refuse: () => void }>()
  #timer: Timer | undefined
  #isLooking = false
  #isClosed = false

  constructor(parts: {
    readonly tokens: TokenBook
    readonly everyMs: number
    readonly environment: Surroundings
    readonly report: (error: unknown) => void
  }) {
    this.#tokens = parts.tokens
    this.#everyMs = parts.everyMs
    this.#environment = parts.environment
    this.#report = parts.report
  }

  /** Calls `refuse` once the token of the caller was revoked, has expired or was changed, unless it is disposed before. */
  add(caller: Caller, refuse: () => void): Disposable {
    const entry = { caller, refuse }
    this.#open.add(entry)
    this.#arm()
    return {
      [Symbol.dispose]: () => {
        this.#open.delete(entry)
        if (this.#open.size === 0) this.#disarm()
      },
    }
  }

  close(): void {
    this.#isClosed = true
    this.#disarm()
  }

  #arm(): void {
    if (this.#isClosed || this.#isLooking || this.#open.size === 0) return
    this.#timer ??= this.#environment.timers.after(this.#everyMs, () => void this.#look())
  }

  #disarm(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  async #look(): Promise<void> {
    this.#timer = undefined
    this.#isLooking = true
    try {
      await this.#tokens.refresh()
      const now = this.#environment.clock.now()
      for (const entry of this.#open)
        if (!this.#tokens.accepts(entry.caller, now) && this.#open.delete(entry)) entry.refuse()
    } catch (error) {
      // What is not known to be refused stays open: the next look will say.
      this.#report(error)
    }
    this.#isLooking = false
    this.#arm()
  }
}
