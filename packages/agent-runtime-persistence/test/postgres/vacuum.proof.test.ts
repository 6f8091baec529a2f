import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { sharedServer } from '../helpers/postgres-server.ts'

const tasks = 5_600
const retention = { canceled: { count: 100 }, completed: 'forever', failed: 'forever' } as const

test('6.6 the tables are vacuumed once retention has deleted 5 000 tasks, without waiting for the server to look', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  const config = { queueDepthLimit: 10_000, batchBackpressureThreshold: 10_000, retention }
  const store = await openStore(url, { thread: false, config })
  const client = await server.connect(url)
  const seen = async () => {
    const { rows } = await client.query<{ dead: number; vacuumed: number }>(
      `SELECT n_dead_tup::int AS dead, vacuum_count::int AS vacuumed FROM pg_stat_user_tables
         WHERE schemaname = current_schema() AND relname = 'task'`,
    )
    return rows[0] as { dead: number; vacuumed: number }
  }
  const submit = (count: number) =>
    store.write({
      kind: 'submit',
      tasks: Array.from({ length: count }, () => ({ type: 'work', lane: 'normal', input: 'null' }) as const),
    })
  const submitted = await submit(tasks)
  const taskIds = submitted.flatMap((it) => (it.accepted ? [it.taskId] : []))
  expect(await store.write({ kind: 'cancelMany', taskIds })).toEqual({ canceled: tasks })
  // A connection reports what it has changed at the end of a transaction, once a second.
  const reported = async () => {
    await submit(1)
    return (await seen()).dead
  }
  await expect.poll(reported, { timeout: 30_000 }).toBeGreaterThan(tasks / 2)
  expect(await seen()).toMatchObject({ vacuumed: 0 })

  const newest = [{ state: 'canceled', count: 100, from: tasks - 99 }] as const
  let deleted = 0
  for (let first = 1; first <= tasks - 100;) {
    const some = Array.from({ length: Math.min(1_000, tasks - 99 - first) }, (_, n) => first + n)
    const { pruned, looked } = await store.write({ kind: 'prune', tasks: some, newest })
    deleted += pruned.canceled
    first += looked
  }
  expect(deleted).toBe(tasks - 100)
  await expect.poll(async () => (await seen()).vacuumed, { timeout: 30_000 }).toBe(1)
  await store.close()
  await client.end()
})
