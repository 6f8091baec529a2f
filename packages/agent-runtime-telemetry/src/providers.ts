import type { Meter, Tracer } from '@opentelemetry/api'
import { SCHEMA_URL, SCOPE } from './catalogue.ts'
import type { GivenMeterProvider, GivenTracerProvider } from './given-providers.ts'
import { apiInUse, installedApi, registeredApi } from './open-telemetry.ts'

/**
 * The meter of the given or the globally registered provider; undefined when it records nothing: no SDK is registered, or
 * it was shut down. Without a provider the API hands out one shared no-op meter, and so does an SDK after its end.
 */
export function registeredMeter(given?: GivenMeterProvider): Meter | undefined {
  const api = given === undefined ? apiInUse() : installedApi()
  if (api === undefined) return undefined
  const provider = given ?? api.metrics.getMeterProvider()
  const meter = provider.getMeter(SCOPE, undefined, { schemaUrl: SCHEMA_URL })
  return meter === api.createNoopMeter() ? undefined : (meter as Meter)
}

/**
 * The tracer of the given or the globally registered provider; undefined when no SDK is registered: the API's own provider
 * then hands out a proxy that waits for one, and a registered SDK's tracers otherwise.
 */
export function registeredTracer(given?: GivenTracerProvider): Tracer | undefined {
  const api = given === undefined ? apiInUse() : installedApi()
  if (api === undefined) return undefined
  const provider = given ?? api.trace.getTracerProvider()
  const tracer = provider.getTracer(SCOPE, undefined, { schemaUrl: SCHEMA_URL })
  return tracer instanceof api.ProxyTracer ? undefined : (tracer as Tracer)
}

/** A provider that the application has registered, and that the runtime cannot read. */
export interface UnreadableGlobal {
  /** The version of the copy of the API that it was registered with. */
  readonly version: string
  readonly signals: readonly ('metrics' | 'traces')[]
  /** Whether the runtime has a copy of its own, which is another one; without it there is none that it finds. */
  readonly hasCopy: boolean
}

/**
 * The providers that are registered globally and yet cannot be seen from here; undefined when there is nothing of that kind. Copies of the API share
 * their global through a symbol, and a copy refuses without a word what an older minor version has registered.
 */
export function unreadableGlobal(): UnreadableGlobal | undefined {
  const shared = registeredApi()
  if (shared === undefined) return undefined
  const api = installedApi()
  const signals = [
    ...(shared.metrics !== undefined && shared.metrics !== api?.metrics.getMeterProvider()
      ? (['metrics'] as const)
      : []),
    ...(shared.trace !== undefined && shared.trace !== api?.trace.getTracerProvider()
      ? (['traces'] as const)
      : []),
  ]
  if (signals.length === 0) return undefined
  return { version: String(shared.version), signals, hasCopy: api !== undefined }
}
