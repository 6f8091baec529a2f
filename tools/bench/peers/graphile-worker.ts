import { makeWorkerUtils, run, type Runner } from 'graphile-worker'
import { Logger } from 'graphile-worker'
import { type Open } from '../system.ts'

const logger = new Logger(() => () => undefined)

/** The lowest number goes first. */
const priorities = { interactive: -10, normal: 0, batch: 10 }

/** Batches of 500 locked at once, completions sent together without a wait: the settings of its page on performance. Several workers take one task at a time: a batch of one would hold back urgent tasks that others could run. */
export const graphileWorker: Open = async ({ place, job, atOnce = 24, workers }) => {
  const preset = {
    worker: {
      connectionString: place.url,
      concurrentJobs: atOnce,
      maxPoolSize: 25,
      ...(workers === undefined ? { localQueue: { size: 500 } } : {}),
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      logger,
    },
  }
  const utils = await makeWorkerUtils({ preset })
  await utils.migrate()
  let runners: readonly Runner[] = []
  return {
    submit: (n, lane) =>
      utils.addJob('bench', { n }, lane === undefined ? {} : { priority: priorities[lane] }),
    submitMany: (tasks) => utils.addJobs(tasks.map((n) => ({ identifier: 'bench', payload: { n } }))),
    start: async () => {
      const bench = async (payload: unknown) => {
        const { n } = payload as { n: number }
        await job?.run(n, 0)
        job?.ended?.(n)
      }
      runners = await Promise.all(
        Array.from({ length: workers ?? 1 }, () =>
          run({ preset, noHandleSignals: true, taskList: { bench } }),
        ),
      )
    },
    close: async () => {
      await Promise.all(runners.map((runner) => runner.stop()))
      await utils.release()
    },
  }
}
