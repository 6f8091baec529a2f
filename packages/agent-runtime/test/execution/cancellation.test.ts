import { LeaseLost, TaskCanceled } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask, type TaskContext } from '../../src/index.ts'
import { folder } from '../real-processes.ts'
import { all, gate, turns, until, virtualRuntime } from '../virtual-runtime.ts'

describe('execution: cancellation', () => {
  test('E02 first the state, then the signal with its reason, then the hooks in reverse order, once', async () => {
    const order: string[] = []
    const started = gate()
    const task = defineTask({ type: 'busy', input: z.null() }, async (ctx) => {
      ctx.onCleanup((reason) => void order.push(`first hook: ${reason}`))
      ctx.onCleanup(async (reason) => {
        await turns()
        order.push(`second hook: ${reason}`)
      })
      const taken = ctx.onCleanup(() => void order.push('never'))
      taken()
      const aborted = gate<unknown>()
      ctx.signal.addEventListener('abort', () => {
        order.push(`signal: ${String(ctx.signal.reason)}`)
        aborted.resolve(ctx.signal.reason)
      })
      started.resolve()
      throw await aborted.promise
    })
    const { runtime, store } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await started.promise
    using _ = store.listen({ noticed: () => order.push('committed') })
    expect(await runtime.cancel(taskId, { reason: 'no need' })).toBe(true)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'canceled', reason: 'no need' })
    await until(() => order.length >= 4)
    await turns()
    expect(order.filter((entry) => entry !== 'committed')).toEqual([
      `signal: TaskCanceled: task ${taskId} was canceled: no need`,
      'second hook: canceled',
      'first hook: canceled',
    ])
    await expect(runtime.result(taskId)).rejects.toThrow(TaskCanceled)
  })

  test('the store learns when the handler has stopped', async () => {
    const task = defineTask({ type: 'busy', input: z.null() }, async (ctx) => {
      await new Promise((_, reject) =>
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error)),
      )
    })
    const { runtime, environment } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await turns()
    await runtime.cancel(taskId)
    await turns()
    const now = environment.clock.now()
    expect(await runtime.status(taskId)).toMatchObject({ abort: { requestedAt: now, acknowledgedAt: now } })
    expect(runtime.leaked()).toEqual([])
    expect(environment.clock.pending).toBe(1)
  })

  test('E01 a queued task leaves at once and never starts', async () => {
    let calls = 0
    const task = defineTask({ type: 'busy', input: z.null() }, () => void (calls += 1))
    const { runtime } = await virtualRuntime({ tasks: [task], start: false })
    const { taskId } = await runtime.submit(task, null)
    expect(await runtime.cancel(taskId)).toBe(true)
    await runtime.start()
    await turns()
    expect(calls).toBe(0)
    expect(await runtime.stats()).toMatchObject({ depth: { normal: 0 }, totals: { canceled: 1 } })
  })

  test('E07 final and unknown tasks: false, and no event', async () => {
    const task = defineTask({ type: 'quick', input: z.null() }, () => 1)
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await runtime.result(taskId)
    const canceled: unknown[] = []
    runtime.on('task.canceled', (event) => canceled.push(event))
    expect(await runtime.cancel(taskId)).toBe(false)
    expect(await runtime.cancel('nobody')).toBe(false)
    const waiting = await runtime.submit(task, null, { delayMs: 1_000 })
    expect([await runtime.cancel(waiting.taskId), await runtime.cancel(waiting.taskId)]).toEqual([
      true,
      false,
    ])
    expect(canceled).toHaveLength(1)
  })

  test('a handler that swallows the abort changes nothing: its value is dropped', async () => {
    const door = gate()
    const task = defineTask({ type: 'deaf', input: z.null() }, async (ctx) => {
      await door.promise
      await ctx.step('after', () => 1).catch(() => {})
      return 'too late'
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await turns()
    await runtime.cancel(taskId)
    door.resolve()
    await turns()
    expect(await runtime.status(taskId)).toMatchObject({ state: 'canceled', steps: 0 })
    expect((await runtime.stats()).staleWrites).toBe(0)
  })

  test('E01 a task that is canceled while the schema of its input is asked never begins', async () => {
    const door = gate()
    const ran: string[] = []
    let isSubmitted = false
    const asked = gate()
    const input = z.string().refine(async () => {
      if (!isSubmitted) return true
      asked.resolve()
      await door.promise
      return true
    })
    const task = defineTask({ type: 'checked', input }, () => void ran.push('ran'))
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, 'a', { delayMs: 1_000 })
    isSubmitted = true
    await elapse(1_000)
    await asked.promise
    await runtime.cancel(taskId)
    door.resolve()
    await turns()
    expect(ran).toEqual([])
    expect((await runtime.stats()).inFlight).toBe(0)
  })

  test('E03 a handler that returned when its task was canceled elsewhere is cleaned up after: its value is dropped', async () => {
    const door = gate()
    const cleanedUp: string[] = []
    const reasons: unknown[] = []
    const task = defineTask({ type: 'late', input: z.null() }, async (ctx) => {
      ctx.onCleanup((why) => void cleanedUp.push(why))
      ctx.signal.addEventListener('abort', () => reasons.push(ctx.signal.reason))
      started.resolve()
      await door.promise
      return 'too late'
    })
    const started = gate()
    const options = {
      store: `sqlite:${folder()}/store.db`,
      thread: false,
      tasks: [task],
      logger: false,
    } as const
    await using runtime = await createRuntime(options)
    await using other = await createRuntime({ ...options, workers: 0 })
    const { taskId } = await runtime.submit(task, null)
    await started.promise
    // It returns before it can have heard of the other's commit.
    expect(await other.cancel(taskId)).toBe(true)
    door.resolve()
    await expect
      .poll(() => runtime.status(taskId))
      .toMatchObject({ state: 'canceled', abort: { acknowledgedAt: expect.any(Number) as number } })
    expect(cleanedUp).toEqual(['canceled'])
    expect(reasons).toEqual([expect.any(TaskCanceled)])
    expect(runtime.leaked()).toEqual([])
  })

  test('E04 a handler that never settles is listed as leaked after abortGraceMs, and acknowledged if it stops after all', async () => {
    const door = gate()
    const task = defineTask({ type: 'stuck', input: z.null() }, () => door.promise)
    const { runtime, elapse, environment } = await virtualRuntime({
      tasks: [task],
      workers: { ids: ['w'], capacity: 1 },
    })
    const { taskId } = await runtime.submit(task, null)
    await turns()
    await runtime.cancel(taskId)
    await elapse(29_999)
    expect(runtime.leaked()).toEqual([])
    await elapse(1)
    const at = environment.clock.now()
    expect(runtime.leaked()).toMatchObject([
      { taskId, type: 'stuck', workerId: 'w', attempt: 1, reason: 'canceled', at },
    ])
    expect(await runtime.status(taskId)).toMatchObject({ state: 'canceled', abort: { graceExpiredAt: at } })
    expect(await runtime.stats()).toMatchObject({ leaked: 1, inFlight: 1 })
    expect((await all(runtime.events(taskId))).at(-1)).toMatchObject({
      type: 'task.leaked',
      data: { afterMs: 30_000 },
    })
    door.resolve()
    await turns()
    expect(runtime.leaked()).toEqual([])
    expect(await runtime.status(taskId)).toMatchObject({ abort: { graceExpiredAt: at, acknowledgedAt: at } })
  })

  test.each([5_000, 60_000])('5.4 a task type may have a grace of its own: %i ms', async (abortGraceMs) => {
    const task = defineTask({ type: 'stuck', input: z.null(), abortGraceMs }, () => gate().promise)
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await turns()
    await runtime.cancel(taskId)
    await elapse(abortGraceMs - 1)
    expect(runtime.leaked()).toEqual([])
    await elapse(1)
    expect(runtime.leaked()).toMatchObject([{ taskId }])
    expect((await all(runtime.events(taskId))).at(-1)).toMatchObject({ data: { afterMs: abortGraceMs } })
  })

  test('E05 hooks: a throwing one is logged, a hanging one is left after cleanupTimeoutMs, and none delays the state', async () => {
    const called: string[] = []
    const door = gate()
    const task = defineTask({ type: 'messy', input: z.null() }, async (ctx) => {
      ctx.onCleanup(() => void called.push('last'))
      ctx.onCleanup(() => new Promise(() => called.push('hangs')))
      ctx.onCleanup(() => Promise.reject(new RangeError('rejects')))
      ctx.onCleanup(() => {
        throw new TypeError('throws')
      })
      await door.promise
    })
    const { runtime, elapse, log } = await virtualRuntime({ tasks: [task], workers: { capacity: 1 } })
    const { taskId } = await runtime.submit(task, null)
    await turns()
    await runtime.cancel(taskId)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'canceled' })
    await elapse(9_999)
    expect(called).toEqual(['hangs'])
    await elapse(1)
    expect(called).toEqual(['hangs', 'last'])
    expect(log.map(({ message, fields }) => [message, fields['error']])).toMatchObject([
      ['a clean-up hook failed', { name: 'TypeError' }],
      ['a clean-up hook failed', { name: 'RangeError' }],
      ['a clean-up hook failed', { message: 'a clean-up hook took longer than its time limit of 10000 ms' }],
    ])
    door.resolve()
  })

  test('E05 a hook that cancels again changes nothing', async () => {
    const again: unknown[] = []
    const task = defineTask({ type: 'insistent', input: z.null() }, async (ctx) => {
      ctx.onCleanup(async () => {
        again.push(await runtime.cancel(ctx.taskId, { reason: 'once more' }))
      })
      await new Promise((_, reject) => ctx.signal.addEventListener('abort', reject))
    })
    const { runtime, log } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await turns()
    expect(await runtime.cancel(taskId, { reason: 'enough' })).toBe(true)
    await until(() => again.length > 0)
    await turns()
    expect(again).toEqual([false])
    expect(await runtime.status(taskId)).toMatchObject({ state: 'canceled', reason: 'enough' })
    expect((await all(runtime.events(taskId))).map(({ type }) => type)).toEqual([
      'task.queued',
      'task.started',
      'task.canceled',
    ])
    expect(log).toEqual([])
  })

  test('E12 a step that a cancel cuts short has no memo and no failure; whether it took effect stays open', async () => {
    const ran: string[] = []
    const task = defineTask({ type: 'paying', input: z.null() }, (ctx) =>
      ctx.step('pay', { inDoubt: 'fail' }, async ({ signal, idempotencyKey }) => {
        ran.push(idempotencyKey)
        await new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        )
      }),
    )
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await until(() => ran.length === 1)
    await runtime.cancel(taskId)
    await turns()
    expect(await runtime.status(taskId)).toMatchObject({ state: 'canceled', steps: 0 })
    const types = (await all(runtime.events(taskId))).map(({ type }) => type)
    expect(types.filter((type) => type.startsWith('step.'))).toEqual(['step.started'])
    // Whoever tries it again is told that nobody knows.
    await expect(runtime.result(await runtime.retry(taskId))).rejects.toMatchObject({
      cause: { code: 'in_doubt' },
    })
    expect(ran).toHaveLength(1)
  })

  test('a hook that is registered after the abort runs all the same', async () => {
    const called: string[] = []
    const door = gate()
    const task = defineTask({ type: 'late', input: z.null() }, async (ctx) => {
      await door.promise
      ctx.onCleanup((reason) => void called.push(reason))
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await turns()
    await runtime.cancel(taskId)
    door.resolve()
    await until(() => called.length === 1)
    expect(called).toEqual(['canceled'])
  })

  test('a hook that is registered after the handler has ended is refused: nobody would call it', async () => {
    let kept: TaskContext | undefined
    const task = defineTask({ type: 'quick', input: z.null() }, (ctx) => void (kept = ctx))
    const { runtime } = await virtualRuntime({ tasks: [task] })
    await runtime.result(await runtime.submit(task, null))
    expect(() => kept?.onCleanup(() => {})).toThrow('has ended: await everything that it starts')
  })

  test('hooks run when the handler throws, not when it completes', async () => {
    const called: string[] = []
    const task = defineTask({ type: 'ending', input: z.boolean() }, (ctx, fails) => {
      ctx.onCleanup((reason) => void called.push(reason))
      if (fails) throw new Error('no')
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    await runtime.result(await runtime.submit(task, false))
    expect(called).toEqual([])
    await expect(runtime.result(await runtime.submit(task, true))).rejects.toThrow('no')
    expect(called).toEqual(['failed'])
  })

  test('no signal is made for a handler that never looks at it, and an early look is not needed', async () => {
    const door = gate()
    const reasons: unknown[] = []
    const task = defineTask({ type: 'late look', input: z.null() }, async (ctx) => {
      await door.promise
      reasons.push(ctx.signal.aborted, ctx.signal.reason)
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await turns()
    await runtime.cancel(taskId)
    door.resolve()
    await until(() => reasons.length === 2)
    expect(reasons).toEqual([true, expect.any(TaskCanceled)])
  })
})

describe('execution: timeouts', () => {
  test('the end of timeoutMs fails the task at once, whether or not the handler stops', async () => {
    const door = gate()
    const reasons: unknown[] = []
    const task = defineTask({ type: 'slow', input: z.null(), timeoutMs: 5_000 }, async (ctx) => {
      ctx.onCleanup((reason) => void reasons.push(reason))
      ctx.signal.addEventListener('abort', () => reasons.push((ctx.signal.reason as Error).name))
      await door.promise
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [task], workers: { capacity: 1 } })
    const { taskId } = await runtime.submit(task, null)
    const next = await runtime.submit(task, null, { timeoutMs: 60_000 })
    await elapse(4_999)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'running' })
    await elapse(1)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'failed', kind: 'timeout', attempt: 1 })
    expect(reasons).toEqual(['TimeoutError', 'timeout'])
    await expect(runtime.result(taskId)).rejects.toMatchObject({
      name: 'TaskFailed',
      kind: 'timeout',
      code: 'timeout',
    })
    expect(await runtime.status(next.taskId)).toMatchObject({ state: 'queued' })
    door.resolve()
    await turns()
    expect(await runtime.status(next.taskId)).toMatchObject({ state: 'completed' })
  })

  test('7.7 the retry policy acts at the end of timeoutMs: each try has its time, the recorded steps answer', async () => {
    const door = gate()
    const seen: unknown[] = []
    let ran = 0
    const task = defineTask(
      {
        type: 'slow',
        input: z.number(),
        timeoutMs: 5_000,
        retry: { attempts: 3, backoff: { initialMs: 1_000, factor: 1, jitter: 0 } },
      },
      async (ctx, good) => {
        await ctx.step('once', () => (ran += 1))
        const { attempt } = ctx
        ctx.onCleanup((reason) => void seen.push([attempt, reason]))
        if (attempt !== good) await door.promise
        return attempt
      },
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [task], workers: { capacity: 4 } })
    const [second, never] = [await runtime.submit(task, 2), await runtime.submit(task, 9)]
    await elapse(5_100)
    expect(await runtime.status(second)).toMatchObject({ state: 'queued', attempt: 2 })
    await elapse(1_000)
    expect(await runtime.result(second)).toBe(2)
    await elapse(12_000)
    expect(await runtime.status(never)).toMatchObject({ state: 'failed', kind: 'timeout', attempt: 3 })
    expect(ran).toBe(2)
    expect(seen).toEqual([1, 1, 2, 3].map((attempt) => [attempt, 'timeout']))
    const requeued = (await all(runtime.events(never))).filter(({ type }) => type === 'task.requeued')
    expect(requeued.map(({ data }) => data)).toMatchObject([
      { attempt: 2, reason: 'retry', error: { code: 'timeout' } },
      { attempt: 3, reason: 'retry', error: { code: 'timeout' } },
    ])
    door.resolve()
  })

  test('4.5 a handler that does not stop at the end of its time keeps its slot; the next try takes another one', async () => {
    const door = gate()
    const task = defineTask(
      { type: 'deaf', input: z.null(), timeoutMs: 5_000, retry: { attempts: 2, backoff: { jitter: 0 } } },
      async (ctx) => {
        if (ctx.attempt === 1) await door.promise
        return ctx.attempt
      },
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [task], workers: { capacity: 1 } })
    const receipt = await runtime.submit(task, null)
    await elapse(10_000)
    expect(await runtime.status(receipt)).toMatchObject({ state: 'queued', attempt: 2 })
    door.resolve()
    await elapse(100)
    expect(await runtime.result(receipt)).toBe(2)
  })

  test('a task that ends in time leaves no timer behind', async () => {
    const task = defineTask({ type: 'quick', input: z.number(), timeoutMs: 5_000 }, (_, n) => n)
    const { runtime, environment } = await virtualRuntime({ tasks: [task] })
    const idle = environment.clock.pending
    const receipts = await runtime.submitMany(Array.from({ length: 200 }, (_, input) => ({ task, input })))
    await Promise.all(receipts.map((receipt) => runtime.result(receipt)))
    expect(environment.clock.pending).toBe(idle)
  })
})

