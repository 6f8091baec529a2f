import { isAbsolute } from 'node:path'
import {
  ConfigError,
  defaultConfig,
  type ConfigProblem,
  type ConfigWarning,
  describeError,
  type ExecutionConfig,
  flagRule,
  functionRule,
  hasMethods,
  isEnvironment,
  isLane,
  isList,
  isName,
  isOneOf,
  isRecord,
  lanes,
  problemsIn,
  readPlainConfig,
  meantText,
  RESERVED,
  type Rule,
  type Rules,
  statedSettings,
  wholeNumber,
} from '@ku0/agent-runtime-core'
import { asksForPool, fixedLimits, limitProblems, limitRules, limitsOf, MAX_WORKERS } from './pool/limits.ts'
import type { WorkersDeps } from './worker/workers.ts'
import type { PoolOptions } from './api/pool.ts'
import type { TaskDefinition } from './api/task-definition.ts'
import type { WorkerSpec } from './api/worker.ts'
import { valueProblems } from './terms/value-codec.ts'
import { agreementProblems, creditProblems } from './client/agreements.ts'
import { evaluationProblems } from './client/evaluation-settings.ts'
import type {
  ClientOptions,
  RuntimeOptions,
  StoreOptions,
  WorkerOptions,
  WorkerProcessOptions,
} from './options.ts'
import { familiarToRuntime, familiarToWorkers } from './terms/familiar-names.ts'
import { namedBy } from './terms/named-tasks.ts'
import { isDefinition, type TaskTerms, taskTermsOf } from './terms/task-definition.ts'

/** Options in which nothing is wrong; `types` are the task types that they name, by their names. */
export interface CheckedOptions<Options extends StoreOptions, Type> {
  readonly options: Options
  readonly config: ExecutionConfig
  readonly warnings: readonly ConfigWarning[]
  readonly types: ReadonlyMap<string, Type>
}

/**
 * Throws one {@link ConfigError} that names everything that is wrong with the options, the settings in `config` included.
 * `assertUrl` throws for a store's URL that cannot be opened.
 */
export function readRuntimeOptions(
  given: unknown,
  assertUrl: (url: string) => void,
): Promise<CheckedOptions<RuntimeOptions, TaskDefinition>> {
  return readRunningOptions<RuntimeOptions>(given, runtimeRules, 0, assertUrl)
}

/** The same for the options of a worker, which has one worker at least. */
export function readWorkerOptions(
  given: unknown,
  assertUrl: (url: string) => void,
): Promise<CheckedOptions<WorkerProcessOptions, TaskDefinition>> {
  return readRunningOptions<WorkerProcessOptions>(given, workerProcessRules, 1, assertUrl)
}

/** The same for the options of a client. */
export async function readClientOptions(
  given: unknown,
  assertUrl: (url: string) => void,
): Promise<CheckedOptions<ClientOptions, TaskTerms>> {
  assertRecord(given, '{ store }')
  const options = given as unknown as ClientOptions
  const problems = [
    ...problemsIn(given, clientRules, { familiar: familiarToRuntime }),
    ...storeProblems(options.store, assertUrl),
    ...valueProblems(given),
    ...evaluationProblems(options.evaluation),
    ...agreementProblems(options.agreements),
  ]
  const types = readTypes(options.tasks, 'what defineContract or defineTask returns', taskTermsOf, problems)
  const parsed = await readConfig(options.config, problems)
  if (parsed !== undefined && problems.length === 0 && goesByOwn(options, parsed.config))
    problems.push(...creditProblems(options.agreements, parsed.config))
  if (parsed === undefined || problems.length > 0) throw new ConfigError(problems)
  return { options, ...parsed, types }
}

/** Whether its settings of the store hold. A client that states none takes those of others, which it does not know before it is open. */
function goesByOwn({ settings = 'stated' }: ClientOptions, config: ExecutionConfig): boolean {
  return settings === 'own' || (settings === 'stated' && statedSettings(config) !== undefined)
}

export async function readPoolOptions(
  given: unknown,
  assertUrl: (url: string) => void,
): Promise<{
  readonly options: PoolOptions
  readonly config: ExecutionConfig
  readonly warnings: readonly ConfigWarning[]
}> {
  assertRecord(given, '{ store, module }')
  const options = given as unknown as PoolOptions
  const { store } = options
  const problems = problemsIn(given, poolRules, {
    required: ['store', 'module'],
    familiar: familiarToRuntime,
  })
  if (typeof store === 'string') problems.push(...storeProblems(store, assertUrl))
  if (problems.length === 0) problems.push(...limitProblems(limitsOf(options), ''))
  const parsed = await readConfig(options.config, problems)
  if (parsed === undefined || problems.length > 0) throw new ConfigError(problems)
  return { options, ...parsed }
}

