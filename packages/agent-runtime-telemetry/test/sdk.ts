import { context, ROOT_CONTEXT, trace, type SpanContext } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type Histogram,
  type MetricData,
} from '@opentelemetry/sdk-metrics'
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace'
import { attachTelemetry, type Telemetry, type TelemetryOptions } from '../src/index.ts'
import { AsyncContexts } from './async-contexts.ts'
import type { Scene } from './scene.ts'

/** A real OpenTelemetry SDK that keeps what it exports. */
export class Sdk implements AsyncDisposable {
  readonly #metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  readonly #spanExporter = new InMemorySpanExporter()
  readonly #resource = resourceFromAttributes({ 'service.name': 'test' })
  readonly meterProvider = new MeterProvider({
    resource: this.#resource,
    readers: [
      new PeriodicExportingMetricReader({ exporter: this.#metricExporter, exportIntervalMillis: 86_400_000 }),
    ],
  })
  readonly tracerProvider = new TracerProvider({
    resource: this.#resource,
    spanProcessors: [new SimpleSpanProcessor({ exporter: this.#spanExporter })],
  })

  attach(scene: Scene, options: TelemetryOptions = {}): Telemetry {
    const { meterProvider, tracerProvider } = this
    return attachTelemetry(scene, {
      clock: scene.clock,
      timers: scene.clock,
      meterProvider,
      tracerProvider,
      ...options,
    })
  }

  /** Calls `run` inside a span, and hands back the span's context with the answer. */
  async inSpan<T>(run: () => Promise<T>): Promise<{ answer: T; context: SpanContext }> {
    const span = this.tracerProvider.getTracer('test').startSpan('submit')
    context.setGlobalContextManager(new AsyncContexts())
    try {
      const answer = await context.with(trace.setSpan(ROOT_CONTEXT, span), run)
      return { answer, context: span.spanContext() }
    } finally {
      context.disable()
    }
  }

  /** The metrics of one export, by name. */
  async metrics(): Promise<Map<string, MetricData>> {
    this.#metricExporter.reset()
    await this.meterProvider.forceFlush()
    const exported = this.#metricExporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
    return new Map(
      exported.flatMap(({ metrics }) => metrics).map((metric) => [metric.descriptor.name, metric]),
    )
  }

  /** The points of one metric: what each set of attributes has; of a histogram how often and how much. */
  async points(name: string): Promise<{ attributes: Record<string, unknown>; value: unknown }[]> {
    const metric = (await this.metrics()).get(name)
    return (metric?.dataPoints ?? []).map(({ attributes, value }) => ({ attributes, value: short(value) }))
  }

  async spans(): Promise<ReadableSpan[]> {
    await this.tracerProvider.forceFlush()
    return this.#spanExporter.getFinishedSpans()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.meterProvider.shutdown()
    await this.tracerProvider.shutdown()
  }
}

function short(value: number | Histogram | object): unknown {
  if (typeof value === 'number' || !('buckets' in value)) return value
  return { count: value.count, sum: value.sum }
}
