import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Scene } from './scene.ts'
import { Sdk } from './sdk.ts'
import { lackOfCredits } from './whole-story.ts'

let scene: Scene
let sdk: Sdk

beforeEach(() => {
  scene = new Scene()
  sdk = new Sdk()
})
afterEach(() => sdk[Symbol.asyncDispose]())

const submit = { 'messaging.system': 'agent_runtime', 'messaging.operation.name': 'submit' }
const process = { 'messaging.system': 'agent_runtime', 'messaging.operation.name': 'process' }
const review = { 'messaging.destination.name': 'review' }
const normal = { 'agent_runtime.lane': 'normal' }
const store = { 'agent_runtime.store.id': 'a1b2c3d4e5f607182' }

describe('the facts of the store and the registry are read at collection', () => {
  test('queue depth by lane', async () => {
    using _ = sdk.attach(scene)
    scene.depth = { interactive: 1, normal: 20, batch: 300 }
    expect(await sdk.points('agent_runtime.queue.depth')).toEqual([
      { attributes: { 'agent_runtime.lane': 'interactive', ...store }, value: 1 },
      { attributes: { 'agent_runtime.lane': 'normal', ...store }, value: 20 },
      { attributes: { 'agent_runtime.lane': 'batch', ...store }, value: 300 },
    ])
    expect(scene.clock.pending).toBe(1)
  })

  test('routes with their pressure, scar and circuit; one that is forgotten is well', async () => {
    using _ = sdk.attach(scene)
    scene.known = [{ route: 'train', pressure: 0.25, scar: 1.5, circuit: 'open' }]
    const attributes = { 'messaging.destination.name': 'train', ...store }
    expect(await sdk.points('agent_runtime.route.pressure')).toEqual([{ attributes, value: 0.25 }])
    expect(await sdk.points('agent_runtime.route.scar')).toEqual([{ attributes, value: 1.5 }])
    expect(await sdk.points('agent_runtime.route.circuit')).toEqual([{ attributes, value: 2 }])
    scene.known = []
    expect(await sdk.points('agent_runtime.route.circuit')).toEqual([{ attributes, value: 0 }])
  })

  test('in flight by worker, of this process only; a worker that left runs nothing', async () => {
    using _ = sdk.attach(scene)
    scene.registered = [
      { workerId: 'a', processId: 'process-1', inFlight: 3 },
      { workerId: 'b', processId: 'process-1', inFlight: 1 },
      { workerId: 'c', processId: 'process-2', inFlight: 4 },
    ]
    const a = { 'messaging.client.id': 'a', ...store }
    const b = { 'messaging.client.id': 'b', ...store }
    expect(await sdk.points('agent_runtime.worker.in_flight')).toEqual([
      { attributes: a, value: 3 },
      { attributes: b, value: 1 },
    ])
    scene.registered = [{ workerId: 'a', processId: 'process-1', inFlight: 2 }]
    expect(await sdk.points('agent_runtime.worker.in_flight')).toEqual([
      { attributes: a, value: 2 },
      { attributes: b, value: 0 },
    ])
  })

  test('8.6 tasks that the watchdog found stuck, by type and kind; those that go on are 0', async () => {
    using _ = sdk.attach(scene)
    const labels = (type: string, as: string) => ({
      'messaging.destination.name': type,
      'agent_runtime.task.stuck_as': as,
      ...store,
    })
    scene.found = [
      { what: 'no worker', type: 'review', tasks: 3 },
      { what: 'running', type: 'digest', tasks: 1 },
      { what: 'running', type: 'digest', tasks: 1 },
    ]
    expect(await sdk.points('agent_runtime.task.stuck')).toEqual([
      { attributes: labels('review', 'no_worker'), value: 3 },
      { attributes: labels('digest', 'running'), value: 2 },
    ])
    scene.found = []
    expect(await sdk.points('agent_runtime.task.stuck')).toEqual([
      { attributes: labels('review', 'no_worker'), value: 0 },
      { attributes: labels('digest', 'running'), value: 0 },
    ])
  })

  test('stale writes', async () => {
    using _ = sdk.attach(scene)
    scene.staleWrites = 7
    expect(await sdk.points('agent_runtime.lease.stale_writes')).toEqual([{ attributes: store, value: 7 }])
  })

  test('tasks that run under a quota, by its key; those after the first hundred together', async () => {
    using _ = sdk.attach(scene)
    const key = { 'agent_runtime.quota.key': 'model:big', ...store }
    scene.quotas = [{ key: 'model:big', queued: 5, running: 2 }]
    expect(await sdk.points('agent_runtime.quota.in_flight')).toEqual([{ attributes: key, value: 2 }])
    scene.quotas = [...Array(105).keys()].map((n) => ({ key: `client:${n}`, queued: 0, running: 1 }))
    const points = await sdk.points('agent_runtime.quota.in_flight')
    expect(points).toContainEqual({ attributes: { 'agent_runtime.quota.key': '_other', ...store }, value: 6 })
    expect(points).toHaveLength(101)
  })

  test('a store that fails, or does not answer, is left out of the export', async () => {
    using _ = sdk.attach(scene)
    scene.stats = () => Promise.reject(new Error('store_closed'))
    scene.workers = () => new Promise(() => {})
    const exported = sdk.metrics()
    while (scene.clock.pending < 2) await Promise.resolve()
    scene.clock.advanceBy(5_000)
    expect([...(await exported).keys()]).toEqual(['agent_runtime.telemetry.dropped'])
  })
})

