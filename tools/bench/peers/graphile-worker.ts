import { makeWorkerUtils, run, type Runner } from 'graphile-worker'
import { Logger } from 'graphile-worker'
import { type Open } from '../system.ts'

const logger = new Logger(() => () => undefined)

/** Batches of 500 locked at once, completions sent together without a wait: the settings of its page on performance. */
export const graphileWorker: Open = async ({ place, job, atOnce = 24 }) => {
  const preset = {
    worker: {
      connectionString: place.url,
      concurrentJobs: atOnce,
      maxPoolSize: 25,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      logger,
    },
  }
  const utils = await makeWorkerUtils({ preset })
  await utils.migrate()
  let runner: Runner | undefined
  return {
    submit: (n) => utils.addJob('bench', { n }),
    submitMany: (tasks) => utils.addJobs(tasks.map((n) => ({ identifier: 'bench', payload: { n } }))),
    start: async () => {
      runner = await run({
        preset,
        noHandleSignals: true,
        taskList: {
          bench: async (payload) => {
            const { n } = payload as { n: number }
            await job?.run(n, 0)
            job?.ended?.(n)
          },
        },
      })
    },
    close: async () => {
      await runner?.stop()
      await utils.release()
    },
  }
}
