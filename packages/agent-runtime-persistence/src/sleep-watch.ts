import type { Clock, ExecutionConfig } from '@ku0/agent-runtime-core'

/** So long after its process woke the store has told it of the leases that ran out meanwhile. */
const newsMs = 1_000

/**
 * Whether the process slept, or did nothing else, for so long that its leases may have run out: they were renewed an interval before at
 * most. Source: `docs/reliability.md` C03.
 */
export class SleepWatch {
  private readonly clock: Clock
  private readonly sleepMs: number
  private wokeAt = Number.NEGATIVE_INFINITY
  /** How often it slept so. */
  times = 0

  constructor(clock: Clock, { leaseTtlMs, heartbeatIntervalMs }: ExecutionConfig) {
    this.clock = clock
    this.sleepMs = leaseTtlMs - heartbeatIntervalMs
  }

  /** It is awake; had it been all the time, it would have shown that at the moment given. Gives the time. */
  awake(expectedAt: number): number {
    const now = this.clock.monotonic()
    if (now - expectedAt >= this.sleepMs) {
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
