import { createRuntime, definePipeline, defineSupervisor, defineTask, type Runtime } from '@ku0/agent-runtime'
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
    await ctx.checkpoint({ found: results.flat() })
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
    const { value } = await ctx.requestApproval(
      'apply',
      `--- a/limits.ts\n+++ b/limits.ts\n@@ -1,3 +1,3 @@\n export const limits = {\n-  maxTasks: 100,\n+  maxTasks: 1_000, // ${change}\n }`,
    )
    return value ?? 'applied'
  },
)

const ask = defineTask({ type: 'ask', input: z.object({ text: z.string() }) }, (ctx, { text }) =>
  ctx.requestApproval('answer', text),
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

/** It goes on when somebody says so, who has seen its first words. */
const tell = defineTask({ type: 'tell', input: z.number() }, async (ctx, words) => {
  for (let word = 1; word <= words; word += 1) {
    await ctx.emit(`word ${word} `)
    if (word === 3) await ctx.waitForSignal('go')
  }
  return words
})

const listen = defineTask({ type: 'listen', input: z.unknown() }, async (ctx) => {
  await ctx.step('announce', () => 'ready')
  return ctx.waitForSignal('go')
})

/** It runs until it is canceled. */
const hold = defineTask(
  { type: 'hold', input: z.unknown() },
  ({ signal }) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    }),
)

const spend = defineTask({ type: 'spend', input: z.unknown() }, async (ctx) => {
  for (const key of ['a', 'b', 'c', 'd']) await ctx.step(key, () => key)
  return 'spent'
})

/** It goes on after three steps when somebody says so. */
const climb = defineTask({ type: 'climb', input: z.number() }, async (ctx, steps) => {
  for (let at = 1; at <= steps; at += 1) {
    if (at === 4) await ctx.waitForSignal('go')
    await ctx.step(`step ${at}`, () => at)
  }
})

const Found = z.object({ url: z.string() })

const recon = defineTask({ type: 'recon', input: z.number() }, async (ctx, pages) => {
  for (let page = 1; page <= pages; page += 1) await ctx.publish('page_discovered', { url: `/${page}` })
  await ctx.publish('sitemap_built', { url: '/sitemap' })
})
const behavior = defineTask({ type: 'behavior', input: z.undefined() }, async (ctx) => {
  for (let turn = 0; ; turn += 1) {
    const pages = await ctx.receive({ page_discovered: Found, sitemap_built: Found }, { max: 2 })
    if (pages.length === 0) return 'no more pages'
    await ctx.publishAll(
      'test_generated',
      pages.map(({ data }) => data),
    )
    if (turn === 1) await ctx.waitForSignal('go')
  }
})
const load = defineTask({ type: 'load', input: z.number() }, async (ctx) => {
  for (;;) {
    const tests = await ctx.receive({ test_generated: Found }, { max: 1 })
    if (tests.length === 0) return 'no more tests'
    await ctx.publish('load_result', { url: tests[0]?.data.url ?? '' })
  }
})
const synthesis = defineTask({ type: 'synthesis', input: z.undefined() }, async (ctx) => {
  for (let seen = 0; ; seen += 1)
    if ((await ctx.receive(['test_generated', 'load_result', 'sitemap_built'])).length === 0) return seen
})

/** It stands: its second stage waits for a signal, and its first has no room. */
const webTesting = definePipeline({
  name: 'web testing',
  input: z.number(),
  maxUnread: 5,
  stages: [
    {
      name: 'recon',
      task: recon,
      input: (pages) => pages,
      publishes: { page_discovered: Found, sitemap_built: Found },
    },
    {
      name: 'behavior',
      task: behavior,
      subscribes: ['page_discovered', 'sitemap_built'],
      publishes: { test_generated: Found },
    },
    {
      name: 'load',
      task: load,
      partitions: 2,
      input: (_, partition) => partition,
      subscribes: ['test_generated'],
      publishes: { load_result: Found },
    },
    { name: 'synthesis', task: synthesis, subscribes: ['test_generated', 'load_result', 'sitemap_built'] },
  ],
})

/** The tries of each child that have failed. */
const falls = new Map<string, number>()

