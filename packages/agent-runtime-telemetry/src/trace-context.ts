import { createTraceState, isSpanContextValid, trace, TraceFlags, type SpanContext } from '@opentelemetry/api'
import type { TraceCarrier } from './source.ts'

/**
 * The caller's trace context, to be stored with the task that it submits; undefined when no span is active, which without
 * an SDK is always. It is W3C Trace Context whatever propagator is registered: the store outlives the configuration.
 * Source: `docs/semantics.md 16.2`.
 */
export function captureTraceContext(): Record<string, string> | undefined {
  const context = trace.getActiveSpan()?.spanContext()
  if (context === undefined || !isSpanContextValid(context)) return undefined
  const flags = (context.traceFlags & 0xff).toString(16).padStart(2, '0')
  const traceparent = `00-${context.traceId}-${context.spanId}-${flags}`
  const tracestate = context.traceState?.serialize() ?? ''
  if (tracestate === '' || tracestate.length > MAX_TRACESTATE_LENGTH) return { traceparent }
  return { traceparent, tracestate }
}

/** The span context that travelled with a task; undefined when there is none, or nothing that W3C Trace Context allows. */
export function readTraceContext(carrier: TraceCarrier | undefined): SpanContext | undefined {
  const parts = TRACEPARENT.exec(carrier?.['traceparent'] ?? '')
  if (parts === null) return undefined
  const [, traceId = '', spanId = '', flags = ''] = parts
  const tracestate = carrier?.['tracestate']
  const context: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  }
  return isSpanContextValid(context) ? context : undefined
}

/** Version ff is forbidden; a later version than 00 may have more fields. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/

/** What a vendor should at least pass on, and what the API itself reads. */
const MAX_TRACESTATE_LENGTH = 512
