import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { type Open } from '../system.ts'

/** The server syncs its log before each answer. Completed jobs are removed, those of a dead process are found after 5 to 10 s. */
export const bullmq: Open = async ({ place, job, atOnce = 200 }) => {
  const connection = new Redis(place.url, { maxRetriesPerRequest: null })
  const queue = new Queue('bench', {
    connection,
    defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
  })
  await queue.waitUntilReady()
  let worker: Worker | undefined
  return {
    submit: (n) => queue.add('bench', { n }),
    submitMany: (tasks) => queue.addBulk(tasks.map((n) => ({ name: 'bench', data: { n } }))),
    start: async () => {
      worker = new Worker(
        'bench',
        async ({ data: { n } }: { data: { n: number } }) => {
          await job?.run(n, 0)
          job?.ended?.(n)
        },
        { connection, concurrency: atOnce, stalledInterval: 5_000, lockDuration: 5_000 },
      )
      worker.on('error', () => undefined)
      await worker.waitUntilReady()
    },
    close: async () => {
      await worker?.close()
      await queue.close()
      connection.disconnect()
    },
  }
}
