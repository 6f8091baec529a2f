import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { definePipeline, defineTask, type TaskContext } from '../../src/index.ts'
import { createTestRuntime } from '../../src/testing/index.ts'
import { all } from '../virtual-runtime.ts'

const PAGES = 10
const SECOND = 1_000
const Page = z.object({ page: z.int() })
type Page = z.infer<typeof Page>

const input = z.object({
  /** Each stage receives all before it begins, as in a batch. */
  isBatch: z.boolean(),
  /** The page at which the load stage crashes, once. */
  crashAt: z.int().optional(),
})
type Site = z.infer<typeof input>

/** What a stage receives, in parts as it comes, or all of it at once. */
async function* received(ctx: TaskContext, { isBatch }: Site, types: readonly string[]) {
  const held = []
  for (;;) {
    const events = await ctx.receive<Page>(types)
    if (events.length === 0) break
    if (isBatch) held.push(...events)
    else yield* events
  }
  yield* held
}

/** Example 7 of the scheduler paper. A page takes each stage one second. */
function webTesting() {
  const scripts: number[] = []
  const recon = defineTask({ type: 'recon', input }, async (ctx) => {
    for (let page = 0; page < PAGES; page += 1) {
      await ctx.sleep(`crawl ${page}`, SECOND)
      await ctx.publish('page_discovered', { page })
      if (page === 0) await ctx.publish('api_found', { page })
    }
    await ctx.publish('sitemap_built', { page: PAGES })
  })
  const behavior = defineTask({ type: 'behavior', input }, async (ctx, site) => {
    for await (const { type, data } of received(ctx, site, ['page_discovered', 'sitemap_built'])) {
      if (type === 'sitemap_built') continue
      await ctx.sleep(`write ${data.page}`, SECOND)
      await ctx.publish('test_generated', data)
      await ctx.publish('flow_mapped', data)
    }
  })
  const load = defineTask({ type: 'load', input, retry: { attempts: 2 } }, async (ctx, site) => {
    for await (const { type, data } of received(ctx, site, ['api_found', 'flow_mapped'])) {
      if (type === 'api_found') continue
      await ctx.step(`script ${data.page}`, () => void scripts.push(data.page))
      await ctx.sleep(`load ${data.page}`, SECOND)
      if (data.page === site.crashAt && ctx.attempt === 1) throw new Error('the server does not answer')
      await ctx.publish('load_result', data)
      await ctx.publish('perf_metric', data)
    }
  })
  const observer = defineTask({ type: 'observer', input }, async (ctx, site) => {
    for await (const { type, data } of received(ctx, site, [
      'test_generated',
      'load_result',
      'perf_metric',
    ])) {
      if (type !== 'load_result') continue
      await ctx.sleep(`look ${data.page}`, SECOND)
      await ctx.publish('anomaly_detected', data)
    }
    await ctx.publish('observation_complete', { page: PAGES })
  })
  const heard = ['test_generated', 'load_result', 'anomaly_detected', 'observation_complete']
  const synthesis = defineTask({ type: 'synthesis', input }, async (ctx, site) => {
    let pages = 0
    for await (const { type, data } of received(ctx, site, heard)) {
      if (type !== 'anomaly_detected') continue
      await ctx.sleep(`sum ${data.page}`, SECOND)
      pages += 1
    }
    await ctx.publish('final_report', { page: pages })
    return pages
  })
  const given = (site: Site) => site
  const publishes = (...types: readonly string[]) => Object.fromEntries(types.map((type) => [type, Page]))
  const pipeline = definePipeline({
    name: 'web testing',
    input,
    stages: [
      {
        name: 'recon',
        task: recon,
        input: given,
        publishes: publishes('page_discovered', 'api_found', 'sitemap_built'),
      },
      {
        name: 'behavior',
        task: behavior,
        input: given,
        subscribes: ['page_discovered', 'sitemap_built'],
        publishes: publishes('test_generated', 'flow_mapped'),
      },
      {
        name: 'load',
        task: load,
        input: given,
        subscribes: ['api_found', 'flow_mapped'],
        publishes: publishes('load_result', 'perf_metric'),
      },
      {
        name: 'observer',
        task: observer,
        input: given,
        subscribes: ['test_generated', 'load_result', 'perf_metric'],
        publishes: publishes('anomaly_detected', 'observation_complete'),
      },
      {
        name: 'synthesis',
        task: synthesis,
        input: given,
        subscribes: heard,
        publishes: publishes('final_report'),
      },
    ],
  })
  return { pipeline, tasks: [pipeline, recon, behavior, load, observer, synthesis], scripts }
}

async function run(site: Site) {
  const { pipeline, tasks, scripts } = webTesting()
  await using it = await createTestRuntime({ tasks, workers: { capacity: 10 } })
  const begun = it.now
  const receipt = await it.runtime.submit(pipeline, site)
  const results = await it.result(receipt)
  const ms = it.now - begun
  const events = await all(it.runtime.pipeline(receipt).events())
  const { stages } = await it.runtime.pipeline(receipt).status()
  const attempts: Record<string, number> = {}
  for (const { stage, tasks: own } of stages)
    attempts[stage] = (await it.runtime.status(own[0]?.taskId ?? ''))?.attempt ?? 0
  const pagesOf = (type: string) => events.flatMap((event) => (event.type === type ? [event.data] : []))
  return { ms, results, scripts, attempts, pagesOf }
}

const everyPage = Array.from({ length: PAGES }, (_, page) => page)

describe('the web testing pipeline of the scheduler paper', () => {
  test('the five stages of the paper take as long as the slowest of them, not as long as all one after the other', async () => {
    const stream = await run({ isBatch: false })
    const batch = await run({ isBatch: true })
    expect(stream.results).toMatchObject({ synthesis: PAGES })
    expect(batch.results).toEqual(stream.results)
    // Five stages of a second a page: the first page is through after five seconds, and then one comes each second.
    expect(stream.ms).toBeGreaterThanOrEqual((PAGES + 4) * SECOND)
    expect(stream.ms).toBeLessThan((PAGES + 5) * SECOND)
    expect(batch.ms).toBeGreaterThanOrEqual(5 * PAGES * SECOND)
    expect(1 - stream.ms / batch.ms).toBeGreaterThan(0.4)
  })

  test('load is tried again alone, and makes no script twice', async () => {
    const { results, scripts, attempts, pagesOf } = await run({ isBatch: false, crashAt: 4 })
    expect(results).toMatchObject({ synthesis: PAGES })
    expect(attempts).toEqual({ recon: 1, behavior: 1, load: 2, observer: 1, synthesis: 1 })
    expect(scripts).toEqual(everyPage)
    const pages = everyPage.map((page) => ({ page }))
    for (const type of ['page_discovered', 'flow_mapped', 'load_result', 'anomaly_detected'])
      expect(pagesOf(type)).toEqual(pages)
  })
})
