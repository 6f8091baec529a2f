import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type StoreStats } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import type { StoreEnd } from '../host/collect.ts'
import type { Leak } from '../host/resources.ts'
import type { Run, TaskFact } from '../measure/measurements.ts'
import type { Scenario } from '../scenario/scenario.ts'
import { expectedOutputs } from '../work/expected.ts'
import { readLedger } from '../work/ledger.ts'
import type { PlannedTask } from '../work/plan.ts'
import type { TreeFile } from '../work/tree.ts'
import type { Cast, Closing } from './cast.ts'
import { readFacts } from './facts.ts'
import type { ScenarioFiles } from './files.ts'
import type { Interventions } from './perform.ts'

/** What there is to know of a run when it is over. */
export interface Seen {
  readonly scenario: Scenario
  readonly files: ScenarioFiles
  readonly workload: readonly PlannedTask[]
  readonly tree: readonly TreeFile[]
  readonly cast: Cast
  readonly interventions: Interventions
  readonly end: StoreEnd | undefined
  readonly closing: Closing
  readonly leaks: readonly Leak[]
  readonly sqliteRate: number | null
  readonly startedAt: number
  readonly finishedAt: number
  readonly finished: boolean
}

/** Puts together what every witness saw. */
export function measureRun(seen: Seen): Run {
  const { scenario, files, workload, tree, cast, closing } = seen
  const tasks = existsSync(files.facts) ? readFacts(files.facts, (n) => workload[n - 1]?.group) : []
  const { entries, malformed } = readLedger(files.ledger)
  const numbers = new Map(tasks.map(({ taskId, n }) => [taskId, n]))
  return {
    sqliteRate: seen.sqliteRate,
    startedAt: seen.startedAt,
    finishedAt: seen.finishedAt,
    finished: seen.finished,
    evidence: scenario.evidence,
    config: parseExecutionConfig(scenario.config).config,
    clients: scenario.clients,
    workload,
    lives: cast.lives(),
    calls: cast.chronicle.calls,
    routes: seen.end?.routes ?? [],
    swarms: seen.end?.swarms ?? [],
    agents: seen.end?.agents ?? [],
    accounts: seen.end?.accounts ?? [],
    pipelines: seen.end?.pipelines ?? [],
    submissions: cast.chronicle.submissions,
    passes: cast.chronicle.passes(),
    tasks,
    ledger: entries,
    ledgerFaults: malformed.length,
    visits: closing.visits,
    results: resultsOf(workload, tree, files),
    cancels: seen.interventions.cancellations.map((note) => ({
      ...note,
      n: numbers.get(note.taskId) ?? 0,
      signaledAt: cast.chronicle.abortedAt(note.taskId),
    })),
    leaks: [...seen.leaks, ...leftInStore(tasks, seen.end?.stats), ...handlersLeft(cast)],
    staleWrites: closing.staleWrites,
    faults: seen.interventions.faults,
  }
}

function resultsOf(
  workload: readonly PlannedTask[],
  tree: readonly TreeFile[],
  files: ScenarioFiles,
): Run['results'] {
  const expected = expectedOutputs(tree)
  return workload.flatMap((task) => {
    const right = expected(task)
    if (right === undefined) return []
    const file = join(files.results, `${task.n}.json`)
    const written: unknown =
      task.type === 'inspect-folder' && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
    return [{ n: task.n, expected: right, written }]
  })
}

/** Leases that nobody holds, and quota counters that nobody uses. */
function leftInStore(tasks: readonly TaskFact[], stats: StoreStats | undefined): readonly Leak[] {
  const leases = tasks.flatMap((task) => task.leases).filter(({ status }) => status === 'running').length
  const quotas = (stats?.quotas ?? []).filter(({ queued, running }) => queued + running > 0)
  return [
    ...(leases === 0 ? [] : [{ kind: 'leases' as const, what: 'lease still running', count: leases }]),
    ...quotas.map(({ key, queued, running }) => ({
      kind: 'quotas' as const,
      what: key,
      count: queued + running,
    })),
  ]
}

/** Handlers that a cleanly closed process never left. */
function handlersLeft(cast: Cast): readonly Leak[] {
  const closed = new Set(
    cast.lives().flatMap(({ process, life, closed: clean }) => (clean ? [`${process} ${life}`] : [])),
  )
  const left = cast.chronicle
    .passes()
    .filter(({ process, life, leftAt }) => leftAt === null && closed.has(`${process} ${life}`))
  return left.length === 0 ? [] : [{ kind: 'handlers', what: 'handler never left', count: left.length }]
}
