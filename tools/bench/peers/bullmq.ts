import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { type Open } from '../system.ts'

/** The lowest number goes first. */
const priorities = { interactive: 1, normal: 2, batch: 3 }

/** The server syncs its log before each answer. Completed jobs are removed, those of a dead process are found after 5 to 10 s. */
export const bullmq: Open = async ({ place, job, atOnce = 200, workers = 1 }) => {
  const connection = new Redis(place.url, { maxRetriesPerRequest: null })
  const queue = new Queue('bench', {
    connection,
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
  })
  await queue.waitUntilReady()
  let running: readonly Worker[] = []
  return {
    submit: (n, lane) => queue.add('bench', { n }, lane === undefined ? {} : { priority: priorities[lane] }),
    submitMany: (tasks) => queue.addBulk(tasks.map((n) => ({ name: 'bench', data: { n } }))),
    start: async () => {
      running = Array.from(
        { length: workers },
        () =>
          new Worker(
            'bench',
            async ({ data: { n } }: { data: { n: number } }) => {
              await job?.run(n, 0)
              job?.ended?.(n)
            },
            { connection, concurrency: atOnce, stalledInterval: 5_000, lockDuration: 5_000 },
          ),
      )
      for (const worker of running) worker.on('error', () => undefined)
      await Promise.all(running.map((worker) => worker.waitUntilReady()))
    },
    close: async () => {
      await Promise.all(running.map((worker) => worker.close()))
      await queue.close()
      connection.disconnect()
    },
  }
}
