import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as Runtime from '../../../packages/agent-runtime/src/index.ts'
import { nothing, runSteps, waitFirst, type Open } from '../system.ts'

/** Takes any input as it is, so that no schema is part of what is measured. */
const anything = {
  '~standard': { version: 1, vendor: 'bench', validate: (value: unknown) => ({ value }) },
} as const

interface Input {
  readonly n: number
}

/** This runtime. `entry`: the module it is imported from, sources or a built package; `store`: a file, or the server of the run. */
export function ku0(entry: string, store: 'full' | 'normal' | 'postgres'): Open {
  return async ({ place, job, atOnce = 500, workers = 1 }) => {
    const { createRuntime, defineTask } = (await import(pathToFileURL(entry).href)) as typeof Runtime
    const task = defineTask({ type: 'bench', input: anything }, async (ctx, input) => {
      const { n } = input as Input
      await waitFirst(job ?? nothing, n, () => ctx.waitForSignal('go'))
      await runSteps(job ?? nothing, n, (name, run) => ctx.step(name, run as () => number))
      return null
    })
    const runtime = await createRuntime({
      ...(store === 'postgres'
        ? { store: place.url }
        : { store: `sqlite:${join(place.folder, 'ku0.db')}` as const, durability: store }),
      tasks: [task],
      workers: job === undefined ? 0 : { count: workers, capacity: atOnce },
      config: {
        queueDepthLimit: 2e6,
        batchBackpressureThreshold: 2e6,
        maxInFlightPerWorker: Math.max(500, atOnce),
      },
      start: false,
      logger: false,
    })
    /** Whoever sends a signal has to know the task. */
    const named = (n: number) => (job?.waits?.(n) === true ? { taskId: `wait-${n}` } : {})
    return {
      submit: (n, lane) =>
        runtime.submit(task, { n }, { ...named(n), ...(lane === undefined ? {} : { lane }) }),
      submitMany: (tasks) =>
        runtime.submitMany(tasks.map((n) => ({ task, input: { n }, options: named(n) }))),
      wake: (n) => runtime.signal(`wait-${n}`, 'go'),
      waiting: async () => (await runtime.stats()).waiting,
      start: () => runtime.start(),
      close: () => runtime.stop(),
    }
  }
}
