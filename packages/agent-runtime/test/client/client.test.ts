import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { ExecutionStore } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { openStore } from '@ku0/agent-runtime-persistence'
import { describe, expect, expectTypeOf, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import {
  type Client,
  type ClientOptions,
  createClient,
  createRuntime,
  createWorker,
  defineContract,
  defineTask,
  type Receipt,
  type Worker,
} from '../../src/index.ts'
import { systemEnvironment } from '../../src/system.ts'
import { review } from '../processes/contracts.ts'
import { folder } from '../real-processes.ts'

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
  const thread = typeof store === 'string' ? { thread: false } : {}
  const client = await createClient({ store, logger: false, ...thread, ...options })
  onTestFinished(() => client.close())
  return client
}

async function workerOn(store: string): Promise<Worker> {
  const worker = await createWorker({
    store,
    tasks: [sums],
    thread: false,
    logger: false,
    telemetry: false,
  })
  onTestFinished(async () => void (await worker.stop({ drain: false })))
  return worker
}

describe('a client', () => {
  test('has no workers: what it submits is queued until a worker comes', async () => {
    const store = file()
    const client = await clientOn(store)
    const receipt = await client.submit(sum, { a: 1, b: 2 })
    expect(await client.workers()).toEqual([])
    expect(await client.status(receipt)).toMatchObject({ state: 'queued', lane: 'interactive' })
    expect(await client.explain(receipt)).toMatchObject({ waitsFor: 'worker' })
    await workerOn(store)
    expect(await client.result(receipt)).toBe(3)
    expect(await client.stats()).toMatchObject({ totals: { completed: 1 } })
  })

  test('checks what is submitted by a contract or a definition, and leaves what is submitted by name to the worker', async () => {
    const store = file()
    const client = await clientOn(store)
    const wrong = { a: 1, b: 'two' } as never
    for (const task of [sum, sums])
      expect(await client.submit(task, wrong)).toMatchObject({ accepted: false, reason: 'invalid_payload' })
    const receipt = await client.submit('sum', wrong)
    expect(receipt.accepted).toBe(true)
    await workerOn(store)
    await expect(client.result(receipt)).rejects.toMatchObject({
      name: 'TaskFailed',
      kind: 'schema_mismatch',
    })
  })

  test('that was given tasks refuses other types, and checks by name too', async () => {
    const client = await clientOn('sqlite::memory:', { tasks: [sum] })
    expect(await client.submit('sun', { a: 1, b: 2 })).toMatchObject({
      reason: 'unknown_task_type',
      message: 'type: no task of the type "sun" is defined here, did you mean sum?',
    })
    expect(await client.submit(review, { repo: 'a/b' })).toMatchObject({ reason: 'unknown_task_type' })
    expect(await client.submit('sum', { a: 1 })).toMatchObject({ reason: 'invalid_payload' })
    expect(await client.submit('sum', { a: 1, b: 2 })).toMatchObject({ accepted: true })
  })

  test('submits many tasks, and a graph of types of which it knows only the names', async () => {
    const store = file()
    const client = await clientOn(store)
    const [one, two] = await client.submitMany([
      { task: sum, input: { a: 1, b: 1 } },
      { task: 'sum', input: { a: 2, b: 2 } },
    ])
    const graph = await client.submitGraph({
      nodes: { first: { task: 'sum', input: { a: 3, b: 3 } }, second: { task: sum, input: { a: 4, b: 4 } } },
    })
    await expect(
      client.submitGraph({ nodes: { a: { task: sum, input: { a: 1 } as never } } }),
    ).rejects.toThrow("node 'a': the input does not fit the schema of task 'sum'")
    await workerOn(store)
    expect(await client.result(one)).toBe(2)
    expect(await client.result(two)).toBe(4)
    expect(await client.result(graph)).toEqual({ first: 6, second: 8 })
  })

  test('refuses what is no task type, with the name of the call', async () => {
    const client = await clientOn('sqlite::memory:')
    await expect(client.submit({ type: 'sum', input: 5 } as never, 1)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining("task 'sum': what defineTask or defineContract returns") as string,
    })
    await expect(client.submit('$ku0/other', 1)).resolves.toMatchObject({ reason: 'unknown_task_type' })
  })

  test('names everything that is wrong with its options', async () => {
    const options = { store: 'sqlite::memory:', workers: 1, tasks: [5], trace: 'yes' } as never
    await expect(createClient(options)).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringMatching(
        /workers.*no such option[^]*trace[^]*tasks\[0\]: what defineContract/,
      ) as string,
    })
  })

  test('a closed client takes no submission, and its waiting callers learn it', async () => {
    const client = await createClient({ store: 'sqlite::memory:', logger: false })
    const receipt = await client.submit(sum, { a: 1, b: 2 })
    const waiting = client.result(receipt)
    waiting.catch(() => {})
    await Promise.all([client.close(), client.close()])
    await expect(waiting).rejects.toMatchObject({ code: 'store_closed', message: 'the client was closed' })
    await expect(client.submit(sum, { a: 1, b: 2 })).rejects.toMatchObject({
      code: 'shutdown',
      message: 'the client was closed: it takes no more submissions; submit with another client or runtime',
    })
    await expect(client.stats()).rejects.toMatchObject({ code: 'store_closed' })
  })

  test('leaves a store open that was opened elsewhere, and is its only holder', async () => {
    const { config } = parseExecutionConfig({})
    const store = await openStore('sqlite::memory:', { config, thread: false })
    onTestFinished(() => store.close())
    const client = await createClient({ store, logger: false })
    await expect(createRuntime({ store, tasks: [sums], logger: false })).rejects.toThrow(
      'no other runtime uses',
    )
    const receipt = await client.submit(sum, { a: 1, b: 2 })
    await client.close()
    await using runtime = await createRuntime({ store, tasks: [sums], logger: false, telemetry: false })
    expect(await runtime.result(receipt)).toBe(3)
  })
})

