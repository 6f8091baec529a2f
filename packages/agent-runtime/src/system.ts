import { hash, randomUUID } from 'node:crypto'
import { assertDelay, type Environment, MAX_ARMED_MS, type Timer, type Timers } from '@ku0/agent-runtime-core'

/**
 * The real environment of this process: the one place of the package that reads the clock and draws ids and chance. Its
 * timers keep the process alive: they belong to a runtime that was not stopped.
 */
export const systemEnvironment: Environment = {
  clock: { now: () => Date.now(), monotonic },
  timers: { after: (delayMs, run) => arm(delayMs, run, true) },
  ids: { uuid: () => randomUUID() },
  random: { next: () => Math.random() },
  digest: {
    sha256: (bytes) => hash('sha256', bytes, 'buffer'),
    sha256Hex: (text) => hash('sha256', text, 'hex'),
  },
}

/** Whether the process is one of development: neither in production nor a test, whose code counts what runs. */
export function isDevelopment(): boolean {
  const mode = process.env['NODE_ENV']
  return mode !== 'production' && mode !== 'test'
}

/** For what only watches: a process that has nothing else to do may end. */
export const backgroundTimers: Timers = { after: (delayMs, run) => arm(delayMs, run, false) }

function monotonic(): number {
  return performance.now()
}

/** The platform may fire a moment early, and cannot wait for long: each firing looks at the clock, and arms for what is left. */
function arm(delayMs: number, run: () => void, keepAlive: boolean): Timer {
  assertDelay(delayMs)
  const dueAt = monotonic() + delayMs
  const wait = (leftMs: number) => {
    const handle = setTimeout(look, Math.min(Math.ceil(leftMs), MAX_ARMED_MS))
    return keepAlive ? handle : handle.unref()
  }
  const look = () => {
    const leftMs = dueAt - monotonic()
    if (leftMs > 0) handle = wait(leftMs)
    else run()
  }
  let handle = wait(delayMs)
  return { cancel: () => clearTimeout(handle) }
}