async function readRunningOptions<Options extends WorkerProcessOptions>(
  given: unknown,
  rules: Rules<Options>,
  leastWorkers: 0 | 1,
  assertUrl: (url: string) => void,
): Promise<CheckedOptions<Options, TaskDefinition>> {
  assertRecord(given, '{ store, tasks }')
  const options = given as unknown as Options & Pick<RuntimeOptions, 'evaluation' | 'agreements'>
  const { store, tasks, workers, telemetry, evaluation, agreements } = options
  const problems = problemsIn(given, rules, {
    required: ['tasks'],
    familiar: familiarToRuntime,
  })
  problems.push(...storeProblems(store, assertUrl), ...valueProblems(given))
  if (isRecord(telemetry)) problems.push(...problemsIn(telemetry, telemetryRules, { path: 'telemetry.' }))
  problems.push(...evaluationProblems(evaluation), ...agreementProblems(agreements))
  const defined = (task: unknown) => (isDefinition(task) ? task : undefined)
  const types = readTypes(tasks, 'what defineTask returns', defined, problems)
  problems.push(...[...types.values()].flatMap(moduleProblems))
  if (problems.length === 0) problems.push(...handOverProblems(types))
  const areAll = !problems.some(({ path }) => path.startsWith('tasks'))
  problems.push(...workerProblems(workers, leastWorkers, areAll ? [...types.keys()] : undefined))
  if (problems.length === 0) problems.push(...partProblems(types, workers))
  const parsed = await readConfig(withRoom(options.config, capacityIn(workers)), problems)
  if (parsed !== undefined && problems.length === 0)
    problems.push(...creditProblems(agreements, parsed.config))
  if (parsed === undefined || problems.length > 0) throw new ConfigError(problems)
  return {
    options,
    ...parsed,
    warnings: [...parsed.warnings, ...workerWarnings(workers, parsed.config)],
    types,
  }
}

/** The most that the setting takes. */
const MOST_IN_FLIGHT = 1_000_000_000

/** The capacity that a program asks for, if it is one. */
function capacityIn(workers: unknown): number | undefined {
  const capacity = isRecord(workers) ? workers['capacity'] : undefined
  return Number.isSafeInteger(capacity) ? (capacity as number) : undefined
}

/** A capacity that is asked for lifts a limit that nobody has set. Source: `docs/decisions/0060-capacity-that-is-asked-for.md`. */
function withRoom(given: unknown, capacity: number | undefined): unknown {
  if (capacity === undefined || capacity <= defaultConfig.maxInFlightPerWorker) return given
  const room = { maxInFlightPerWorker: Math.min(capacity, MOST_IN_FLIGHT) }
  if (given === undefined) return room
  return isRecord(given) && given['maxInFlightPerWorker'] === undefined ? { ...given, ...room } : given
}

function assertRecord(given: unknown, example: string): asserts given is Readonly<Record<string, unknown>> {
  if (isRecord(given)) return
  throw new ConfigError([{ path: 'options', allowed: `an object, such as ${example}`, given }])
}

/**
 * The workers that the options speak of, and how many more there may be; `own` are the types of the runtime's own, which every worker runs.
 */
export function workersOf(
  { options, config, types: defined }: CheckedOptions<WorkerProcessOptions, TaskDefinition>,
  processId: string,
  own: readonly string[],
): { readonly workers: readonly WorkerSpec[]; readonly pool: WorkersDeps['pool'] } {
  const { workers = 1 } = options
  const { capacity, maxTasks, types = ['*'], lanes: taken, ids } = typeof workers === 'number' ? {} : workers
  const specOf = (number: number): WorkerSpec => ({
    workerId: ids?.[number - 1] ?? `${processId}/${number}`,
    capacity: Math.min(capacity ?? config.maxInFlightPerWorker, config.maxInFlightPerWorker),
    types: [...(types.includes('*') ? defined.keys() : types), ...own],
    ...(taken === undefined ? {} : { lanes: taken }),
    ...(maxTasks === undefined ? {} : { maxTasks }),
  })
  const limits = asksForPool(workers) ? limitsOf(workers) : fixedLimits(countOf(workers))
  const first = Array.from({ length: limits.min }, (_, index) => specOf(index + 1))
  return { workers: first, pool: { limits, specOf } }
}

