import type { LogLine } from './api/logger.ts'
import type { Runtime } from './api/runtime.ts'

/** The exit codes of a process that belongs to a runtime. */
export const exitCodes = {
  /** Every task that was running has ended. */
  drained: 0,
  /** Tasks went back to the queue unfinished. */
  abandoned: 1,
  /** The store has failed; nothing more was acknowledged. Source: `docs/reliability.md` D04. */
  storeFailed: 74,
  /** A second signal, its number added: 130 for INT, 143 for TERM. */
  signalBase: 128,
} as const

const signals = { SIGINT: 2, SIGTERM: 15 } as const

/**
 * Ends the process in order: the first SIGTERM or SIGINT drains the runtime and exits with {@link exitCodes} `drained` or
 * `abandoned`; the second stops at once and exits with 128 and its number; a third does not even wait for the last writes.
 * Each is logged. Disposing takes the handlers away.
 * Source: `docs/semantics.md 5.6`; `docs/reliability.md` A22.
 */
export function stopOnSignals(runtime: Pick<Runtime, 'stop'>, log: LogLine): Disposable {
  let received = 0
  const listeners = Object.entries(signals).map(([name, number]) => {
    const stop = async () => {
      received += 1
      const turn = received
      if (turn > 2) process.exit(exitCodes.signalBase + number)
      log(
        'info',
        turn === 1 ? `${name}: draining; a second signal stops at once` : `${name}: stopping at once`,
      )
      const { drained, released } = await runtime.stop()
      log('info', drained ? 'stopped' : 'stopped; tasks went back to the queue', drained ? {} : { released })
      if (turn > 1) process.exit(exitCodes.signalBase + number)
      if (received === 1) process.exit(drained ? exitCodes.drained : exitCodes.abandoned)
    }
    const listener = () => void stop()
    process.on(name, listener)
    return { name, listener }
  })
  return {
    [Symbol.dispose]: () => {
      for (const { name, listener } of listeners) process.off(name, listener)
    },
  }
}
