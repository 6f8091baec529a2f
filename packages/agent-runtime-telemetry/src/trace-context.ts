import { apiInUse } from './open-telemetry.ts'

/**
 * The caller's trace context, to be stored with the task that it submits; undefined when no span is active, which without
 * an SDK is always. It is W3C Trace Context whatever propagator is registered: the store outlives the configuration.
 * Source: `docs/semantics.md 16.2`.
 */
export function captureTraceContext(): Record<string, string> | undefined {
  const api = apiInUse()
  const context = api?.trace.getActiveSpan()?.spanContext()
  if (api === undefined || context === undefined || !api.isSpanContextValid(context)) return undefined
  const flags = (context.traceFlags & 0xff).toString(16).padStart(2, '0')
  const traceparent = `00-${context.traceId}-${context.spanId}-${flags}`
  const tracestate = context.traceState?.serialize() ?? ''
  if (tracestate === '' || tracestate.length > MAX_TRACESTATE_LENGTH) return { traceparent }
  return { traceparent, tracestate }
}

/** The length that a vendor should at least pass on, and that the API itself reads. */
const MAX_TRACESTATE_LENGTH = 512
