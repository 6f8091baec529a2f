import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { sharedServer } from '../helpers/postgres-server.ts'

const tasks = 300
const steps = 4

test('the row of a task that records a step finds room in its page, so no index changes', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  const config = {
    queueDepthLimit: 10_000,
    batchBackpressureThreshold: 10_000,
    maxInFlightPerWorker: tasks,
  }
  const store = await openStore(url, { thread: false, config })
  const done = Promise.withResolvers<void>()
  let ended = 0
  const run = async (leaseId: string) => {
    for (let position = 0; position < steps; position += 1) {
      const step = { key: `step ${position}`, position, result: '1', durationMs: 1 }
      await store.write({ kind: 'recordStep', leaseId, ...step })
    }
    await store.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' } })
    ended += 1
    if (ended === tasks) done.resolve()
  }
  store.listen({
    claimed: (claims) => {
      for (const { leaseId } of claims) run(leaseId).catch(done.reject)
    },
  })
  await store.write({
    kind: 'submit',
    tasks: Array.from({ length: tasks }, () => ({ type: 'work', lane: 'normal', input: 'null' }) as const),
  })
  await store.write({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: tasks, types: ['*'] }] })
  store.demand('w', tasks)
  await done.promise
  await store.close()
  const client = await server.connect(url)
  const text = `SELECT n_tup_upd::int AS updates, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables
    WHERE schemaname = current_schema() AND relname = 'task'`
  const counted = async () => (await client.query(text)).rows[0] as { updates: number; hot: number }
  // The server counts late. Each task is updated by its claim, its steps and its end.
  await expect.poll(async () => (await counted()).updates).toBeGreaterThanOrEqual(tasks * (steps + 2))
  const { hot } = await counted()
  await client.end()
  expect(hot).toBeGreaterThan(tasks * steps * 0.8)
})
