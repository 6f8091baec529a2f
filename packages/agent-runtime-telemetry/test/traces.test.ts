import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Scene } from './scene.ts'
import { Sdk } from './sdk.ts'

let scene: Scene
let sdk: Sdk

beforeEach(() => {
  scene = new Scene()
  sdk = new Sdk()
})
afterEach(() => sdk[Symbol.asyncDispose]())

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const tracestate = 'vendor=value'

test('a lease is a span, from its claim to its end', async () => {
  using _ = sdk.attach(scene)
  const claimedAt = scene.clock.now()
  const leaseId = scene.started('a', { lane: 'interactive', workerId: 'worker-7' })
  scene.clock.advanceBy(1_500)
  scene.completed('a', leaseId)

  const [span, ...others] = await sdk.spans()
  expect(others).toEqual([])
  expect(shape(span)).toEqual({
    name: 'process review',
    kind: SpanKind.CONSUMER,
    from: claimedAt,
    to: claimedAt + 1_500,
    status: { code: SpanStatusCode.UNSET },
    attributes: {
      'messaging.system': 'agent_runtime',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'review',
      'messaging.message.id': 'a',
      'messaging.client.id': 'worker-7',
      'agent_runtime.lane': 'interactive',
      'agent_runtime.task.attempt': 1,
      'agent_runtime.lease.id': leaseId,
      'agent_runtime.lease.end_reason': 'completed',
      'agent_runtime.step.replays': 0,
    },
  })
  expect(span?.parentSpanContext).toBeUndefined()
})

test('times before the start of the process are not taken for something else', async () => {
  using _ = sdk.attach(scene)
  scene.clock.skew = -scene.clock.now() + 1
  const leaseId = scene.started('a')
  scene.clock.advanceBy(1)
  scene.completed('a', leaseId)
  expect(shape((await sdk.spans())[0])).toMatchObject({ from: 1, to: 2 })
})

test('steps are spans below their lease, with the time that they ran', async () => {
  using _ = sdk.attach(scene)
  const claimedAt = scene.clock.now()
  const leaseId = scene.started('a')
  scene.clock.advanceBy(1_000)
  scene.step('a', 'list files', 400, 0)
  scene.publish('step.failed', 'a', {
    key: 'read',
    position: 1,
    error: { name: 'TypeError', message: 'hunter2' },
    durationMs: 100,
  })
  scene.publishOwn('step.replayed', 'a', { key: 'earlier', position: 2 })
  scene.completed('a', leaseId)

  const [listed, read, lease] = await sdk.spans()
  expect(shape(listed)).toEqual({
    name: 'step list files',
    kind: SpanKind.INTERNAL,
    from: claimedAt + 600,
    to: claimedAt + 1_000,
    status: { code: SpanStatusCode.UNSET },
    attributes: { 'agent_runtime.step.key': 'list files', 'agent_runtime.step.position': 0 },
  })
  expect(shape(read)).toMatchObject({
    name: 'step read',
    status: { code: SpanStatusCode.ERROR },
    attributes: { 'error.type': 'TypeError' },
  })
  for (const step of [listed, read]) {
    expect(step?.spanContext().traceId).toBe(lease?.spanContext().traceId)
    expect(step?.parentSpanContext?.spanId).toBe(lease?.spanContext().spanId)
  }
  expect(lease?.attributes['agent_runtime.step.replays']).toBe(1)
})

test('a step does not begin before its lease, whatever its duration says', async () => {
  using _ = sdk.attach(scene)
  const claimedAt = scene.clock.now()
  scene.started('a')
  scene.step('a', 'read', 400)
  expect(shape((await sdk.spans())[0])).toMatchObject({ from: claimedAt, to: claimedAt })
})

test('step keys make at most a thousand span names', async () => {
  using _ = sdk.attach(scene)
  scene.started('a')
  for (let i = 0; i < 1_500; i += 1) scene.step('a', `file ${i}`, 1)
  const spans = await sdk.spans()
  expect(new Set(spans.map(({ name }) => name)).size).toBe(1_001)
  expect(spans.at(-1)).toMatchObject({
    name: 'step _other',
    attributes: { 'agent_runtime.step.key': 'file 1499' },
  })
})

describe('how a lease ended', () => {
  test('by a failure', async () => {
    using _ = sdk.attach(scene)
    scene.failed('a', scene.started('a'))
    expect(shape((await sdk.spans())[0])).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'agent_runtime.lease.end_reason': 'failed', 'error.type': 'TypeError' },
    })
  })

  test.each(['expired', 'owner_dead'] as const)('by loss: %s', async (reason) => {
    using _ = sdk.attach(scene)
    scene.expired('a', scene.started('a'), reason)
    expect(shape((await sdk.spans())[0])).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'agent_runtime.lease.end_reason': reason, 'error.type': reason },
    })
  })

  test.each([
    ['retry', { error: { name: 'Error', code: 'ETIMEDOUT', message: '' } }, SpanStatusCode.ERROR],
    ['yielded', {}, SpanStatusCode.UNSET],
    ['drained', {}, SpanStatusCode.UNSET],
  ] as const)('by going back to the queue: %s', async (reason, more, code) => {
    using _ = sdk.attach(scene)
    const leaseId = scene.started('a')
    scene.publish(
      'task.requeued',
      'a',
      { attempt: 1, reason, leaseId, ...more },
      { also: ['lease.released'] },
    )
    expect(shape((await sdk.spans())[0])).toMatchObject({
      status: { code },
      attributes: { 'agent_runtime.lease.end_reason': reason },
    })
  })

  test('by a cancel, or a wait', async () => {
    using _ = sdk.attach(scene)
    const also = ['lease.released'] as const
    scene.publish('task.canceled', 'a', { from: 'running', leaseId: scene.started('a') }, { also })
    scene.publish('task.waiting', 'b', { reason: 'signal', leaseId: scene.started('b'), waits: [] }, { also })
    expect((await sdk.spans()).map(shape)).toMatchObject([
      {
        status: { code: SpanStatusCode.UNSET },
        attributes: { 'agent_runtime.lease.end_reason': 'canceled' },
      },
      { status: { code: SpanStatusCode.UNSET }, attributes: { 'agent_runtime.lease.end_reason': 'waiting' } },
    ])
  })
})

