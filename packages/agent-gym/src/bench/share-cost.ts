import { createRuntime, defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'
import type { Bench } from './bench.ts'
import { type Run, timed } from './pairs.ts'

/** What it costs to share between many clients instead of one: tasks are drained, shares on. Source: `docs/semantics.md 11.7`. */
export const shareCost: Bench = {
  command: 'gym:share-cost',
  description: 'Drains tasks of 10 000 clients, and tasks of one client, in turn; shares are on in both.',
  what: (tasks) => `drains of ${tasks} tasks, of ${Math.min(many, tasks)} clients divided by those of one`,
  unit: 'tasks',
  count: 20_000,
  pairs: 10,
  leastShare: 0.4,
  run: (on, file, tasks) => drain(on ? many : 1, file, tasks),
}

const many = 10_000
const capacity = 200
/** Tasks of one call of submitMany. */
const atOnce = 5_000

/** From the start of the workers to the last task's handler. */
async function drain(clients: number, file: string, tasks: number): Promise<Run> {
  const drained = Promise.withResolvers<void>()
  let left = tasks
  const noOp = defineTask({ type: 'no-op', input: z.object({}) }, () => {
    left -= 1
    if (left === 0) drained.resolve()
    return null
  })
  const runtime = await createRuntime({
    strict: false,
    store: `sqlite:${file}`,
    tasks: [noOp],
    config: {
      shares: {},
      maxInFlightPerWorker: capacity,
      queueDepthLimit: tasks,
      batchBackpressureThreshold: tasks,
    },
    workers: { count: 1, capacity },
    start: false,
    onFailure: drained.reject,
  })
  try {
    for (let at = 0; at < tasks; at += atOnce)
      await runtime.submitMany(
        Array.from({ length: Math.min(atOnce, tasks - at) }, (_, n) => ({
          task: noOp,
          input: {},
          options: { client: `client-${(at + n) % clients}` },
        })),
      )
    return await timed(tasks, async () => {
      await runtime.start()
      await drained.promise
    })
  } finally {
    await runtime.stop()
  }
}
