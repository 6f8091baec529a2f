import { Writable } from 'node:stream'
import { beforeEach, describe, expect, test } from 'vitest'
import { attachTelemetry, createLogger, type TelemetryOptions } from '../src/index.ts'
import { Scene } from './scene.ts'
import { lackOfCredits } from './whole-story.ts'

let scene: Scene
let text: string

beforeEach(() => {
  scene = new Scene()
  text = ''
})

test('a rejection is one line', () => {
  using _ = attach()
  scene.publish('task.rejected', 'a', {
    type: 'review',
    lane: 'batch',
    reason: 'backpressure',
    message: 'hunter2',
  })
  expect(lines()).toEqual([
    {
      level: 40,
      time: scene.clock.now(),
      pid: process.pid,
      event: 'task.rejected',
      taskId: 'a',
      seq: 1,
      at: scene.clock.now(),
      type: 'review',
      lane: 'batch',
      reason: 'backpressure',
      msg: 'submission rejected',
    },
  ])
})

test('an expiry is one line', () => {
  using _ = attach()
  scene.expired('a', 'lease-9', 'owner_dead')
  const poisoned = { kind: 'poisoned', error: null, leaseId: 'lease-10' } as const
  scene.publish('task.failed', 'b', poisoned, { also: ['lease.expired'] })
  expect(lines().filter(({ event }) => event === 'lease.expired')).toMatchObject([
    { level: 40, taskId: 'a', leaseId: 'lease-9', reason: 'owner_dead', msg: 'lease expired' },
    { level: 40, taskId: 'b', leaseId: 'lease-10', reason: 'poisoned', msg: 'lease expired' },
  ])
})

test('a stale write is one line', () => {
  using _ = attach()
  scene.publishOwn('lease.lost', 'a', { leaseId: 'lease-9', workerId: 'worker-1' })
  expect(lines()).toMatchObject([
    { level: 40, event: 'lease.lost', leaseId: 'lease-9', workerId: 'worker-1' },
  ])
})

test('a leak is one line', () => {
  using _ = attach()
  scene.publish('task.leaked', 'a', { leaseId: 'lease-9', afterMs: 30_000 })
  expect(lines()).toMatchObject([{ level: 50, event: 'task.leaked', leaseId: 'lease-9', afterMs: 30_000 }])
})

test('a handler that was killed is one line', () => {
  using _ = attach()
  scene.publish('task.killed', 'a', { leaseId: 'lease-9', afterMs: 30_010 })
  expect(lines()).toMatchObject([{ level: 50, event: 'task.killed', leaseId: 'lease-9', afterMs: 30_010 }])
})

test('a client that lacks credits is one line', () => {
  using _ = attach()
  scene.publish('credits.asked', 'a', lackOfCredits)
  expect(lines()).toMatchObject([{ level: 40, event: 'credits.asked', client: 'ada', missing: 3, tasks: 1 }])
})

test('a failure is one line, with the kind and the name of what was thrown', () => {
  using _ = attach()
  scene.failed('a', 'lease-9', { name: 'Error', code: 'ENOENT', message: 'hunter2' })
  expect(lines()).toMatchObject([
    {
      level: 50,
      event: 'task.failed',
      kind: 'error',
      leaseId: 'lease-9',
      errorName: 'Error',
      errorCode: 'ENOENT',
    },
  ])
})

test('a task that goes well is no line', () => {
  using _ = attach()
  scene.queued('a')
  const leaseId = scene.started('a')
  scene.step('a', 'read', 1)
  scene.completed('a', leaseId)
  expect(text).toBe('')
})

test('a commit of another process is a line there', () => {
  using _ = attach()
  scene.expired('a', 'lease-9', 'expired', { elsewhere: true })
  expect(text).toBe('')
})

describe('payloads, results and messages of errors', () => {
  const everything = () => {
    scene.publish('task.rejected', 'a', {
      type: 'review',
      lane: 'normal',
      reason: 'invalid_payload',
      message: 'hunter2',
    })
    scene.queued('b')
    scene.step('b', 'read', 1)
    scene.failed('b', scene.started('b'), {
      name: 'Error',
      message: 'hunter2',
      stack: 'at hunter2',
      cause: { message: 'hunter2' },
    })
  }

  test('X09 are in no line', () => {
    using _ = attach()
    everything()
    expect(lines()).toHaveLength(2)
    expect(text).not.toContain('hunter2')
  })

  test('with logPayloads: messages are', () => {
    using _ = attach({ logPayloads: true })
    everything()
    expect(lines()).toMatchObject([{ message: 'hunter2' }, { errorMessage: 'hunter2' }])
    expect(text).not.toContain('secret')
    expect(text).not.toContain('stack')
  })
})

test('X15 a line stays one line, whatever a name holds', () => {
  using _ = attach({ logPayloads: true })
  const type = 'x\n{"level":60,"msg":"forged"}\r\u001b[31m\u0000\ud800'
  scene.publish('task.rejected', 'a\nb', {
    type,
    lane: 'normal',
    reason: 'unknown_task_type',
    message: 'y'.repeat(100_000),
  })
  expect(text.indexOf('\n')).toBe(text.length - 1)
  expect(text.slice(0, -1)).toMatch(/^[^\p{Cc}]*$/u)
  expect(lines()[0]?.['type']).toBe(type)
  expect(text.length).toBeLessThan(2_000)
})

test('without a logger nothing is subscribed to', () => {
  using _ = attachTelemetry(scene, { clock: scene.clock, timers: scene.clock })
  expect(scene.bus.size).toBe(0)
})

function attach(options: TelemetryOptions = {}) {
  const stream = new Writable({
    write(chunk, _encoding, done) {
      text += String(chunk)
      done()
    },
  })
  const logger = createLogger({ clock: scene.clock, stream })
  return attachTelemetry(scene, { clock: scene.clock, timers: scene.clock, logger, ...options })
}

function lines(): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}
