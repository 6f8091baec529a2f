import { Worker } from 'node:worker_threads'
import type { Counts } from './findings.ts'
import { addCounts, noCounts } from './minimums.ts'
import type { Simulated } from './simulate.ts'

/** A range of seeds, both ends included. */
export interface SeedRange {
  readonly first: number
  readonly last: number
}

/** What came of a range of seeds. */
export interface SeedsRun {
  readonly seeds: number
  readonly counts: Counts
  /** Virtual time of all of them together. */
  readonly virtualMs: number
  /** Those that broke a rule. */
  readonly broken: readonly Simulated[]
  /** Lives by their mode. */
  readonly modes: Readonly<Record<Simulated['mode'], number>>
}

/** What a thread of {@link runSeeds} says of a stretch of seeds. */
export interface Stretch {
  readonly seeds: number
  readonly counts: Counts
  readonly virtualMs: number
  readonly broken: readonly Simulated[]
  readonly liveness: number
}

/**
 * Plays every seed of a range, on so many threads; `progress` hears how many are done. A seed is as good alone as among others: nothing
 * of one is known to the next. When the signal aborts it ends early: what was played is the beginning of the range. Rejects when a seed
 * throws, naming it.
 */
export async function runSeeds(
  { first, last }: SeedRange,
  threads: number,
  progress: (done: number, broken: readonly Simulated[]) => void = () => {},
  signal?: AbortSignal,
): Promise<SeedsRun> {
  const stretches: SeedRange[] = []
  // Who was told to end before there was anything to listen is not told again.
  const end = signal?.aborted === true ? first - 1 : last
  for (let from = first; from <= end; from += STRETCH)
    stretches.push({ first: from, last: Math.min(last, from + STRETCH - 1) })
  signal?.addEventListener('abort', () => stretches.splice(0), { once: true })
  let run: SeedsRun = {
    seeds: 0,
    counts: noCounts,
    virtualMs: 0,
    broken: [],
    modes: { safety: 0, liveness: 0 },
  }
  const took = (it: Stretch) => {
    run = {
      seeds: run.seeds + it.seeds,
      counts: addCounts(run.counts, it.counts),
      virtualMs: run.virtualMs + it.virtualMs,
      broken: [...run.broken, ...it.broken],
      modes: {
        liveness: run.modes.liveness + it.liveness,
        safety: run.modes.safety + it.seeds - it.liveness,
      },
    }
    progress(run.seeds, it.broken)
  }
  await Promise.all(
    Array.from({ length: Math.min(threads, stretches.length) }, () => playStretches(stretches, took)),
  )
  return { ...run, broken: run.broken.toSorted((a, b) => a.seed - b.seed) }
}

/** Seeds that a thread is given at once: a range that is interrupted ends after those that are under way. */
const STRETCH = 1

/** One thread takes stretches until none is left. */
function playStretches(stretches: SeedRange[], took: (stretch: Stretch) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL('./seeds-thread.ts', import.meta.url))
    const next = () => {
      const stretch = stretches.shift()
      thread.postMessage(stretch ?? 'end')
    }
    thread.on('message', (stretch: Stretch) => {
      took(stretch)
      next()
    })
    thread.on('error', reject)
    thread.on('exit', () => resolve())
    next()
  })
}
