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
  let ahead = Number.NEGATIVE_INFINITY
  let toldAt = 0
  return {
    // An answer that was long on its way says less than the server knows by then. So the time never goes back because of one.
    tell: (serverMs) => {
      const mono = clock.monotonic()
      const behind = ahead - (serverMs - mono)
      if (behind <= 0 || behind > steppedMs) ahead = serverMs - mono
      else ahead -= Math.min(behind, (mono - toldAt) * slewing)
      toldAt = mono
    },
    now: () => {
      const at = Math.floor(clock.monotonic() + ahead)
      return { at, leaseAt: at }
    },
  }
}

/** A server whose time is so far back was set to another. */
const steppedMs = 2_000
/** How fast a clock is followed that goes more slowly than this process's. */
const slewing = 0.001
