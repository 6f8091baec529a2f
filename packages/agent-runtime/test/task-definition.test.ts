import { ConfigError } from '@ku0/agent-runtime-core'
import { openStore } from '@ku0/agent-runtime-persistence'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { createRuntime, defineTask, type Receipt, type Runtime } from '../src/index.ts'

const input = z.object({ repo: z.string(), depth: z.coerce.number().default(1) })

describe('execution: task definitions', () => {
  test('have the defaults of their task type', () => {
    const task = defineTask({ type: 'review', input }, () => 1)
    expect(task).toMatchObject({
      type: 'review',
      lane: 'normal',
      timeoutMs: undefined,
      retry: undefined,
      output: undefined,
    })
    const retried = defineTask(
      { type: 'review', input, retry: { attempts: 3, backoff: { initialMs: 10 } } },
      () => 1,
    )
    expect(retried.retry).toEqual({
      attempts: 3,
      backoff: { initialMs: 10, factor: 2, maxMs: 60_000, jitter: 0.2 },
    })
  })

  test.each([
    [{ type: '' }, 'task: type: a name of 1 to 255 characters, no lone surrogates; given ""'],
    [{ type: 7 }, 'task: type: a name of 1 to 255 characters, no lone surrogates; given 7'],
    [{ input: {} }, "task 'review': input: a schema, such as z.object({ … }); given {}"],
    [{ output: () => 1 }, 'output: a schema'],
    [{ lane: 'fast' }, 'lane: interactive | normal | batch; given "fast"'],
    [{ timeoutMs: 0 }, 'timeoutMs: a number of ms above 0; given 0'],
    [{ tools: [''] }, 'tools: a list of names'],
    [{ type: 'a\ud800' }, 'task: type: a name of 1 to 255 characters, no lone surrogates; given "a\\ud800"'],
    [{ model: '\udc00' }, 'model: a name of 1 to 255 characters, no lone surrogates'],
    [{ tools: ['\udc00'] }, 'tools: a list of names'],
    [{ timeout: 5 }, "task 'review': timeout: no such option, did you mean timeoutMs?; given 5"],
    [{ retry: 3 }, 'retry: an object with attempts, backoff; given 3'],
    [{ retry: {} }, 'retry.attempts: a whole number, 1 or more; not given'],
    [{ retry: { attempts: 3, backof: {} } }, 'retry.backof: no such option, did you mean backoff?; given {}'],
    [
      { retry: { attempts: 3, backoff: 5 } },
      'retry.backoff: an object with initialMs, factor, maxMs, jitter',
    ],
    [
      { retry: { attempts: 3, backoff: { factr: 2 } } },
      'retry.backoff.factr: no such option, did you mean factor?',
    ],
    [{ retry: { attempts: 0 } }, 'retry.attempts: a whole number, 1 or more; given 0'],
    [
      { retry: { attempts: 2, backoff: { factor: 0.5, jitter: 2 } } },
      'retry.backoff.jitter: a number from 0 to 1; given 2',
    ],
  ])('refuse %j', (wrong, message) => {
    const define = () => defineTask({ type: 'review', input, ...wrong } as never, () => 1)
    expect(define).toThrow(ConfigError)
    expect(define).toThrow(message)
  })

  test.each([[], [null], ['review'], [7], [[]]])('refuse %j for a definition', (...given) => {
    const define = () => (defineTask as (...given: unknown[]) => unknown)(...given)
    expect(define).toThrow(ConfigError)
    expect(define).toThrow(/task: an object with type, input, .*\n {2}task: handler: a function/)
  })

  test('name every field that is wrong', () => {
    const define = () =>
      defineTask({ type: 'a', input, lane: 1, model: '', timeoutMs: Number.NaN } as never, 7 as never)
    expect(define).toThrow(expect.objectContaining({ problems: expect.objectContaining({ length: 4 }) }))
  })
})

