import {
  ConfigError,
  type ConfigProblem,
  type Environment,
  type ExecutionConfig,
  type ExecutionConfigInput,
  type ExecutionStore,
  parseExecutionConfig,
  suggestionFor,
} from '@ku0/agent-runtime-core'
import { openStore } from '@ku0/agent-runtime-persistence'
import {
  attachTelemetry,
  captureTraceContext,
  createLogger,
  type TelemetryOptions,
} from '@ku0/agent-runtime-telemetry'
import type { LogLine, WorkerSpec } from './execution/index.ts'
import { FrontDoor } from './front-door.ts'
import type { Runtime, StopOptions, StopReport } from './runtime.ts'
import { exitCodes, stopOnSignals } from './signals.ts'
import { backgroundTimers, systemEnvironment } from './system.ts'
import type { TaskDefinition } from './task-definition.ts'

/** What {@link createRuntime} takes. */
export interface RuntimeOptions {
  /**
   * `sqlite:runtime.db`, `sqlite::memory:`, or a store that was opened elsewhere: it is one runtime's at a time, and stays open
   * when that one stops.
   */
  readonly store: string | ExecutionStore
  readonly tasks: readonly TaskDefinition[]
  /** Track AA's settings and the rest; each has a default. */
  readonly config?: ExecutionConfigInput
  /** How many workers, or which; one with `maxInFlightPerWorker` slots by default. 0: this process only submits. */
  readonly workers?: number | WorkerOptions
  /** `full` (default): an acknowledged write survives a power loss. `normal`: a crash of the process only. */
  readonly durability?: 'full' | 'normal'
  /** Whether the store has a thread of its own; true by default, and never with an `environment`. */
  readonly thread?: boolean
  /** Whether SIGTERM and SIGINT stop the runtime and end the process; false by default. See {@link exitCodes}. */
  readonly signals?: boolean
  readonly telemetry?: false | TelemetryOptions
  /** Any pino logger; by default lines go to standard error. */
  readonly logger?: RuntimeLogger | false
  /** False: the workers wait for {@link Runtime.start}. */
  readonly start?: boolean
  /** Time, chance and ids from outside, for tests; the store then runs in this thread. */
  readonly environment?: Environment
  /** Called once when the store has failed and the runtime has stopped: the process should end and start again. */
  readonly onFailure?: (error: Error) => void
}

export interface WorkerOptions {
  readonly count?: number
  /** Tasks that each runs at once; at most `maxInFlightPerWorker`. */
  readonly capacity?: number
  /** The task types that they run; all that are defined by default. */
  readonly types?: readonly string[]
  /** Their ids, unique in the store; made from the process's by default. */
  readonly ids?: readonly string[]
}

export interface RuntimeLogger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/**
 * Puts a runtime together: opens the store, attaches telemetry, registers the workers. Throws {@link ConfigError} naming every
 * bad field, and `store_*` when the store cannot be opened; nothing is left open then.
 */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { config, warnings } = parseExecutionConfig(options.config)
  const definitions = readOptions(options)
  const environment = options.environment ?? systemEnvironment
  const logger =
    options.logger === false ? undefined : (options.logger ?? createLogger({ clock: environment.clock }))
  const log = lineTo(logger)
  for (const { path, message } of warnings) log('warn', message, { setting: path })

  const ownsStore = typeof options.store === 'string'
  const store = typeof options.store === 'string' ? await open(options.store, config, options) : options.store
  const opened = new ComposedRuntime({
    store,
    ownsStore,
    config,
    environment,
    definitions,
    workers: workersOf(options, config, definitions, store.info.processId),
    log,
    trace: options.telemetry === false ? () => undefined : captureTraceContext,
    onFailure: (error) => void opened.failed(error, options),
  })
  try {
    opened.attach(options, environment, logger)
    if (options.start !== false) await opened.start()
  } catch (error) {
    await opened.stop({ drain: false })
    throw error
  }
  return opened
}

function open(url: string, config: ExecutionConfig, options: RuntimeOptions): Promise<ExecutionStore> {
  const { durability, thread, environment } = options
  return openStore(url, {
    config,
    ...(durability === undefined ? {} : { durability }),
    ...(environment === undefined ? {} : { environment }),
    ...(thread === undefined ? {} : { thread }),
  })
}

/** The front door together with what watches it, so that both end together. */
class ComposedRuntime extends FrontDoor {
  readonly #watchers: Disposable[] = []

  attach(
    { telemetry, signals }: RuntimeOptions,
    environment: Environment,
    logger: RuntimeLogger | undefined,
  ): void {
    if (telemetry !== false)
      this.#watchers.push(attachTelemetry(this.#source(), telemetryOf(telemetry, environment, logger)))
    if (signals === true) this.#watchers.push(stopOnSignals(this))
  }

