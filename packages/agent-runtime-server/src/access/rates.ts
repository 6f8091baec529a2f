import type { Clock } from '@ku0/agent-runtime-core'
import { refusal } from '../problem/problem.ts'
import { type Caller, owner } from './caller.ts'

/** Requests of each token, as a bucket that fills up with every moment. */
export class RateBook {
  readonly #perSecond: number
  readonly #clock: Clock
  readonly #buckets = new WeakMap<Caller, { left: number; at: number }>()

  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond
    this.#clock = clock
  }

  /** Throws a 429 when the token has used up its requests. The owner of a server without tokens is not counted. */
  count(caller: Caller): void {
    if (caller === owner) return
    const at = this.#clock.monotonic()
    const bucket = this.#buckets.get(caller) ?? { left: this.#perSecond, at }
    const left = Math.min(this.#perSecond, bucket.left + ((at - bucket.at) / 1_000) * this.#perSecond)
    if (left < 1)
      throw refusal(
        'too_many_requests',
        `more than ${this.#perSecond} requests in a second (maxRequestsPerSecond)`,
        {
          'retry-after': '1',
        },
      )
    this.#buckets.set(caller, { left: left - 1, at })
  }
}
