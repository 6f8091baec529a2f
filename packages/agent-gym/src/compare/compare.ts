import { medianDeviation, medianOf, round } from '../measure/statistics.ts'
import type { Report, ScenarioReport } from '../report/report.ts'

/** How one figure of one scenario changed. */
export interface Change {
  readonly scenario: string
  readonly figure: string
  readonly unit: string
  /** The medians of the runs; null where a run has none. */
  readonly before: number | null
  readonly after: number | null
  /** How much worse it may get before it counts. */
  readonly allowed: number
  readonly verdict: 'better' | 'same' | 'worse' | 'new' | 'gone'
}

/** A comparison: every change, and whether any is a regression. */
export interface Comparison {
  readonly changes: readonly Change[]
  readonly regressed: boolean
  /** What makes the two sides hard to compare. */
  readonly warnings: readonly string[]
}

/** The rule, for whoever reads the table. */
export const rule =
  'Worse beyond noise: the median of B is worse than the median of A by more than the largest of an absolute floor, ' +
  "a share of A's median and three times the median deviation of A's runs. Verdicts, lost tasks, repeated effects, " +
  'leaks and order have no noise: any worsening counts, and so does a scenario that is gone.'

interface Figure {
  readonly name: string
  readonly unit: string
  readonly better: 'lower' | 'higher'
  /** A share of the median of A. */
  readonly share: number
  /** In the figure's unit. */
  readonly floor: number
  readonly of: (scenario: ScenarioReport) => number | null
}

const exact = { share: 0, floor: 0 } as const

/** What is compared of every scenario. */
const common: readonly Figure[] = [
  { name: 'passed', unit: '', better: 'higher', ...exact, of: ({ pass }) => (pass ? 1 : 0) },
  { name: 'lost', unit: '', better: 'lower', ...exact, of: ({ kpis }) => kpis.tasks.lost },
  { name: 'effects repeated', unit: '', better: 'lower', ...exact, of: ({ kpis }) => kpis.duplicateEffects },
  { name: 'leaks', unit: '', better: 'lower', ...exact, of: ({ kpis }) => kpis.leaks },
  {
    name: 'order hash stable',
    unit: '',
    better: 'higher',
    ...exact,
    of: ({ kpis }) => (kpis.orderHashStable === null ? null : Number(kpis.orderHashStable)),
  },
  {
    name: 'scheduler latency p95',
    unit: 'ms',
    better: 'lower',
    share: 0.5,
    floor: 25,
    of: ({ kpis }) => kpis.schedulerLatencyMs?.p95 ?? null,
  },
]

/** What a scenario itself expects within a bound on one side; which side says what is better. */
function ownFigures(scenarios: readonly ScenarioReport[]): readonly Figure[] {
  const findings = new Map(
    scenarios.flatMap(({ expectations }) => expectations.map((found) => [found.measure, found])),
  )
  return [...findings.values()].flatMap(({ measure, expected, unit }) => {
    const better = /^(at most|below)/.test(expected)
      ? 'lower'
      : /^(at least|above)/.test(expected)
        ? 'higher'
        : undefined
    if (better === undefined) return []
    const of = (scenario: ScenarioReport) => {
      const value = scenario.expectations.find((found) => found.measure === measure)?.measured
      return typeof value === 'number' ? value : null
    }
    return [{ name: measure, unit, better, ...noiseOf(unit), of }]
  })
}

/** How much a figure wavers on a machine that others use too. */
function noiseOf(unit: string): { readonly share: number; readonly floor: number } {
  if (unit === 'ms') return { share: 0.4, floor: 25 }
  if (unit.endsWith('/s')) return { share: 0.2, floor: 0 }
  return { share: 0.05, floor: 0 }
}

/** Compares the runs of one side with those of the other, scenario by scenario, by their medians. */
export function compareReports(before: readonly Report[], after: readonly Report[]): Comparison {
  const ids = [...new Set([...before, ...after].flatMap(({ scenarios }) => scenarios.map(({ id }) => id)))]
  const changes = ids.flatMap((id) => compareScenario(id, scenariosOf(before, id), scenariosOf(after, id)))
  return {
    changes,
    regressed: changes.some(({ verdict }) => verdict === 'worse' || verdict === 'gone'),
    warnings: differencesOf(before, after),
  }
}

function compareScenario(
  id: string,
  before: readonly ScenarioReport[],
  after: readonly ScenarioReport[],
): readonly Change[] {
  if (before.length === 0 || after.length === 0) {
    const verdict = before.length === 0 ? 'new' : 'gone'
    return [{ scenario: id, figure: 'scenario', unit: '', before: null, after: null, allowed: 0, verdict }]
  }
  return [...common, ...ownFigures([...before, ...after])].flatMap((figure) =>
    compareFigure(id, figure, valuesOf(before, figure), valuesOf(after, figure)),
  )
}

function compareFigure(
  scenario: string,
  { name, unit, better, share, floor }: Figure,
  before: readonly number[],
  after: readonly number[],
): readonly Change[] {
  const [a, b] = [medianOf(before), medianOf(after)]
  if (a === null && b === null) return []
  const about = { scenario, figure: name, unit, before: rounded(a), after: rounded(b) }
  if (a === null || b === null) return [{ ...about, allowed: 0, verdict: a === null ? 'new' : 'gone' }]
  // Without noise every worsening counts, and one run in which it happened is enough.
  const noiseless = floor === 0 && share === 0
  const allowed = noiseless ? 0 : Math.max(floor, share * Math.abs(a), 3 * medianDeviation(before))
  const worst =
    better === 'lower' ? Math.max(...after) - Math.max(...before) : Math.min(...before) - Math.min(...after)
  const worsening = noiseless ? worst : better === 'lower' ? b - a : a - b
  const verdict = worsening > allowed ? 'worse' : worsening < -allowed ? 'better' : 'same'
  return [{ ...about, allowed: round(allowed), verdict }]
}

function scenariosOf(reports: readonly Report[], id: string): readonly ScenarioReport[] {
  return reports.flatMap(({ scenarios }) => scenarios.filter((scenario) => scenario.id === id))
}

function valuesOf(scenarios: readonly ScenarioReport[], { of }: Figure): readonly number[] {
  return scenarios.map(of).filter((value) => value !== null)
}

function differencesOf(before: readonly Report[], after: readonly Report[]): readonly string[] {
  const facts = (reports: readonly Report[], of: (report: Report) => string) =>
    [...new Set(reports.map(of))].join(', ')
  const about = [
    ['seeds', (report: Report) => String(report.seed)],
    ['machines', ({ env }: Report) => `${env.cpus} x ${env.cpu}`],
    ['Node versions', ({ env }: Report) => env.node],
    ['stores', ({ env }: Report) => `${env.store}, ${env.durability}`],
  ] as const
  return about.flatMap(([name, of]) => {
    const [a, b] = [facts(before, of), facts(after, of)]
    return a === b ? [] : [`different ${name}: A ${a}; B ${b}`]
  })
}

function rounded(value: number | null): number | null {
  return value === null ? null : round(value)
}
