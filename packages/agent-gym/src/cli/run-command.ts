import { relative } from 'node:path'
import { renderConsole } from '../report/console.ts'
import { currentCommit } from '../report/evidence.ts'
import { assertKeepable, keptIn } from '../report/kept.ts'
import { readReport } from '../report/read-report.ts'
import type { Report } from '../report/report.ts'
import { keepScenarios, KeptScenario, keptScenarios, scenariosPage } from '../report/scenario-evidence.ts'
import { checkReportPlace, ReportNotWritten, writeReport } from '../report/write-report.ts'
import { withoutPassword } from '../place/store-place.ts'
import { runSuite, type SuiteOutcome } from '../run/run-suite.ts'
import { loadScenarios } from '../scenario/load.ts'
import { withProcesses } from '../scenario/more-processes.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { needsTrace } from '../scenario/scenario.ts'
import { selectScenarios } from '../scenario/select.ts'
import { readTrace } from '../work/trace.ts'
import { type ExitCode, exitCode, UsageError } from './exit-code.ts'
import { workspaceRoot } from './paths.ts'
import { createProgressView, type Screen } from './progress.ts'
import { HelpShown, readRunOptions, type RunOptions } from './run-options.ts'
import { didYouMean } from './suggest.ts'

/** What a command talks to. */
export interface Console {
  readonly out: Screen
  readonly err: Screen
}

/** `gym:run`. Answers with its exit code. */
export async function runCommand(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd: string,
  console: Console,
  signal: AbortSignal,
): Promise<ExitCode> {
  try {
    return await runGym(readRunOptions(args, env, cwd), console, signal)
  } catch (error) {
    return codeOf(error, console)
  }
}

/** What a thrown error means for the caller: a line on standard error, and an exit code. */
export function codeOf(error: unknown, { err }: Console): ExitCode {
  if (error instanceof HelpShown) return exitCode.ok
  if (error instanceof UsageError) {
    err.write(`${error.message}\n`)
    return exitCode.usage
  }
  if (error instanceof Interrupted) {
    err.write('Interrupted: every process of the gym was ended, no report was written.\n')
    return exitCode.interrupted
  }
  throw error
}

/** The gym was told to stop. */
export class Interrupted extends Error {}

async function runGym(options: RunOptions, { out, err }: Console, signal: AbortSignal): Promise<ExitCode> {
  const { keep, evidence } = options
  // With --json standard output is the report's alone, and with --evidence the page's.
  const words = options.json || evidence ? err : out
  const all = loadScenarios(options.benchmarks).map((it) => withProcesses(it, options.processes))
  const missing = missingIds(options, all)
  if (missing.length > 0) {
    for (const line of missing) err.write(`No scenario found: ${line}\n`)
    return exitCode.failed
  }
  const { scenarios, skipped } = selectScenarios(all, {
    ...options,
    trace: options.trace === undefined ? 'none' : options.traceAlone ? 'alone' : 'with the suite',
  })
  for (const { id, why } of skipped) words.write(`left out: ${id}: ${why}\n`)
  if (scenarios.length === 0) {
    err.write(`No scenario found: ${describeSelection(options, all)}\n`)
    return exitCode.failed
  }
  const baseline = options.baseline === undefined ? undefined : readBaseline(options.baseline)
  const trace =
    options.trace === undefined
      ? undefined
      : { file: options.trace, speedup: options.speedup, requests: readTrace(options.trace) }
  checkReportPlace(options.report)
  const before = keep === undefined ? [] : keptIn(keep, KeptScenario)
  if (before === undefined) throw new UsageError(`--keep: ${keep} holds no results of scenarios`)
  if (keep !== undefined) assertKeepable(keep)
  // As it is now: the sources may change while it runs.
  const commit = evidence || keep !== undefined ? currentCommit() : ''
  const view = createProgressView(words)
  const { report, plots } = await runSuite(scenarios, {
    seed: options.seed,
    store: options.store,
    server: options.server,
    trace,
    signal,
    suite: options.suite,
    reproOf: (scenario) => reproOf(scenario, options),
    onStart: (scenario, place) => view.started(scenario.id, place, scenarios.length),
    onProgress: (progress) => view.moved(progress),
    onFinish: (finished) => view.finished(finished),
  }).finally(() => view.close())
  const { files, notWritten } = writeFiles(options.report, report, plots)
  if (options.json) out.write(`${JSON.stringify(report, undefined, 2)}\n`)
  if (evidence || keep !== undefined) {
    const done = keptScenarios(report, commit)
    const kept = keep === undefined ? done : keepScenarios(keep, before, done)
    if (evidence) out.write(scenariosPage(kept))
  }
  words.write(renderConsole(report, files))
  const complaints = [...notWritten, ...complaintsAbout(report, options.minScore, baseline)]
  for (const complaint of complaints) err.write(`${complaint}\n`)
  return complaints.length === 0 ? exitCode.ok : exitCode.failed
}

/** What was seen is shown even when it cannot be kept: the place of the report may be lost while the scenarios run. */
function writeFiles(
  file: string,
  report: Report,
  plots: SuiteOutcome['plots'],
): { readonly files: readonly string[]; readonly notWritten: readonly string[] } {
  try {
    return { files: writeReport(file, report, plots), notWritten: [] }
  } catch (error) {
    if (!(error instanceof ReportNotWritten)) throw error
    return { files: [], notWritten: [`The report is not complete: ${error.message}`] }
  }
}

function readBaseline(file: string): Report {
  try {
    return readReport(file)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(`--baseline: ${error.message}`, { cause: error })
  }
}

function complaintsAbout(
  report: Report,
  minScore: number | undefined,
  baseline: Report | undefined,
): readonly string[] {
  const { failed, score } = report.summary.total
  const reached = baseline?.summary.total.score
  return [
    ...(failed > 0 ? [`${failed} ${failed === 1 ? 'scenario' : 'scenarios'} failed.`] : []),
    ...(minScore !== undefined && score < minScore
      ? [`The score ${score} is below --min-score ${minScore}.`]
      : []),
    ...(reached !== undefined && score < reached
      ? [`The score ${score} is below the baseline's ${reached}.`]
      : []),
  ]
}

/** Each id that was asked for and that no scenario has, with the likely one. */
function missingIds({ only }: RunOptions, all: readonly Scenario[]): readonly string[] {
  const ids = all.map(({ id }) => id)
  return only.filter((id) => !ids.includes(id)).map((id) => `none has the id "${id}"${didYouMean(id, ids)}`)
}

function describeSelection({ suite, categories, benchmarks }: RunOptions, all: readonly Scenario[]): string {
  return `suite ${suite}, category ${categories.join(' or ') || 'any'}, in ${benchmarks} (${all.length} there)`
}

/** The command that runs one scenario again in the same way. */
function reproOf(
  scenario: Scenario,
  { benchmarks, seed, processes, store, server, trace, speedup }: RunOptions,
): string {
  const root = workspaceRoot(import.meta.dirname) ?? process.cwd()
  const traced =
    trace !== undefined && needsTrace(scenario) ? ['--trace', trace, '--speedup', String(speedup)] : []
  const flags = [
    '--only',
    scenario.id,
    '--seed',
    String(seed),
    '--benchmarks',
    relative(root, benchmarks) || '.',
    '--store',
    server === undefined ? store : withoutPassword(server),
    ...(processes > 1 ? ['--processes', String(processes)] : []),
    ...traced,
  ]
  return `pnpm --filter @ku0/agent-gym gym:run -- ${flags.map(quote).join(' ')}`
}

function quote(word: string): string {
  return /^[\w./:=@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
