import { createRuntime, defineTask } from '@ku0/agent-runtime'
import { z } from 'zod'
import type { Bench } from './bench.ts'
import { type Run, timed } from './pairs.ts'

/** What telemetry costs while no OpenTelemetry SDK is registered. */
export const telemetryCost: Bench = {
  command: 'gym:telemetry-cost',
  description:
    'Drains tasks with telemetry and with `telemetry: false` in turn, while no OpenTelemetry SDK is registered.',
  what: (tasks) => `drains of ${tasks} tasks, with telemetry divided by without`,
  unit: 'tasks',
  count: 2000,
  pairs: 200,
  leastShare: 0.98,
  run: drain,
}

/** From the start of the workers to the last task's handler: nothing listens, as that would cost more than what is measured. */
async function drain(telemetry: boolean, file: string, tasks: number): Promise<Run> {
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
    config: { maxInFlightPerWorker: capacity, queueDepthLimit: tasks, batchBackpressureThreshold: tasks },
    workers: { count: 1, capacity },
    start: false,
    onFailure: drained.reject,
    ...(telemetry ? {} : { telemetry: false }),
  })
  try {
    await runtime.submitMany(Array.from({ length: tasks }, () => ({ task: noOp, input: {} })))
    return await timed(tasks, async () => {
      await runtime.start()
      await drained.promise
    })
  } finally {
    await runtime.stop()
  }
}

const capacity = 200
