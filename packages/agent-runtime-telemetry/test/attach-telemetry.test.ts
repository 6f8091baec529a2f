import { metrics, trace } from '@opentelemetry/api'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { attachTelemetry, LOOK_AGAIN_MS, type TelemetryOptions } from '../src/index.ts'
import { Scene } from './scene.ts'
import { Sdk } from './sdk.ts'

const logger = { warn: () => {}, error: () => {} }
const ofLogs = [
  'task.rejected',
  'lease.expired',
  'lease.lost',
  'credits.asked',
  'task.leaked',
  'task.killed',
  'task.failed',
] as const
const ofLife = ['task.queued', 'task.started', 'step.completed', 'task.completed'] as const

let scene: Scene
let sdk: Sdk

beforeEach(() => {
  scene = new Scene()
  sdk = new Sdk()
})
afterEach(async () => {
  metrics.disable()
  trace.disable()
  await sdk[Symbol.asyncDispose]()
})

describe('without an SDK', () => {
  test('only the rare events of log lines are subscribed to', () => {
    using telemetry = attach({ logger })
    expect(telemetry.recording).toEqual({ metrics: false, traces: false, logs: true })
    expect(scene.bus.size).toBe(ofLogs.length)
    for (const type of ofLogs) expect(scene.bus.wants(type)).toBe(true)
    for (const type of ofLife) expect(scene.bus.wants(type)).toBe(false)
  })

  test('the store is never asked', () => {
    scene.stats = () => Promise.reject(new Error('asked'))
    using _ = attach({ logger })
    scene.clock.advanceBy(60_000)
    expect(scene.clock.pending).toBe(1)
  })
})

describe('with an SDK that was registered', () => {
  test('before, it records at once', async () => {
    metrics.setGlobalMeterProvider(sdk.meterProvider)
    trace.setGlobalTracerProvider(sdk.tracerProvider)
    using telemetry = attach({ logger })
    expect(telemetry.recording).toEqual({ metrics: true, traces: true, logs: true })
    scene.queued('a')
    scene.completed('a', scene.started('a'))
    expect(await sdk.points('agent_runtime.task.duration')).toHaveLength(1)
    expect(await sdk.spans()).toHaveLength(1)
  })

  test('later, it records from the next look on', async () => {
    using telemetry = attach({ logger })
    metrics.setGlobalMeterProvider(sdk.meterProvider)
    trace.setGlobalTracerProvider(sdk.tracerProvider)
    scene.clock.advanceBy(LOOK_AGAIN_MS)
    expect(telemetry.recording).toEqual({ metrics: true, traces: true, logs: true })
    scene.completed('a', scene.started('a'))
    expect(await sdk.points('messaging.process.duration')).toHaveLength(1)
    expect(await sdk.spans()).toHaveLength(1)
  })

  test('for one signal, only the events of that signal are subscribed to', () => {
    trace.setGlobalTracerProvider(sdk.tracerProvider)
    using telemetry = attach()
    expect(telemetry.recording).toEqual({ metrics: false, traces: true, logs: false })
    expect(scene.bus.wants('task.started')).toBe(true)
    expect(scene.bus.wants('task.preempted')).toBe(false)
  })

  test('once that is taken away, it subscribes to the rare events only', async () => {
    metrics.setGlobalMeterProvider(sdk.meterProvider)
    trace.setGlobalTracerProvider(sdk.tracerProvider)
    using telemetry = attach({ logger })
    scene.started('a')
    metrics.disable()
    trace.disable()
    scene.clock.advanceBy(LOOK_AGAIN_MS)
    expect(telemetry.recording).toEqual({ metrics: false, traces: false, logs: true })
    expect(scene.bus.size).toBe(ofLogs.length)
    expect(await sdk.spans()).toHaveLength(1)
  })

  test('once that was taken away for a while, it has forgotten what was open', async () => {
    using _ = attach()
    const lookAgain = () => scene.clock.advanceBy(LOOK_AGAIN_MS)
    metrics.setGlobalMeterProvider(sdk.meterProvider)
    lookAgain()
    scene.queued('a')
    scene.expired('a', scene.started('a'))
    metrics.disable()
    lookAgain()
    const leaseId = scene.started('a')
    metrics.setGlobalMeterProvider(sdk.meterProvider)
    lookAgain()
    scene.completed('a', leaseId)
    expect(await sdk.points('agent_runtime.resume.duration')).toEqual([])
    expect(await sdk.points('agent_runtime.task.duration')).toEqual([])
  })

  test('once that is shut down, it stops measuring', async () => {
    metrics.setGlobalMeterProvider(sdk.meterProvider)
    using telemetry = attach()
    await sdk.meterProvider.shutdown()
    scene.clock.advanceBy(LOOK_AGAIN_MS)
    expect(telemetry.recording.metrics).toBe(false)
    sdk = new Sdk()
  })

  test('once that is replaced, it records for the new one', async () => {
    metrics.setGlobalMeterProvider(sdk.meterProvider)
    using _ = attach()
    const second = new Sdk()
    metrics.disable()
    metrics.setGlobalMeterProvider(second.meterProvider)
    scene.clock.advanceBy(LOOK_AGAIN_MS)
    scene.started('a')
    expect(await sdk.points('agent_runtime.queue.wait_time')).toEqual([])
    expect(await second.points('agent_runtime.queue.wait_time')).toHaveLength(1)
    await second[Symbol.asyncDispose]()
  })
})

