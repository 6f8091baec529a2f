import { criteria, type Criterion } from '../scenario/scenario.ts'
import type { CriterionReport, ScenarioReport } from './report.ts'

/** Track AA's acceptance criteria in a few words each. Source: Track AA, Acceptance Criteria; `docs/semantics.md 17.4`. */
const criterionTitles: Readonly<Record<Criterion, string>> = {
  concurrency: '100 concurrent tasks, zero loss, stable order',
  resume: 'resume within 1 s for at least 95 % of tasks',
  cancellation: 'cancellation stops tools and leaves nothing behind',
  backpressure: 'backpressure at its bounds, deterministic',
}

/** A criterion is met when every scenario that measures it ran and passed; without one it is not measured. */
export function judgeCriteria(scenarios: readonly ScenarioReport[]): CriterionReport[] {
  return criteria.map((id) => {
    const measuring = scenarios.filter(({ acceptance }) => acceptance.includes(id))
    const met = measuring.every(({ pass }) => pass)
    return {
      id,
      title: criterionTitles[id],
      verdict: measuring.length === 0 ? 'not measured' : met ? 'met' : 'not met',
      evidence: measuring.map(
        ({ id: scenario, figure, pass }) => `${scenario}: ${pass ? '' : 'failed, '}${figure}`,
      ),
    }
  })
}
