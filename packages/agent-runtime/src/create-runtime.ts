import {
  describeError,
  type Environment,
  type ExecutionConfig,
  type ExecutionConfigInput,
  type ExecutionStore,
} from '@ku0/agent-runtime-core'
import { openStore, parseStoreUrl } from '@ku0/agent-runtime-persistence'
import {
  attachTelemetry,
  captureTraceContext,
  createLogger,
  type TelemetryOptions,
} from '@ku0/agent-runtime-telemetry'
import type { EvaluationSettings } from './evaluations.ts'
import type { LogLine } from './execution/index.ts'
import { FrontDoor } from './front-door.ts'
import { lineTo } from './log-line.ts'
import type { Runtime, StopOptions, StopReport } from './runtime.ts'
import { readOptions, workersOf } from './runtime-options.ts'
import { exitCodes, stopOnSignals } from './signals.ts'
import { backgroundTimers, systemEnvironment } from './system.ts'
import type { TaskDefinition } from './task-definition.ts'

export { parseStoreUrl }

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
  /**
   * How many workers, `MAX_WORKERS` at most, or which; one with `maxInFlightPerWorker` slots by default. 0: this process
   * only submits.
   */
  readonly workers?: number | WorkerOptions
  /** `full` (default): an acknowledged write survives a power loss. `normal`: a crash of the process only. */
  readonly durability?: 'full' | 'normal'
  /**
   * Open the store although commits are missing that were acknowledged, and go on with what is there; false by default: then such a store is
   * refused with `store_data_loss`. Source: `docs/operating.md`, Lost commits.
   */
  readonly acceptLoss?: boolean
  /** Whether the store has a thread of its own; true by default, and never with an `environment`. */
  readonly thread?: boolean
  /** Whether SIGTERM and SIGINT stop the runtime and end the process; false by default. See {@link exitCodes}. */
  readonly signals?: boolean
  /** The weights of domains of your own, and what counts as drift. Source: `docs/evaluation.md`. */
  readonly evaluation?: EvaluationSettings
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
  /** `MAX_WORKERS` at most; as many as there are `ids`, or 1, by default. */
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
  /** A pino logger has it. Stacks of errors are logged only where `debug` is enabled. */
  isLevelEnabled?(level: 'debug'): boolean
}

/**
 * Puts a runtime together: opens the store, attaches telemetry, registers the workers. Throws a `ConfigError` naming every bad
 * option and setting, and `store_*` when the store cannot be opened; nothing is left open then.
 */
export async function createRuntime(given: RuntimeOptions): Promise<Runtime> {
  const checked = readOptions(given, parseStoreUrl)
  const { options, config, warnings, definitions } = checked
  const environment = options.environment ?? systemEnvironment
  const logger =
    options.logger === false ? undefined : (options.logger ?? createLogger({ clock: environment.clock }))
  const withPayloads = options.telemetry !== false && options.telemetry?.logPayloads === true
  const log = lineTo(logger, { withPayloads })
  for (const { path, message } of warnings) log('warn', message, { setting: path })

  const ownsStore = typeof options.store === 'string'
  const store = typeof options.store === 'string' ? await open(options.store, config, options) : options.store
  const { acceptedLoss } = store.info
  if (ownsStore && acceptedLoss !== undefined)
    log('warn', 'the store was opened although commits are missing', { ...acceptedLoss })
  const opened = new ComposedRuntime({
    store,
    ownsStore,
    config,
    environment,
    definitions,
    workers: workersOf(checked, store.info.processId),
    evaluation: options.evaluation ?? {},
    log,
    trace: options.telemetry === false ? () => undefined : captureTraceContext,
    onFailure: (error) => void opened.failed(error, options, log),
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
  const { durability, acceptLoss, thread, environment } = options
  return openStore(url, {
    config,
    checked: false,
    ...(durability === undefined ? {} : { durability }),
    ...(acceptLoss === undefined ? {} : { acceptLoss }),
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
  async failed(error: Error, { onFailure, signals }: RuntimeOptions, log: LogLine): Promise<void> {
    try {
      onFailure?.(error)
    } catch (thrown) {
      log('error', 'onFailure threw', { error: describeError(thrown) })
    }
    if (signals !== true) return
    await this.stop({ drain: false })
    process.exit(exitCodes.storeFailed)
  }

  #source(): Parameters<typeof attachTelemetry>[0] {
    return {
      on: (type, listener) => this.on(type, listener),
      stats: () => this.stats(),
      workers: () => this.workers(),
      routes: () => this.routes(),
      storeInfo: this.info,
      traceOf: (taskId) => this.traceOf(taskId),
      // A pass that ends at its waits stops by itself.
      onHandlerStopped: (listener) =>
        this.onHandlerStopped(({ reason, ...stop }) => {
          if (reason !== 'waiting') listener({ ...stop, reason })
        }),
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
