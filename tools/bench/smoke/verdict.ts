import { median } from '../statistics.ts'
import type { Cpu } from './side.ts'

/** Both sides, measured one right after the other. */
export interface Pair {
  readonly own: Cpu
  readonly raw: Cpu
}

/** How many times the CPU of raw SQLite each workload may take, as it was measured when it was last made faster. */
export type Ratios = Readonly<Record<keyof Cpu, number>>

export interface Verdict {
  readonly workload: keyof Cpu
  /** Of the runtime's CPU to that of raw SQLite. */
  readonly ratio: number
  readonly limit: number
  readonly passed: boolean
}

/** What loses a fifth of its speed takes a quarter more. */
const allowed = 1.25

/**
 * Other work on the machine only ever adds CPU: it makes caches cold and batches small. So a workload has lost speed when both the
 * medians and the least of several alternating runs say so.
 */
export function verdictsOn(pairs: readonly Pair[], recorded: Ratios): readonly Verdict[] {
  return (Object.keys(recorded) as (keyof Cpu)[]).map((workload) => {
    const ratio = ratioOf(pairs, workload)
    const limit = recorded[workload] * allowed
    return { workload, ratio, limit, passed: ratio <= limit }
  })
}

export function ratioOf(pairs: readonly Pair[], workload: keyof Cpu): number {
  const own = pairs.map((pair) => pair.own[workload])
  const raw = pairs.map((pair) => pair.raw[workload])
  return Math.min(median(own) / median(raw), Math.min(...own) / Math.min(...raw))
}