test('queue wait by lane', async () => {
  using _ = sdk.attach(scene)
  scene.started('a', { lane: 'interactive', waitMs: 40 })
  scene.started('b', { lane: 'interactive', waitMs: 60 })
  scene.started('c', { lane: 'batch', waitMs: 90_000 })
  expect(await sdk.points('agent_runtime.queue.wait_time')).toEqual([
    { attributes: { 'agent_runtime.lane': 'interactive' }, value: { count: 2, sum: 0.1 } },
    { attributes: { 'agent_runtime.lane': 'batch' }, value: { count: 1, sum: 90 } },
  ])
})

test('admissions, and rejections by reason', async () => {
  using _ = sdk.attach(scene)
  scene.queued('a')
  scene.queued('b')
  scene.publish('task.rejected', 'c', {
    type: 'review',
    lane: 'batch',
    reason: 'backpressure',
    message: 'full',
  })
  expect(await sdk.points('messaging.client.sent.messages')).toEqual([
    { attributes: { ...submit, ...review, ...normal }, value: 2 },
    {
      attributes: { ...submit, ...review, 'agent_runtime.lane': 'batch', 'error.type': 'backpressure' },
      value: 1,
    },
  ])
})

test('the duration of a task, from its admission to its end, and of each of its leases', async () => {
  using _ = sdk.attach(scene)
  scene.queued('a')
  scene.clock.advanceBy(1_000)
  const first = scene.started('a')
  scene.clock.advanceBy(2_000)
  scene.publish(
    'task.waiting',
    'a',
    { reason: 'timer', leaseId: first, waits: [] },
    { also: ['lease.released'] },
  )
  scene.clock.advanceBy(4_000)
  const second = scene.started('a')
  scene.clock.advanceBy(8_000)
  scene.completed('a', second)

  expect(await sdk.points('agent_runtime.task.duration')).toEqual([
    {
      attributes: { ...review, ...normal, 'agent_runtime.task.state': 'completed' },
      value: { count: 1, sum: 15 },
    },
  ])
  expect(await sdk.points('messaging.process.duration')).toEqual([
    {
      attributes: { ...process, ...review, ...normal, 'agent_runtime.lease.end_reason': 'waiting' },
      value: { count: 1, sum: 2 },
    },
    {
      attributes: { ...process, ...review, ...normal, 'agent_runtime.lease.end_reason': 'completed' },
      value: { count: 1, sum: 8 },
    },
  ])
})

