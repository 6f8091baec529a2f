import { kpisOf } from '../src/measure/kpis.ts'
import { judgeCriteria } from '../src/report/acceptance.ts'
import { Report, type ScenarioReport, SCHEMA_VERSION, tally } from '../src/report/report.ts'
import { goodRun } from './builders.ts'

/** A scenario's report, good unless a test changes it. */
export function scenarioReport(change: Partial<ScenarioReport> = {}): ScenarioReport {
  return {
    id: 'one',
    title: 'One & only <scenario>',
    about: 'What it is about.',
    category: 'execution-scale',
    difficulty: 'easy',
    acceptance: [],
    pass: true,
    durationMs: 1234,
    figure: 'resume p95: 412 ms',
    settings: { leaseTtlMs: 1200 },
    expectations: [{ measure: 'lost', expected: '0', measured: 0, unit: '', samples: 1, pass: true }],
    kpis: kpisOf([goodRun()]),
    seed: 1,
    repro: 'pnpm --filter @ku0/agent-gym gym:run -- --only one',
    ...change,
  }
}

/** A report of such scenarios. */
export function report(
  scenarios: readonly ScenarioReport[] = [scenarioReport()],
  change: Partial<Report> = {},
): Report {
  return Report.parse({
    schemaVersion: SCHEMA_VERSION,
    runId: 'run',
    startedAt: '2026-11-21T10:00:00.000Z',
    finishedAt: '2026-11-21T10:00:05.000Z',
    durationMs: 5000,
    seed: 1,
    env: {
      node: 'v26.10.0',
      platform: 'linux',
      arch: 'x64',
      cpu: 'a cpu',
      cpus: 2,
      memoryMb: 1024,
      loadAverage: 0.5,
      store: 'sqlite',
      durability: 'full',
      versions: { sqlite: '3.54.0' },
    },
    suite: 'easy',
    summary: { total: tally(scenarios), byDifficulty: { easy: tally(scenarios) }, byCategory: {} },
    acceptance: judgeCriteria(scenarios),
    kpis: kpisOf([goodRun()]),
    scenarios: [...scenarios],
    ...change,
  })
}
