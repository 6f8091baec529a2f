import { join } from 'node:path'
import { type RuntimeError, TaskCanceled } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  type CleanupReason,
  createRuntime,
  defineTask,
  type Receipt,
  type TaskContext,
  TimeoutError,
} from '../../src/index.ts'
import { folder } from '../real-processes.ts'
import { all, gate, turns, until, virtualEnvironment, virtualRuntime } from '../virtual-runtime.ts'

const DAY = 86_400_000

/** One task of one type. */
function waiter(body: (ctx: TaskContext) => unknown) {
  return defineTask({ type: 'waiter', input: z.any() }, (ctx) => body(ctx))
}

/** A runtime with one slot and one task under way in it. */
async function begun(
  body: (ctx: TaskContext) => unknown,
  options: Partial<Parameters<typeof virtualRuntime>[0]> = {},
) {
  const virtual = await virtualRuntime({ tasks: [waiter(body)], workers: { capacity: 1 }, ...options })
  const receipt = await virtual.runtime.submit('waiter', null)
  await virtual.elapse(0)
  const state = async () => (await virtual.runtime.status(receipt.taskId))?.state
  const events = async () => (await all(virtual.runtime.events(receipt.taskId))).map(({ type }) => type)
  return { ...virtual, receipt, taskId: receipt.taskId, state, events }
}

