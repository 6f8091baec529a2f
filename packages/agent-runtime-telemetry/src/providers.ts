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

/** Where every copy of the API of this major version keeps what is registered. */
const sharedKey = Symbol.for('opentelemetry.js.api.1')

/** A provider that the application has registered, through a copy of the API that this one cannot read. */
export interface UnreadableGlobal {
  /** The version of that copy. */
  readonly version: string
  readonly signals: readonly ('metrics' | 'traces')[]
}

/**
 * What is registered globally and yet cannot be seen from here; undefined when there is nothing of that kind. Copies of the API share
 * their global through a symbol, and a copy refuses without a word what an older minor version has registered.
 */
export function unreadableGlobal(): UnreadableGlobal | undefined {
  // oxlint-disable-next-line no-restricted-properties -- the API's own global, which it shows in no other way
  const shared = (globalThis as Readonly<Record<symbol, SharedApi | undefined>>)[sharedKey]
  if (shared === undefined) return undefined
  const signals = [
    ...(shared.metrics !== undefined && shared.metrics !== metrics.getMeterProvider()
      ? (['metrics'] as const)
      : []),
    ...(shared.trace !== undefined && shared.trace !== trace.getTracerProvider()
      ? (['traces'] as const)
      : []),
  ]
  return signals.length === 0 ? undefined : { version: String(shared.version), signals }
}

interface SharedApi {
  readonly version?: unknown
  readonly metrics?: unknown
  readonly trace?: unknown
}