  override async stop(options?: StopOptions): Promise<StopReport> {
    const report = await super.stop(options)
    for (const watcher of this.#watchers.splice(0)) watcher[Symbol.dispose]()
    return report
  }

  /** With `signals` the process is the runtime's, and ends with it. */
  async failed(error: Error, { onFailure, signals }: RuntimeOptions): Promise<void> {
    onFailure?.(error)
    if (signals !== true) return
    await this.stop({ drain: false })
    process.exit(exitCodes.storeFailed)
  }

  #source(): Parameters<typeof attachTelemetry>[0] {
    return {
      on: (type, listener) => this.on(type, listener),
      stats: () => this.stats(),
      workers: () => this.workers(),
      storeInfo: this.info,
      traceOf: (taskId) => this.traceOf(taskId),
      onHandlerStopped: (listener) => this.onHandlerStopped(listener),
    }
  }
}

function telemetryOf(
  options: TelemetryOptions | undefined,
  environment: Environment,
  logger: RuntimeLogger | undefined,
) {
  const timers = environment === systemEnvironment ? backgroundTimers : environment.timers
  return { ...(logger === undefined ? {} : { logger }), ...options, clock: environment.clock, timers }
}

/** The definitions by type. Throws naming every option that is wrong. */
function readOptions(options: RuntimeOptions): ReadonlyMap<string, TaskDefinition> {
  const problems: ConfigProblem[] = []
  const require = (holds: boolean, path: string, allowed: string, given: unknown) => {
    if (!holds) problems.push({ path, allowed, given })
  }
  for (const [name, given] of Object.entries(options)) {
    require(optionNames.has(name), name, `no such option${meant(name)}`, given)
  }
  require(Array.isArray(options.tasks), 'tasks', 'a list of what defineTask gives', options.tasks)
  const definitions = new Map<string, TaskDefinition>()
  for (const [index, definition] of (Array.isArray(options.tasks) ? options.tasks : []).entries()) {
    require(typeof definition?.handler === 'function', `tasks[${index}]`, 'what defineTask gives', definition)
    const { type } = definition ?? {}
    require(!definitions.has(type), `tasks[${index}].type`, 'a type that no other task has', type)
    definitions.set(type, definition)
  }
  checkWorkers(workerOptions(options), definitions, require)
  if (problems.length > 0) throw new ConfigError(problems)
  return definitions
}

/** Each option once, so that a new one cannot be forgotten here. */
const optionNames = new Set(
  Object.keys({
    store: 0,
    tasks: 0,
    config: 0,
    workers: 0,
    durability: 0,
    thread: 0,
    signals: 0,
    telemetry: 0,
    logger: 0,
    start: 0,
    environment: 0,
    onFailure: 0,
  } satisfies Record<keyof RuntimeOptions, 0>),
)

function meant(name: string): string {
  const suggestion = suggestionFor(name, [...optionNames])
  return suggestion === undefined ? '' : `, did you mean ${suggestion}?`
}

function checkWorkers(
  { count, capacity, types, ids }: WorkerOptions & { readonly count: number },
  definitions: ReadonlyMap<string, TaskDefinition>,
  require: (holds: boolean, path: string, allowed: string, given: unknown) => void,
): void {
  const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0
  require(isCount(count), 'workers', 'a whole number, 0 or more', count)
  require(capacity === undefined ||
    isCount(capacity), 'workers.capacity', 'a whole number, 0 or more', capacity)
  const known = [...definitions.keys()]
  for (const type of types ?? []) {
    require(type === '*' || definitions.has(type), 'workers.types', `'*' or of ${known.join(', ')}`, type)
  }
  const areIds = ids === undefined || (ids.length === count && new Set(ids).size === count)
  require(areIds, 'workers.ids', `${count} different ids`, ids)
}

function workerOptions({ workers = 1 }: RuntimeOptions): WorkerOptions & { readonly count: number } {
  if (typeof workers === 'number') return { count: workers }
  return { ...workers, count: workers.count ?? workers.ids?.length ?? 1 }
}

function workersOf(
  options: RuntimeOptions,
  config: ExecutionConfig,
  definitions: ReadonlyMap<string, TaskDefinition>,
  processId: string,
): WorkerSpec[] {
  const { count, capacity = config.maxInFlightPerWorker, types = ['*'], ids } = workerOptions(options)
  const defined = types.includes('*') ? [...definitions.keys()] : types
  return Array.from({ length: count }, (_, index) => ({
    workerId: ids?.[index] ?? `${processId}/${index + 1}`,
    capacity: Math.min(capacity, config.maxInFlightPerWorker),
    types: defined,
  }))
}

/** A sink that throws costs a line, never a task. */
function lineTo(logger: RuntimeLogger | undefined): LogLine {
  if (logger === undefined) return () => {}
  return (level, message, fields = {}) => {
    try {
      logger[level](fields, message)
    } catch {
      // There is no other place to say it.
    }
  }
}
