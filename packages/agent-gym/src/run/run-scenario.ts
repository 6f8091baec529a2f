import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openStore } from '@ku0/agent-runtime-persistence'
import { collectFacts, type StoreEnd } from '../host/collect.ts'
import type { OpenedRuntime } from '../host/protocol.ts'
import type { Leak } from '../host/resources.ts'
import type { Measurements, Run } from '../measure/measurements.ts'
import type { Scenario } from '../scenario/scenario.ts'
import type { StorePlace } from '../place/store-place.ts'
import { type PlannedTask, planTasks, type TraceReplay } from '../work/plan.ts'
import { planTree, type TreeFile, writeTree } from '../work/tree.ts'
import { type Cast, type Closing, createCast } from './cast.ts'
import { type ScenarioFiles, scenarioFiles } from './files.ts'
import { isRunning, markedProcesses } from './liveness.ts'
import { measureRun } from './measure-run.ts'
import { type Interventions, openStage, perform } from './perform.ts'
import { rawSqliteRate } from './raw-sqlite.ts'
import { abortable } from './sightings.ts'

/** How a scenario is to be run. */
export interface ScenarioOptions {
  readonly seed: number
  /** Where each run's store is. */
  readonly place: StorePlace
  readonly trace?:
    | { readonly file: string; readonly speedup: number; readonly requests: TraceReplay['requests'] }
    | undefined
  /** A folder for the compiled code of hosts. */
  readonly compileCache: string
  /** Ends the scenario and every process of it. */
  readonly signal: AbortSignal
  /** Told a few times a second how far it is. */
  onProgress(progress: Progress): void
}

/** How far a scenario is. */
export interface Progress {
  readonly run: number
  readonly runs: number
  readonly submitted: number
  readonly started: number
  readonly left: number
  readonly tasks: number
}

/** What came of running a scenario: what was measured, and what stopped it, if anything did. */
export interface ScenarioOutcome {
  readonly measurements: Measurements
  readonly error: string | undefined
  readonly store: OpenedRuntime | undefined
}

/** Runs a scenario from scratch as often as it says, in a temporary folder of its own each time. */
export async function runScenario(scenario: Scenario, options: ScenarioOptions): Promise<ScenarioOutcome> {
  const runs: Run[] = []
  let store: OpenedRuntime | undefined
  for (let i = 1; i <= scenario.runs; i += 1) {
    const outcome = await runOnce(scenario, options, i)
    runs.push(outcome.run)
    store ??= outcome.store
    if (outcome.error !== undefined) return { measurements: { runs }, error: outcome.error, store }
  }
  return { measurements: { runs }, error: undefined, store }
}

interface Once {
  readonly run: Run
  readonly error: string | undefined
  readonly store: OpenedRuntime | undefined
}

