import type { OutcomeOf, PerState } from '@ku0/agent-runtime-core'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { sharedServer } from '../helpers/postgres-server.ts'

const tasks = 5_600
const always: PerState = { completed: 8e15, failed: 8e15, canceled: 8e15 }
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

  let given: { excess?: PerState; ends?: PerState } = {}
  let deleted = 0
  for (let after: number | undefined = 0; after !== undefined;) {
    const answer: OutcomeOf<'prune'> = await store.write({ kind: 'prune', after, ...given })
    given = { excess: answer.excess, ends: always }
    deleted += answer.pruned.canceled
    after = answer.next
  }
  expect(deleted).toBe(tasks - 100)
  await expect.poll(async () => (await seen()).vacuumed, { timeout: 30_000 }).toBe(1)
  await store.close()
  await client.end()
})
