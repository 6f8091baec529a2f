import type { Clock } from '@ku0/agent-runtime-core'
import type { Instant } from '@ku0/agent-runtime-core/transition'

/** The time that dates rows and judges leases: that of the server, for all processes the same. */
export interface StoreClock {
  /** The server said what time it is there, now. */
  tell(serverMs: number): void
  now(): Instant
}

/** Between two words of the server the process's monotonic clock goes on. `isVirtual`: the clock given is the only one. */
export function serverClock(clock: Clock, isVirtual: boolean): StoreClock {
  if (isVirtual) {
    const ahead = Math.round(clock.now() - clock.monotonic())
    return {
      tell: () => undefined,
      now: () => ({ at: Math.floor(clock.now()), leaseAt: Math.floor(clock.monotonic() + ahead) }),
    }
  }
  let ahead = 0
  return {
    tell: (serverMs) => {
      ahead = serverMs - clock.monotonic()
    },
    now: () => {
      const at = Math.floor(clock.monotonic() + ahead)
      return { at, leaseAt: at }
    },
  }
}
