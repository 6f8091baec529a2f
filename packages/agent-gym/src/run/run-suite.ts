import { randomUUID } from 'node:crypto'
import { cpus, loadavg, totalmem } from 'node:os'
import { CodeCache } from '../host/code-cache.ts'
import type { OpenedRuntime } from '../host/protocol.ts'
import { evaluate, type Finding } from '../measure/evaluate.ts'
import { kpisOf, type Kpis } from '../measure/kpis.ts'
import { measure } from '../measure/measures.ts'
import type { Measurements, Run } from '../measure/measurements.ts'
import { serviceOf } from '../measure/service.ts'
import { judgeCriteria } from '../report/acceptance.ts'
import { showValue } from '../report/numbers.ts'
import { type Plots, plotsOf } from '../report/plots.ts'
import { type Report, type ScenarioReport, SCHEMA_VERSION, tally } from '../report/report.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { openStorePlace, type StoreKind } from '../place/store-place.ts'
import { standingExpectations } from '../scenario/standing.ts'
import { warmUp } from './warm-up.ts'
import { type Progress, runScenario, type ScenarioOptions, type ScenarioOutcome } from './run-scenario.ts'

/** A run of the gym. */
export interface SuiteOptions extends Omit<ScenarioOptions, 'onProgress' | 'compileCache' | 'place'> {
  readonly store: StoreKind
  /** The URL of a PostgreSQL server. Without it one is started where it is needed. */
  readonly server: string | undefined
  /** What was chosen, by name. */
  readonly suite: string
  /** The command that runs one scenario again. */
  readonly reproOf: (scenario: Scenario) => string
  onStart(scenario: Scenario, place: number): void
  onProgress(progress: Progress): void
  onFinish(report: ScenarioReport): void
}

/** The report, and what its page draws for each scenario. */
export interface SuiteOutcome {
  readonly report: Report
  readonly plots: ReadonlyMap<string, Plots>
}

/** Runs the scenarios one after the other, so that none disturbs another's figures. */
export async function runSuite(scenarios: readonly Scenario[], options: SuiteOptions): Promise<SuiteOutcome> {
  const place = await openStorePlace(options.store, options.server)
  using cache = CodeCache.open()
  const compileCache = cache.folder
  try {
    await warmUp(compileCache, place, options.signal)
    return await runScenarios(scenarios, { ...options, compileCache, place })
  } finally {
    await place.close()
  }
}

async function runScenarios(
  scenarios: readonly Scenario[],
  options: SuiteOptions & ScenarioOptions,
): Promise<SuiteOutcome> {
  const startedAt = new Date()
  const environment = environmentNow()
  const plots = new Map<string, Plots>()
  const reports: ScenarioReport[] = []
  const runs: Run[] = []
  let store: OpenedRuntime | undefined
  for (const [i, scenario] of scenarios.entries()) {
    options.signal.throwIfAborted()
    options.onStart(scenario, i + 1)
    const began = performance.now()
    const outcome = await runScenario(scenario, options)
    const report = reportOf(scenario, outcome, performance.now() - began, options)
    store ??= outcome.store
    runs.push(...outcome.measurements.runs)
    plots.set(scenario.id, plotsOf(outcome.measurements))
    reports.push(report)
    options.onFinish(report)
  }
  options.signal.throwIfAborted()
  const finishedAt = new Date()
  const report: Report = {
    schemaVersion: SCHEMA_VERSION,
    runId: randomUUID(),
    startedAt: startedAt.toISOString(),
    finishedAt: finishedAt.toISOString(),
    durationMs: finishedAt.getTime() - startedAt.getTime(),
    seed: options.seed,
    env: {
      ...environment,
      store: store?.storeKind ?? options.store,
      durability: store?.durability ?? 'unknown',
      versions: { ...store?.versions },
    },
    suite: options.suite,
    summary: {
      total: tally(reports),
      byDifficulty: tallyBy(reports, ({ difficulty }) => difficulty),
      byCategory: tallyBy(reports, ({ category }) => category),
    },
    acceptance: judgeCriteria(reports),
    kpis: suiteKpis(reports, runs),
    scenarios: reports,
  }
  return { report, plots }
}

