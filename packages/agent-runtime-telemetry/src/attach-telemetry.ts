import type { Meter, Tracer } from '@opentelemetry/api'
import {
  assertOptions,
  type Clock,
  type EventType,
  flagRule,
  hasAll,
  hasMethods,
  invalid,
  type Rules,
  show,
  type Timer,
  type Timers,
} from '@ku0/agent-runtime-core'
import type { Dropped } from './dropped.ts'
import type { GivenMeterProvider, GivenTracerProvider } from './given-providers.ts'
import { logEvents, Logs, type LineLogger } from './logs.ts'
import { droppedLines } from './logger.ts'
import { metricEvents, Metrics } from './metrics.ts'
import { installedApi } from './open-telemetry.ts'
import { OpenTasks, type OpenTask } from './open-tasks.ts'
import { registeredMeter, registeredTracer, unreadableGlobal, type UnreadableGlobal } from './providers.ts'
import type { HandlerStop, KnownEvent, TelemetryEvent, TelemetrySource } from './source.ts'
import { traceEvents, Traces } from './traces.ts'

/** The settings of a user. */
export interface TelemetryOptions {
  /** Instead of the provider that is registered with the OpenTelemetry API. */
  readonly meterProvider?: GivenMeterProvider | undefined
  /** Instead of the provider that is registered with the OpenTelemetry API. */
  readonly tracerProvider?: GivenTracerProvider | undefined
  /** Where log lines go; without one none are written. */
  readonly logger?: LineLogger | undefined
  /** Adds messages of errors and rejections, which may hold what a caller sent, to log lines and spans. Default: false. */
  readonly logPayloads?: boolean | undefined
}

/** The parts of the surroundings that telemetry uses besides its source. */
export interface TelemetryEnvironment {
  readonly clock: Clock
  /** Armed at all times while attached: they should not keep the process alive. */
  readonly timers: Timers
}

/** Telemetry at work, until disposed. */
export interface Telemetry extends Disposable {
  /** Which signals are recorded now. Metrics and traces are while an SDK is registered. */
  readonly recording: { readonly metrics: boolean; readonly traces: boolean; readonly logs: boolean }
  /** How much was given up because a sink was blocked, full or throwing. */
  readonly dropped: Dropped
}

/**
 * Turns what a runtime publishes into metrics, spans and log lines. It listens, and nothing else: no task waits for it, and
 * whatever a sink does, the runtime never notices. While no OpenTelemetry SDK is registered it subscribes to nothing but
 * the rare events of log lines; it looks again every {@link LOOK_AGAIN_MS}. Throws `invalid_argument` for what it cannot use. Source: `docs/semantics.md 16`.
 */
export function attachTelemetry(
  source: TelemetrySource,
  options: TelemetryEnvironment & TelemetryOptions,
): Telemetry {
  if (!hasMethods(source, 'on', 'stats', 'workers'))
    throw invalid(
      `attachTelemetry source: an object with the methods on, stats, workers; given ${show(source)}`,
    )
  assertOptions('attachTelemetry', options, telemetryRules, { required: ['clock', 'timers'] })
  const given = (['meterProvider', 'tracerProvider'] as const).find((name) => options[name] !== undefined)
  if (given !== undefined && installedApi() === undefined)
    throw invalid(
      `attachTelemetry options.${given}: needs the package @opentelemetry/api (>=1.9.0 <2), which the runtime does not find; install it beside the runtime`,
    )
  return new AttachedTelemetry(source, options)
}

const telemetryRules: Rules<TelemetryEnvironment & TelemetryOptions> = {
  clock: hasAll('a clock with the method now', 'now'),
  timers: hasAll('timers with the method after', 'after'),
  meterProvider: hasAll('a MeterProvider', 'getMeter'),
  tracerProvider: hasAll('a TracerProvider', 'getTracer'),
  logger: hasAll('a logger with the methods warn, error', 'warn', 'error'),
  logPayloads: flagRule,
}

/** How soon an SDK is noticed that was registered, or shut down, after telemetry was attached. */
export const LOOK_AGAIN_MS = 10_000

/** Enough for the tasks in flight and a deep queue; some 15 MB when full. */
const MAX_OPEN_TASKS = 50_000

class AttachedTelemetry implements Telemetry {
  readonly #source: TelemetrySource
  readonly #options: TelemetryEnvironment & TelemetryOptions
  readonly #logs: Logs | undefined
  readonly #traces: Traces
  readonly #tasks: OpenTasks
  readonly #lost = { metrics: 0, traces: 0, logs: 0 }
  readonly #subscriptions = new Map<EventType, Disposable>()
  readonly #handlerStops: Disposable | undefined
  #meter: Meter | undefined
  #metrics: Metrics | undefined
  #nextLook: Timer | undefined
  #hasWarned = false

  constructor(source: TelemetrySource, options: TelemetryEnvironment & TelemetryOptions) {
    const { logger, logPayloads: withPayloads = false } = options
    this.#source = source
    this.#options = options
    this.#logs = logger === undefined ? undefined : new Logs(logger, { withPayloads })
    this.#traces = new Traces({ traceOf: (taskId) => source.traceOf?.(taskId), withMessages: withPayloads })
    this.#tasks = new OpenTasks(MAX_OPEN_TASKS, (task) => this.#giveUp(task))
    this.#handlerStops = source.onHandlerStopped?.(this.#handlerStopped)
    this.#look()
    this.#lookAgain()
  }

