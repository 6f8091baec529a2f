import { randomBytes, randomUUID } from 'node:crypto'
import {
  assertDelay,
  type Clock,
  type Ids,
  MAX_ARMED_MS,
  type Random,
  type Timers,
} from '@ku0/agent-runtime-core'

/** The parts of the surroundings that a server uses. */
export interface Surroundings {
  readonly clock: Clock
  readonly timers: Timers
  readonly ids: Ids
  readonly random: Random
}

/** The clock, timers, ids and chance of this process. The timers keep no process alive: what a server waits for, it may leave. */
export const system: Surroundings = {
  clock: { now: () => Date.now(), monotonic: () => performance.now() },
  timers: {
    after: (delayMs, run) => {
      assertDelay(delayMs)
      const handle = setTimeout(run, Math.min(delayMs, MAX_ARMED_MS))
      handle.unref?.()
      return { cancel: () => clearTimeout(handle) }
    },
  },
  ids: { uuid: () => randomUUID() },
  random: { next: () => Math.random() },
}

/** A text that nobody can guess. */
export const secret = (): string => randomBytes(32).toString('base64url')

/** Runs a function once all that this turn of the event loop has read was heard. */
export const later = (run: () => void): void => void setImmediate(run)
