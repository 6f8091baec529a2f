import { join } from 'node:path'
import Database from 'better-sqlite3'
import { better, defineQueue, defineWorker, type Worker } from 'plainjob'
import { type Open } from '../system.ts'

const logger = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} }

/** `full`: the log is synced before each answer, which it does not do by itself. */
export function plainjob(durability: 'full' | 'normal'): Open {
  return async ({ place, job }) => {
    const db = new Database(join(place.folder, 'plainjob.db'))
    const queue = defineQueue({ connection: better(db), logger })
    if (durability === 'full') db.pragma('synchronous = FULL')
    let worker: Worker | undefined
    let running: Promise<void> | undefined
    return {
      submit: async (n) => queue.add('bench', { n }),
      submitMany: async (tasks) =>
        queue.addMany(
          'bench',
          tasks.map((n) => ({ n })),
        ),
      start: async () => {
        worker = defineWorker(
          'bench',
          async ({ data }) => {
            const { n } = JSON.parse(data) as { n: number }
            await job?.run(n, 0)
            job?.ended?.(n)
          },
          { queue, logger, pollIntervall: 10 },
        )
        running = worker.start()
      },
      close: async () => {
        await worker?.stop()
        await running
        queue.close()
      },
    }
  }
}
