import type { StoreStats } from '@ku0/agent-runtime-core'

/** The counters of the store at one moment. */
export interface Sample {
  readonly at: number
  readonly depth: StoreStats['depth']
  readonly running: number
  readonly completed: number
  readonly failed: number
  readonly rejected: number
}

/** A quarter of an hour, one every two seconds. */
const MOST = 450
const MOST_MS = 900_000
const SLOT = 'agent-runtime samples'
let samples: readonly Sample[] = stored()

/** Keeps the counters for the charts; a reload of the page keeps them, too. */
export function keepSample(stats: StoreStats, at: number): readonly Sample[] {
  const last = samples.at(-1)
  if (last !== undefined && at - last.at < 900) return samples
  const { depth, running, totals } = stats
  const { completed, failed, rejected } = totals
  // A store that counts less than before is another one.
  const isOther = last !== undefined && completed < last.completed
  const before = isOther ? [] : samples.filter((it) => at - it.at < MOST_MS)
  samples = [...before.slice(1 - MOST), { at, depth, running, completed, failed, rejected }]
  sessionStorage.setItem(SLOT, JSON.stringify(samples))
  return samples
}

function stored(): readonly Sample[] {
  try {
    return JSON.parse(sessionStorage.getItem(SLOT) ?? '[]') as readonly Sample[]
  } catch {
    return []
  }
}

/** How fast a counter rose between each sample and the one before, a second. */
export function rates(all: readonly Sample[], of: 'completed' | 'failed' | 'rejected'): (number | null)[] {
  return all.map((sample, index) => {
    const before = all[Math.max(0, index - 1)]
    if (before === undefined || before.at === sample.at) return null
    return Math.max(0, ((sample[of] - before[of]) * 1_000) / (sample.at - before.at))
  })
}

/** How fast it rose over the last so many ms. */
export function lately(all: readonly Sample[], of: 'completed' | 'failed' | 'rejected', ms: number): number {
  const last = all.at(-1)
  const first = all.find(({ at }) => last !== undefined && last.at - at <= ms)
  if (last === undefined || first === undefined || last.at === first.at) return 0
  return Math.max(0, ((last[of] - first[of]) * 1_000) / (last.at - first.at))
}

/** The value below which that part of the values lies. */
export function quantile(values: readonly number[], part: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]
}
