import type { Clock } from '@ku0/agent-runtime-core'

/** So long after its process woke the store has told it what happened to its leases meanwhile. */
const newsMs = 1_000
/** A silence of the event loop that is longer than this may have kept news of a lease from a handler. */
const silentMs = 100

/**
 * Whether the process slept, or did nothing else, for so long that it may not have heard what happened to its leases: they ran out, or
 * another process canceled their tasks. Source: `docs/reliability.md` C03.
 */
export class SleepWatch {
  private readonly clock: Clock
  private wokeAt = Number.NEGATIVE_INFINITY
  /** How often it slept so. */
  times = 0

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** It is awake; had it been all the time, it would have shown that at the moment given. Gives the time. */
  awake(expectedAt: number): number {
    const now = this.clock.monotonic()
    if (now - expectedAt > silentMs) {
      this.wokeAt = now
      this.times += 1
    }
    return now
  }

  /** Whether it woke so lately that what it lost may still be unheard of. */
  isFresh(now: number): boolean {
    return now - this.wokeAt < newsMs
  }
}
