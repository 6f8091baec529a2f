// The events between the stages.
import { z } from 'zod'

export const events = {
  page_discovered: z.object({
    path: z.string(),
    title: z.string(),
    links: z.array(z.string()),
    forms: z.array(z.string()),
  }),
  api_found: z.object({ path: z.string() }),
  sitemap_built: z.object({ pages: z.number() }),
  test_generated: z.object({ path: z.string(), checks: z.number(), failures: z.array(z.string()) }),
  flow_mapped: z.object({ from: z.string(), path: z.string() }),
  load_result: z.object({ path: z.string(), flow: z.boolean(), calls: z.number(), failed: z.number() }),
  perf_metric: z.object({ path: z.string(), ms: z.number() }),
  anomaly_detected: z.object({ what: z.string() }),
  observation_complete: z.object({ observed: z.number(), anomalies: z.number() }),
  final_report: z.object({
    pages: z.number(),
    tests: z.number(),
    checks: z.number(),
    calls: z.number(),
    anomalies: z.array(z.string()),
  }),
} as const

export type EventType = keyof typeof events
/** The data of an event of one type. */
export type Data<T extends EventType> = z.infer<(typeof events)[T]>
/** An event of one of some types. */
export type EventIn<T extends EventType> = { [K in T]: { readonly type: K; readonly data: Data<K> } }[T]