async function runOnce(scenario: Scenario, options: ScenarioOptions, number: number): Promise<Once> {
  const { seed, trace, place } = options
  const folder = mkdtempSync(join(tmpdir(), `gym-${scenario.id}-`))
  const files = scenarioFiles(folder)
  const url = place.newStore(folder)
  const mark = randomUUID()
  const workload = planTasks(scenario, seed, trace)
  const tree = prepare(scenario, seed, files)
  const cast = createCast({
    processes: scenario.processes,
    mark,
    compileCache: options.compileCache,
    hostOptions: {
      scenario,
      seed,
      store: url,
      folder,
      trace: trace && { file: trace.file, speedup: trace.speedup },
    },
    groupOf: groupsOf(workload),
  })
  const progress = setInterval(() => options.onProgress(progressOf(cast, workload, scenario, number)), 100)
  const sqliteBefore = scenario.besideSqlite ? rawSqliteRate() : null
  const startedAt = Date.now()
  let interventions: Interventions = { cancellations: [], faults: 0 }
  let end: StoreEnd | undefined
  let closing: Closing = { leaks: [], staleWrites: 0, visits: { entered: 0, repeated: 0 } }
  let leftovers: readonly Leak[] = []
  let error: string | undefined
  try {
    await within(openingMs, options.signal, (signal) => openStage({ scenario, cast, signal }))
    interventions = await within(scenario.timeoutMs, options.signal, (signal) =>
      perform({ scenario, seed, cast, toolNotes: files.tools, tasks: workload.length, signal }),
    )
    await within(closingMs, options.signal, async (signal) => {
      if (place.kind === 'memory')
        end = await abortable(cast.askAny('collect', { file: files.facts }), signal)
      closing = await abortable(cast.close(), signal)
    })
  } catch (cause) {
    error = (cause as Error).message
  } finally {
    clearInterval(progress)
    await cast.kill()
    leftovers = endLeftovers(mark, cast)
  }
  const finishedAt = Date.now()
  if (place.kind !== 'memory') {
    try {
      end = await readDatabase(scenario, url, files)
    } catch (cause) {
      error ??= `the database cannot be read: ${(cause as Error).message}`
    }
  }
  const sqliteRate = sqliteBefore === null ? null : Math.round((sqliteBefore + rawSqliteRate()) / 2)
  const run = measureRun({
    sqliteRate,
    scenario,
    files,
    workload,
    tree,
    cast,
    interventions,
    end,
    closing,
    leaks: [...closing.leaks, ...leftovers],
    startedAt,
    finishedAt,
    finished: error === undefined,
  })
  if (process.env['GYM_KEEP'] === undefined) {
    rmSync(folder, { recursive: true, force: true })
    await place.remove(url).catch((cause: Error) => {
      error ??= `the database cannot be removed: ${cause.message}`
    })
  }
  return { run, error, store: cast.store }
}

/** The most that the first processes may take to start, and all of them to end. */
const openingMs = 60_000
const closingMs = 60_000

/** Lays out the folder: the tree of files, and a log for tools to follow. */
function prepare(scenario: Scenario, seed: number, files: ScenarioFiles): readonly TreeFile[] {
  const tree = planTree(seed, scenario.tree)
  mkdirSync(files.tools, { recursive: true })
  writeTree(files.tree, tree)
  writeFileSync(files.log, 'a log that tools follow\n')
  writeFileSync(files.ledger, '')
  return tree
}

/** Processes that the run started and that are still there: counted, then ended. */
function endLeftovers(mark: string, cast: Cast): readonly Leak[] {
  const hosts = new Set(cast.lives().map(({ pid }) => pid))
  const left = markedProcesses(mark).filter(({ pid }) => !hosts.has(pid))
  for (const { pid } of left) {
    if (isRunning(pid)) process.kill(pid, 'SIGKILL')
  }
  return left.map(({ command }) => ({ kind: 'processes' as const, what: command, count: 1 }))
}

/** Reads the facts out of a database whose processes are gone. */
async function readDatabase(scenario: Scenario, url: string, files: ScenarioFiles): Promise<StoreEnd> {
  const { config } = parseExecutionConfig(scenario.config)
  const store = await openStore(url, {
    config,
    durability: scenario.durability,
    thread: false,
  })
  try {
    return await collectFacts(store, files.facts, scenario)
  } finally {
    await store.close()
  }
}

function progressOf(cast: Cast, workload: readonly PlannedTask[], scenario: Scenario, run: number): Progress {
  const passes = cast.chronicle.passes()
  return {
    run,
    runs: scenario.runs,
    submitted: cast.chronicle.submissions.length,
    started: passes.length,
    left: passes.filter(({ leftAt }) => leftAt !== null).length,
    tasks: workload.length,
  }
}

function groupsOf(workload: readonly PlannedTask[]): (n: number) => string | undefined {
  return (n) => workload[n - 1]?.group
}

/** Runs something with a signal that aborts with the outer one, or when the time is over. */
async function within<T>(
  ms: number,
  outer: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const onAbort = () => controller.abort(outer.reason)
  if (outer.aborted) onAbort()
  outer.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(() => controller.abort(new Error(`not finished within ${ms} ms`)), ms)
  try {
    return await run(controller.signal)
  } finally {
    clearTimeout(timer)
    outer.removeEventListener('abort', onAbort)
  }
}