function reportOf(
  scenario: Scenario,
  { measurements, error }: ScenarioOutcome,
  durationMs: number,
  { seed, reproOf }: SuiteOptions,
): ScenarioReport {
  const findings = evaluate([...scenario.expect, ...standingExpectations(scenario)], measurements)
  const failed = findings.filter(({ pass }) => !pass)
  const pass = error === undefined && failed.length === 0
  const service = measurements.runs[0] && serviceOf(measurements.runs[0])
  return {
    id: scenario.id,
    title: scenario.title,
    about: scenario.about,
    category: scenario.category,
    difficulty: scenario.difficulty,
    acceptance: scenario.acceptance,
    pass,
    ...(!pass && { reason: error ?? reasonOf(failed) }),
    durationMs: Math.round(durationMs),
    figure: figureOf(scenario, measurements),
    settings: settingsOf(scenario),
    expectations: findings.map(({ rounds, sqliteRates, cases, ...finding }) => ({
      ...finding,
      ...(rounds && { rounds: [...rounds] }),
      ...(sqliteRates && { sqliteRates: [...sqliteRates] }),
      ...(cases && { cases: [...cases] }),
    })),
    kpis: kpisOf(measurements.runs),
    ...(service && { service: [...service] }),
    seed,
    repro: reproOf(scenario),
  }
}

function reasonOf(failed: readonly Finding[]): string {
  return failed
    .map(({ measure: name, measured, unit, expected, reason }) =>
      reason === undefined
        ? `${name} is ${showValue(measured, unit)}, expected ${expected}`
        : `${name}: ${reason} (expected ${expected})`,
    )
    .join('; ')
}

function figureOf({ figure }: Scenario, measurements: Measurements): string {
  const { value, unit, rounds = [] } = measure(figure.measure, measurements, figure)
  const of = figure.measure.endsWith('.median') ? 'median' : 'best'
  const others = rounds.length < 2 ? '' : `, ${of} of ${rounds.map((each) => showValue(each, '')).join(', ')}`
  return `${figure.label}: ${showValue(value, unit)}${others}`
}

/** What a reader has to know to judge the figures: every setting that is not the runtime's default, and the processes. */
function settingsOf(scenario: Scenario): Record<string, unknown> {
  const workers = scenario.processes.map(({ name, workers: pool }) => [
    name,
    pool === undefined ? 'submits only' : `${pool.count} x ${pool.capacity} slots`,
  ])
  return {
    ...scenario.config,
    durability: scenario.durability,
    processes: Object.fromEntries(workers) as Record<string, string>,
    ...(scenario.runs > 1 && { runs: scenario.runs }),
  }
}

/**
 * All scenarios together: counts summed, durations pooled. Throughput is the highest of a scenario, fairness the lowest;
 * the order hash is that of the first scenario that has several runs, stable when every such scenario's is.
 */
function suiteKpis(reports: readonly ScenarioReport[], runs: readonly Run[]): Kpis {
  const rates = reports.flatMap(({ kpis }) => kpis.throughputPerSec ?? [])
  const shares = reports.flatMap(({ kpis }) => kpis.fairness.jain ?? [])
  const repeated = reports.filter(({ kpis }) => kpis.orderHashStable !== null)
  return {
    ...kpisOf(runs),
    throughputPerSec: rates.length === 0 ? null : Math.max(...rates),
    fairness: { jain: shares.length === 0 ? null : Math.min(...shares) },
    orderHash: repeated[0]?.kpis.orderHash ?? null,
    orderHashStable:
      repeated.length === 0 ? null : repeated.every(({ kpis }) => kpis.orderHashStable === true),
  }
}

function tallyBy(
  reports: readonly ScenarioReport[],
  keyOf: (report: ScenarioReport) => string,
): Report['summary']['byCategory'] {
  const keys = [...new Set(reports.map(keyOf))]
  return Object.fromEntries(
    keys.map((key) => [key, tally(reports.filter((report) => keyOf(report) === key))]),
  )
}

function environmentNow(): Omit<Report['env'], 'store' | 'durability' | 'versions'> {
  const processors = cpus()
  return {
    node: process.version,
    platform: process.platform,
    arch: process.arch,
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cpus: processors.length,
    memoryMb: Math.round(totalmem() / 1_048_576),
    loadAverage: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  }
}