describe('execution: leases', () => {
  test('B17 a lost lease aborts the handler with LeaseLost; what it still writes is refused and counted', async () => {
    const door = gate()
    const errors: unknown[] = []
    let pass = 0
    const task = defineTask({ type: 'zombie', input: z.null() }, async (ctx) => {
      pass += 1
      if (pass > 1) return ctx.fencingToken
      await door.promise
      await ctx.step('after', () => errors.push('ran')).catch((error: unknown) => errors.push(error))
      errors.push(ctx.signal.reason)
      return 'zombie'
    })
    const { runtime, block, log } = await virtualRuntime({ tasks: [task], workers: { capacity: 2 } })
    const lost: unknown[] = []
    runtime.on('lease.lost', ({ data }) => lost.push(data))
    const receipt = await runtime.submit(task, null)
    await turns()
    await block(31_000)
    expect(await runtime.result(receipt)).toBe(2)
    door.resolve()
    await until(() => errors.length === 2)
    expect(errors).toEqual([expect.any(LeaseLost), expect.any(LeaseLost)])
    const [first] = await runtime.leases(receipt.taskId)
    expect(lost).toEqual([{ leaseId: first?.leaseId, workerId: first?.workerId }])
    expect(await runtime.status(receipt.taskId)).toMatchObject({
      state: 'completed',
      attempt: 2,
      crashes: 1,
      output: 2,
    })
    expect(first).toMatchObject({ status: 'failed', endReason: 'expired' })
    expect(log.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('a handler that returned just before its lease was over is cleaned up after, when its value comes too late', async () => {
    const ends = new Set<unknown>()
    for (let hops = 0; hops < 12; hops += 1) {
      const door = gate()
      const cleanedUp: string[] = []
      const task = defineTask({ type: 'late', input: z.null() }, async (ctx) => {
        if (ctx.attempt > 1) return 'second'
        ctx.onCleanup((why) => void cleanedUp.push(why))
        await door.promise
        return 'first'
      })
      const { runtime, environment } = await virtualRuntime({ tasks: [task] })
      const receipt = await runtime.submit(task, null)
      await turns()
      door.resolve()
      for (let hop = 0; hop < hops; hop += 1) await Promise.resolve()
      environment.clock.advanceBy(31_000)
      const end = await runtime.result(receipt)
      ends.add(end)
      expect([hops, end, ...cleanedUp]).toEqual(end === 'first' ? [hops, end] : [hops, end, 'lost'])
    }
    expect(ends).toEqual(new Set(['first', 'second']))
  })

  test('a stale write without a notice is a lost lease too: the step never returns a value', async () => {
    const door = gate()
    const outcomes: unknown[] = []
    let pass = 0
    const task = defineTask({ type: 'fenced', input: z.null() }, async (ctx) => {
      pass += 1
      if (pass > 1) return 'second'
      await ctx
        .step('one', () => door.promise)
        .then(
          () => outcomes.push('a value'),
          (error: unknown) => outcomes.push(error),
        )
      outcomes.push(ctx.signal.aborted)
      return 'first'
    })
    const { runtime, store } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await turns()
    const [lease] = await runtime.leases(receipt.taskId)
    expect(await store.write({ kind: 'release', leaseId: lease?.leaseId ?? '', reason: 'drained' })).toBe(
      'ok',
    )
    door.resolve()
    expect(await runtime.result(receipt)).toBe('second')
    expect(outcomes).toEqual([expect.any(LeaseLost), true])
    expect((await runtime.stats()).staleWrites).toBe(1)
  })

  test('a write in the very flush that ends its lease is refused; the loss is reported once', async () => {
    const door = gate()
    const errors: unknown[] = []
    const task = defineTask({ type: 'late', input: z.null() }, async (ctx) => {
      if (ctx.attempt > 1) return
      await door.promise
      await ctx.emit('too late').catch((error: unknown) => errors.push(error))
    })
    const { runtime, block } = await virtualRuntime({ tasks: [task] })
    const lost: unknown[] = []
    runtime.on('lease.lost', (event) => lost.push(event))
    const receipt = await runtime.submit(task, null)
    await turns()
    door.resolve()
    await block(31_000)
    await runtime.result(receipt)
    expect(errors).toEqual([expect.any(LeaseLost)])
    expect(lost).toHaveLength(1)
    expect((await runtime.stats()).staleWrites).toBe(1)
  })

  test('the slot of a lost lease stays taken until its handler settles', async () => {
    const door = gate()
    let calls = 0
    const task = defineTask({ type: 'zombie', input: z.null() }, async () => {
      calls += 1
      if (calls === 1) await door.promise
    })
    const { runtime, block } = await virtualRuntime({ tasks: [task], workers: { capacity: 1 } })
    const receipt = await runtime.submit(task, null)
    await turns()
    await block(31_000)
    expect(await runtime.status(receipt.taskId)).toMatchObject({ state: 'queued', attempt: 2 })
    expect(calls).toBe(1)
    door.resolve()
    await until(() => calls === 2)
  })

  test('leases are renewed while a handler waits, for ten times the TTL', async () => {
    const door = gate()
    const task = defineTask({ type: 'patient', input: z.null() }, () => door.promise)
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await elapse(300_000)
    expect(await runtime.status(taskId)).toMatchObject({ state: 'running', attempt: 1 })
    door.resolve()
  })

  test('at its maxCrashes-th crash a task fails as poisoned', async () => {
    let calls = 0
    const task = defineTask({ type: 'poison', input: z.null() }, () => {
      calls += 1
      return new Promise(() => {})
    })
    const { runtime, block } = await virtualRuntime({
      tasks: [task],
      config: { maxCrashes: 3, maxInFlightPerWorker: 10 },
    })
    const receipt = await runtime.submit(task, null)
    await turns()
    for (let crash = 0; crash < 3; crash += 1) await block(31_000)
    await expect(runtime.result(receipt)).rejects.toMatchObject({ kind: 'poisoned', code: 'poisoned' })
    expect(calls).toBe(3)
  })
})
