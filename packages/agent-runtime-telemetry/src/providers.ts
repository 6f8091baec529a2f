import {
  createNoopMeter,
  metrics,
  ProxyTracer,
  trace,
  type Meter,
  type MeterProvider,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api'
import { SCHEMA_URL, SCOPE } from './catalogue.ts'

/**
 * The meter of the given or the globally registered provider; undefined when it records nothing: no SDK is registered, or
 * it was shut down. Without a provider the API hands out one shared no-op meter, and so does an SDK after its end.
 */
export function registeredMeter(given?: MeterProvider): Meter | undefined {
  const meter = (given ?? metrics.getMeterProvider()).getMeter(SCOPE, undefined, { schemaUrl: SCHEMA_URL })
  return meter === createNoopMeter() ? undefined : meter
}

/**
 * The tracer of the given or the globally registered provider; undefined when no SDK is registered: the API's own provider
 * then hands out a proxy that waits for one, and a registered SDK's tracers otherwise.
 */
export function registeredTracer(given?: TracerProvider): Tracer | undefined {
  const tracer = (given ?? trace.getTracerProvider()).getTracer(SCOPE, undefined, { schemaUrl: SCHEMA_URL })
  return tracer instanceof ProxyTracer ? undefined : tracer
}