test('a task that was admitted before anyone listened has no duration, its leases have', async () => {
  using _ = sdk.attach(scene)
  scene.completed('a', scene.started('a'))
  expect(await sdk.points('agent_runtime.task.duration')).toEqual([])
  expect(await sdk.points('messaging.process.duration')).toHaveLength(1)
})

describe('error.type', () => {
  test.each([
    [{ name: 'TypeError', message: 'hunter2' }, 'TypeError'],
    [{ name: 'Error', code: 'ENOENT', message: 'hunter2' }, 'ENOENT'],
    [{ $ku0: ['Error', { name: 'RangeError', message: 'hunter2', props: { code: 'too_far' } }] }, 'too_far'],
    [{ $blob: 'ab12', size: 300_000 }, 'error'],
    ['hunter2', 'error'],
    [null, 'error'],
  ])('the error type of a handler that threw %j is %s', async (error, type) => {
    using _ = sdk.attach(scene)
    scene.queued('a')
    scene.failed('a', scene.started('a'), error)
    for (const name of ['agent_runtime.task.duration', 'messaging.process.duration']) {
      expect((await sdk.points(name))[0]?.attributes).toMatchObject({ 'error.type': type })
    }
  })

  test('the error type of every other failure is its kind', async () => {
    using _ = sdk.attach(scene)
    scene.queued('a')
    const leaseId = scene.started('a')
    scene.publish('task.failed', 'a', { kind: 'timeout', error: { name: 'X', message: '' }, leaseId })
    expect((await sdk.points('agent_runtime.task.duration'))[0]?.attributes).toMatchObject({
      'error.type': 'timeout',
    })
  })

  test('has at most a hundred values that handlers choose', async () => {
    using _ = sdk.attach(scene)
    for (let i = 0; i < 150; i += 1) {
      scene.queued(`t${i}`)
      scene.failed(`t${i}`, scene.started(`t${i}`), { name: `Error${i}`, message: '' })
    }
    const points = await sdk.points('agent_runtime.task.duration')
    expect(points).toHaveLength(101)
    expect(points.at(-1)).toMatchObject({ attributes: { 'error.type': '_OTHER' }, value: { count: 50 } })
  })
})

test('step duration, and steps that a memo answered', async () => {
  using _ = sdk.attach(scene)
  scene.started('a')
  scene.step('a', 'read', 250)
  scene.publish('step.failed', 'a', {
    key: 'write',
    position: 1,
    error: { name: 'TypeError', message: '' },
    durationMs: 500,
  })
  scene.publishOwn('step.replayed', 'a', { key: 'read', position: 0 })
  scene.publishOwn('step.replayed', 'a', { key: 'read 2', position: 1 })
  expect(await sdk.points('agent_runtime.step.duration')).toEqual([
    { attributes: review, value: { count: 1, sum: 0.25 } },
    { attributes: { ...review, 'error.type': 'TypeError' }, value: { count: 1, sum: 0.5 } },
  ])
  expect(await sdk.points('agent_runtime.step.replays')).toEqual([{ attributes: review, value: 2 }])
})

test('cancel latency: until the handler stopped, or leaked', async () => {
  using _ = sdk.attach(scene)
  const stop = { taskId: 'a', leaseId: 'l', reason: 'canceled', afterMs: 20, leaked: false } as const
  scene.handlerStopped(stop)
  scene.handlerStopped({ ...stop, afterMs: 30_000, leaked: true })
  scene.handlerStopped({ ...stop, reason: 'lost', afterMs: 1_000 })
  expect(await sdk.points('agent_runtime.cancel.duration')).toEqual([
    { attributes: {}, value: { count: 1, sum: 0.02 } },
    { attributes: { 'error.type': 'leaked' }, value: { count: 1, sum: 30 } },
  ])
})

