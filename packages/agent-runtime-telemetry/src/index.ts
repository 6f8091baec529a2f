/** @module @ku0/agent-runtime-telemetry */

export * from './attach-telemetry.ts'
export * from './catalogue.ts'
export {
  createLogger,
  droppedLines,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  type WriteLine,
} from './logger.ts'
export type { LineLogger } from './logs.ts'
export type { Dropped } from './dropped.ts'
export type { GivenMeterProvider, GivenTracerProvider } from './given-providers.ts'
export type { HandlerStop, TelemetryEvent, TelemetrySource, TraceCarrier } from './source.ts'
export { captureTraceContext } from './trace-context.ts'
