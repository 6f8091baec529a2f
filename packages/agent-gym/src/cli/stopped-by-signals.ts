import { exitCode } from './exit-code.ts'

/** The part of a process that hears signals. */
interface Hearing {
  on(signal: 'SIGINT' | 'SIGTERM', heard: () => void): unknown
  exit(code: number): unknown
}

/**
 * Aborts at the first signal. A terminal tells the whole group, and a package manager hands it on: the second says nothing new, and must not end what is
 * yet to be kept. The third ends the process at once.
 */
export function stoppedBySignals(reason?: Error, process: Hearing = globalThis.process): AbortSignal {
  const stop = new AbortController()
  let heard = 0
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      heard += 1
      if (heard > 2) process.exit(exitCode.interrupted)
      stop.abort(reason)
    })
  return stop.signal
}
