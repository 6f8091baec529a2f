import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createClient, createRuntime, defineTask, type TaskContext } from '../../src/index.ts'
import { systemEnvironment } from '../../src/system.ts'
import { folder } from '../real-processes.ts'
import { gate, turns, virtualRuntime, type VirtualRuntime } from '../virtual-runtime.ts'

const input = z.null()
const other = defineTask({ type: 'other', input }, () => 'done')

/** One slot, and a task whose handler is given the runtime that it runs in. */
async function withHandler(
  handler: (ctx: TaskContext, it: VirtualRuntime) => unknown,
): Promise<VirtualRuntime & { readonly outer: ReturnType<typeof defineTask> }> {
  const made = gate<VirtualRuntime>()
  const outer = defineTask({ type: 'outer', input }, async (ctx) => handler(ctx, await made.promise))
  const it = await virtualRuntime({ tasks: [outer, other], workers: { capacity: 1 } })
  made.resolve(it)
  return { ...it, outer }
}

const refusal = {
  kind: 'error',
  code: 'inside_handler',
  message: expect.stringContaining('use ctx.call, or ctx.spawn and the result() of its child'),
}

describe('runtime.result inside a handler (docs/semantics.md 4.11)', () => {
  let tries = 0
  const places: Record<string, (ctx: TaskContext, ask: () => Promise<unknown>) => Promise<unknown>> = {
    'the handler itself': (_, ask) => ask(),
    'a step': (ctx, ask) => ctx.step('ask', ask),
    'a step that runs after another': async (ctx, ask) => {
      await ctx.step('first', () => 1)
      return ctx.step('ask', async () => {
        await turns()
        return ask()
      })
    },
    'a later try of a step': (ctx, ask) =>
      ctx.step('ask', { retry: { attempts: 2, backoff: { initialMs: 10 } } }, () => {
        if (++tries === 1) throw new Error('again')
        return ask()
      }),
    'a branch': async (ctx, ask) => (await ctx.race('ways', { only: ask })).value,
  }
  test.each(Object.keys(places))('is refused in %s, with what to use instead', async (place) => {
    const it = await withHandler(async (ctx, { runtime }) => {
      const receipt = await runtime.submit(other, null)
      return places[place]?.(ctx, () => runtime.result(receipt))
    })
    const receipt = await it.runtime.submit(it.outer, null)
    await it.elapse(1_000)
    expect(await it.runtime.status(receipt)).toMatchObject({ state: 'failed' })
    await expect(it.runtime.result(receipt)).rejects.toMatchObject(refusal)
  })

  test('is refused whether or not the task has ended, so that the first run shows it', async () => {
    const it = await withHandler((_, { runtime }) => runtime.result('done before'))
    await it.runtime.submit(other, null, { taskId: 'done before' })
    await it.elapse(100)
    const receipt = await it.runtime.submit(it.outer, null)
    await it.elapse(100)
    await expect(it.runtime.result(receipt)).rejects.toMatchObject(refusal)
  })

  test('is refused to another client on the same store, too', async () => {
    const url = `sqlite:${folder()}/it.db`
    const outer = defineTask({ type: 'outer', input }, async () => {
      await using client = await createClient({ store: url, thread: false, logger: false })
      return await client.result(await client.submit('other', null))
    })
    await using runtime = await createRuntime({
      store: url,
      thread: false,
      tasks: [outer, other],
      logger: false,
    })
    await expect(runtime.result(await runtime.submit(outer, null))).rejects.toMatchObject(refusal)
  })

  test.each(['events', 'output'] as const)(
    'goes for following the %s of a task that has not ended, and not of one that has',
    async (what) => {
      const follow = async (ctx: TaskContext, { runtime }: VirtualRuntime) => {
        const found: string[] = []
        for await (const { type } of runtime[what]('done before')) found.push(type)
        for await (const { type } of runtime[what](ctx.taskId)) found.push(type)
        return found
      }
      const it = await withHandler(follow)
      await it.runtime.submit(other, null, { taskId: 'done before' })
      await it.elapse(100)
      const receipt = await it.runtime.submit(it.outer, null)
      await it.elapse(100)
      await expect(it.runtime.result(receipt)).rejects.toMatchObject({
        code: 'inside_handler',
        message: expect.stringContaining(
          `the ${what} of task ${receipt.taskId} was waited for with runtime.${what} inside the handler`,
        ) as string,
      })
    },
  )

  test('is fine on another store', async () => {
    const environment = createVirtualEnvironment('elsewhere', { digest: systemEnvironment.digest })
    const elsewhere = await virtualRuntime({ tasks: [other], environment })
    const it = await withHandler(async () =>
      elsewhere.runtime.result(await elsewhere.runtime.submit(other, null)),
    )
    const receipt = await it.runtime.submit(it.outer, null)
    await it.elapse(100)
    expect(await it.runtime.result(receipt)).toBe('done')
  })

  test('is fine in what a handler only sets off: listeners, observers, clean-up hooks, what goes on after its end', async () => {
    const door = gate()
    const results: Record<string, unknown> = {}
    const it = await withHandler(async (ctx, { runtime }) => {
      const ask = async (who: string) => {
        results[who] = await runtime.result('done before').catch((error: unknown) => error)
      }
      runtime.on('step.completed', () => void ask('listener'))
      ctx.onCleanup(() => ask('hook'))
      void door.promise.then(() => ask('later'))
      await ctx.step('a', () => 1)
      await turns()
      throw new Error('clean up')
    })
    await it.runtime.submit(other, null, { taskId: 'done before' })
    await it.elapse(100)
    const receipt = await it.runtime.submit(it.outer, null)
    await it.elapse(100)
    await expect(it.runtime.result(receipt)).rejects.toThrow('clean up')
    door.resolve()
    await turns()
    expect(results).toEqual({ listener: 'done', hook: 'done', later: 'done' })
  })

  test('is fine in an observer of leases', async () => {
    const asked = gate<unknown>()
    const busy = defineTask({ type: 'busy', input, profile: 'HEAVY' }, async (ctx) => {
      await ctx.heartbeat({ memoryBytes: 1 })
      await turns()
      return 'busy'
    })
    const { runtime, elapse } = await virtualRuntime({ tasks: [busy, other], workers: { capacity: 1 } })
    await runtime.submit(other, null, { taskId: 'done before' })
    await elapse(100)
    runtime.observe({
      onHeartbeat: () => asked.resolve(runtime.result('done before').catch((error: unknown) => error)),
    })
    const receipt = await runtime.submit(busy, null)
    await elapse(100)
    expect(await asked.promise).toBe('done')
    expect(await runtime.result(receipt)).toBe('busy')
  })
})
