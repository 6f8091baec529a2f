import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { sharedServer } from '../helpers/postgres-server.ts'

const tasks = 2_000
const atOnce = 400

test('a write of many tasks finds them by their keys, and reads no table whole', async () => {
  const server = await sharedServer()
  const url = server.newStore()
  const config = { queueDepthLimit: 10_000, batchBackpressureThreshold: 10_000 }
  const store = await openStore(url, { thread: false, config })
  const client = await server.connect(url)
  const submit = (count: number) =>
    store.write({
      kind: 'submit',
      tasks: Array.from({ length: count }, () => ({ type: 'work', lane: 'normal', input: 'null' }) as const),
    })
  const submitted = await submit(tasks)
  const taskIds = submitted.flatMap((it) => (it.accepted ? [it.taskId] : []))
  // A connection reports what it has done at the end of a transaction, once a second.
  const reported = async () => {
    await submit(1)
    const { rows } = await client.query<{ updated: number; scanned: number }>(
      `SELECT n_tup_upd::int AS updated, seq_tup_read::int AS scanned FROM pg_stat_user_tables
         WHERE schemaname = current_schema() AND relname = 'task'`,
    )
    return rows[0] as { updated: number; scanned: number }
  }
  for (let from = 0; from < tasks; from += atOnce)
    expect(await store.write({ kind: 'cancelMany', taskIds: taskIds.slice(from, from + atOnce) })).toEqual({
      canceled: atOnce,
    })
  await expect.poll(async () => (await reported()).updated, { timeout: 30_000 }).toBe(tasks)
  expect((await reported()).scanned).toBeLessThan(tasks)
  await store.close()
  await client.end()
})