describe('execution: sleep', () => {
  test('holds no slot: another task runs meanwhile', async () => {
    const { runtime, elapse, receipt, state, taskId } = await begun(async (ctx) => {
      await ctx.sleep('nap', 10_000)
      return ctx.fencingToken
    })
    expect(await state()).toBe('waiting')
    expect(await runtime.status(taskId)).toMatchObject({ waitingFor: 'timer', waits: [{ key: 'nap' }] })
    expect(await runtime.stats()).toMatchObject({ running: 0, waiting: 1, inFlight: 0 })
    const other = await runtime.submit('waiter', null)
    await elapse(9_999)
    expect((await runtime.status(other.taskId))?.state).toBe('waiting')
    expect(await state()).toBe('waiting')
    await elapse(1)
    expect(await runtime.result(receipt)).toBe(2)
    expect(await runtime.leases(taskId)).toMatchObject([{ endReason: 'waiting' }, { endReason: 'completed' }])
  })

  test('goes on behind the wait, and runs no step again', async () => {
    const ran: string[] = []
    const { runtime, elapse, receipt } = await begun(async (ctx) => {
      await ctx.step('before', () => ran.push('before'))
      await ctx.sleep('one', 1_000)
      await ctx.step('between', () => ran.push('between'))
      await ctx.sleep('two', 1_000)
      return ran.length
    })
    await elapse(2_000)
    expect(await runtime.result(receipt)).toBe(2)
    expect(ran).toEqual(['before', 'between'])
  })

  test('C07 lasts 60 days as well as a minute', async () => {
    const { runtime, elapse, receipt, state, environment } = await begun(async (ctx) => {
      await ctx.sleep('long', 60 * DAY)
      return 'rested'
    })
    const startedAt = environment.clock.now()
    await elapse(0)
    environment.clock.advanceBy(60 * DAY - 1)
    await turns()
    expect(await state()).toBe('waiting')
    await elapse(1)
    expect(await runtime.result(receipt)).toBe('rested')
    expect(environment.clock.now() - startedAt).toBe(60 * DAY)
  })

  test('ends at a moment, and at once when that has passed', async () => {
    const at: number[] = []
    const { runtime, elapse, receipt, environment } = await begun(async (ctx) => {
      await ctx.sleepUntil('past', new Date(0))
      await ctx.sleepUntil('date', new Date(Date.UTC(2026, 0, 2)))
      await ctx.sleepUntil('ms', Date.UTC(2026, 0, 3))
      at.push(environment.clock.now())
    })
    environment.clock.advanceTo(Date.UTC(2026, 0, 2) - 1)
    await elapse(1)
    expect(at).toEqual([])
    environment.clock.advanceTo(Date.UTC(2026, 0, 3) - 1)
    await elapse(1)
    await runtime.result(receipt)
    expect(at.map(Math.floor)).toEqual([Date.UTC(2026, 0, 3)])
  })

  test('C08 is over when it became due while nothing ran, once', async () => {
    const database = join(folder(), 'store.db')
    const ran: string[] = []
    const body = async (ctx: TaskContext) => {
      await ctx.sleep('nap', 10_000)
      ran.push('awake')
      return 'done'
    }
    const first = await begun(body, { database })
    expect(await first.state()).toBe('waiting')
    await first.runtime.stop()
    await first.store.close()
    first.environment.clock.advanceBy(30 * DAY)
    const { runtime, elapse } = await virtualRuntime({
      tasks: [waiter(body)],
      database,
      environment: first.environment,
    })
    await elapse(1_000)
    expect(await runtime.result(first.taskId)).toBe('done')
    expect(ran).toEqual(['awake'])
    const resumed = (await all(runtime.events(first.taskId))).filter(({ type }) => type === 'task.resumed')
    expect(resumed).toHaveLength(1)
  })

  test('its time counts from the call, although a step beside it keeps the pass alive', async () => {
    const ends: unknown[] = []
    const door = gate()
    const environment = virtualEnvironment()
    const body = async (ctx: TaskContext) => {
      const begunAt = environment.clock.now()
      const note = (name: string) => () =>
        void ends.push([name, Math.floor(environment.clock.now() - begunAt)])
      await Promise.all([
        ctx.step('work', () => door.promise).then(note('work')),
        ctx.sleep('nap', 5_000).then(note('nap')),
      ])
    }
    const { elapse, receipt, runtime, state, events } = await begun(body, { environment })
    expect(await state()).toBe('running')
    await elapse(5_000)
    expect(ends).toEqual([['nap', 5_000]])
    await elapse(2_000)
    door.resolve()
    await elapse(0)
    await runtime.result(receipt)
    expect(ends).toEqual([
      ['nap', 5_000],
      ['work', 7_000],
    ])
    expect(await events()).toEqual([
      'task.queued',
      'task.started',
      'wait.started',
      'wait.resolved',
      'step.completed',
      'task.completed',
    ])
  })

  test('keeps the time it has when the pass ends before it', async () => {
    const door = gate()
    let passes = 0
    const { elapse, receipt, runtime, state, environment } = await begun(async (ctx) => {
      passes += 1
      await Promise.all([ctx.step('work', () => door.promise), ctx.sleep('nap', 5_000)])
      return environment.clock.now() - Date.UTC(2026, 0, 1)
    })
    await elapse(2_000)
    door.resolve()
    await elapse(0)
    expect(await state()).toBe('waiting')
    await elapse(3_000)
    expect(Math.floor((await runtime.result(receipt)) as number)).toBe(5_000)
    expect(passes).toBe(2)
  })
})

