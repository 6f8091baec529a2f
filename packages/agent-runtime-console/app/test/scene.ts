import { createRuntime, defineTask, type Runtime } from '@ku0/agent-runtime'
import { serve, type ListeningServer, type ServeOptions } from '@ku0/agent-runtime-server'
import { z } from 'zod'
import { consoleAssets } from '../../src/index.ts'

const search = defineTask(
  { type: 'search', input: z.object({ query: z.string() }) },
  async (ctx, { query }) => {
    const found = await ctx.step('fetch', async () => {
      await pause(40)
      return [`${query}: first`, `${query}: second`]
    })
    return ctx.step('rank', () => found.toSorted())
  },
)

/** The first draft of each task fails. */
const drafted = new Set<string>()

const research = defineTask(
  { type: 'research', input: z.object({ topic: z.string() }) },
  async (ctx, { topic }) => {
    const plan = await ctx.step('plan', async () => {
      await pause(120)
      return [`what is ${topic}`, `who uses ${topic}`]
    })
    const children = []
    for (const query of plan) children.push(await ctx.spawn(query, search, { query }))
    const results: string[][] = []
    for (const child of children) results.push(await child.result())
    await ctx.sleep('cool down', 150)
    await ctx.step('draft', { retry: { attempts: 3, backoff: { initialMs: 30 } } }, async () => {
      await pause(60)
      if (!drafted.has(ctx.taskId)) {
        drafted.add(ctx.taskId)
        throw new Error('the model returned no text')
      }
      return { words: 812, sources: results.flat().length }
    })
    for (const word of ['Durable ', 'tasks ', 'go ', 'on ', 'after ', 'a ', 'crash.']) await ctx.emit(word)
    await ctx.requestApproval('publish', {
      title: `A page about ${topic}`,
      summary: 'Two searches, one draft. The draft has 812 words.',
      cost: 0.42,
    })
    return ctx.step('publish', () => ({ url: `https://example.com/${topic}`, words: 812 }))
  },
)

const review = defineTask(
  { type: 'review', input: z.object({ change: z.string() }) },
  async (ctx, { change }) => {
    await ctx.step('read', () => ({ files: 3 }))
    await ctx.requestApproval(
      'apply',
      `--- a/limits.ts\n+++ b/limits.ts\n@@ -1,3 +1,3 @@\n export const limits = {\n-  maxTasks: 100,\n+  maxTasks: 1_000, // ${change}\n }`,
    )
    return 'applied'
  },
)

const charge = defineTask(
  { type: 'charge-card', input: z.object({ amount: z.number() }) },
  async (ctx, { amount }) => {
    await ctx.step('check', () => amount > 0)
    await ctx.step('charge', () => {
      throw new Error(`the bank refused ${amount} EUR: card_declined`)
    })
  },
)

const greet = defineTask({ type: 'greet', input: z.string() }, (ctx, name) =>
  ctx.step('write', () => `Hello, ${name}`),
)

const speak = defineTask({ type: 'speak', input: z.number() }, async (ctx, words) => {
  for (let word = 1; word <= words; word += 1) {
    await pause(30)
    await ctx.emit(`word ${word} `)
  }
  return words
})

const listen = defineTask({ type: 'listen', input: z.unknown() }, async (ctx) => {
  await ctx.step('announce', () => 'ready')
  return ctx.waitForSignal('go')
})

const spend = defineTask({ type: 'spend', input: z.unknown() }, async (ctx) => {
  for (const key of ['a', 'b', 'c', 'd']) await ctx.step(key, () => key)
  return 'spent'
})

const tasks = [search, research, review, charge, greet, speak, listen, spend]

/** A runtime with tasks that do what agents do, and its server with the console. */
export interface Scene {
  readonly runtime: Runtime
  readonly server: ListeningServer
  readonly url: string
  readonly close: () => Promise<void>
}

/** Opens one. `queue`: how many tasks may be queued. */
export async function open({
  queue,
  ...options
}: Partial<ServeOptions> & { readonly queue?: number } = {}): Promise<Scene> {
  const runtime = await createRuntime({
    store: 'sqlite::memory:',
    tasks,
    logger: false,
    thread: false,
    ...(queue === undefined ? {} : { config: { queueDepthLimit: queue, batchBackpressureThreshold: queue } }),
  })
  const server = await serve(runtime, { port: 0, console: await consoleAssets(), ...options })
  return {
    runtime,
    server,
    url: server.url,
    async close() {
      await server.close()
      await runtime.close()
    },
  }
}

/** About twenty tasks in every state. */
export async function fill(runtime: Runtime): Promise<void> {
  await runtime.submit(
    'research',
    { topic: 'durable-execution' },
    { taskId: 'research-1', labels: { team: 'docs' } },
  )
  await runtime.submit('research', { topic: 'leases' }, { taskId: 'research-2', labels: { team: 'docs' } })
  await runtime.submit('review', { change: 'asked for by ann' }, { taskId: 'review-1' })
  for (const amount of [12, 99, 250])
    await runtime.submit('charge-card', { amount }, { taskId: `charge-${amount}` })
  for (const name of ['Ada', 'Grace', 'Barbara', 'Edsger', 'Tony', 'Leslie'])
    await runtime.submit('greet', name, { lane: name.length > 4 ? 'interactive' : 'batch' })
  await runtime.submit('listen', null, { taskId: 'listen-1' })
  await runtime.submit('listen', null, { taskId: 'listen-2' })
  await runtime.cancel('listen-2', { reason: 'nobody answers' })
  await runtime.submit('spend', null, { taskId: 'spend-1', budget: { steps: 5, soft: { steps: 1 } } })
  await runtime.submit('greet', 'later', { taskId: 'later-1', delayMs: 3_600_000 })
  await runtime.submit('speak', 3, { taskId: 'speak-1' })
  await runtime.schedules.put(
    'nightly report',
    { cron: '0 3 * * *', timeZone: 'Europe/Paris' },
    'greet',
    'night',
  )
  await runtime.schedules.put('heartbeat', { everyMs: 3_600_000 }, 'greet', 'hour')
  for (const taskId of ['research-1', 'research-2', 'review-1'])
    for await (const { type } of runtime.events(taskId)) if (type === 'approval.requested') break
  await runtime.result('charge-250').catch(() => {})
  await runtime.result('speak-1')
  for await (const { type } of runtime.events('spend-1')) if (type === 'task.waiting') break
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
