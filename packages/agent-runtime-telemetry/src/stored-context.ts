import type { SpanContext } from '@opentelemetry/api'
import { installedApi } from './open-telemetry.ts'
import type { TraceCarrier } from './source.ts'

/** The span context that travelled with a task; undefined when there is none, or nothing that W3C Trace Context allows. */
export function readTraceContext(carrier: TraceCarrier | undefined): SpanContext | undefined {
  const api = installedApi()
  const parts = TRACEPARENT.exec(carrier?.['traceparent'] ?? '')
  if (api === undefined || parts === null) return undefined
  const [, traceId = '', spanId = '', flags = ''] = parts
  const tracestate = carrier?.['tracestate']
  const context: SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & api.TraceFlags.SAMPLED,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: api.createTraceState(tracestate) }),
  }
  return api.isSpanContextValid(context) ? context : undefined
}

/** Version ff is forbidden; a later version than 00 may have more fields. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/