describe('execution: signals', () => {
  test('a signal from before the wait is kept, the oldest is taken first', async () => {
    const door = gate()
    const { runtime, elapse, receipt, taskId } = await begun(async (ctx) => {
      await ctx.step('first', () => door.promise)
      return [await ctx.waitForSignal('a', { signal: 'go' }), await ctx.waitForSignal('b', { signal: 'go' })]
    })
    expect(await runtime.signal(taskId, 'go', { n: 1 })).toEqual({
      delivered: true,
      state: 'running',
      awaited: false,
    })
    await runtime.signal(taskId, 'go', new Map([['n', 2n]]))
    door.resolve()
    await elapse(0)
    expect(await runtime.result(receipt)).toEqual([{ n: 1 }, new Map([['n', 2n]])])
  })

  test('wakes a waiting task, with or without a value', async () => {
    const { runtime, elapse, receipt, taskId, state } = await begun((ctx) => ctx.waitForSignal('go'))
    expect(await runtime.status(taskId)).toMatchObject({ state: 'waiting', waitingFor: 'signal' })
    await elapse(10 * 60_000)
    expect(await state()).toBe('waiting')
    expect(await runtime.signal(taskId, 'other')).toEqual({
      delivered: true,
      state: 'waiting',
      awaited: false,
    })
    await elapse(0)
    expect(await state()).toBe('waiting')
    expect(await runtime.signal(taskId, 'go')).toEqual({ delivered: true, state: 'queued', awaited: true })
    expect(await runtime.result(receipt)).toBe(undefined)
  })

  test('patience that ends is a TimeoutError, in later passes too', async () => {
    let passes = 0
    const { runtime, elapse, receipt } = await begun(async (ctx) => {
      passes += 1
      const outcome = await ctx
        .waitForSignal('approval', { signal: 'ok', timeoutMs: 5_000 })
        .catch((error: unknown) => (error instanceof TimeoutError ? error.message : 'another error'))
      await ctx.sleep('nap', 1_000)
      return outcome
    })
    await elapse(6_000)
    expect(await runtime.result(receipt)).toBe(
      "signal 'ok' of wait 'approval' took longer than its time limit of 5000 ms",
    )
    expect(passes).toBe(3)
  })

  test('a signal in time beats a patience that ended before anybody looked', async () => {
    const door = gate()
    const { runtime, elapse, receipt, taskId } = await begun(async (ctx) => {
      const [got] = await Promise.all([
        ctx.waitForSignal('go', { timeoutMs: 100 }),
        ctx.step('work', () => door.promise),
      ])
      return got
    })
    await elapse(99)
    await runtime.signal(taskId, 'go', 'in time')
    await elapse(10_000)
    door.resolve()
    await elapse(0)
    expect(await runtime.result(receipt)).toBe('in time')
  })

  test('is heard of while steps run', async () => {
    const door = gate()
    const heard: unknown[] = []
    const { runtime, elapse, taskId, state } = await begun((ctx) =>
      Promise.all([
        ctx.step('work', () => door.promise),
        ctx.waitForSignal('go').then((value) => heard.push(value)),
      ]),
    )
    await elapse(1_000)
    await runtime.signal(taskId, 'go', 7)
    await elapse(250)
    expect(heard).toEqual([7])
    expect(await state()).toBe('running')
    door.resolve()
  })

  test('a signal that a pass waits for only after a longer sleep is heard of while steps run', async () => {
    const [door, later] = [gate(), gate()]
    const heard: unknown[] = []
    const { runtime, elapse, taskId } = await begun((ctx) =>
      Promise.all([
        ctx.step('work', () => door.promise),
        ctx.sleep('long', 60_000),
        later.promise.then(() => ctx.waitForSignal('go')).then((value) => heard.push(value)),
      ]),
    )
    await elapse(1_000)
    await runtime.signal(taskId, 'go', 7)
    later.resolve()
    await elapse(250)
    expect(heard).toEqual([7])
    door.resolve()
  })

  test('two waits on one name take one signal each, the earlier call first', async () => {
    const { runtime, elapse, receipt, taskId, state } = await begun((ctx) =>
      Promise.all([ctx.waitForSignal('a', { signal: 'go' }), ctx.waitForSignal('b', { signal: 'go' })]),
    )
    await runtime.signal(taskId, 'go', 1)
    await elapse(0)
    expect(await state()).toBe('waiting')
    await runtime.signal(taskId, 'go', 2)
    await elapse(0)
    expect(await runtime.result(receipt)).toEqual([1, 2])
  })

  test('a process without workers may send; final and unknown tasks take none', async () => {
    const { runtime, taskId, elapse } = await begun((ctx) => ctx.waitForSignal('go'), { workers: 0 })
    expect(await runtime.signal(taskId, 'go', 1)).toEqual({
      delivered: true,
      state: 'queued',
      awaited: false,
    })
    await runtime.cancel(taskId)
    await elapse(0)
    await expect(runtime.signal(taskId, 'go', 1)).rejects.toMatchObject({
      code: 'invalid_argument',
      message:
        `signal 'go': task ${taskId} is canceled and takes no signals; nothing was stored: ` +
        'runtime.retry creates a new task that continues from its steps; send the signal to that task',
      details: { taskId, name: 'go', state: 'canceled' },
    })
    await expect(runtime.signal('nobody', 'go', 1)).rejects.toMatchObject({
      code: 'not_found',
      message: 'there is no task nobody, or it was pruned',
      details: { taskId: 'nobody' },
    })
  })

  test('to a task that is over is an error that says what to do, in every final state', async () => {
    const task = defineTask({ type: 'ends', input: z.enum(['well', 'badly']) }, (_, how) => {
      if (how === 'badly') throw new Error('badly')
    })
    const { runtime, elapse } = await virtualRuntime({
      tasks: [task],
      config: { queueDepthLimit: 2, batchBackpressureThreshold: 2 },
    })
    const submit = (how: 'well' | 'badly') => runtime.submit(task, how)
    const [well, badly, refused] = await Promise.all([submit('well'), submit('badly'), submit('well')])
    await elapse(0)
    const said = async (receipt: Receipt) => {
      const before = await all(runtime.events(receipt))
      const error = await runtime.signal(receipt, 'go').then(
        () => undefined,
        (thrown: RuntimeError) => thrown,
      )
      expect(await all(runtime.events(receipt))).toEqual(before)
      return [error?.code, error?.details?.['state'], error?.message.split('nothing was stored: ')[1]]
    }
    expect([await said(well), await said(badly), await said(refused)]).toEqual([
      [
        'invalid_argument',
        'completed',
        'its waits have ended; runtime.fork creates a new task that waits again',
      ],
      [
        'invalid_argument',
        'failed',
        'runtime.retry creates a new task that continues from its steps; send the signal to that task',
      ],
      ['invalid_argument', 'rejected', 'submit the task again, and send the signal to the new one'],
    ])
  })

  test('has limits: of the name, the value and the number that is kept', async () => {
    const { runtime, taskId } = await begun((ctx) => ctx.waitForSignal('go'), {
      config: { maxSignals: 2, maxPayloadBytes: 100, maxInlineBytes: 50 },
    })
    for (const name of ['', 'x'.repeat(256), 7 as never])
      await expect(runtime.signal(taskId, name)).rejects.toMatchObject({ code: 'invalid_argument' })
    await expect(runtime.signal(taskId, 'a', 'x'.repeat(100))).rejects.toMatchObject({
      code: 'payload_too_large',
    })
    await expect(runtime.signal(taskId, 'a', () => 1)).rejects.toMatchObject({
      code: 'step_not_serializable',
    })
    await runtime.signal(taskId, 'a', 'x'.repeat(60))
    await runtime.signal(taskId, 'a')
    await expect(runtime.signal(taskId, 'a')).rejects.toMatchObject({
      code: 'limit_exceeded',
      message: expect.stringContaining('maxSignals 2') as string,
    })
  })
})

