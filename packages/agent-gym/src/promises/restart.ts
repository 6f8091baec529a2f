import { resumes } from '../measure/latencies.ts'
import { spreadOf } from '../measure/statistics.ts'
import type { Measured } from './figures.ts'
import { type Means, runsOf, scenarioNamed } from './scenario-runs.ts'

/** What plain SQLite does where the bars hold as they are, in tasks a second: as in the scenario `resume-1000`. */
const usualRate = 110_000

/**
 * By how much a bar in milliseconds is longer on a machine on which plain SQLite, measured in the same run, does that many tasks a second: never
 * shorter, and as it is where nothing was measured.
 */
export function slowness(rate: number | null): number {
  return rate === null ? 1 : Math.max(1, usualRate / rate)
}

/**
 * Kills a process with so many tasks in flight, each inside a step, and starts it again, so often: from the start of the new process, its loading
 * included, to the first new step of each task. Where plain SQLite is slower than usual in the same runs, the bars are longer in proportion. Source: `docs/reliability.md` 3.9.
 */
export async function measureRestart(
  { restarts, inFlight }: { readonly restarts: number; readonly inFlight: number },
  means: Means,
): Promise<Measured> {
  const scenario = scenarioNamed('resume-1000')
  const { runs, faults } = await runsOf(
    {
      ...scenario,
      runs: restarts,
      workload: scenario.workload.map((group) => ({ ...group, count: inFlight })),
      faults: scenario.faults.map((fault) =>
        'when' in fault && fault.when !== undefined
          ? { ...fault, when: { ...fault.when, count: inFlight } }
          : fault,
      ),
    },
    means,
  )
  const found = runs.flatMap(resumes)
  // A task that never took a new step did so in infinite time.
  const times = spreadOf(found.map(({ ms }) => ms ?? Infinity))
  const rates = runs.flatMap(({ sqliteRate }) => sqliteRate ?? [])
  const rate = spreadOf(rates)?.p50 ?? null
  const longer = slowness(rate)
  return {
    promise: 'R5 restart',
    figures: [
      { what: 'processes killed and started again', value: runs.length, unit: '', bar: { equals: restarts } },
      {
        what: 'tasks in flight at a kill, in all',
        value: found.length,
        unit: '',
        bar: { equals: restarts * inFlight },
      },
      { what: 'from the start to the first new step, p50', value: times?.p50 ?? null, unit: 'ms' },
      {
        what: 'from the start to the first new step, p95',
        value: times?.p95 ?? null,
        unit: 'ms',
        bar: { atMost: 1_000 * longer },
      },
      {
        what: 'from the start to the first new step, p99',
        value: times?.p99 ?? null,
        unit: 'ms',
        bar: { atMost: 2_000 * longer },
      },
      { what: 'from the start to the first new step, longest', value: times?.max ?? null, unit: 'ms' },
      { what: 'plain SQLite beside it, p50', value: rate, unit: 'tasks/s' },
    ],
    faults,
  }
}