describe('resume latency', () => {
  test('runs from the loss of a lease to the first new step of a later one', async () => {
    using _ = sdk.attach(scene)
    scene.queued('a')
    const leaseId = scene.started('a')
    scene.step('a', 'one', 0)
    scene.expired('a', leaseId, 'owner_dead')
    scene.clock.advanceBy(300)
    scene.started('a', { attempt: 2 })
    scene.publishOwn('step.replayed', 'a', { key: 'one', position: 0 })
    scene.clock.advanceBy(200)
    scene.step('a', 'two', 0)
    scene.step('a', 'three', 0)
    expect(await sdk.points('agent_runtime.resume.duration')).toEqual([
      { attributes: normal, value: { count: 1, sum: 0.5 } },
    ])
  })

  test('is measured for a task that was started by a process that died, before this one came', async () => {
    using _ = sdk.attach(scene)
    scene.expired('a', 'theirs', 'owner_dead')
    scene.clock.advanceBy(300)
    scene.completed('a', scene.started('a', { attempt: 2 }))
    expect(await sdk.points('agent_runtime.resume.duration')).toEqual([
      { attributes: normal, value: { count: 1, sum: 0.3 } },
    ])
  })

  test('runs to the completion of a task without steps, and over several losses', async () => {
    using _ = sdk.attach(scene)
    scene.queued('a')
    scene.expired('a', scene.started('a'))
    scene.clock.advanceBy(1_000)
    scene.expired('a', scene.started('a', { attempt: 2 }))
    scene.clock.advanceBy(1_000)
    scene.completed('a', scene.started('a', { attempt: 3 }))
    expect(await sdk.points('agent_runtime.resume.duration')).toEqual([
      { attributes: normal, value: { count: 1, sum: 2 } },
    ])
  })
})

test('preemptions by lane', async () => {
  using _ = sdk.attach(scene)
  const leaseId = scene.started('a', { lane: 'batch' })
  const also = ['lease.released', 'task.preempted'] as const
  scene.publish('task.requeued', 'a', { attempt: 1, reason: 'yielded', leaseId }, { also })
  expect(await sdk.points('agent_runtime.task.preemptions')).toEqual([
    { attributes: { 'agent_runtime.lane': 'batch' }, value: 1 },
  ])
})

test('14.2 restarts of supervisors by task type and outcome', async () => {
  using _ = sdk.attach(scene)
  scene.started('a')
  const restarted = { child: 'crawler', count: 1, stopped: [], strategy: 'one_for_one' } as const
  scene.publish('supervisor.restarted', 'a', restarted)
  scene.publish('supervisor.restarted', 'a', { ...restarted, count: 2 })
  scene.publish('supervisor.escalated', 'a', { child: 'crawler', count: 3, to: 'b' })
  const points = await sdk.points('agent_runtime.supervisor.restarts')
  expect(
    points.map(({ attributes, value }) => [attributes['agent_runtime.supervisor.outcome'], value]),
  ).toEqual([
    ['restarted', 2],
    ['escalated', 1],
  ])
})

test('11.9 requests for credits by task type', async () => {
  using _ = sdk.attach(scene)
  scene.queued('a')
  scene.publish('credits.asked', 'a', lackOfCredits)
  expect(await sdk.points('agent_runtime.client.credit_requests')).toMatchObject([{ value: 1 }])
})

test('12.5 tasks that ended later than was promised, by task type', async () => {
  using _ = sdk.attach(scene)
  scene.queued('a')
  scene.publish('agreement.missed', 'a', { agreement: 'gold', lateMs: 1, latencyMs: 9 })
  expect(await sdk.points('agent_runtime.agreement.misses')).toMatchObject([{ value: 1 }])
})

test('14.3 recoveries by category and strategy', async () => {
  using _ = sdk.attach(scene)
  const leaseId = scene.started('a')
  const also = ['lease.released', 'task.recovered'] as const
  const recovery = { category: 'timeout', kind: 'timeout', strategy: 'human_escalation' } as const
  scene.publish('task.requeued', 'a', { attempt: 2, reason: 'retry', leaseId, recovery }, { also })
  expect(await sdk.points('agent_runtime.task.recoveries')).toMatchObject([
    {
      attributes: {
        'agent_runtime.failure.category': 'timeout',
        'agent_runtime.recovery.strategy': 'human_escalation',
      },
      value: 1,
    },
  ])
})

