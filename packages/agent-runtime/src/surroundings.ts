import { type ConfigWarning, describeError, type Environment } from '@ku0/agent-runtime-core'
import {
  attachTelemetry,
  captureTraceContext,
  createLogger,
  type TelemetryOptions,
} from '@ku0/agent-runtime-telemetry'
import type { LogLine, RuntimeLogger } from './api/logger.ts'
import type { TaskDefinition } from './api/task-definition.ts'
import type { Worker } from './api/worker.ts'
import { lineTo } from './log-line.ts'
import type { StoreOptions, WorkerProcessOptions } from './options.ts'
import { exitCodes, stopOnSignals } from './process-signals.ts'
import { backgroundTimers, isDevelopment, systemEnvironment } from './system.ts'
import type { HandlerStop } from './worker/scheduler.ts'
import type { IsolationMaker } from './worker/workers.ts'

/** The surroundings of a client, a worker or a runtime. */
export interface Surroundings {
  readonly environment: Environment
  readonly logger: RuntimeLogger | undefined
  readonly log: LogLine
  /** The trace context of whoever calls. */
  readonly trace: () => Readonly<Record<string, string>> | undefined
}

/** Made of the options; what is questionable about them is logged. */
export function surroundingsOf(
  options: StoreOptions,
  telemetry: WorkerProcessOptions['telemetry'],
  warnings: readonly ConfigWarning[],
): Surroundings {
  const { environment = systemEnvironment } = options
  const logger =
    options.logger === false ? undefined : (options.logger ?? createLogger({ clock: environment.clock }))
  const log = lineTo(logger, { withPayloads: telemetry !== false && telemetry?.logPayloads === true })
  for (const { path, message } of warnings) log('warn', message, { setting: path })
  return { environment, logger, log, trace: telemetry === false ? () => undefined : captureTraceContext }
}

/** Whether passes are replayed at once. On time that a test moves nobody is surprised later. */
export function isStrict({ strict, environment }: WorkerProcessOptions): boolean {
  return strict ?? (environment === undefined && isDevelopment())
}

/** What runs isolated tasks, where a type asks for it. Time that a test moves does not reach threads and processes: there all run inline. */
export function isolationOf(
  options: WorkerProcessOptions,
  definitions: ReadonlyMap<string, TaskDefinition>,
): Promise<IsolationMaker> | undefined {
  if (options.environment !== undefined) return undefined
  if ([...definitions.values()].every((it) => it.isolation === 'inline')) return undefined
  return loadedIsolation(options)
}

async function loadedIsolation(options: WorkerProcessOptions): Promise<IsolationMaker> {
  const [{ Isolation }, { broughtBy }] = await Promise.all([
    import('./isolation/isolation.ts'),
    import('./isolation/brought.ts'),
  ])
  const setting = { brought: broughtBy(options), isStrict: isStrict(options) }
  return (parts) => new Isolation(parts, setting)
}

/** What telemetry and process signals need of a worker or a runtime. */
interface Watched extends Pick<Worker, 'info' | 'on' | 'stats' | 'stop'> {
  workers: NonNullable<TelemetrySource['workers']>
  routes: NonNullable<TelemetrySource['routes']>
  traceOf: NonNullable<TelemetrySource['traceOf']>
  stuck?: TelemetrySource['stuck']
  onHandlerStopped(listener: (stop: HandlerStop) => void): Disposable
}
type TelemetrySource = Parameters<typeof attachTelemetry>[0]

/** Attaches telemetry and the process's signals, until what is returned is disposed. */
export function watch(
  it: Watched,
  { telemetry, signals }: WorkerProcessOptions,
  { environment, logger, log }: Surroundings,
): Disposable {
  const watchers: Disposable[] = []
  if (telemetry !== false)
    watchers.push(attachTelemetry(sourceOf(it), telemetryOf(telemetry, environment, logger)))
  if (signals === true) watchers.push(stopOnSignals(it, log))
  return {
    [Symbol.dispose]: () => {
      for (const watcher of watchers.splice(0)) watcher[Symbol.dispose]()
    },
  }
}

/** Says that the store has failed. With `signals` the process is the worker's or runtime's, and ends with it. */
export async function tellFailure(
  error: Error,
  { onFailure, signals }: Pick<WorkerProcessOptions, 'onFailure' | 'signals'>,
  log: LogLine,
  stop: () => Promise<unknown>,
): Promise<void> {
  try {
    onFailure?.(error)
  } catch (thrown) {
    log('error', 'onFailure threw', { error: describeError(thrown) })
  }
  if (signals !== true) return
  await stop()
  process.exit(exitCodes.storeFailed)
}

function sourceOf(it: Watched): TelemetrySource {
  return {
    on: (type, listener) => it.on(type, listener),
    stats: () => it.stats(),
    workers: () => it.workers(),
    routes: () => it.routes(),
    storeInfo: it.info,
    stuck: () => it.stuck?.() ?? [],
    traceOf: (taskId) => it.traceOf(taskId),
    // A pass that ends at its waits stops by itself.
    onHandlerStopped: (listener) =>
      it.onHandlerStopped(({ reason, ...stop }) => {
        if (reason !== 'waiting') listener({ ...stop, reason })
      }),
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
