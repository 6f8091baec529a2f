import { expect, onTestFinished, test } from 'vitest'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { openStore } from '../../src/index.ts'
import { systemEnvironment } from '../../src/system.ts'
import type { Session } from '../../src/postgres/connection/session.ts'
import { together, translated } from '../../src/postgres/reads/translate.ts'
import { FALLBACKS_OF_TASK } from '../../src/views/task-records.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { newPostgresStore, partsOf } from '../helpers/postgres-store.ts'

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

/** A store with many tasks, and what counts the rows that its commits read. */
async function stage() {
  const server = await sharedServer()
  const url = server.newStore()
  const { config } = parseExecutionConfig({ queueDepthLimit: 10_000, batchBackpressureThreshold: 10_000 })
  const store = await newPostgresStore(config, systemEnvironment(), url, false, false)
  const client = await server.connect(url)
  onTestFinished(async () => void (await Promise.all([store.close(), client.end()])))
  const { db } = partsOf(store)
  const session = Reflect.get(db, 'session') as Session
  const submitted = await store.write({
    kind: 'submit',
    tasks: Array.from({ length: tasks }, () => ({ type: 'work', lane: 'normal', input: 'null' }) as const),
  })
  const taskIds = submitted.flatMap((it) => (it.accepted ? [it.taskId] : []))
  const count = async () => {
    const { rows } = await session.query(
      `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables WHERE schemaname = current_schema() AND relname IN ('task', 'event')`,
    )
    return Number(rows[0]?.[0])
  }
  /** How many rows of tasks and of events a reading takes. */
  const rowsFor = async (read: () => Promise<void>) => {
    expect(await db.begin({ isAwaited: false, hasMuch: false, hasTime: false })).toBe(true)
    // Between two transactions the server may give away what it has counted.
    await session.run('BEGIN')
    const before = await count()
    await read()
    const after = await count()
    await session.run('COMMIT')
    await db.rollback()
    return after - before
  }
  return { store, client, db, taskIds, rowsFor }
}

test('the next tasks are found at the front of their queue, with their submissions, however many are over and whatever the server last counted', async () => {
  const { store, client, db, taskIds, rowsFor } = await stage()
  const [next, over] = [taskIds.slice(-10), taskIds.slice(0, -10)]
  const readNext = async () => {
    const { heads } = await db.load({ heads: [{ stream: 1, after: 0, limit: 10 }] })
    expect(heads?.[0]?.rows.map(({ id }) => db.ids.task(id))).toEqual(next)
  }
  await client.query('ANALYZE')
  for (let from = 0; from < over.length; from += atOnce)
    await store.write({ kind: 'cancelMany', taskIds: over.slice(from, from + atOnce) })
  expect(await rowsFor(readNext)).toBe(20)
  await client.query('ANALYZE')
  expect(await rowsFor(readNext)).toBe(20)
})

test('the tasks that each client has under way are found by the leases that run, whatever the server last counted', async () => {
  const { client, db, rowsFor } = await stage()
  await client.query(
    `INSERT INTO lease (id, task, worker, process, attempt, fence, state, acquired_at, expires_at, last_heartbeat_at)
     SELECT id, id, 1, 1, 1, 1, 0, 0, 9000000000000000, 0 FROM task`,
  )
  await client.query('ANALYZE')
  await client.query(`DELETE FROM lease WHERE id % 500 > 0`)
  const rows = await rowsFor(async () => {
    const kept = await db.keep({ since: undefined, shares: true, dominant: true, held: new Map() })
    expect([kept.runningByStream, kept.heldByStream.length]).toEqual([[[1, 4]], 4])
  })
  // The rest is of this process.
  expect(rows).toBeLessThan(50)
  await client.query('DELETE FROM lease')
})

test('the model that a task has fallen back to is found by an index, and not in all that has happened to the task', async () => {
  const { client } = await stage()
  await client.query(
    `INSERT INTO event (task, seq, type, at, data, hash)
     SELECT id, n, CASE n % 2 WHEN 0 THEN 'task.requeued' ELSE 'step.completed' END, 0, '{}', '' FROM task, generate_series(10, 50) AS n`,
  )
  const plan = async () => {
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN ${together(translated(FALLBACKS_OF_TASK), ['bigint'])}`,
      [[1, 2, 3]],
    )
    return rows.map((row) => row['QUERY PLAN']).join('\n')
  }
  expect(await plan()).toContain('event_fallback')
  await client.query('ANALYZE')
  expect(await plan()).toContain('event_fallback')
})
