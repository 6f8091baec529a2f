import { ConfigError, describeError, type Environment, type ExecutionStore } from '@ku0/agent-runtime-core'
import {
  attachTelemetry,
  captureTraceContext,
  createLogger,
  type TelemetryOptions,
} from '@ku0/agent-runtime-telemetry'
import type { RuntimeLogger, RuntimeOptions } from './create-runtime.ts'
import type { LogLine } from './execution/index.ts'
import { FrontDoor } from './front-door.ts'
import { lineTo } from './log-line.ts'
import type { Runtime, StopOptions, StopReport } from './runtime.ts'
import { type CheckedOptions, workersOf } from './runtime-options.ts'
import { exitCodes, stopOnSignals } from './signals.ts'
import { backgroundTimers, systemEnvironment } from './system.ts'

/** Puts the parts together around a store that is open, or is being opened for this runtime alone, which closes it then. */
export async function composeRuntime(
  checked: CheckedOptions,
  given: ExecutionStore | Promise<ExecutionStore>,
): Promise<Runtime> {
  const { options, config, warnings, definitions } = checked
  const environment = options.environment ?? systemEnvironment
  const logger =
    options.logger === false ? undefined : (options.logger ?? createLogger({ clock: environment.clock }))
  const withPayloads = options.telemetry !== false && options.telemetry?.logPayloads === true
  const log = lineTo(logger, { withPayloads })
  for (const { path, message } of warnings) log('warn', message, { setting: path })

  const ownsStore = given instanceof Promise
  if (!ownsStore) assertFree(given)
  const store = given instanceof Promise ? await given : given
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
  if (!ownsStore) opened.take(store)
  try {
    opened.attach(options, environment, logger)
    if (options.start !== false) await opened.start()
  } catch (error) {
    await opened.stop({ drain: false })
    throw error
  }
  return opened
}

/** Opened stores that a runtime has which has not stopped. */
const taken = new WeakSet<ExecutionStore>()

/** Who stops ends its process in the store, whoever else is on it. */
function assertFree(store: ExecutionStore): void {
  if (!taken.has(store)) return
  const instead =
    "open it once more, by its URL 'sqlite:PATH' or by openStore, or stop the other runtime first; in memory one runtime takes all tasks"
  throw new ConfigError([{ path: 'store', allowed: `an opened store that no other runtime has: ${instead}` }])
}

/** The front door together with what watches it, so that both end together. */
class ComposedRuntime extends FrontDoor {
  readonly #watchers: Disposable[] = []

  /** Until it has stopped. */
  take(store: ExecutionStore): void {
    taken.add(store)
    this.#watchers.push({ [Symbol.dispose]: () => taken.delete(store) })
  }

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
