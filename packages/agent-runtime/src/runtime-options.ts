import {
  ConfigError,
  type ConfigProblem,
  type ConfigWarning,
  describeError,
  type ExecutionConfig,
  flagRule,
  functionRule,
  hasMethods,
  isEnvironment,
  isList,
  isName,
  isRecord,
  problemsIn,
  RESERVED,
  type Rules,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import type { RuntimeOptions, WorkerOptions } from './create-runtime.ts'
import { evaluationProblems } from './evaluation/settings.ts'
import type { WorkerSpec } from './execution/index.ts'
import { GRAPH_TYPE, graphTask } from './graph/graph-task.ts'
import { isDefinition, type TaskDefinition } from './task-definition.ts'

/** The workers of one process: each is a row of the store, and what one of them can do, its capacity can. */
export const MAX_WORKERS = 1_000

/** The options, once nothing is wrong with them. */
export interface CheckedOptions {
  readonly options: RuntimeOptions
  readonly config: ExecutionConfig
  readonly warnings: readonly ConfigWarning[]
  readonly definitions: ReadonlyMap<string, TaskDefinition>
}

/**
 * Throws one {@link ConfigError} that names everything that is wrong with the options, the settings in `config` included.
 * `assertUrl` throws for a store's URL that cannot be opened.
 */
export function readOptions(given: unknown, assertUrl: (url: string) => void): CheckedOptions {
  if (!isRecord(given)) {
    throw new ConfigError([{ path: 'options', allowed: 'an object, such as { store, tasks }', given }])
  }
  const problems = problemsIn(given, optionRules, { required: ['tasks'] })
  const options = given as unknown as RuntimeOptions
  problems.push(...storeProblems(options.store, assertUrl))
  if (isRecord(options.telemetry))
    problems.push(...problemsIn(options.telemetry, telemetryRules, { path: 'telemetry.' }))
  problems.push(...evaluationProblems(options.evaluation))
  const definitions = readTasks(options.tasks, problems)
  const areAll = !problems.some(({ path }) => path.startsWith('tasks'))
  problems.push(...workerProblems(options.workers, areAll ? [...definitions.keys()] : undefined))
  const parsed = readConfig(options.config, problems)
  if (parsed === undefined || problems.length > 0) throw new ConfigError(problems)
  const warnings = [...parsed.warnings, ...workerWarnings(options.workers, parsed.config)]
  return { options, ...parsed, warnings, definitions: new Map([...definitions, [GRAPH_TYPE, graphTask]]) }
}

/** The workers that the options speak of. */
export function workersOf({ options, config, definitions }: CheckedOptions, processId: string): WorkerSpec[] {
  const { workers = 1 } = options
  const { capacity, types = ['*'], ids } = typeof workers === 'number' ? {} : workers
  return Array.from({ length: countOf(workers) }, (_, index) => ({
    workerId: ids?.[index] ?? `${processId}/${index + 1}`,
    capacity: Math.min(capacity ?? config.maxInFlightPerWorker, config.maxInFlightPerWorker),
    types: types.includes('*') ? [...definitions.keys()] : [...types, GRAPH_TYPE],
  }))
}

/** Source: `docs/semantics.md 3.2`. */
function workerWarnings(
  workers: RuntimeOptions['workers'],
  { maxInFlightPerWorker }: ExecutionConfig,
): ConfigWarning[] {
  const capacity = typeof workers === 'object' ? workers.capacity : undefined
  if (capacity === undefined || capacity <= maxInFlightPerWorker) return []
  const message = `workers.capacity ${capacity} is more than maxInFlightPerWorker ${maxInFlightPerWorker}: each worker runs ${maxInFlightPerWorker} tasks at once; raise config.maxInFlightPerWorker`
  return [{ path: 'workers.capacity', message }]
}

function countOf(workers: number | WorkerOptions): number {
  return typeof workers === 'number' ? workers : (workers.count ?? workers.ids?.length ?? 1)
}

/** What `store`, `workers` and `evaluation` have to be depends on more than their own value: they are checked by themselves. */
const elsewhere = ['', () => true] as const
const levels = ['debug', 'info', 'warn', 'error'] as const

const optionRules: Rules<RuntimeOptions> = {
  store: elsewhere,
  tasks: ['a list of what defineTask gives', Array.isArray],
  config: elsewhere,
  workers: elsewhere,
  durability: ["'full' or 'normal'", (value) => value === 'full' || value === 'normal'],
  acceptLoss: flagRule,
  thread: flagRule,
  signals: flagRule,
  evaluation: elsewhere,
  telemetry: [
    'false, or an object of meterProvider, tracerProvider, logger, logPayloads',
    (value) => value === false || isRecord(value),
  ],
  logger: [
    `false, or a logger with the methods ${levels.join(', ')}, such as pino's`,
    (value) => value === false || hasMethods(value, ...levels),
  ],
  start: flagRule,
  environment: ['an object of clock, timers, ids, random, digest', isEnvironment],
  onFailure: functionRule,
}

const telemetryRules: Rules<Exclude<NonNullable<RuntimeOptions['telemetry']>, false>> = {
  meterProvider: ['a MeterProvider', (value) => hasMethods(value, 'getMeter')],
  tracerProvider: ['a TracerProvider', (value) => hasMethods(value, 'getTracer')],
  logger: ['a logger with the methods warn, error', (value) => hasMethods(value, 'warn', 'error')],
  logPayloads: flagRule,
}

function storeProblems(given: unknown, assertUrl: (url: string) => void): ConfigProblem[] {
  if (hasMethods(given, 'write', 'read', 'demand', 'interest', 'listen', 'close')) return []
  if (typeof given === 'string') {
    try {
      assertUrl(given)
      return []
    } catch (error) {
      return [{ path: 'store', allowed: describeError(error).message, given }]
    }
  }
  return [{ path: 'store', allowed: "'sqlite:PATH', 'sqlite::memory:' or what openStore gives", given }]
}

function readTasks(given: unknown, problems: ConfigProblem[]): ReadonlyMap<string, TaskDefinition> {
  const definitions = new Map<string, TaskDefinition>()
  for (const [index, task] of (isList(given) ? given : []).entries()) {
    if (!isDefinition(task)) {
      const own = isRecord(task) ? task['task'] : undefined
      const whose = isDefinition(own) ? `, which of the agent '${own.type}' is agent.task` : ''
      problems.push({ path: `tasks[${index}]`, allowed: `what defineTask gives${whose}`, given: task })
    } else if (task.type.startsWith(RESERVED)) {
      const allowed = `a type that does not begin with '${RESERVED}', which is the runtime's own`
      problems.push({ path: `tasks[${index}].type`, allowed, given: task.type })
    } else if (definitions.has(task.type)) {
      const allowed = 'a type that no other task has'
      problems.push({ path: `tasks[${index}].type`, allowed, given: task.type })
    } else definitions.set(task.type, task)
  }
  return definitions
}

/** `types` are those that are defined; undefined when that is not known. */
function workerProblems(given: unknown, types: readonly string[] | undefined): ConfigProblem[] {
  if (given === undefined) return []
  const [bounds, isCount] = wholeNumber(0, MAX_WORKERS, 'MAX_WORKERS')
  if (!isRecord(given)) {
    const allowed = `${bounds}, or an object of count, capacity, types, ids`
    return isCount(given) ? [] : [{ path: 'workers', allowed, given }]
  }
  const { count } = given
  const isType = (type: unknown) => type === '*' || (isName(type) && (types?.includes(type) ?? true))
  const rules: Rules<WorkerOptions> = {
    count: [bounds, isCount],
    capacity: wholeNumber(1, Number.MAX_SAFE_INTEGER),
    types: [
      `a list of '*' or of ${types?.join(', ') || 'the types in tasks'}`,
      (value) => Array.isArray(value) && value.length > 0 && value.every(isType),
    ],
    ids: [
      `${isCount(count) ? String(count) : `at most ${MAX_WORKERS}`} different ids of 1 to 255 characters, no lone surrogates`,
      (ids) =>
        Array.isArray(ids) &&
        ids.every(isName) &&
        new Set(ids).size === ids.length &&
        (isCount(count) ? ids.length === count : isCount(ids.length)),
    ],
  }
  return problemsIn(given, rules, { path: 'workers.' })
}

function readConfig(given: unknown, problems: ConfigProblem[]) {
  try {
    return parseExecutionConfig(given)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    problems.push(...error.problems.map((problem) => ({ ...problem, path: settingPath(problem.path) })))
    return undefined
  }
}

/** Core speaks of the settings by themselves; here they stand in `config`. */
function settingPath(path: string): string {
  return path === 'the configuration' ? 'config' : `config.${path}`
}
