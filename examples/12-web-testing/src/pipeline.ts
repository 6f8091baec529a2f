// The stages as a pipeline: each begins with the first event that it gets.
import { definePipeline, defineTask, type TaskContext } from '@ku0/agent-runtime'
import { z } from 'zod'
import { type EventIn, events, type EventType } from './events.ts'
import * as stages from './stages.ts'

export const site = z.object({ site: z.string() })

/** A stage that fails starts again by itself, with what it has recorded: the others do not notice. */
export const retry = { attempts: 3, backoff: { initialMs: 10 } } as const

/** What a stage works with in a pipeline. */
function streamed<In extends EventType, Out extends EventType>(
  ctx: TaskContext,
  url: string,
  types: readonly In[],
): stages.Bench<In, Out> {
  const schemas = Object.fromEntries(types.map((type) => [type, events[type]]))
  return {
    site: url,
    async *events() {
      for (;;) {
        const batch = await ctx.receive(schemas, { max: 10 })
        if (batch.length === 0) return
        yield batch as unknown as readonly EventIn<In>[]
      }
    },
    publish: (type, data) => ctx.publish(type, data),
    step: (key, work) => ctx.step(key, work),
  }
}

const only = <T extends EventType>(...types: readonly T[]) =>
  Object.fromEntries(types.map((type) => [type, events[type]])) as Pick<typeof events, T>

/** The types of events that each stage gets. */
export const subscribes = {
  behavior: ['page_discovered', 'sitemap_built'],
  load: ['api_found', 'flow_mapped'],
  observer: ['test_generated', 'load_result', 'perf_metric'],
  synthesis: ['test_generated', 'load_result', 'anomaly_detected', 'observation_complete'],
} as const

const recon = defineTask({ type: 'recon', input: site, retry }, (ctx, given) =>
  stages.recon(streamed(ctx, given.site, [])),
)
const behavior = defineTask({ type: 'behavior', input: site, retry }, (ctx, given) =>
  stages.behavior(streamed(ctx, given.site, subscribes.behavior)),
)
const load = defineTask({ type: 'load', input: site, retry }, (ctx, given) =>
  stages.load(streamed(ctx, given.site, subscribes.load)),
)
const observer = defineTask({ type: 'observer', input: site, retry }, (ctx, given) =>
  stages.observer(streamed(ctx, given.site, subscribes.observer)),
)
const synthesis = defineTask({ type: 'synthesis', input: site, retry }, (ctx, given) =>
  stages.synthesis(streamed(ctx, given.site, subscribes.synthesis)),
)

const input = (given: z.infer<typeof site>) => given

/** In this order: a stage gets only what a stage before it publishes. */
export const inOrder = [
  {
    name: 'recon',
    task: recon,
    input,
    publishes: only('page_discovered', 'api_found', 'sitemap_built'),
  },
  {
    name: 'behavior',
    task: behavior,
    input,
    subscribes: subscribes.behavior,
    publishes: only('test_generated', 'flow_mapped'),
  },
  {
    name: 'load',
    task: load,
    input,
    subscribes: subscribes.load,
    publishes: only('load_result', 'perf_metric'),
  },
  {
    name: 'observer',
    task: observer,
    input,
    subscribes: subscribes.observer,
    publishes: only('anomaly_detected', 'observation_complete'),
  },
  {
    name: 'synthesis',
    task: synthesis,
    input,
    subscribes: subscribes.synthesis,
    publishes: only('final_report'),
  },
]

export const webTesting = definePipeline({ name: 'web-testing', input: site, stages: inOrder })

export const tasks = [webTesting, recon, behavior, load, observer, synthesis]