test('a runtime is a client and a worker: what takes a client takes a runtime', async () => {
  const runtime = await createRuntime({
    store: 'sqlite::memory:',
    thread: false,
    tasks: [sums],
    logger: false,
    telemetry: false,
  })
  const total = async (client: Client) => client.result(await client.submit(sum, { a: 20, b: 22 }))
  expect(await total(runtime)).toBe(42)
  expectTypeOf(runtime).toExtend<Client>()
  expectTypeOf(runtime).toExtend<Worker>()
  await runtime.close()
  expect(await runtime.stop()).toEqual({ drained: true, released: 0 })
})

test('a contract types what is submitted and what comes back, and its handler', async () => {
  const client = await clientOn('sqlite::memory:')
  const receipt = await client.submit(sum, { a: 1, b: 2 })
  expectTypeOf(receipt).toEqualTypeOf<Receipt<number>>()
  expectTypeOf(() => client.result(receipt)).returns.resolves.toEqualTypeOf<number>()
  // @ts-expect-error: b is missing
  void (() => client.submit(sum, { a: 1 }))
  // @ts-expect-error: the contract's output is a number
  void (() => defineTask(sum, () => 'three'))
  expect(() => defineContract({ type: '$ku0/own', input: z.null() })).toThrow("does not begin with '$ku0/'")
  expect(() => defineContract({ type: 'a' } as never)).toThrow("task 'a': input: a schema")
})

test('6.6 a client keeps the rules of retention as long as it is asked to', async () => {
  const environment = createVirtualEnvironment('retention', { digest: systemEnvironment.digest })
  const retention = { canceled: { ageMs: 1_000 }, everyMs: 1_000 }
  const { config } = parseExecutionConfig({ retention })
  const store = await openStore('sqlite::memory:', { config, environment })
  onTestFinished(() => store.close())
  const client = await clientOn(store, { config: { retention }, environment })
  const canceled = async () => {
    const { taskId } = await client.submit('any', null)
    await client.cancel(taskId)
    // The newest task of all stays.
    await client.submit('any', null)
    return taskId
  }
  /** The state of a task after three rounds of retention. */
  const later = async (taskId: string) => {
    for (let ms = 0; ms < 3_000; ms += 100) {
      environment.clock.advanceBy(100)
      await setImmediate()
    }
    return (await client.status(taskId))?.state
  }
  const first = await canceled()
  expect(await later(first)).toBe('canceled')
  const keeping = client.keepRetention()
  expect(await later(first)).toBeUndefined()
  keeping[Symbol.dispose]()
  expect(await later(await canceled())).toBe('canceled')
})