  get recording() {
    return {
      metrics: this.#metrics !== undefined,
      traces: this.#traces.tracer !== undefined,
      logs: this.#logs !== undefined,
    }
  }

  get dropped(): Dropped {
    const { metrics, traces, logs } = this.#lost
    return { metrics, traces, logs: logs + droppedLines(this.#options.logger) }
  }

  [Symbol.dispose](): void {
    this.#nextLook?.cancel()
    this.#subscribe([])
    this.#handlerStops?.[Symbol.dispose]()
    this.#useMeter(undefined)
    this.#useTracer(undefined)
  }

  /** Finds out which SDK is registered now, and listens for what it wants. */
  #look(): void {
    this.#useMeter(orNone(() => registeredMeter(this.#options.meterProvider)))
    this.#useTracer(orNone(() => registeredTracer(this.#options.tracerProvider)))
    orNone(() => this.#warnOfUnreadable())
    const { metrics, traces, logs } = this.recording
    if (!metrics && !traces) this.#tasks.clear()
    this.#subscribe([
      ...(logs ? logEvents : []),
      ...(metrics ? metricEvents : []),
      ...(traces ? traceEvents : []),
    ])
  }

  /** Says once that the application's providers cannot be seen from here: nothing else would show why nothing is recorded. */
  #warnOfUnreadable(): void {
    const { logger, meterProvider, tracerProvider } = this.#options
    if (this.#hasWarned || logger === undefined) return
    const unreadable = unreadableGlobal()
    const given = { metrics: meterProvider, traces: tracerProvider }
    const signals = unreadable?.signals.filter((signal) => given[signal] === undefined) ?? []
    if (unreadable === undefined || signals.length === 0) return
    this.#hasWarned = true
    logger.warn(
      { signals, apiVersion: unreadable.version },
      `no ${signals.join(' and no ')} are recorded: the provider is registered with @opentelemetry/api ${unreadable.version}, and ${remedyFor(unreadable)}`,
    )
  }

  #lookAgain(): void {
    this.#nextLook = this.#options.timers.after(LOOK_AGAIN_MS, () => {
      this.#lookAgain()
      // A source that takes no subscription now is asked again then.
      orNone(() => this.#look())
    })
  }

  #useMeter(meter: Meter | undefined): void {
    if (meter === this.#meter) return
    this.#meter = meter
    orNone(() => this.#metrics?.[Symbol.dispose]())
    this.#metrics = meter === undefined ? undefined : orNone(() => this.#createMetrics(meter))
  }

  #createMetrics(meter: Meter): Metrics {
    return new Metrics(meter, {
      source: this.#source,
      timers: this.#options.timers,
      dropped: () => this.dropped,
    })
  }

  #useTracer(tracer: Tracer | undefined): void {
    if (tracer === undefined) for (const task of this.#tasks.values()) this.#giveUp(task)
    this.#traces.tracer = tracer
  }

  #giveUp(task: OpenTask): void {
    try {
      if (this.#traces.giveUp(task, this.#options.clock.now())) this.#lost.traces += 1
    } catch {
      this.#lost.traces += 1
    }
  }

  #subscribe(types: readonly EventType[]): void {
    const wanted = new Set(types)
    for (const [type, subscription] of this.#subscriptions) {
      if (wanted.has(type)) continue
      this.#subscriptions.delete(type)
      subscription[Symbol.dispose]()
    }
    for (const type of wanted) {
      if (!this.#subscriptions.has(type)) this.#subscriptions.set(type, this.#source.on(type, this.#hear))
    }
  }

  readonly #hear = (event: TelemetryEvent): void => {
    const known = event as KnownEvent
    try {
      this.#logs?.record(known)
    } catch {
      this.#lost.logs += 1
    }
    if (this.#metrics === undefined && this.#traces.tracer === undefined) return
    const change = orNone(() => this.#tasks.follow(known))
    try {
      this.#metrics?.record(known, change)
    } catch {
      this.#lost.metrics += 1
    }
    try {
      this.#traces.record(known, change)
    } catch {
      this.#lost.traces += 1
    }
  }

  readonly #handlerStopped = (stop: HandlerStop): void => {
    try {
      this.#metrics?.handlerStopped(stop)
    } catch {
      this.#lost.metrics += 1
    }
  }
}

function remedyFor({ hasCopy }: UnreadableGlobal): string {
  return hasCopy
    ? 'another copy of it is installed for the runtime, which cannot read it; install one version for both (npm ls @opentelemetry/api), ' +
        'or give the providers to the runtime (telemetry.meterProvider, telemetry.tracerProvider)'
    : 'the runtime finds no copy of it; add @opentelemetry/api (>=1.9.0 <2) to the dependencies of the program, and do not bundle it'
}

/** The result of a call, or undefined when it throws: a provider that throws is one that is not there. */
function orNone<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch {
    return undefined
  }
}
