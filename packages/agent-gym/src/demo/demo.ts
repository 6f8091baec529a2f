// The tasks that the console of a clone has to show: those of the gym on a small tree of files, and some that wait for people.
import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import {
  createClient,
  definePipeline,
  defineSupervisor,
  defineTask,
  type SubmitOptions,
} from '@ku0/agent-runtime'
import { openNotebook } from '../host/notes.ts'
import { createGates } from '../work/gates.ts'
import { openLedger } from '../work/ledger.ts'
import type { World } from '../work/attend.ts'
import { gymTasks } from '../work/task-types.ts'
import { folderName, planTree, writeTree } from '../work/tree.ts'
import { z } from 'zod'

const folder = resolve(import.meta.dirname, '../../../../.demo')
export const demoStore = join(folder, 'tasks.db')

const folders = {
  tree: join(folder, 'tree'),
  results: join(folder, 'results'),
  tools: join(folder, 'tools'),
  log: join(folder, 'log'),
}
for (const made of [folders.tools, folders.results]) mkdirSync(made, { recursive: true })
const tree = planTree(1, { folders: 12, filesPerFolder: 8, maxBytes: 20_000 })
const world: World = {
  processName: 'demo',
  folders,
  ledger: openLedger(join(folder, 'ledger'), { sync: false }),
  gates: createGates([]),
  notes: openNotebook(() => {}),
  watched: true,
  visits: new Map(),
  signals: [],
}

const report = defineTask(
  { type: 'write-report', input: z.object({ topic: z.string() }) },
  async (ctx, { topic }) => {
    const words = `Everything that was found about ${topic}, in the order in which it was read.`.split(' ')
    await ctx.step('write', async (step) => {
      for (const word of words) {
        await pause(150, undefined, { signal: step.signal })
        await ctx.emit(`${word} `)
      }
    })
    const text = words.join(' ')
    const { value } = await ctx.requestApproval<string>('publish', { topic, text })
    return value ?? text
  },
)

const payment = defineTask(
  { type: 'charge-card', input: z.object({ order: z.string(), cents: z.number() }) },
  async (ctx, { order, cents }) => {
    await ctx.step('reserve', () => `reserved ${order}`)
    await ctx.step('charge', { retry: { attempts: 2 } }, () => {
      throw new Error(`the bank refused ${cents} cents for the order ${order}`)
    })
  },
)

const reply = defineTask(
  { type: 'wait-for-reply', input: z.object({ customer: z.string() }) },
  async (ctx, { customer }) => {
    await ctx.step('ask', () => `Dear ${customer}, …`)
    return ctx.waitForSignal<string>('reply')
  },
)

const Page = z.object({ url: z.string() })

const crawl = defineTask({ type: 'crawl', input: z.string() }, async (ctx, site) => {
  for (let n = 1; n <= 200; n += 1) {
    await ctx.sleep(`before page ${n}`, 3_000)
    await ctx.publish('page', { url: `https://${site}/${n}` })
  }
})

const read = defineTask({ type: 'read-pages', input: z.undefined() }, async (ctx) => {
  let count = 0
  for (;;) {
    const pages = await ctx.receive({ page: Page })
    if (pages.length === 0) return count
    count += pages.length
  }
})

const site = definePipeline({
  name: 'read a site',
  input: z.object({ site: z.string() }),
  stages: [
    { name: 'crawl', task: crawl, input: (given) => given.site, publishes: { page: Page } },
    { name: 'read', task: read, subscribes: ['page'] },
  ],
})

const desk = defineSupervisor({
  type: 'desk',
  input: z.null(),
  endsWith: 'cancel',
  children: {
    editor: { task: reply, input: () => ({ customer: 'the editor' }) },
    broker: { task: reply, input: () => ({ customer: 'the broker' }), restart: 'permanent' },
  },
})

export const tasks = [...gymTasks(world), report, payment, reply, crawl, read, site, desk]

/** Makes the store, with tasks of every state as soon as they are run. */
export async function fillStore(): Promise<void> {
  writeTree(folders.tree, tree)
  await using client = await createClient({ store: `sqlite:${demoStore}`, tasks, logger: false })
  await client.schedules.put('nap of the hour', { cron: '0 * * * *' }, 'nap', { ms: 60_000 })
  await client.credits.purchase('acme', 100, { key: 'order 1', note: 'invoice 7' })
  for (const quality of [0.7, 0.8, 0.9])
    await client.evaluations.record('write-report', {
      quality,
      adherence: 0.9,
      speed: 0.8,
      cost: 0.9,
      errors: 1,
      revisions: 1,
    })
  await client.submitMany(submissions())
}

function submissions() {
  const each = <Input>(
    count: number,
    task: string,
    input: (n: number) => Input,
    options: SubmitOptions = {},
  ) =>
    Array.from({ length: count }, (_, n) => ({
      task,
      input: input(n),
      options: { ...options, labels: { ...options.labels, n: String(n) } },
    }))
  return [
    ...each(1, site.type, () => ({ site: 'example.com' }), { lane: 'interactive' }),
    ...each(1, 'desk', () => null, { lane: 'interactive' }),
    ...each(8, 'nap', (n) => ({ ms: (n + 1) * 600_000 })),
    ...each(4, 'write-report', (n) => ({ topic: ['tides', 'bees', 'glass', 'salt'][n] }), {
      lane: 'interactive',
    }),
    ...each(3, 'charge-card', (n) => ({ order: `A-${n + 1}`, cents: 4_900 + n })),
    ...each(3, 'wait-for-reply', (n) => ({ customer: ['Ada', 'Bob', 'Cy'][n] }), { client: 'acme' }),
    ...each(5, 'no-op', () => ({}), { delayMs: 86_400_000, labels: { when: 'tomorrow' } }),
    ...each(60, 'inspect-folder', (n) => ({
      folder: folderName(n % 12),
      tool: false,
      parallel: n % 2 === 0,
    })),
    ...each(30, 'hash-files', (n) => ({ files: tree.slice(n, n + 5).map(({ path }) => path) }), {
      lane: 'batch',
    }),
    ...each(
      40,
      'spend',
      (n) => ({ steps: 3 + (n % 4), stepMs: 400, charge: { tokens: 100 * n }, calls: [] }),
      { budget: { tokens: 20_000 } },
    ),
  ]
}
