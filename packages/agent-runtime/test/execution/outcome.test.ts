import { NonRetryableError, RuntimeError } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTask, TaskFailed } from '../../src/index.ts'
import { all, turns, virtualRuntime } from '../virtual-runtime.ts'

describe('execution: outcome', () => {
  test('the return value of the handler is the result; nothing is a result too', async () => {
    const task = defineTask({ type: 'void', input: z.null() }, () => {})
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    expect(await runtime.result(receipt)).toBeUndefined()
    expect(await runtime.status(receipt.taskId)).toMatchObject({ state: 'completed', output: undefined })
  })

  test('5.4 nothing says of a task that nobody stopped that its handler was', async () => {
    const task = defineTask({ type: 'void', input: z.null() }, () => {})
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await runtime.result(taskId)
    await turns()
    expect(await runtime.status(taskId)).not.toHaveProperty('abort')
    expect((await runtime.leases(taskId))[0]).not.toHaveProperty('abort')
  })

  test('an error is final by default, and comes back with its name, message, code and cause', async () => {
    const task = defineTask({ type: 'fails', input: z.null() }, () => {
      throw Object.assign(new RangeError('too far', { cause: new Error('below') }), { code: 'EFAR' })
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    const error = await runtime.result(receipt).catch((thrown: unknown) => thrown as TaskFailed)
    expect(error).toBeInstanceOf(TaskFailed)
    expect(error).toMatchObject({
      kind: 'error',
      taskId: receipt.taskId,
      message: `task ${receipt.taskId} failed (error): too far`,
      cause: {
        name: 'RangeError',
        message: 'too far',
        details: { code: 'EFAR' },
        cause: { message: 'below' },
      },
    })
    expect(await runtime.status(receipt.taskId)).toMatchObject({
      state: 'failed',
      error: { name: 'RangeError', code: 'EFAR' },
    })
  })

  test.each([['a string'], [null], [undefined], [{ message: 'looks like one' }]])(
    'G10 any thrown value fails the task: %j',
    async (thrown) => {
      const task = defineTask({ type: 'throws', input: z.null() }, () => {
        // oxlint-disable-next-line typescript/only-throw-error -- users do
        throw thrown
      })
      const { runtime } = await virtualRuntime({ tasks: [task] })
      await expect(runtime.result(await runtime.submit(task, null))).rejects.toThrow(TaskFailed)
    },
  )

  test('retries: attempt rises, the waits grow, the tries are counted', async () => {
    const attempts: number[] = []
    const task = defineTask(
      { type: 'flaky', input: z.null(), retry: { attempts: 3, backoff: { jitter: 0 } } },
      (ctx) => {
        attempts.push(ctx.attempt)
        throw new Error('again')
      },
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await elapse(900)
    expect(attempts).toEqual([1])
    expect(await runtime.status(receipt.taskId)).toMatchObject({ state: 'queued', attempt: 2 })
    await elapse(200)
    expect(attempts).toEqual([1, 2])
    await elapse(1_800)
    expect(attempts).toEqual([1, 2])
    await elapse(300)
    expect(attempts).toEqual([1, 2, 3])
    await expect(runtime.result(receipt)).rejects.toThrow('again')
    const requeued = (await all(runtime.events(receipt.taskId))).filter(
      ({ type }) => type === 'task.requeued',
    )
    expect(requeued.map(({ data }) => data)).toMatchObject([
      { attempt: 2, reason: 'retry', error: { message: 'again' } },
      { attempt: 3, reason: 'retry' },
    ])
  })

  test('chance takes something off the wait, so that what failed together does not come back together', async () => {
    const task = defineTask({ type: 'flaky', input: z.null(), retry: { attempts: 2 } }, () => {
      throw new Error('again')
    })
    const { runtime } = await virtualRuntime({ tasks: [task], config: { maxInFlightPerWorker: 10 } })
    const waits = new Set<number>()
    runtime.on('task.requeued', ({ at, data }) => waits.add((data.dueAt ?? 0) - at))
    await runtime.submitMany(Array.from({ length: 10 }, () => ({ task, input: null })))
    await turns()
    expect(waits.size).toBeGreaterThan(5)
    expect([...waits].every((wait) => wait > 800 && wait <= 1_000)).toBe(true)
  })

  test('a retry keeps the steps that are recorded', async () => {
    let calls = 0
    const task = defineTask({ type: 'flaky', input: z.null(), retry: { attempts: 2 } }, async (ctx) => {
      await ctx.step('once', () => (calls += 1))
      if (ctx.attempt === 1) throw new Error('again')
      return calls
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await elapse(2_000)
    expect(await runtime.result(receipt)).toBe(1)
  })

  test('an error that says trying again cannot help ends the tries', async () => {
    const task = defineTask({ type: 'hopeless', input: z.null(), retry: { attempts: 9 } }, () => {
      throw new NonRetryableError('no such repository')
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await expect(runtime.result(receipt)).rejects.toMatchObject({ code: 'non_retryable' })
    expect(await runtime.status(receipt.taskId)).toMatchObject({ attempt: 1 })
  })

  test('a crash does not use up a try', async () => {
    const attempts: number[] = []
    const task = defineTask(
      { type: 'flaky', input: z.null(), retry: { attempts: 2, backoff: { initialMs: 0 } } },
      async (ctx) => {
        attempts.push(ctx.attempt)
        if (ctx.attempt === 1) await new Promise(() => {})
        throw new Error('again')
      },
    )
    const { runtime, block, elapse } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await turns()
    await block(31_000)
    await elapse(200)
    await expect(runtime.result(receipt)).rejects.toThrow('again')
    expect(attempts).toEqual([1, 2, 3])
  })

  test('the output schema is checked when the handler has returned, and gives the result', async () => {
    const output = z.object({ score: z.number().transform((score) => score * 2) })
    const task = defineTask({ type: 'scored', input: z.number(), output }, (_, score) => ({ score }))
    const { runtime } = await virtualRuntime({ tasks: [task] })
    expect(await runtime.result(await runtime.submit(task, 2))).toEqual({ score: 4 })
    const lying = defineTask({ type: 'lying', input: z.null(), output }, () => ({ score: 'high' }) as never)
    const other = await virtualRuntime({ tasks: [lying] })
    const result = other.runtime.result(await other.runtime.submit(lying, null))
    await expect(result).rejects.toMatchObject({ kind: 'invalid_output', code: 'invalid_output' })
    await expect(result).rejects.toThrow('output.score: Invalid input: expected number, received string')
  })

  test('7.7 the retry policy acts when the output schema refuses what a try returned', async () => {
    const task = defineTask(
      {
        type: 'moody',
        input: z.number(),
        output: z.string(),
        retry: { attempts: 3, backoff: { jitter: 0 } },
      },
      (ctx, good) => (ctx.attempt === good ? 'fine' : (ctx.attempt as never)),
    )
    const { runtime, elapse } = await virtualRuntime({ tasks: [task] })
    const [second, never] = [await runtime.submit(task, 2), await runtime.submit(task, 9)]
    await elapse(900)
    expect(await runtime.status(second.taskId)).toMatchObject({ state: 'queued', attempt: 2 })
    await elapse(3_000)
    expect(await runtime.result(second)).toBe('fine')
    expect(await runtime.status(never.taskId)).toMatchObject({
      state: 'failed',
      kind: 'invalid_output',
      attempt: 3,
    })
  })

  test('an output schema that answers later, and one that throws', async () => {
    const later = z.number().refine(async (n) => Promise.resolve(n > 0), 'above 0')
    const task = defineTask({ type: 'later', input: z.number(), output: later }, (_, n) => n)
    const broken = z.number().refine(() => {
      throw new Error('broken schema')
    })
    const throwing = defineTask({ type: 'throwing', input: z.number(), output: broken }, (_, n) => n)
    const { runtime } = await virtualRuntime({ tasks: [task, throwing] })
    expect(await runtime.result(await runtime.submit(task, 1))).toBe(1)
    await expect(runtime.result(await runtime.submit(task, -1))).rejects.toThrow('above 0')
    await expect(runtime.result(await runtime.submit(throwing, 1))).rejects.toThrow('broken schema')
    expect(await runtime.stats()).toMatchObject({ inFlight: 0 })
  })

  test('a result that cannot be stored fails the task, naming the place', async () => {
    const task = defineTask({ type: 'odd', input: z.null() }, (): unknown => ({
      a: [Symbol('s')],
    }))
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const result = runtime.result(await runtime.submit(task, null))
    await expect(result).rejects.toMatchObject({ code: 'step_not_serializable' })
    await expect(result).rejects.toThrow("the output of task 'odd' cannot be stored: $.a[0] is a symbol")
  })

  test('a RuntimeError of the handler keeps its code', async () => {
    const task = defineTask({ type: 'coded', input: z.null() }, () => {
      throw new RuntimeError('limit_exceeded', 'too many files')
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    await expect(runtime.result(await runtime.submit(task, null))).rejects.toMatchObject({
      code: 'limit_exceeded',
      kind: 'limit_exceeded',
    })
  })
})

describe('execution: handler context', () => {
  test('tells what the task is', async () => {
    const task = defineTask({ type: 'who', input: z.null() }, (ctx) => {
      const { taskId, type, attempt, fencingToken, lane, model, tools, labels, restored } = ctx
      return { taskId, type, attempt, fencingToken, lane, model, tools, labels, restored }
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const options = { taskId: 'me', lane: 'batch', model: 'm', tools: ['t'], labels: { a: 'b' } } as const
    expect(await runtime.result(await runtime.submit(task, null, options))).toEqual({
      ...options,
      type: 'who',
      attempt: 1,
      fencingToken: 1,
      restored: undefined,
    })
  })

  test('ctx.log writes lines with the task and the attempt', async () => {
    const task = defineTask({ type: 'logs', input: z.null() }, (ctx) => {
      ctx.log.info('hello', { files: 3 })
      ctx.log.error('oh')
    })
    const { runtime, log } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await runtime.result(receipt)
    const fields = { taskId: receipt.taskId, type: 'logs', attempt: 1, leaseId: expect.any(String) }
    expect(log).toEqual([
      { level: 'info', message: 'hello', fields: { ...fields, files: 3 } },
      { level: 'error', message: 'oh', fields },
    ])
  })

  test('ctx.checkpoint is found by the next pass; the newest counts', async () => {
    let pass = 0
    const task = defineTask({ type: 'saves', input: z.null() }, async (ctx) => {
      pass += 1
      if (pass > 1) return ctx.restored
      await ctx.checkpoint({ at: new Date(1) })
      await ctx.checkpoint({ at: new Date(2) })
      return new Promise(() => {})
    })
    const { runtime, block } = await virtualRuntime({ tasks: [task] })
    const receipt = await runtime.submit(task, null)
    await turns()
    await block(31_000)
    expect(await runtime.result(receipt)).toEqual({ at: new Date(2) })
  })

  test('ctx.heartbeat keeps what it reports with the lease', async () => {
    const task = defineTask({ type: 'beats', input: z.null() }, async (ctx) => {
      await ctx.heartbeat()
      await ctx.heartbeat({ progress: { done: 3, of: 7 } })
      await ctx.heartbeat()
      return new Promise(() => {})
    })
    const { runtime } = await virtualRuntime({ tasks: [task] })
    const { taskId } = await runtime.submit(task, null)
    await turns()
    expect(await runtime.status(taskId)).toMatchObject({
      state: 'running',
      lease: { progress: { done: 3, of: 7 } },
    })
  })
})
