import { context, createTraceState, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { captureTraceContext } from '../src/index.ts'
import { readTraceContext } from '../src/stored-context.ts'
import { AsyncContexts } from './async-contexts.ts'
import { Sdk } from './sdk.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const traceparent = `00-${traceId}-${spanId}-01`

describe('capturing', () => {
  let sdk: Sdk
  beforeEach(() => {
    sdk = new Sdk()
    context.setGlobalContextManager(new AsyncContexts())
  })
  afterEach(async () => {
    context.disable()
    await sdk[Symbol.asyncDispose]()
  })

  test('without an active span there is nothing to capture', () => {
    expect(captureTraceContext()).toBeUndefined()
  })

  test('the active span is captured as W3C Trace Context, and read back', () => {
    const span = sdk.tracerProvider.getTracer('test').startSpan('submit')
    const carrier = context.with(trace.setSpan(ROOT_CONTEXT, span), captureTraceContext)
    const { traceId: id, spanId: parent } = span.spanContext()
    expect(carrier).toEqual({ traceparent: `00-${id}-${parent}-01` })
    expect(readTraceContext(carrier)).toMatchObject({
      traceId: id,
      spanId: parent,
      traceFlags: 1,
      isRemote: true,
    })
    span.end()
  })

  test('with its trace state, unless that is longer than anyone must carry', () => {
    const capture = (tracestate: string) =>
      context.with(
        trace.setSpanContext(ROOT_CONTEXT, {
          traceId,
          spanId,
          traceFlags: 0,
          traceState: { ...createTraceState(), serialize: () => tracestate },
        }),
        captureTraceContext,
      )
    expect(capture('a=1,b=2')).toEqual({ traceparent: `00-${traceId}-${spanId}-00`, tracestate: 'a=1,b=2' })
    expect(capture(`a=${'x'.repeat(511)}`)).toEqual({ traceparent: `00-${traceId}-${spanId}-00` })
  })

  test('a span context that is not valid is not captured', () => {
    const active = trace.setSpanContext(ROOT_CONTEXT, { traceId: '0'.repeat(32), spanId, traceFlags: 1 })
    expect(context.with(active, captureTraceContext)).toBeUndefined()
  })
})

describe('reading', () => {
  test.each([
    undefined,
    {},
    { traceparent: '' },
    { traceparent: 'nonsense' },
    { traceparent: traceparent.toUpperCase() },
    { traceparent: `ff-${traceId}-${spanId}-01` },
    { traceparent: `00-${'0'.repeat(32)}-${spanId}-01` },
    { traceparent: `00-${traceId}-${'0'.repeat(16)}-01` },
    { traceparent: `00-${traceId}-${spanId}-01x` },
  ])('%j is no trace context', (carrier) => {
    expect(readTraceContext(carrier)).toBeUndefined()
  })

  test('fields of a later version, and flags that nobody knows yet, are passed over', () => {
    expect(readTraceContext({ traceparent: `01-${traceId}-${spanId}-ff-more` })).toMatchObject({
      traceId,
      traceFlags: 1,
    })
  })
})
