import { readFileSync } from 'node:fs'
import { evaluate } from '../measure/evaluate.ts'
import type { Run } from '../measure/measurements.ts'
import { showValue } from '../report/numbers.ts'
import { runScenario, type ScenarioOptions } from '../run/run-scenario.ts'
import { files } from '../place/store-place.ts'
import { parseScenario } from '../scenario/load.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { standingExpectations } from '../scenario/standing.ts'

/** What promises are measured with. */
export interface Means {
  readonly seed: number
  /** A folder for the compiled code of processes. */
  readonly compileCache: string
  readonly signal: AbortSignal
}

/** A scenario of the easy suite. */
export function scenarioNamed(id: string): Scenario {
  const file = new URL(`../../benchmarks/q4/${id}.json`, import.meta.url)
  return parseScenario(readFileSync(file, 'utf8'), file.pathname)
}

/** What was seen of each run of a scenario, and what was wrong with them, whatever they are measured for. */
export async function runsOf(
  scenario: Scenario,
  means: Means,
): Promise<{ readonly runs: readonly Run[]; readonly faults: readonly string[] }> {
  const options: ScenarioOptions = { ...means, place: files, onProgress: () => undefined }
  const { measurements, error } = await runScenario(scenario, options)
  const broken = evaluate(standingExpectations(scenario), measurements).filter(({ pass }) => !pass)
  return {
    runs: measurements.runs,
    faults: [
      ...(error === undefined ? [] : [`${scenario.id}: ${error}`]),
      ...broken.map(
        ({ measure, measured, unit, cases = [] }) =>
          `${scenario.id}: ${measure} is ${showValue(measured, unit)}: ${cases.join(', ')}`,
      ),
    ],
  }
}
