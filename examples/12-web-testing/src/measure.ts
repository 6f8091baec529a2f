// Measures a pipeline against a batch, and says how sure the result is.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createRuntime } from '@ku0/agent-runtime'
import { batchTask, boundOf, type Piece } from './batch.ts'
import { tasks, webTesting } from './pipeline.ts'
import { type SiteSize, startSite } from './site.ts'

/** A mean, and how far it may be off: 95 times of 100 the true one is within. */
export interface Estimate {
  readonly mean: number
  readonly within: number
}

/** All times in ms; reductions as shares of the batch. */
export interface Measured {
  readonly runs: number
  readonly batch: Estimate
  readonly stream: Estimate
  readonly reduction: Estimate
  /** What the pieces of the batch took in all, and at best in a pipeline. */
  readonly sum: Estimate
  readonly criticalPath: Estimate
  readonly bound: Estimate
}

/** Runs both so many times, in turn and in alternating order, after one run of each that does not count. Throws if they do not give the same report. */
export async function measure(size: SiteSize, runs: number): Promise<Measured> {
  const place = mkdtempSync(join(tmpdir(), 'web-testing-'))
  try {
    await using site = await startSite(size)
    let pieces: Piece[] = []
    const batch = batchTask((piece) => pieces.push(piece))
    await using runtime = await createRuntime({
      store: `sqlite:${join(place, 'bench.db')}`,
      tasks: [...tasks, batch],
      // A handler is run once: what is measured is what happens in production.
      strict: false,
      // A slot for each stage: with fewer, one of them waits until another has nothing to do.
      workers: { capacity: tasks.length },
      logger: false,
    })
    const input = { site: site.url }
    const timed = async (task: typeof batch | typeof webTesting) => {
      const begun = performance.now()
      const { synthesis } = await runtime.result(await runtime.submit(task, input))
      return { ms: performance.now() - begun, report: synthesis }
    }
    const all: { batch: number; stream: number; sum: number; criticalPath: number }[] = []
    for (let run = 0; run <= runs; run += 1) {
      pieces = []
      const early = run % 2 === 0 ? await timed(batch) : undefined
      const stream = await timed(webTesting)
      const other = early ?? (await timed(batch))
      if (!isDeepStrictEqual(other.report, stream.report))
        throw new Error(
          `the pipeline and the batch gave different reports: ${JSON.stringify([stream.report, other.report])}`,
        )
      if (run > 0) all.push({ batch: other.ms, stream: stream.ms, ...boundOf(pieces) })
    }
    return {
      runs,
      batch: estimate(all.map((it) => it.batch)),
      stream: estimate(all.map((it) => it.stream)),
      reduction: estimate(all.map((it) => 1 - it.stream / it.batch)),
      sum: estimate(all.map((it) => it.sum)),
      criticalPath: estimate(all.map((it) => it.criticalPath)),
      bound: estimate(all.map((it) => 1 - it.criticalPath / it.sum)),
    }
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

/** The mean of some values, and the interval of Student's t that is right 95 times of 100. */
export function estimate(values: readonly number[]): Estimate {
  const { length } = values
  const mean = values.reduce((sum, it) => sum + it, 0) / length
  const variance = values.reduce((sum, it) => sum + (it - mean) ** 2, 0) / (length - 1)
  return { mean, within: studentT(length - 1) * Math.sqrt(variance / length) }
}

/** The 97.5th percentile of Student's t, within a thousandth from 4 degrees of freedom on (Abramowitz and Stegun, 26.7.5). */
function studentT(freedom: number): number {
  const exact = [Number.NaN, 12.706, 4.303, 3.182]
  const known = exact[freedom]
  if (known !== undefined) return known
  const z = 1.959964
  return (
    z +
    (z ** 3 + z) / (4 * freedom) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * freedom ** 3)
  )
}
