import { join } from 'node:path'
import type { ExecutionStore } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openStore } from '@ku0/agent-runtime-persistence'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import {
  type Client,
  type ClientOptions,
  createClient,
  createWorker,
  defineContract,
  defineTask,
} from '../../src/index.ts'
import { folder } from '../real-processes.ts'
import { elapse, virtualEnvironment } from '../virtual-runtime.ts'

const sum = defineContract({
  type: 'sum',
  input: z.object({ a: z.number(), b: z.number() }),
  output: z.number(),
  lane: 'interactive',
  timeoutMs: 60_000,
})
const sums = defineTask(sum, (ctx, { a, b }) => a + b)

function file(): string {
  return `sqlite:${join(folder(), 'store.db')}`
}

/** Closed when the test is over. */
async function clientOn(
  store: string | ExecutionStore,
  options: Partial<ClientOptions> = {},
): Promise<Client> {
  const client = await createClient({ store, logger: false, ...options })
  onTestFinished(() => client.close())
  return client
}

describe('schedules', () => {
  test('a client puts and triggers them; they are fired where workers run', async () => {
    const environment = virtualEnvironment()
    const { config } = parseExecutionConfig({})
    const url = file()
    const pass = (ms: number) => elapse(environment, ms)
    const open = async () => {
      const store = await openStore(url, { config, environment, checked: false })
      onTestFinished(async () => {
        const closed = store.close()
        // Of two on one file each needs time to write.
        await pass(2_000)
        await closed
      })
      return store
    }
    const client = await clientOn(await open(), { environment })
    await client.schedules.put('often', { everyMs: 5_000 }, sum, { a: 1, b: 1 })
    await pass(5_001)
    expect((await client.list()).tasks).toEqual([])
    expect(await client.schedules.trigger('often')).toMatchObject({ accepted: true })

    const worker = await createWorker({
      store: await open(),
      tasks: [sums],
      environment,
      logger: false,
      telemetry: false,
    })
    await pass(1_000)
    await pass(1_000)
    const { tasks } = await client.list()
    expect(tasks.map(({ state }) => state)).toEqual(['completed', 'completed'])
    expect(await client.schedules.get('often')).toMatchObject({ task: 'sum' })
    const stopped = worker.stop({ drain: false })
    await pass(2_000)
    expect(await stopped).toEqual({ drained: true, released: 0 })
  })
})

describe('a worker', () => {
  test('runs what handlers submit, and gives its task back when it stops', async () => {
    const store = file()
    const parent = defineTask({ type: 'parent', input: z.null() }, async (ctx) =>
      ctx.call('child', sums, { a: 1, b: 1 }),
    )
    const begun = Promise.withResolvers<void>()
    const endless = defineTask({ type: 'endless', input: z.null() }, async (ctx) => {
      begun.resolve()
      await new Promise((_, stop) =>
        ctx.signal.addEventListener('abort', () => stop(ctx.signal.reason as Error)),
      )
    })
    const client = await clientOn(store, { thread: false })
    const worker = await createWorker({
      store,
      tasks: [parent, sums, endless],
      thread: false,
      logger: false,
      telemetry: false,
    })
    expect(await client.result(await client.submit(parent, null))).toBe(2)
    const receipt = await client.submit(endless, null)
    await begun.promise
    expect(await worker.stats()).toMatchObject({ running: 1, inFlight: 1, leaked: 0 })
    expect(await worker.stop({ drain: false })).toEqual({ drained: false, released: 1 })
    expect(await client.status(receipt)).toMatchObject({ state: 'queued', attempt: 1 })
    expect(() => worker.on('task.*', () => {})).toThrow('the worker was stopped')
  })

  test('has one worker at least, and no options of a client', async () => {
    const options = { store: 'sqlite::memory:', tasks: [sums], workers: 0, evaluation: {} } as never
    await expect(createWorker(options)).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringMatching(
        /evaluation.*no such option[^]*workers: a whole number from 1/,
      ) as string,
    })
  })
})
