import { ConfigError } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, type LeaseObserver, TaskFailed } from '../../src/index.ts'
import { gate, turns, virtualRuntime } from '../virtual-runtime.ts'

const minute = 60_000
const custom = {
  baselineLatencyMs: 10,
  baselineComputeUs: 10,
  baselineMemoryBytes: 10,
  maxDurationMs: 1_000,
  heartbeatRequired: false,
}

describe('a task type with a profile (docs/semantics.md 10.1, 10.5)', () => {
  test.each([
    [{ profile: 'HUGE' }, 'task \'x\': profile: LIGHT | STANDARD | HEAVY | EXTREME | CUSTOM; given "HUGE"'],
    [{ profile: {} }, "task 'x': profile.profile: LIGHT | STANDARD | HEAVY | EXTREME | CUSTOM; not given"],
    [{ profile: null }, "task 'x': profile: LIGHT | STANDARD | HEAVY | EXTREME | CUSTOM; given null"],
    [{ profile: 'heavy' }, 'did you mean HEAVY?'],
    [{ profile: 'CUSTOM' }, "'CUSTOM' with a config"],
    [{ profile: { profile: 'CUSTOM' } }, "task 'x': profile.profile: 'CUSTOM' with a config"],
    [
      { profile: { profile: 'CUSTOM', config: { ...custom, maxDurationMs: 0 } } },
      'profile.config.maxDurationMs',
    ],
    [{ profile: { profile: 'HEAVY', config: custom } }, "config only for the profile 'CUSTOM'"],
    [
      { profile: 'HEAVY', limits: { soft: { cpuTimeUs: 2 }, hard: { cpuTimeUs: 1 } } },
      'limits.soft.cpuTimeUs: at most the hard limit, 1',
    ],
    [{ profile: 'HEAVY', limits: { soft: { cpu: 2 } } }, 'limits.soft.cpu: no such option'],
    [
      { profile: 'HEAVY', limits: { hard: { memoryBytes: -1 } } },
      'limits.hard.memoryBytes: a whole number of bytes',
    ],
    [{ limits: { hard: { memoryBytes: 1 } } }, 'limits belong to a profile'],
  ])('a fault in it is reported at its definition: %j', (options, message) => {
    const define = () => defineTask({ type: 'x', input: z.null(), ...(options as object) }, () => {})
    expect(define).toThrow(ConfigError)
    expect(define).toThrow(message)
  })

  test('limits of work without a lease are those of a profile that it names', async () => {
    const { runtime } = await virtualRuntime({ tasks: [] })
    const limits = { hard: { memoryBytes: 1 } }
    await expect(runtime.route('api', undefined, { limits })).rejects.toThrow(
      'route option limits: limits belong to a profile: name the profile',
    )
    expect(await runtime.route('api', undefined, { profile: 'LIGHT', limits })).toMatchObject({
      admitted: true,
    })
  })

  test('has none unless it names one: it may take as long as it likes, and leaves nothing behind', async () => {
    const door = gate()
    const task = defineTask({ type: 'long', input: z.null() }, () => door.promise)
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await elapse(6 * minute)
    expect(await runtime.routes()).toEqual([])
    door.resolve()
    await runtime.result(receipt)
  })

  test('10.1 its deadline is one that heartbeats do not extend; the handler gets it by its signal', async () => {
    const seen: unknown[] = []
    const task = defineTask({ type: 'heavy', input: z.null(), profile: 'HEAVY' }, async (ctx) => {
      ctx.signal.addEventListener('abort', () => seen.push(ctx.signal.reason))
      for (;;) {
        await ctx.heartbeat({ progress: 0.5 })
        if (ctx.signal.aborted) break
        await pause(10_000)
      }
    })
    const { runtime, elapse, environment } = await virtualRuntime({ tasks: [task] })
    const pause = (ms: number) =>
      new Promise<void>((resolve) => {
        environment.timers.after(ms, resolve)
      })
    const { taskId } = await runtime.submit(task, null)
    await elapse(300_000)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'running' })
    await elapse(1)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'failed', kind: 'budget_exceeded' })
    expect(seen).toMatchObject([{ code: 'budget_exceeded' }])
    expect((await runtime.routes())[0]).toMatchObject({ route: 'heavy', healthy: false, scar: 0 })
  })

  test('C9 its scar is settled when the handler really stops: granted 30 minutes, stopped at 33, it is 0.5', async () => {
    const door = gate()
    const task = defineTask(
      {
        type: 'train',
        input: z.null(),
        profile: { profile: 'CUSTOM', config: { ...custom, maxDurationMs: 30 * minute } },
      },
      () => door.promise,
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [task], config: { abortGraceMs: 10 * minute } })
    await runtime.submit(task, null)
    await elapse(33 * minute)
    expect((await runtime.routes())[0]?.scar).toBe(0)
    door.resolve()
    await turns()
    expect((await runtime.routes())[0]?.scar).toBeCloseTo(0.5, 6)
  })

  test('C9 a handler that does not stop is reported at abortGraceMs, and once', async () => {
    const door = gate()
    const task = defineTask({ type: 'stuck', input: z.null(), profile: 'STANDARD' }, () => door.promise)
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    await runtime.submit(task, null)
    await elapse(60_001)
    const after = (await runtime.routes())[0]
    expect(after).toMatchObject({ circuit: 'open' })
    expect(after?.scar).toBeCloseTo((5 * 30_001) / 30_000, 3)
    door.resolve()
    await turns()
    expect((await runtime.routes())[0]?.scar).toBeCloseTo((5 * 30_001) / 30_000, 3)
  })

  test('C9 one that does not stop after its timeoutMs leaves its scar at abortGraceMs, too', async () => {
    const door = gate()
    const task = defineTask(
      { type: 'short', input: z.null(), profile: 'HEAVY', timeoutMs: 1_000 },
      () => door.promise,
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [task], config: { abortGraceMs: 500 } })
    await runtime.submit(task, null)
    await elapse(1_499)
    expect((await runtime.routes())[0]?.scar).toBe(0)
    await elapse(1)
    expect((await runtime.routes())[0]?.scar).toBeCloseTo(2.5, 3)
    door.resolve()
  })

  test('C9 one that was canceled in its time leaves none, however late it stops', async () => {
    const door = gate()
    const task = defineTask({ type: 'deaf', input: z.null(), profile: 'STANDARD' }, () => door.promise)
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await elapse(29_000)
    await runtime.cancel(taskId)
    await elapse(31_000)
    expect(runtime.leaked()).toHaveLength(1)
    door.resolve()
    await turns()
    expect(runtime.leaked()).toEqual([])
    expect(await runtime.routes()).toEqual([])
  })

  test('C12 at the very end of its time nothing is wrong', async () => {
    const task = defineTask({ type: 'hour', input: z.null(), profile: 'STANDARD' }, async () => {
      await new Promise<void>((resolve) => environment.timers.after(30_000, resolve))
      return 'done'
    })
    const { runtime, elapse, environment } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await elapse(30_000)
    expect(await runtime.result(receipt)).toBe('done')
    expect(await runtime.routes()).toEqual([])
  })

  test('8.8 a shorter timeoutMs is its deadline, and keeps its kind', async () => {
    const door = gate()
    const task = defineTask(
      { type: 'short', input: z.null(), profile: 'HEAVY', timeoutMs: 1_000 },
      () => door.promise,
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await elapse(1_500)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'failed', kind: 'timeout' })
    door.resolve()
    await turns()
    expect((await runtime.routes())[0]?.scar).toBeCloseTo(2.5, 3)
  })

  test('7.7, 10.3 a try that ran past its deadline and is made again leaves its scar, and its route is unhealthy', async () => {
    const door = gate()
    const task = defineTask(
      { type: 'short', input: z.null(), profile: 'HEAVY', timeoutMs: 1_000, retry: { attempts: 2 } },
      () => door.promise,
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await elapse(1_050)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'queued', attempt: 2 })
    expect(await runtime.routes()).toMatchObject([{ healthy: false, scar: 0 }])
    await elapse(450)
    door.resolve()
    await turns()
    expect((await runtime.routes())[0]?.scar).toBeCloseTo(2.5, 3)
  })

  test('10.5 above a soft limit it warns once, above a hard one it ends as budget_exceeded and the circuit opens', async () => {
    const door = gate()
    let reported: unknown
    const limits = { soft: { memoryBytes: 100 }, hard: { memoryBytes: 200 } }
    const task = defineTask({ type: 'eats', input: z.null(), profile: 'HEAVY', limits }, async (ctx) => {
      for (const memoryBytes of [100, 150, 180]) await ctx.heartbeat({ memoryBytes })
      await door.promise
      await ctx.heartbeat({ memoryBytes: 201 }).catch((error: unknown) => (reported = error))
    })
    const { runtime, log } = await virtualRuntime({ tasks: [task] })
    const warned: unknown[] = []
    runtime.on('limit.warned', ({ data }) => warned.push(data))
    const receipt = await runtime.submit(task, null)
    await turns()
    expect(warned).toMatchObject([{ amount: 'memoryBytes', used: 150, limit: 100 }])
    expect(log.filter(({ message }) => message.includes('soft limit'))).toHaveLength(1)
    door.resolve()
    await expect(runtime.result(receipt)).rejects.toMatchObject({ kind: 'budget_exceeded' })
    await turns()
    expect(reported).toMatchObject({ code: 'budget_exceeded' })
    expect(await runtime.submit(task, null)).toMatchObject({ accepted: false, reason: 'circuit_open' })
    expect(await runtime.status(receipt.taskId)).toMatchObject({ state: 'failed', kind: 'budget_exceeded' })
  })

  test('10.5 a hard limit of duration needs no report', async () => {
    const door = gate()
    const limits = { soft: { durationMs: 1_000 }, hard: { durationMs: 2_000 } }
    const task = defineTask({ type: 'slow', input: z.null(), profile: 'HEAVY', limits }, () => door.promise)
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await elapse(1_500)
    expect((await runtime.routes())[0]?.resistance).toBeGreaterThanOrEqual(1)
    await elapse(501)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'failed', kind: 'budget_exceeded' })
    expect((await runtime.routes())[0]).toMatchObject({ circuit: 'open' })
    door.resolve()
  })

  test('C8 required heartbeats that are never sent leave a scar while the process lives, once', async () => {
    const door = gate()
    const task = defineTask({ type: 'mute', input: z.null(), profile: 'EXTREME' }, () => door.promise)
    const { runtime, elapse, log } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await elapse(29_999)
    expect(await runtime.routes()).toEqual([])
    await elapse(1)
    expect((await runtime.routes())[0]).toMatchObject({ circuit: 'open', scar: 1 })
    expect(log.filter(({ message }) => message.includes('requires heartbeats'))).toHaveLength(1)
    await elapse(60_000)
    expect((await runtime.routes())[0]?.scar).toBeLessThan(0.01)
    door.resolve()
    expect(await runtime.result(receipt)).toBeUndefined()
  })

  test('C8 one that sends them, or is done before they are due, leaves none', async () => {
    const task = defineTask({ type: 'beats', input: z.null(), profile: 'HEAVY' }, async (ctx) => {
      for (let beats = 0; beats < 4; beats += 1) {
        await ctx.heartbeat()
        await new Promise<void>((resolve) => environment.timers.after(29_999, resolve))
      }
    })
    const quick = defineTask({ type: 'quick', input: z.null(), profile: 'HEAVY' }, () => {})
    const { runtime, elapse, environment } = await virtualRuntime({ tasks: [task, quick] })
    const receipts = [await runtime.submit(task, null), await runtime.submit(quick, null)]
    await elapse(120_000)
    for (const receipt of receipts) await runtime.result(receipt)
    expect(await runtime.routes()).toEqual([])
  })

  test('C8 required heartbeats that stop leave a scar, a line in the log and an open circuit, once for each silence', async () => {
    const beat = gate()
    const door = gate()
    const task = defineTask({ type: 'hangs', input: z.null(), profile: 'HEAVY' }, async (ctx) => {
      await ctx.heartbeat()
      await beat.promise
      await ctx.heartbeat()
      await door.promise
    })
    const { runtime, elapse, log } = await virtualRuntime({ tasks: [task] })
    const silences = () => log.filter(({ message }) => message.includes('has sent none for 30000 ms')).length
    const receipt = await runtime.submit(task, null)
    await elapse(29_999)
    expect((await runtime.routes())[0]).toMatchObject({ circuit: 'closed', healthy: true })
    await elapse(1)
    expect((await runtime.routes())[0]).toMatchObject({ circuit: 'open', scar: 1, healthy: false })
    expect(await runtime.submit(task, null)).toMatchObject({ accepted: false, reason: 'circuit_open' })
    await elapse(90_000)
    expect(silences()).toBe(1)
    expect((await runtime.routes())[0]?.scar).toBeLessThan(0.001)
    beat.resolve()
    await elapse(29_999)
    expect(silences()).toBe(1)
    await elapse(2)
    expect(silences()).toBe(2)
    expect((await runtime.routes())[0]?.scar).toBeCloseTo(1, 2)
    expect((await runtime.routes())[0]).toMatchObject({ circuit: 'open' })
    expect(await runtime.status(receipt)).toMatchObject({ state: 'running', attempt: 1 })
    door.resolve()
    expect(await runtime.result(receipt)).toBeUndefined()
  })

  test('C8 a handler that is parked in a wait is not silent; the pass that goes on has its whole time', async () => {
    const task = defineTask({ type: 'naps', input: z.null(), profile: 'HEAVY' }, async (ctx) => {
      await ctx.heartbeat()
      await ctx.sleep('nap', 200_000)
      await new Promise<void>((resolve) => environment.timers.after(29_999, resolve))
    })
    const { runtime, elapse, environment } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await elapse(199_000)
    expect(await runtime.status(receipt)).toMatchObject({ state: 'waiting' })
    await elapse(40_000)
    expect(await runtime.status(receipt)).toMatchObject({ state: 'completed' })
    expect(await runtime.routes()).toEqual([])
  })

  test('C8 a handler that had to stop, or has ended, is not silent', async () => {
    const door = gate()
    const stops = { type: 'stops', input: z.null(), profile: 'HEAVY' } as const
    const task = defineTask(stops, async (ctx) => {
      await ctx.heartbeat()
      await door.promise
      await ctx.heartbeat().catch(() => {})
    })
    const { runtime, elapse, log } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await elapse(10_000)
    await runtime.cancel(receipt.taskId)
    await elapse(10_000)
    door.resolve()
    await elapse(60_000)
    expect(log.filter(({ message }) => message.includes('requires heartbeats'))).toEqual([])
    expect(await runtime.routes()).toEqual([])
  })

  test('10.7 observers learn of its lease; an observer that throws changes nothing', async () => {
    const heard: unknown[] = []
    const task = defineTask({ type: 'seen', input: z.null(), profile: 'HEAVY' }, async (ctx) => {
      await ctx.heartbeat({ progress: 0.25, memoryBytes: 7 })
    })
    const { runtime, log } = await virtualRuntime({ tasks: [task] })
    const observer: LeaseObserver = {
      onLeaseAcquired: ({ routeId, profile, budget }) => heard.push([routeId, profile, budget.remainingMs]),
      onHeartbeat: ({ progress, memoryUsed }) => heard.push([progress, memoryUsed]),
      onLeaseReleased: ({ outcome }) => heard.push(outcome),
    }
    const heardBy = runtime.observe(observer)
    const broken = runtime.observe({
      onHeartbeat() {
        throw new Error('no')
      },
    })
    await runtime.result(await runtime.submit(task, null))
    await turns()
    expect(heard).toEqual([['seen', 'HEAVY', 300_000], [0.25, 7], 'completed'])
    expect(log.filter(({ message }) => message === 'a lease observer failed')).toHaveLength(1)
    for (const observing of [heardBy, broken]) observing[Symbol.dispose]()
    expect(() => runtime.observe({ onLease: () => {} } as never)).toThrow('observe: an object')
  })

  test.each([
    ['its profile’s deadline', {}, 'budget_exceeded', 'budget_exceeded', 'timeout'],
    ['a timeoutMs that is shorter', { timeoutMs: 5_000 }, 'timeout', 'timeout', 'timeout'],
    ['a timeoutMs that is longer', { timeoutMs: 90_000 }, 'budget_exceeded', 'budget_exceeded', 'timeout'],
    [
      'a hard limit',
      { limits: { hard: { durationMs: 1_000 } } },
      'budget_exceeded',
      'budget_exceeded',
      'budget_exceeded',
    ],
  ] as const)('10.7 %s is reported as on the page', async (_, more, kind, code, observed) => {
    const heard: unknown[] = []
    const reasons: unknown[] = []
    const door = gate()
    const task = defineTask({ type: 'long', input: z.null(), profile: 'STANDARD', ...more }, async (ctx) => {
      ctx.signal.addEventListener('abort', () => reasons.push(ctx.signal.reason))
      await door.promise
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    runtime.observe({
      onLeaseExpired: ({ reason }) => heard.push(reason),
      onLeaseReleased: ({ outcome }) => heard.push(outcome),
    })
    const receipt = await runtime.submit(task, null)
    await elapse(30_001)
    expect(await runtime.status(receipt)).toMatchObject({ state: 'failed', kind })
    expect(reasons).toMatchObject([{ code }])
    door.resolve()
    await turns()
    expect(heard).toEqual([observed])
  })

  test('10.7 the budget of a task is reported as an end, not as an expiry', async () => {
    const heard: unknown[] = []
    const reasons: unknown[] = []
    const door = gate()
    const task = defineTask({ type: 'spends', input: z.null(), profile: 'STANDARD' }, async (ctx) => {
      ctx.signal.addEventListener('abort', () => reasons.push(ctx.signal.reason))
      await ctx.step('buy', (step) => step.charge({ tokens: 2 }))
      await door.promise
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    using _ = runtime.observe({
      onLeaseExpired: ({ reason }) => heard.push(reason),
      onLeaseReleased: ({ outcome }) => heard.push(outcome),
    })
    const receipt = await runtime.submit(task, null, { budget: { tokens: 1 } })
    await expect(runtime.result(receipt)).rejects.toMatchObject({ kind: 'budget_exceeded' })
    door.resolve()
    await turns()
    expect(reasons).toMatchObject([{ code: 'budget_exceeded' }])
    expect(heard).toEqual(['ended'])
  })

  test('a retry follows no budget_exceeded: trying the same again does not help', async () => {
    const door = gate()
    const limits = { hard: { cpuTimeUs: 1 } }
    const options = {
      type: 'again',
      input: z.null(),
      profile: 'LIGHT',
      limits,
      retry: { attempts: 5 },
    } as const
    const task = defineTask(options, async (ctx) => {
      await ctx.heartbeat({ computeUs: 2 })
      await door.promise
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const error = await runtime.result(await runtime.submit(task, null)).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(TaskFailed)
    expect(error).toMatchObject({ kind: 'budget_exceeded' })
    door.resolve()
  })
})