describe('execution: waits and the end of a pass', () => {
  test('hooks get waiting, nothing settles, and no rejection counts as unhandled', async () => {
    const unhandled: unknown[] = []
    const onUnhandled = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', onUnhandled)
    const heard: unknown[] = []
    const hooks: CleanupReason[] = []
    const { runtime, elapse, taskId } = await begun(async (ctx) => {
      ctx.onCleanup((reason) => void hooks.push(reason))
      void ctx.sleep('unwatched', 10_000)
      void ctx.waitForSignal('unheard', { timeoutMs: 10 })
      await ctx.sleep('nap', 10_000).catch((error: Error) => heard.push(error.name))
      heard.push(ctx.signal.aborted)
      await ctx.step('more', () => heard.push('ran')).catch((error: Error) => heard.push(error.name))
      await ctx.emit(1).catch((error: Error) => heard.push(error.name))
      return 'dropped'
    })
    expect([heard, hooks]).toEqual([[], ['waiting']])
    expect(await runtime.status(taskId)).toMatchObject({ state: 'waiting' })
    await elapse(20_000)
    await expect(runtime.result(taskId)).rejects.toMatchObject({ code: 'timeout' })
    process.off('unhandledRejection', onUnhandled)
    expect(unhandled).toEqual([])
  })

  test('a promise that the handler made of a wait and does not await yet does no harm', async () => {
    const unhandled: unknown[] = []
    const onUnhandled = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', onUnhandled)
    const { runtime, elapse, taskId } = await begun(async (ctx) => {
      const reminder = (async () => {
        await ctx.sleep('soon', 2_000)
        return 'reminded'
      })()
      const stray = turns().then(() => ctx.step('stray', () => 1))
      await ctx.sleep('first', 1_000)
      return [await reminder, await stray]
    })
    await elapse(3_000)
    expect(await runtime.result(taskId)).toEqual(['reminded', 1])
    process.off('unhandledRejection', onUnhandled)
    expect(unhandled).toEqual([])
  })

  test('E09 cancel ends a wait, with and without a pass', async () => {
    const heard: string[] = []
    const door = gate()
    const parked = await begun((ctx) => ctx.sleep('nap', 1_000))
    expect(await parked.runtime.cancel(parked.taskId)).toBe(true)
    await parked.elapse(2_000)
    expect(await parked.state()).toBe('canceled')
    expect(await parked.runtime.leases(parked.taskId)).toHaveLength(1)

    const staying = await begun(async (ctx) => {
      const work = ctx
        .step('work', () => door.promise)
        .catch((error: Error) => heard.push(`step ${error.name}`))
      await ctx.sleep('nap', 1_000).catch((error: Error) => heard.push(`nap ${error.name}`))
      await work
    })
    await staying.runtime.cancel(staying.taskId)
    await turns()
    expect(heard).toEqual(['nap TaskCanceled'])
    door.resolve()
    await expect(staying.runtime.result(staying.taskId)).rejects.toThrow(TaskCanceled)
    await turns()
    expect(await staying.runtime.stats()).toMatchObject({ inFlight: 0 })
  })

  test('stop has nothing to wait for when everything waits', async () => {
    const { runtime, state, store, taskId } = await begun((ctx) => ctx.sleep('nap', 1_000))
    expect(await state()).toBe('waiting')
    expect(await runtime.stop()).toEqual({ drained: true, released: 0 })
    expect(await store.read({ kind: 'task', taskId })).toMatchObject({ state: 'waiting' })
  })

  test('a shutdown gives a pass back that has waits and steps, and the waits go on', async () => {
    let passes = 0
    const body = async (ctx: TaskContext) => {
      passes += 1
      await Promise.all([
        ctx.sleep('nap', 60_000),
        ctx.step('work', ({ signal }) =>
          passes > 1
            ? 1
            : new Promise((_, reject) =>
                signal.addEventListener('abort', () => reject(signal.reason as Error)),
              ),
        ),
      ])
    }
    const first = await begun(body)
    await first.elapse(20_000)
    await first.runtime.stop({ drain: false })
    expect(await first.store.read({ kind: 'task', taskId: first.taskId })).toMatchObject({ state: 'queued' })
    const { store, environment, elapse } = first
    const second = await createRuntime({
      tasks: [waiter(body)],
      store,
      environment,
      telemetry: false,
      logger: false,
    })
    await elapse(1_000)
    expect(await second.status(first.taskId)).toMatchObject({ state: 'waiting', attempt: 1 })
    await elapse(39_000)
    expect(await second.status(first.taskId)).toMatchObject({ state: 'completed' })
    await second.stop()
  })

  test('the end of timeoutMs ends a pass that stays, and its waits', async () => {
    const task = defineTask({ type: 'limited', input: z.null(), timeoutMs: 3_000 }, (ctx) =>
      Promise.all([ctx.sleep('nap', 1_000_000), ctx.step('work', () => new Promise(() => {}))]),
    )
    const { runtime, elapse, environment } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await elapse(3_000)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'failed', kind: 'timeout' })
    await turns()
    await runtime.stop({ drain: false, graceMs: 0 })
    expect(environment.clock.pending).toBeLessThanOrEqual(2)
  })

  test('a pass that is asked to yield keeps its waits', async () => {
    const door = gate()
    const doorOfUrgent = gate()
    const ran: string[] = []
    const urgent = defineTask({ type: 'urgent', input: z.null() }, async () => {
      ran.push('urgent')
      await doorOfUrgent.promise
    })
    const long = waiter(async (ctx) => {
      await Promise.all([
        ctx.sleep('nap', 10_000),
        ctx.step('one', () => door.promise).then(() => ctx.step('two', () => ran.push('two'))),
      ])
      ran.push('done')
    })
    const { runtime, elapse } = await virtualRuntime({
      tasks: [long, urgent],
      workers: { capacity: 1 },
      config: { preemption: true },
    })
    const lower = await runtime.submit(long, null, { lane: 'batch' })
    await elapse(1_000)
    await runtime.submit(urgent, null, { lane: 'interactive' })
    await turns()
    door.resolve()
    await until(() => ran.length === 1)
    expect(await runtime.leases(lower.taskId)).toMatchObject([{ endReason: 'yielded' }])
    doorOfUrgent.resolve()
    await elapse(9_000)
    await runtime.result(lower)
    expect(ran).toEqual(['urgent', 'two', 'done'])
  })

  test('a wait that is on its way to the store when the pass yields is asked for once: it takes one signal', async () => {
    const [door, soon, doorOfUrgent] = [gate(), gate(), gate()]
    const urgent = defineTask({ type: 'urgent', input: z.null() }, () => doorOfUrgent.promise)
    const long = waiter(async (ctx) => {
      const signals = soon.promise.then(() => ctx.waitForSignal('first', { signal: 'go' }))
      await ctx.step('busy', () => door.promise).catch(() => {})
      return [await signals, await ctx.waitForSignal('second', { signal: 'go' })]
    })
    const { runtime, elapse, environment } = await virtualRuntime({
      tasks: [long, urgent],
      workers: { capacity: 1 },
      config: { preemption: true },
    })
    const lower = await runtime.submit(long, null, { lane: 'batch' })
    await elapse(0)
    await runtime.submit(urgent, null, { lane: 'interactive' })
    for (const value of [1, 2]) await runtime.signal(lower.taskId, 'go', value)
    soon.resolve()
    await Promise.resolve()
    // In the turn after the one in which the store is asked, and before it answers.
    environment.timers.after(0, () => door.reject(new Error('broken')))
    await elapse(0)
    expect(await runtime.leases(lower.taskId)).toMatchObject([{ endReason: 'yielded' }])
    doorOfUrgent.resolve()
    await elapse(0)
    expect(await runtime.status(lower.taskId)).toMatchObject({ state: 'completed', output: [1, 2] })
  })

  test('a retry that is due later keeps its time when the pass yields', async () => {
    const [one, flaky, doorOfUrgent] = [gate(), gate(), gate()]
    const ran: string[] = []
    const urgent = defineTask({ type: 'urgent', input: z.null() }, () => doorOfUrgent.promise)
    const backoff = { initialMs: 10_000, jitter: 0 }
    const long = waiter((ctx) =>
      Promise.all([
        ctx.step('flaky', { retry: { attempts: 3, backoff } }, async () => {
          ran.push('flaky')
          await flaky.promise
          if (ran.length === 1) throw new Error('once')
        }),
        ctx.step('one', () => one.promise).then(() => ctx.step('two', () => ran.push('two'))),
      ]),
    )
    const { runtime, elapse } = await virtualRuntime({
      tasks: [long, urgent],
      workers: { capacity: 1 },
      config: { preemption: true },
    })
    const lower = await runtime.submit(long, null, { lane: 'batch' })
    await elapse(0)
    await runtime.submit(urgent, null, { lane: 'interactive' })
    await turns()
    one.resolve()
    await turns()
    flaky.resolve()
    await turns()
    expect(await runtime.leases(lower.taskId)).toMatchObject([{ endReason: 'yielded' }])
    doorOfUrgent.resolve()
    await elapse(9_999)
    expect(ran).toEqual(['flaky', 'two'])
    await elapse(1)
    await runtime.result(lower)
    expect(ran).toEqual(['flaky', 'two', 'flaky'])
  })

  /** A call that is made after the store was asked whether the pass ends, and before it has answered. */
  async function calledInBetween(call: (ctx: TaskContext) => Promise<unknown>, signalFirst: boolean) {
    const door = gate()
    let passes = 0
    const task = waiter(async (ctx) => {
      passes += 1
      const calls = door.promise.then(() => call(ctx))
      // The handler leaves by the wait: a promise that it made itself of a call is its own to look after.
      calls.catch(() => {})
      await ctx.waitForSignal('go')
      return calls
    })
    const { runtime, elapse, environment } = await virtualRuntime({ tasks: [task], workers: { capacity: 1 } })
    const { taskId } = await runtime.submit(task, null)
    if (signalFirst) await runtime.signal(taskId, 'go')
    await turns()
    environment.clock.advanceBy(0)
    door.resolve()
    await turns()
    const { state } = (await runtime.status(taskId)) ?? {}
    if (!signalFirst) await runtime.signal(taskId, 'go')
    await elapse(0)
    return { state, result: await runtime.result(taskId), passes }
  }

  test('a call that is made while the pass may end starts when it goes on, and not when it ends', async () => {
    const ran: string[] = []
    const step = (ctx: TaskContext) => ctx.step('held', () => ran.push('step'))
    expect(await calledInBetween(step, true)).toEqual({ state: 'completed', result: 1, passes: 1 })
    expect(await calledInBetween(step, false)).toEqual({ state: 'waiting', result: 2, passes: 2 })
    expect(ran).toEqual(['step', 'step'])
    const race = (ctx: TaskContext) => ctx.race('held', { a: () => 'A', b: (c) => c.sleep('b', 1) })
    expect(await calledInBetween(race, false)).toMatchObject({
      state: 'waiting',
      result: { winner: 'a' },
      passes: 2,
    })
    const nap = (ctx: TaskContext) => ctx.sleep('held', 0)
    expect(await calledInBetween(nap, false)).toMatchObject({ state: 'waiting' })
  })

  test('a lost lease ends the waits of a pass that stays; the next pass has their time', async () => {
    let passes = 0
    const ends: string[] = []
    const { runtime, block, elapse, taskId } = await begun(
      async (ctx) => {
        passes += 1
        if (passes > 1) return ctx.sleep('nap', 40_000)
        await Promise.all([
          ctx.sleep('nap', 40_000).catch((error: Error) => ends.push(error.name)),
          ctx.step('work', () => new Promise(() => {})),
        ])
      },
      { workers: { capacity: 2 } },
    )
    await block(31_000)
    await elapse(0)
    expect(ends).toEqual(['LeaseLost'])
    expect(await runtime.status(taskId)).toMatchObject({ state: 'waiting', attempt: 2 })
    await elapse(9_000)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'completed' })
  })

  test('a sleep that an earlier pass began is heard of in time while a step keeps the next pass alive', async () => {
    const door = gate()
    const heard: number[] = []
    let passes = 0
    const { block, elapse } = await begun(
      (ctx) => {
        passes += 1
        const work = passes === 1 ? new Promise<never>(() => {}) : door.promise
        return Promise.all([
          ctx.sleep('nap', 40_000).then(() => heard.push(passes)),
          ctx.step('work', () => work),
        ])
      },
      { workers: { capacity: 2 } },
    )
    await block(31_000)
    await elapse(0)
    await elapse(9_000)
    expect(heard).toEqual([2])
    door.resolve()
  })

  test('a write that is refused for its data keeps no pass from its waits', async () => {
    const refused: string[] = []
    const told = (error: { code: string }) => void refused.push(error.code)
    const { state } = await begun(async (ctx) => {
      await ctx.checkpoint((() => {}) as never).catch(told)
      await ctx.emit((() => {}) as never).catch(told)
      await ctx.heartbeat({ progress: () => {} }).catch(told)
      await ctx.sleep('nap', 60_000)
    })
    expect(refused).toHaveLength(3)
    expect(await state()).toBe('waiting')
  })

  test('a handler that does not await its wait ends as usual; a later call is refused', async () => {
    const errors: unknown[] = []
    let late: (() => Promise<unknown>) | undefined
    const { runtime, receipt, elapse, environment } = await begun((ctx) => {
      ctx.sleep('floating', 5_000).catch(({ code }: { code: string }) => errors.push(code))
      late = () => ctx.sleep('late', 1)
      return 'done'
    })
    expect(await runtime.result(receipt)).toBe('done')
    await elapse(0)
    await expect(late?.()).rejects.toMatchObject({ code: 'step_outside_handler' })
    expect(errors).toEqual(['step_outside_handler'])
    expect(environment.clock.pending).toBe(1)
  })
})

