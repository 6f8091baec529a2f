// The five stages of the pipeline. Each is a function of the events that it gets, and works the same whether they come one by one or all at once.
import type { Data, EventIn, EventType } from './events.ts'
import { readPage, runLoad, testPage, writeLoad } from './work.ts'

/** What a stage works with. */
export interface Bench<In extends EventType, Out extends EventType> {
  readonly site: string
  /** The events for the stage, some at a time, until there are no more. */
  readonly events: () => AsyncIterable<readonly EventIn<In>[]>
  readonly publish: <T extends Out>(type: T, data: Data<T>) => Promise<void>
  /** A piece of work whose result is recorded. */
  readonly step: <T>(key: string, work: () => T | Promise<T>) => Promise<T>
}

/** Crawls the site. */
export async function recon({
  site,
  publish,
  step,
}: Bench<never, 'page_discovered' | 'api_found' | 'sitemap_built'>): Promise<number> {
  const known = new Set(['/'])
  const apis = new Set<string>()
  let pages = 0
  // A set grows while it is gone through.
  for (const path of known) {
    const page = await step(`read ${path}`, async () => (await readPage(site, path)) ?? null)
    if (page === null) continue
    pages += 1
    for (const link of page.links) known.add(link)
    const { title, links, forms } = page
    const fresh = page.apis.filter((api) => !apis.has(api))
    for (const api of fresh) apis.add(api)
    // What is published side by side is stored in one commit.
    await Promise.all([
      publish('page_discovered', { path, title, links, forms }),
      ...fresh.map((api) => publish('api_found', { path: api })),
    ])
  }
  await publish('sitemap_built', { pages })
  return pages
}

/** Tests each page, and finds the ways through the site that change something. */
export async function behavior({
  site,
  events,
  publish,
  step,
}: Bench<'page_discovered' | 'sitemap_built', 'test_generated' | 'flow_mapped'>): Promise<number> {
  let tested = 0
  for await (const batch of events()) {
    for (const event of batch) {
      if (event.type === 'sitemap_built') continue
      const { data } = event
      const test = await step(`test ${data.path}`, () => testPage(site, data))
      tested += 1
      await Promise.all([
        publish('test_generated', test),
        ...data.forms.map((path) => publish('flow_mapped', { from: data.path, path })),
      ])
    }
  }
  return tested
}

/** Calls each API many times, and each flow. */
export async function load({
  site,
  events,
  publish,
  step,
}: Bench<'api_found' | 'flow_mapped', 'load_result' | 'perf_metric'>): Promise<number> {
  let loaded = 0
  for await (const batch of events()) {
    for (const event of batch) {
      const flow = event.type === 'flow_mapped'
      const { path } = event.data
      const name = flow ? `flow ${path}` : path
      // A script that was written is not written again, whatever becomes of its run.
      const script = await step(`write ${name}`, () => writeLoad(path))
      const { ms, ...result } = await step(`run ${name}`, () => runLoad(site, script))
      await Promise.all([
        publish('load_result', { path, flow, ...result }),
        publish('perf_metric', { path, ms }),
      ])
      loaded += 1
    }
  }
  return loaded
}

const tooSlowMs = 100

/** Looks for what is wrong. */
export async function observer({
  events,
  publish,
}: Bench<
  'test_generated' | 'load_result' | 'perf_metric',
  'anomaly_detected' | 'observation_complete'
>): Promise<number> {
  const seen = new Set<string>()
  let observed = 0
  for await (const batch of events()) {
    observed += batch.length
    for (const what of batch.flatMap((event) => anomaliesIn(event))) {
      // An API and its flow have the same mistake.
      if (seen.has(what)) continue
      seen.add(what)
      await publish('anomaly_detected', { what })
    }
  }
  await publish('observation_complete', { observed, anomalies: seen.size })
  return seen.size
}

function anomaliesIn(event: EventIn<'test_generated' | 'load_result' | 'perf_metric'>): string[] {
  switch (event.type) {
    case 'test_generated':
      return event.data.failures.map((failure) => `behavior ${event.data.path}: ${failure}`)
    case 'load_result': {
      const { path, calls, failed } = event.data
      return failed > 0 ? [`load ${path}: ${failed} of ${calls} calls failed`] : []
    }
    case 'perf_metric':
      return event.data.ms > tooSlowMs ? [`load ${event.data.path}: calls take ${event.data.ms} ms`] : []
  }
}

/** Puts all of it together. */
export async function synthesis({
  events,
  publish,
}: Bench<
  'test_generated' | 'load_result' | 'anomaly_detected' | 'observation_complete',
  'final_report'
>): Promise<Data<'final_report'>> {
  const report = { pages: 0, tests: 0, checks: 0, calls: 0, anomalies: [] as string[] }
  const pages = new Set<string>()
  for await (const batch of events()) {
    for (const { type, data } of batch) {
      if (type === 'test_generated') {
        report.tests += 1
        report.checks += data.checks
        pages.add(data.path)
      } else if (type === 'load_result') report.calls += data.calls
      else if (type === 'anomaly_detected') report.anomalies.push(data.what)
    }
  }
  const final = { ...report, pages: pages.size, anomalies: report.anomalies.toSorted() }
  await publish('final_report', final)
  return final
}
