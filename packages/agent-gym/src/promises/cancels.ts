import type { CancelFact, Run } from '../measure/measurements.ts'
import { spreadOf } from '../measure/statistics.ts'
import type { Figure, Measured } from './figures.ts'
import { type Means, runsOf, scenarioNamed } from './scenario-runs.ts'

/** A scenario cancels so many, of which so many run tools that never end by themselves, each with a child of its own. */
const storm = { id: 'cancel-storm', cancels: 70, tools: 50 }
const across = { id: 'cancel-across', cancels: 20, tools: 20 }

/**
 * Cancels tasks that run tools, some of them deaf to SIGTERM: fifty at once from the process that runs them, and twenty from another, so often.
 * Source: `docs/semantics.md` 5.1, 5.7.
 */
export async function measureCancels(runs: number, means: Means): Promise<Measured> {
  const inProcess = await runsOf({ ...scenarioNamed(storm.id), runs }, means)
  const fromElsewhere = await runsOf({ ...scenarioNamed(across.id), runs }, means)
  const seen = [...inProcess.runs, ...fromElsewhere.runs]
  const cancels = seen.flatMap((run) => run.cancels)
  const config = seen[0]?.config
  return {
    promise: 'R8 cancel',
    figures: [
      count('cancels', cancels.length, runs * (storm.cancels + across.cancels)),
      count('not canceled when the cancel was answered', cancels.filter(isNotFinal).length, 0),
      count(
        'running tasks, canceled by their own process',
        toolsOf(inProcess.runs).length,
        runs * storm.tools,
      ),
      ...times('to their signal in the same process', toolsOf(inProcess.runs).map(toSignal), 100),
      count(
        'running tasks, canceled by another process',
        toolsOf(fromElsewhere.runs).length,
        runs * across.tools,
      ),
      ...times(
        'to their signal in the other process',
        toolsOf(fromElsewhere.runs).map(toSignal),
        config?.heartbeatIntervalMs,
      ),
      ...times(
        'from the signal until their process groups are gone',
        toolsOf(seen).map(toEnd),
        config && config.killGraceMs + 1_000,
      ),
    ],
    faults: [...inProcess.faults, ...fromElsewhere.faults],
  }
}

function isNotFinal({ canceled, stateAfter }: CancelFact): boolean {
  return !canceled || stateAfter !== 'canceled'
}

/** Cancels of tasks whose tool was running. */
function toolsOf(runs: readonly Run[]): readonly CancelFact[] {
  return runs.flatMap((run) => run.cancels.filter(({ toolProcesses }) => toolProcesses > 0))
}

// What never came took infinitely long.
function toSignal({ at, signaledAt }: CancelFact): number {
  return (signaledAt ?? Infinity) - at
}

function toEnd({ at, signaledAt, goneAt }: CancelFact): number {
  return (goneAt ?? Infinity) - (signaledAt ?? at)
}

function count(what: string, value: number, equals: number): Figure {
  return { what, value, unit: '', bar: { equals } }
}

/** The bar is one for the 99th percentile. */
function times(what: string, values: readonly number[], atMost = 0): readonly Figure[] {
  const spread = spreadOf(values)
  return [
    { what: `${what}, p50`, value: spread?.p50 ?? null, unit: 'ms' },
    { what: `${what}, p99`, value: spread?.p99 ?? null, unit: 'ms', bar: { atMost } },
    { what: `${what}, longest`, value: spread?.max ?? null, unit: 'ms' },
  ]
}