/** Source: `docs/semantics.md 3.2`. */
function workerWarnings(
  workers: WorkerProcessOptions['workers'],
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

/** What these have to be depends on more than their own value: they are checked by themselves. */
const elsewhere = ['', () => true] as const
const levels = ['debug', 'info', 'warn', 'error'] as const

const storeRules: Rules<StoreOptions> = {
  store: elsewhere,
  config: elsewhere,
  durability: ["'full' or 'normal'", (value) => value === 'full' || value === 'normal'],
  settings: isOneOf(['stated', 'followed', 'own']),
  acceptLoss: flagRule,
  existing: flagRule,
  token: ['a text that is not empty', (value) => typeof value === 'string' && value !== ''],
  thread: flagRule,
  logger: [
    `false, or a logger with the methods ${levels.join(', ')}, such as pino's`,
    (value) => value === false || hasMethods(value, ...levels),
  ],
  environment: ['an object with clock, timers, ids, random, digest', isEnvironment],
  onFailure: functionRule,
  codecs: elsewhere,
  payloadCodec: elsewhere,
}

const lanesRule: Rule = [
  `a list of ${lanes.join(', ')}`,
  (value) => Array.isArray(value) && value.length > 0 && value.every(isLane),
]

const poolRules: Rules<PoolOptions> = {
  ...limitRules,
  store: [
    'the URL of a store that several processes can open, such as sqlite:tasks.db',
    (value) => typeof value === 'string' && !value.includes(':memory:'),
  ],
  module: [
    "the file: URL or the absolute path of a module that exports tasks, such as new URL('./tasks.ts', import.meta.url)",
    (value) =>
      value instanceof URL || (typeof value === 'string' && (isAbsolute(value) || value.startsWith('file:'))),
  ],
  capacity: wholeNumber(1, Number.MAX_SAFE_INTEGER),
  types: [
    'a list of types that the module exports',
    (value) => Array.isArray(value) && value.length > 0 && value.every(isName),
  ],
  lanes: lanesRule,
  config: elsewhere,
  durability: storeRules.durability,
  signals: flagRule,
  logger: storeRules.logger,
}

const clientRules: Rules<ClientOptions> = {
  ...storeRules,
  tasks: ['a list of what defineContract or defineTask returns', Array.isArray],
  agreements: elsewhere,
  evaluation: elsewhere,
  trace: flagRule,
}

const workerProcessRules: Rules<WorkerProcessOptions> = {
  ...storeRules,
  tasks: ['a list of what defineTask returns', Array.isArray],
  workers: elsewhere,
  signals: flagRule,
  telemetry: [
    'false, or an object with meterProvider, tracerProvider, logger, logPayloads',
    (value) => value === false || isRecord(value),
  ],
  strict: flagRule,
  start: flagRule,
  rateLimited: functionRule,
}

const runtimeRules: Rules<RuntimeOptions> = {
  ...workerProcessRules,
  agreements: elsewhere,
  evaluation: elsewhere,
  watchdog: ['an object with queuedMs, runningMs, overdueMs, types, everyMs', isRecord],
}

const telemetryRules: Rules<Exclude<NonNullable<WorkerProcessOptions['telemetry']>, false>> = {
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
  return [
    {
      path: 'store',
      allowed: "'sqlite:PATH', 'sqlite::memory:', 'postgres://HOST/DATABASE' or what openStore returns",
      given,
    },
  ]
}

/** The task types of a list, by name; `read` returns undefined for what is none. */
function readTypes<Type extends { readonly type: string }>(
  given: unknown,
  allowed: string,
  read: (task: unknown) => Type | undefined,
  problems: ConfigProblem[],
): ReadonlyMap<string, Type> {
  const types = new Map<string, Type>()
  for (const [index, task] of (isList(given) ? given : []).entries()) {
    const known = read(task)
    if (known === undefined) {
      const own = isRecord(task) ? task['task'] : undefined
      const whose = isDefinition(own) ? `; for the agent '${own.type}' that is agent.task` : ''
      problems.push({ path: `tasks[${index}]`, allowed: `${allowed}${whose}`, given: task })
    } else if (known.type.startsWith(RESERVED)) {
      const other = `a type that does not begin with '${RESERVED}', which is reserved for the runtime`
      problems.push({ path: `tasks[${index}].type`, allowed: other, given: known.type })
    } else if (types.has(known.type)) {
      problems.push({
        path: `tasks[${index}].type`,
        allowed: 'a type that no other task has',
        given: known.type,
      })
    } else types.set(known.type, known)
  }
  return types
}

/** `types` are those that are defined; undefined when that is not known. */
function workerProblems(given: unknown, least: 0 | 1, types: readonly string[] | undefined): ConfigProblem[] {
  if (given === undefined) return []
  const [bounds, isCount] = wholeNumber(least, MAX_WORKERS, 'MAX_WORKERS')
  if (!isRecord(given)) {
    const allowed = `${bounds}, or an object with count, capacity, maxTasks, types, lanes, ids, or min and max`
    return isCount(given) ? [] : [{ path: 'workers', allowed, given }]
  }
  const limits = asksForPool(given) ? limitsOf(given) : undefined
  const { count } = given
  const isType = (type: unknown) => type === '*' || (isName(type) && (types?.includes(type) ?? true))
  const rules: Rules<WorkerOptions> = {
    count: [bounds, isCount],
    capacity: wholeNumber(1, Number.MAX_SAFE_INTEGER),
    maxTasks: wholeNumber(1, Number.MAX_SAFE_INTEGER),
    types: [
      `a list of '*' or of ${types?.join(', ') || 'the types in tasks'}`,
      (value) => Array.isArray(value) && value.length > 0 && value.every(isType),
    ],
    lanes: lanesRule,
    ...limitRules,
    ids: [
      `${isCount(count) ? String(count) : `at most ${MAX_WORKERS}`} different ids of 1 to 255 characters, no lone surrogates`,
      (ids) =>
        Array.isArray(ids) &&
        ids.every(isName) &&
        new Set(ids).size === ids.length &&
        (isCount(count) ? ids.length === count : isCount(ids.length)),
    ],
  }
  const problems = problemsIn(given, rules, { path: 'workers.', familiar: familiarToWorkers })
  if (limits === undefined) return problems
  const fixed = ['count', 'ids'].filter((name) => given[name] !== undefined)
  const allowed = 'not given: min and max say how many workers there are'
  return [
    ...problems,
    ...fixed.map((name) => ({ path: `workers.${name}`, allowed, given: given[name] })),
    ...limitProblems(limits, 'workers.'),
  ]
}

/** A thread or process finds its handler in a module. */
function moduleProblems({ type, isolation, module }: TaskDefinition): ConfigProblem[] {
  if (isolation === 'inline' || module !== undefined) return []
  const allowed = `import.meta.url of the module that exports the task, because its isolation is '${isolation}'`
  return [{ path: `task '${type}': module`, allowed, given: undefined }]
}

/** A task is handed over to one that the program has, and never in a circle. Source: `docs/semantics.md 14.3`. */
function handOverProblems(types: ReadonlyMap<string, TaskDefinition>): ConfigProblem[] {
  const next = (type: string) => types.get(type)?.recovery?.fallback?.task
  return [...types.keys()].flatMap((type) => {
    const chain = [type]
    for (let to = next(type); to !== undefined; to = next(to)) {
      const path = `task '${type}': recovery.fallback.task`
      if (!types.has(to))
        return chain.length > 1
          ? []
          : [{ path, allowed: 'one of the tasks of this program, or add it to them', given: to }]
      if (to === type)
        return [
          {
            path,
            allowed: `a task that does not hand over to '${type}' again`,
            given: [...chain, to].join(' > '),
          },
        ]
      if (chain.includes(to)) return []
      chain.push(to)
    }
    return []
  })
}

/**
 * A supervisor, a pipeline and the like start only tasks that their own process has, so those that run here have all of them here. Source:
 * `docs/semantics.md 5.5`.
 */
function partProblems(
  types: ReadonlyMap<string, TaskDefinition>,
  workers: WorkerProcessOptions['workers'],
): ConfigProblem[] {
  return [...types.values()].flatMap((task) =>
    runsHere(task.type, workers)
      ? namedBy(task).flatMap(({ place, type }) => {
          if (types.has(type)) return []
          // Nothing starts itself.
          const others = [...types.keys()].filter((other) => other !== task.type)
          const allowed = `one of the tasks of this program, or add it to them${meantText(type, others)}`
          return [{ path: place, allowed, given: type }]
        })
      : [],
  )
}

/** Whether a process with these workers ever runs a type. */
function runsHere(type: string, workers: WorkerProcessOptions['workers'] = 1): boolean {
  if (typeof workers === 'number') return workers > 0
  const { types = ['*'], count } = workers
  return count !== 0 && (types.includes('*') || types.includes(type))
}

/** The schemas look at settings that are not plainly right, and are loaded only then. */
async function readConfig(given: unknown, problems: ConfigProblem[]) {
  const plain = readPlainConfig(given)
  if (plain !== undefined) return plain
  const { parseExecutionConfig } = await import('@ku0/agent-runtime-core/schemas')
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