describe('when disposed', () => {
  test('it has left nothing behind', async () => {
    sdk.attach(scene, { logger })[Symbol.dispose]()
    expect(scene.bus.size).toBe(0)
    expect(scene.clock.pending).toBe(0)
    expect(scene.stopListeners.size).toBe(0)
    expect([...(await sdk.metrics()).keys()]).toEqual([])
  })

  test('from a listener of its own, no later event reaches it', () => {
    const telemetry = sdk.attach(scene)
    scene.started('a')
    telemetry[Symbol.dispose]()
    telemetry[Symbol.dispose]()
    scene.completed('a', 'lease-1')
    expect(telemetry.recording).toEqual({ metrics: false, traces: false, logs: false })
  })
})

describe('a sink that throws harms nobody, and is counted', () => {
  const thrown = () => {
    throw new Error('sink')
  }

  test('logger', () => {
    using telemetry = attach({ logger: { warn: thrown, error: thrown } })
    scene.expired('a', 'lease-1')
    scene.publish('task.leaked', 'a', { leaseId: 'lease-1', afterMs: 1 })
    expect(telemetry.dropped).toEqual({ metrics: 0, traces: 0, logs: 2 })
  })

  test('instruments', async () => {
    const broken = {
      ...noop(),
      createCounter: () => ({ add: thrown }),
      createHistogram: () => ({ record: thrown }),
    }
    using telemetry = sdk.attach(scene, { meterProvider: { getMeter: () => broken } })
    scene.queued('a')
    scene.completed('a', scene.started('a'))
    scene.handlerStopped({ taskId: 'a', leaseId: 'l', reason: 'canceled', afterMs: 1, leaked: false })
    expect(telemetry.dropped.metrics).toBe(4)
    expect(await sdk.spans()).toHaveLength(1)
  })

  test('tracer', async () => {
    using telemetry = sdk.attach(scene, {
      tracerProvider: { getTracer: () => ({ startSpan: thrown, startActiveSpan: thrown }) },
    })
    scene.queued('a')
    scene.completed('a', scene.started('a'))
    expect(telemetry.dropped.traces).toBe(1)
    expect(await sdk.points('agent_runtime.task.duration')).toHaveLength(1)
  })

  test('providers', () => {
    using telemetry = attach({
      logger,
      meterProvider: { getMeter: thrown },
      tracerProvider: { getTracer: thrown },
    })
    scene.clock.advanceBy(LOOK_AGAIN_MS)
    expect(telemetry.recording).toEqual({ metrics: false, traces: false, logs: true })
  })

  test('the count is a metric', async () => {
    using _ = sdk.attach(scene, { logger: { warn: thrown, error: thrown } })
    scene.expired('a', 'lease-1')
    const storeId = 'a1b2c3d4e5f607182'
    expect(await sdk.points('agent_runtime.telemetry.dropped')).toEqual(
      Object.entries({ metrics: 0, traces: 0, logs: 1 }).map(([signal, value]) => ({
        attributes: { 'agent_runtime.telemetry.signal': signal, 'agent_runtime.store.id': storeId },
        value,
      })),
    )
  })
})

test('two runtimes of one process share an SDK', async () => {
  const other = new Scene()
  Object.assign(other, { storeInfo: { storeId: 'ffffffffffffffff0', processId: 'process-1' } })
  using one = sdk.attach(scene)
  using two = sdk.attach(other)
  expect([one, two].map(({ recording }) => recording.metrics)).toEqual([true, true])
  scene.depth = { interactive: 1, normal: 0, batch: 0 }
  other.depth = { interactive: 2, normal: 0, batch: 0 }
  scene.queued('a')
  other.queued('a')
  const interactive = (await sdk.points('agent_runtime.queue.depth')).filter(
    ({ attributes }) => attributes['agent_runtime.lane'] === 'interactive',
  )
  expect(interactive.map(({ value }) => value)).toEqual([1, 2])
  expect(await sdk.points('messaging.client.sent.messages')).toMatchObject([{ value: 2 }])
})

function attach(options: TelemetryOptions = {}) {
  return attachTelemetry(scene, { clock: scene.clock, timers: scene.clock, ...options })
}

function noop() {
  const observable = { addCallback() {}, removeCallback() {} }
  return {
    createGauge: () => ({ record() {} }),
    createHistogram: () => ({ record() {} }),
    createCounter: () => ({ add() {} }),
    createUpDownCounter: () => ({ add() {} }),
    createObservableGauge: () => observable,
    createObservableCounter: () => observable,
    createObservableUpDownCounter: () => observable,
    addBatchObservableCallback() {},
    removeBatchObservableCallback() {},
  }
}
