import type { Open, Place } from '../system.ts'
import type { System } from '../registry.ts'
import type { Said } from './messages.ts'

/** What a process of a run has at hand. */
export interface Seat {
  readonly system: System
  readonly place: Place
  readonly open: Open
  readonly say: (said: Said) => Promise<void>
}

/** Processor time of this process so far, all threads, in seconds. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** The most memory that this process held, in MiB. */
export function peakMiB(): number {
  return process.resourceUsage().maxRSS / 1024
}

/** Resolves with false when the promise took longer than that. */
export async function within(limitMs: number, promise: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((end) => {
    timer = setTimeout(() => end(false), limitMs)
  })
  try {
    return await Promise.race([promise.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
