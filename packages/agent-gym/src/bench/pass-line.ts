import { createRuntime, definePipeline, defineTask, type Runtime } from '@ku0/agent-runtime'
import { z } from 'zod'

/** Events of one call. */
const atOnce = 500

const Input = z.object({ events: z.int() })
const source = defineTask({ type: 'source', input: Input }, async (ctx, { events }) => {
  for (let at = 0; at < events; at += atOnce)
    await ctx.publishAll(
      'n',
      Array.from({ length: Math.min(atOnce, events - at) }, (_, n) => ({ n: at + n, text: 'an event' })),
    )
})
const pass = defineTask({ type: 'pass', input: z.undefined() }, async (ctx) => {
  for (;;) {
    const events = await ctx.receive(['n'], { max: atOnce })
    if (events.length === 0) return
    await ctx.publishAll(
      'm',
      events.map(({ data }) => data as { readonly n: number }),
    )
  }
})
const sink = defineTask({ type: 'sink', input: z.undefined() }, async (ctx) => {
  let count = 0
  for (;;) {
    const events = await ctx.receive(['m'], { max: atOnce })
    if (events.length === 0) return count
    count += events.length
  }
})

/** A pipeline of three stages, the second of which only passes events on. */
export function passLine(partitions: number) {
  return definePipeline({
    name: 'passes',
    input: Input,
    stages: [
      { name: 'source', task: source, input: (input) => input, publishes: { n: z.unknown() } },
      { name: 'pass', task: pass, subscribes: ['n'], publishes: { m: z.unknown() }, partitions },
      { name: 'sink', task: sink, subscribes: ['m'] },
    ],
  })
}
export type PassLine = ReturnType<typeof passLine>

/** A runtime on a file, synced at every commit, with a slot for each task. */
export function runtimeFor(pipeline: PassLine, file: string): Promise<Runtime> {
  return createRuntime({
    store: `sqlite:${file}`,
    tasks: [pipeline, source, pass, sink],
    config: { maxInFlightPerWorker: 16 },
    workers: { count: 1, capacity: 16 },
    logger: false,
    telemetry: false,
    strict: false,
  })
}

/** From the submission of the pipeline to its result. */
export async function stream(runtime: Runtime, pipeline: PassLine, events: number): Promise<void> {
  const results = await runtime.result(await runtime.submit(pipeline, { events }))
  if (results['sink'] !== events) throw new Error(`${String(results['sink'])} of ${events} events came`)
}