describe('execution: types', () => {
  test('flow from the schemas to submit and result', () => {
    const review = defineTask({ type: 'review', input }, async (ctx, { repo, depth }) => {
      expectTypeOf(repo).toEqualTypeOf<string>()
      expectTypeOf(depth).toEqualTypeOf<number>()
      expectTypeOf(await ctx.step('files', () => [repo])).toEqualTypeOf<string[]>()
      return { notes: depth }
    })
    const output = z.object({ score: z.number() })
    const scored = defineTask({ type: 'scored', input: z.string(), output }, () => ({ score: 1 }))
    const options = { type: 'lying', input: z.string(), output }
    // @ts-expect-error -- what the handler returns must fit the output schema
    defineTask(options, () => ({ score: 'high' }))
    // @ts-expect-error -- so must what its promise resolves with
    defineTask(options, async () => ({ score: 'high' }))

    const check = async (runtime: Runtime, plain: string) => {
      const receipt = await runtime.submit(review, { repo: '.' })
      expectTypeOf(await runtime.result(receipt)).toEqualTypeOf<{ notes: number }>()
      expectTypeOf(await runtime.result(receipt.taskId)).toEqualTypeOf<{ notes: number }>()
      expectTypeOf(await runtime.result(await runtime.submit(scored, 'x'))).toEqualTypeOf<{ score: number }>()
      expectTypeOf(await runtime.result(plain)).toEqualTypeOf<unknown>()
      expectTypeOf(await runtime.result(await runtime.submit('review', 1))).toEqualTypeOf<unknown>()
      // @ts-expect-error -- repo is a string
      await runtime.submit(review, { repo: 1 })
      // @ts-expect-error -- repo is missing
      await runtime.submit(review, {})

      const [first, second, third] = await runtime.submitMany([
        { task: review, input: { repo: '.' } },
        { task: scored, input: 'x', options: { lane: 'batch' } },
        { task: 'review', input: 1 },
      ])
      expectTypeOf(await runtime.result(first)).toEqualTypeOf<{ notes: number }>()
      expectTypeOf(await runtime.result(second)).toEqualTypeOf<{ score: number }>()
      expectTypeOf(await runtime.result(third)).toEqualTypeOf<unknown>()
      // @ts-expect-error -- the input of scored is a string
      await runtime.submitMany([{ task: scored, input: 1 }])
      const [one] = await runtime.submitMany([1, 2].map(() => ({ task: scored, input: 'x' })))
      expectTypeOf(one).toExtend<Receipt<{ score: number }> | undefined>()

      runtime.on('task.completed', ({ data }) => expectTypeOf(data.durationMs).toEqualTypeOf<number>())
      runtime.on('task.*', ({ type }) => expectTypeOf(type).extract<'lease.lost'>().toBeNever())
      const status = await runtime.status(plain)
      if (status?.state === 'failed') expectTypeOf(status.error.message).toEqualTypeOf<string>()
      if (status?.state === 'completed') expectTypeOf(status.output).toEqualTypeOf<unknown>()
    }
    expect(check).toBeTypeOf('function')
  })
})

describe('execution: createRuntime', () => {
  const task = defineTask({ type: 'a', input: z.null() }, () => 1)

  test.each([
    [{ config: { leaseTtlMs: 'long' } }, 'leaseTtlMs'],
    [{ config: { leaseTtl: 1 } }, 'leaseTtl: no such setting, did you mean leaseTtlMs?'],
    [{ tasks: [task, task] }, 'tasks[1].type: a type that no other task has; given "a"'],
    [{ worker: 2 }, 'worker: no such option, did you mean workers?; given 2'],
    [{ tasks: undefined }, 'tasks: a list of what defineTask returns; not given'],
    [{ tasks: [{ type: 'a' }] }, 'tasks[0]: what defineTask returns; given {"type":"a"}'],
    [{ workers: { types: ['b'] } }, `workers.types: a list of '*' or of a; given ["b"]`],
    [{ workers: { count: 2, ids: ['x', 'x'] } }, 'workers.ids: 2 different ids'],
  ])('refuses %j before it opens anything', async (wrong, message) => {
    const created = createRuntime({ store: 'sqlite:/nowhere/at/all.db', tasks: [task], ...wrong } as never)
    await expect(created).rejects.toThrow(ConfigError)
    await expect(created).rejects.toThrow(message)
  })

  test('says what is wrong with the store', async () => {
    const create = (store: string) => createRuntime({ store, tasks: [task], logger: false })
    await expect(create('mysql://x')).rejects.toThrow('use sqlite:PATH (for example sqlite:runtime.db')
    await expect(create('sqlite:/nowhere/at/all.db')).rejects.toMatchObject({ code: 'store_folder_missing' })
  })

  test('attaches telemetry: the lines of its catalogue go to the logger', async () => {
    const lines: unknown[] = []
    const write = (fields: object, message: string) => lines.push([message, fields])
    const logger = { debug: write, info: write, warn: write, error: write }
    await using runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [task], logger })
    const { taskId } = await runtime.submit('a', 1)
    await expect
      .poll(() => lines)
      .toMatchObject([['submission rejected', { taskId, reason: 'invalid_payload' }]])
  })

  test('warns of a setting that is most likely a mistake', async () => {
    const lines: unknown[] = []
    const write = (fields: object, message: string) => lines.push([message, fields])
    const logger = { debug: write, info: write, warn: write, error: write }
    const config = { leaseTtlMs: 10_000 }
    await using runtime = await createRuntime({ store: 'sqlite::memory:', tasks: [task], logger, config })
    expect(runtime.info.kind).toBe('memory')
    expect(lines).toEqual([
      [expect.stringContaining('more than a third'), { setting: 'heartbeatIntervalMs' }],
    ])
  })

  test('a store that was opened elsewhere stays open', async () => {
    const store = await openStore('sqlite::memory:', { thread: false })
    const runtime = await createRuntime({ store, tasks: [task], telemetry: false, logger: false })
    await runtime.stop()
    expect(await store.read({ kind: 'stats' })).toMatchObject({ running: 0 })
    await store.close()
  })
})