const crawl = defineTask({ type: 'crawl', input: z.string() }, async (ctx, site) => {
  const fallen = falls.get(ctx.taskId) ?? 0
  falls.set(ctx.taskId, fallen + 1)
  if (site === 'slow.example' && fallen < 2) throw new Error(`${site} did not answer`)
  return ctx.waitForSignal('stop')
})
const crawlers = defineSupervisor({
  type: 'crawlers',
  input: z.unknown(),
  endsWith: 'cancel',
  strategy: 'rest_for_one',
  maxRestarts: 3,
  children: {
    'slow.example': { task: crawl, input: () => 'slow.example' },
    'quick.example': { task: crawl, input: () => 'quick.example', restart: 'permanent' },
  },
})
const team = defineSupervisor({
  type: 'team',
  input: z.unknown(),
  endsWith: 'cancel',
  children: {
    crawlers: { task: crawlers, input: () => null },
    listener: { task: listen, input: () => null },
  },
})

const tasks = [
  recon,
  behavior,
  load,
  synthesis,
  webTesting,
  crawl,
  crawlers,
  team,
  search,
  research,
  review,
  charge,
  ask,
  greet,
  speak,
  tell,
  listen,
  hold,
  spend,
  climb,
]

/** A runtime with tasks that do what agents do, and its server with the console. */
export interface Scene {
  readonly runtime: Runtime
  readonly server: ListeningServer
  readonly url: string
  readonly close: () => Promise<void>
}

/**
 * Opens one, in memory unless it is given a store. `queue`: how many tasks may be queued; `capacity`: how many run at once; `ledger`: clients pay for
 * their tasks, which wait for credits; `strict`: false where passes are not to be replayed.
 */
export async function open({
  queue,
  store,
  capacity = 4,
  ledger,
  strict,
  ...options
}: Partial<ServeOptions> & {
  readonly queue?: number
  readonly store?: string
  readonly capacity?: number
  readonly ledger?: true
  readonly strict?: false
} = {}): Promise<Scene> {
  const runtime = await createRuntime({
    store: store ?? 'sqlite::memory:',
    tasks,
    logger: false,
    ...(strict === undefined ? {} : { strict }),
    thread: store !== undefined,
    workers: { capacity },
    config: {
      maxInFlightPerWorker: capacity,
      ...(queue === undefined ? {} : { queueDepthLimit: queue, batchBackpressureThreshold: queue }),
      ...(ledger === undefined ? {} : { shares: { ledger, outOfCredits: 'park', startCredits: 0 } }),
    },
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
  await runtime.submit('web testing', 12, { taskId: 'pipeline-1' })
  await runtime.submit('team', null, { taskId: 'team-1' })
  await stands(runtime)
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
  await runtime.submitGraph(
    {
      nodes: {
        fetch: { task: 'greet', input: 'the fetcher' },
        parse: { task: 'greet', inputFrom: 'fetch' },
        check: { task: 'listen', input: null, after: ['fetch'] },
        'write the report': { task: 'greet', inputFrom: 'parse', after: ['check'] },
      },
    },
    { taskId: 'graph-1' },
  )
  for (const quality of [0.9, 0.8, 0.85, 0.4])
    await runtime.evaluations.record('greet', {
      quality,
      adherence: 0.8,
      speed: 0.9,
      cost: 0.9,
      errors: 1,
      revisions: 1,
    })
  await runtime.evaluations.record('research', {
    quality: 0.7,
    adherence: 0.8,
    speed: 0.5,
    cost: 0.6,
    errors: 1,
    revisions: 1,
  })
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
  const isParsed = async () => (await runtime.list({ parent: 'graph-1' })).tasks.length >= 3
  while (!(await isParsed())) await pause(20)
  for await (const { type } of runtime.events('spend-1')) if (type === 'task.waiting') break
}

/** Waits until the pipeline and the supervisors have come to where they wait. */
async function stands(runtime: Runtime): Promise<void> {
  const stages = async () =>
    (
      await runtime
        .pipeline('pipeline-1')
        .status()
        .catch(() => undefined)
    )?.stages
  const isStill = async () => {
    const [first, second] = (await stages()) ?? []
    return first?.tasks[0]?.state === 'waiting' && second?.tasks[0]?.state === 'waiting'
  }
  while (!(await isStill())) await pause(20)
  const children = async (taskId: string) =>
    (await runtime.supervisors.which(taskId).catch(() => undefined))?.children ?? []
  const isUp = async () => {
    const [nested] = await children('team-1')
    if (nested === undefined) return false
    const states = (await children(nested.taskId)).map(({ state, attempt }) => `${state} ${attempt}`)
    return states[0] === 'waiting 3' && states[1]?.startsWith('waiting') === true
  }
  while (!(await isUp())) await pause(20)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