test('lease expiries, those of a poisoned task included', async () => {
  using _ = sdk.attach(scene)
  scene.expired('a', scene.started('a'), 'expired')
  scene.expired('b', scene.started('b'), 'owner_dead')
  const poisoned = {
    kind: 'poisoned',
    error: { name: 'RuntimeError', message: '' },
    leaseId: scene.started('c'),
  } as const
  scene.publish('task.failed', 'c', poisoned, { also: ['lease.expired'] })
  expect(await sdk.points('agent_runtime.lease.expirations')).toEqual([
    { attributes: { 'agent_runtime.lease.end_reason': 'expired' }, value: 2 },
    { attributes: { 'agent_runtime.lease.end_reason': 'owner_dead' }, value: 1 },
  ])
})

describe('task types', () => {
  test('F12 ten thousand of them make a hundred and one series', async () => {
    using _ = sdk.attach(scene)
    for (let i = 0; i < 10_000; i += 1) scene.queued(`t${i}`, { type: `type-${i}` })
    const points = await sdk.points('messaging.client.sent.messages')
    expect(points).toHaveLength(101)
    expect(points.at(-1)).toMatchObject({
      attributes: { 'messaging.destination.name': '_other' },
      value: 9_900,
    })
  })

  test('that nobody defined take no place from those that are', async () => {
    using _ = sdk.attach(scene)
    for (let i = 0; i < 200; i += 1) {
      const message = 'unknown'
      scene.publish('task.rejected', `t${i}`, {
        type: `junk-${i}`,
        lane: 'normal',
        reason: 'unknown_task_type',
        message,
      })
    }
    scene.queued('a')
    expect(await sdk.points('messaging.client.sent.messages')).toMatchObject([
      {
        attributes: { 'messaging.destination.name': '_other', 'error.type': 'unknown_task_type' },
        value: 200,
      },
      { attributes: { 'messaging.destination.name': 'review' }, value: 1 },
    ])
  })
})

describe('with several processes on one store', () => {
  test('each measures what it committed, and the leases that it held', async () => {
    using _ = sdk.attach(scene)
    const elsewhere = true
    scene.queued('a', {}, { elsewhere })
    const leaseId = scene.started('a', { waitMs: 10 })
    scene.clock.advanceBy(1_000)
    scene.expired('a', leaseId, 'expired', { elsewhere })
    const theirs = scene.started('a', { attempt: 2, waitMs: 10 }, { elsewhere })
    scene.clock.advanceBy(1_000)
    scene.completed('a', theirs, { elsewhere })

    expect([...(await sdk.metrics()).keys()].toSorted()).toEqual([
      'agent_runtime.lease.stale_writes',
      'agent_runtime.queue.depth',
      'agent_runtime.queue.wait_time',
      'agent_runtime.telemetry.dropped',
      'messaging.process.duration',
    ])
    expect(await sdk.points('agent_runtime.queue.wait_time')).toMatchObject([{ value: { count: 1 } }])
    expect(await sdk.points('messaging.process.duration')).toMatchObject([
      {
        attributes: { 'agent_runtime.lease.end_reason': 'expired', 'error.type': 'expired' },
        value: { count: 1, sum: 1 },
      },
    ])
  })
})

test('a clock that goes back makes no negative duration', async () => {
  using _ = sdk.attach(scene)
  scene.queued('a')
  const leaseId = scene.started('a', { waitMs: -5 })
  scene.clock.skew = -60_000
  scene.completed('a', leaseId)
  for (const name of [
    'agent_runtime.queue.wait_time',
    'agent_runtime.task.duration',
    'messaging.process.duration',
  ]) {
    expect(await sdk.points(name)).toMatchObject([{ value: { count: 1, sum: 0 } }])
  }
})

test('X09 no payload, result or message of an error is in any metric', async () => {
  using _ = sdk.attach(scene)
  scene.queued('a')
  const leaseId = scene.started('a')
  scene.step('a', 'read', 1)
  scene.failed('a', leaseId)
  expect(JSON.stringify([...(await sdk.metrics()).values()])).not.toContain('hunter2')
})