describe('links', () => {
  test('lead to the context in which the task was submitted', async () => {
    using _ = sdk.attach(scene)
    scene.queued('a', { trace: { traceparent, tracestate } })
    scene.completed('a', scene.started('a'))
    const [span] = await sdk.spans()
    expect(span?.links).toHaveLength(1)
    expect(span?.links[0]?.context).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      traceFlags: 1,
      isRemote: true,
    })
    expect(span?.links[0]?.context.traceState?.serialize()).toBe(tracestate)
    expect(span?.spanContext().traceId).not.toBe('0af7651916cd43dd8448eb211c80319c')
  })

  test('lead there too when the task was submitted before telemetry listened', async () => {
    using _ = sdk.attach(scene)
    scene.submitted.set('a', { traceparent })
    scene.completed('a', scene.started('a', { attempt: 2 }))
    expect((await sdk.spans())[0]?.links[0]?.context.spanId).toBe('b7ad6b7169203331')
  })

  test('lead from a later lease of the task to the one before', async () => {
    using _ = sdk.attach(scene)
    scene.queued('a', { trace: { traceparent } })
    scene.expired('a', scene.started('a'))
    scene.completed('a', scene.started('a', { attempt: 2 }))
    const [first, second] = await sdk.spans()
    expect(second?.attributes['agent_runtime.task.attempt']).toBe(2)
    expect(second?.links.map(({ context }) => context.spanId)).toEqual([
      'b7ad6b7169203331',
      first?.spanContext().spanId,
    ])
  })

  test('are left out when what was stored is no trace context', async () => {
    using _ = sdk.attach(scene)
    for (const [index, broken] of [
      '',
      'x',
      `ff${traceparent.slice(2)}`,
      traceparent.replaceAll(/[1-9a-f]/g, '0'),
    ].entries()) {
      scene.queued(`t${index}`, { trace: { traceparent: broken } })
      scene.completed(`t${index}`, scene.started(`t${index}`))
    }
    expect((await sdk.spans()).map(({ links }) => links.length)).toEqual([0, 0, 0, 0])
  })
})

test('a lease that another process held is not traced here, one that it ended is', async () => {
  const telemetry = sdk.attach(scene)
  const elsewhere = true
  scene.completed('a', scene.started('a', {}, { elsewhere }), { elsewhere })
  scene.expired('b', scene.started('b', { workerId: 'ours' }), 'expired', { elsewhere })
  scene.started('c', {}, { elsewhere })
  telemetry[Symbol.dispose]()
  expect((await sdk.spans()).map(({ attributes }) => attributes['messaging.client.id'])).toEqual(['ours'])
})

test('a late event about an earlier lease does not end the live one', async () => {
  using _ = sdk.attach(scene)
  scene.started('a', { leaseId: 'live' })
  scene.completed('a', 'other')
  expect(await sdk.spans()).toEqual([])
})

test.each([
  [false, { code: SpanStatusCode.ERROR }],
  [true, { code: SpanStatusCode.ERROR, message: 'hunter2' }],
])('the message of an error is in a span with logPayloads only: %s', async (logPayloads, status) => {
  using _ = sdk.attach(scene, { logPayloads })
  scene.failed('a', scene.started('a'))
  expect((await sdk.spans())[0]?.status).toEqual(status)
})

test('X09 no payload or result is in any span', async () => {
  using _ = sdk.attach(scene)
  scene.queued('a')
  const leaseId = scene.started('a')
  scene.step('a', 'read', 1)
  scene.failed('a', leaseId)
  const said = (await sdk.spans()).map(({ name, attributes, status, events, links }) => ({
    name,
    attributes,
    status,
    events,
    links,
  }))
  expect(JSON.stringify(said)).not.toContain('hunter2')
})

describe('spans whose end is not heard', () => {
  test('end when telemetry does', async () => {
    const telemetry = sdk.attach(scene)
    const claimedAt = scene.clock.now()
    scene.started('a')
    scene.clock.advanceBy(5_000)
    telemetry[Symbol.dispose]()
    expect(shape((await sdk.spans())[0])).toMatchObject({ from: claimedAt, to: claimedAt + 5_000 })
    expect((await sdk.spans())[0]?.attributes).not.toHaveProperty('agent_runtime.lease.end_reason')
  })
})

function shape(span: ReadableSpan | undefined) {
  if (span === undefined) return undefined
  const { name, kind, status, attributes } = span
  return { name, kind, from: millis(span.startTime), to: millis(span.endTime), status, attributes }
}

function millis(time: ReadableSpan['startTime']): number {
  return time[0] * 1e3 + time[1] / 1e6
}
