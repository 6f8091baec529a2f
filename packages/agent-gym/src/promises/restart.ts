import { resumes } from '../measure/latencies.ts'
import { spreadOf } from '../measure/statistics.ts'
import type { Measured } from './figures.ts'
import { type Means, runsOf, scenarioNamed } from './scenario-runs.ts'

/**
 * Kills a process with so many tasks in flight, each inside a step, and starts it again, so often: from the start of the new process, its loading
 * included, to the first new step of each task. Source: `docs/reliability.md` 3.9.
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
        bar: { atMost: 1_000 },
      },
      {
        what: 'from the start to the first new step, p99',
        value: times?.p99 ?? null,
        unit: 'ms',
        bar: { atMost: 2_000 },
      },
      { what: 'from the start to the first new step, longest', value: times?.max ?? null, unit: 'ms' },
    ],
    faults,
  }
}
