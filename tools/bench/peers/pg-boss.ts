import { PgBoss } from 'pg-boss'
import { type Open } from '../system.ts'

/** Batches of 500, the next one at once while they are full, and woken by NOTIFY when idle. A worker's heartbeat is missed after 10 s, the least. */
export const pgBoss: Open = async ({ place, job, atOnce = 500 }) => {
  const boss = new PgBoss({
    connectionString: place.url,
    max: 20,
    useListenNotify: true,
    superviseIntervalSeconds: 1,
    monitorIntervalSeconds: 1,
  })
  boss.on('error', () => undefined)
  await boss.start()
  await boss.createQueue('bench', { notify: true, heartbeatSeconds: 10 })
  return {
    submit: (n) => boss.send('bench', { n }),
    submitMany: (tasks) =>
      boss.insert(
        'bench',
        tasks.map((n) => ({ data: { n } })),
      ),
    start: () =>
      boss.work<{ n: number }>(
        'bench',
        { batchSize: atOnce, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
        async (jobs) => {
          await Promise.all(
            jobs.map(async ({ data: { n } }) => {
              await job?.run(n, 0)
              job?.ended?.(n)
            }),
          )
        },
      ),
    close: () => boss.stop({ graceful: true, close: true, timeout: 10_000 }),
  }
}