describe('execution: keys and arguments of waits', () => {
  /** What a handler is told when it calls so. */
  async function refusal(call: (ctx: TaskContext) => Promise<unknown>): Promise<unknown> {
    const { runtime, receipt } = await begun((ctx) =>
      call(ctx).catch(({ code, message }) => `${code}: ${message}`),
    )
    return runtime.result(receipt)
  }

  test('a key is a step or a wait, once', async () => {
    const message = await refusal(async (ctx) => {
      await ctx.step('x', () => 1)
      await ctx.sleep('x', 1)
    })
    expect(message).toMatch(
      /^duplicate_step_key: the key 'x' is used twice in one pass, at .*waits.test.ts:\d+:\d+ and at .*waits.test.ts:\d+:\d+: each /,
    )
    expect(
      await refusal((ctx) => Promise.all([ctx.waitForSignal('y', { timeoutMs: 0 }), ctx.sleepUntil('y', 0)])),
    ).toMatch(/^duplicate_step_key: the key 'y'/)
  })

  test.each<[string, (ctx: TaskContext) => Promise<unknown>, string]>([
    ['no key', (ctx) => ctx.sleep('', 1), 'a wait key must be a string of 1 to 255 characters, not ""'],
    ['a reserved key', (ctx) => ctx.sleep('$ku0/x', 1), "a wait key must not begin with '$ku0/'"],
    ['a negative sleep', (ctx) => ctx.sleep('a', -1), "sleep 'a' takes a number of ms from 0 to"],
    ['an endless sleep', (ctx) => ctx.sleep('a', Number.POSITIVE_INFINITY), "sleep 'a' takes a number of ms"],
    ['no number', (ctx) => ctx.sleep('a', '5' as never), 'not "5"'],
    [
      'no date',
      (ctx) => ctx.sleepUntil('a', new Date(Number.NaN)),
      "sleepUntil 'a' takes a Date or epoch ms",
    ],
    [
      'no options',
      (ctx) => ctx.waitForSignal('a', null as never),
      "waitForSignal 'a' options: an object with signal, timeoutMs; given null",
    ],
    [
      'no name',
      (ctx) => ctx.waitForSignal('a', { signal: '' }),
      "signal of waitForSignal 'a' has 1 to 255 characters",
    ],
    [
      'no patience',
      (ctx) => ctx.waitForSignal('a', { timeoutMs: Number.NaN }),
      "waitForSignal 'a' option timeoutMs",
    ],
  ])('C07 %s is refused', async (_, call, message) => {
    const told = await refusal(call)
    expect(told).toMatch(/^invalid_argument: /)
    expect(told).toContain(message)
  })

  test('F08 a task has maxWaits open waits at most', async () => {
    const three = (ctx: TaskContext) => Promise.all(['a', 'b', 'c'].map((key) => ctx.sleep(key, 1_000)))
    const { runtime, receipt } = await begun(three, { config: { maxWaits: 2 } })
    await expect(runtime.result(receipt)).rejects.toMatchObject({
      code: 'limit_exceeded',
      kind: 'limit_exceeded',
      message: expect.stringContaining("wait 'c': a task has at most maxWaits 2 open waits") as string,
    })
  })

  test('a key that was recorded as something else parks the task', async () => {
    let passes = 0
    const { runtime, elapse, receipt } = await begun(async (ctx) => {
      passes += 1
      if (passes === 1) await ctx.sleep('nap', 1_000)
      return ctx.step('nap', () => 1).catch(({ message }: Error) => message)
    })
    await elapse(1_000)
    expect(await runtime.status(receipt)).toMatchObject({
      waitingFor: 'divergence',
      divergence: { kind: 'unexpected_step', key: 'nap', position: 0, expected: 'timer', actual: 'step' },
    })
  })
})
