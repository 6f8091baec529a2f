import type { ExecutionStore } from '@ku0/agent-runtime-core'
import { expect, onTestFinished, test } from 'vitest'
import { openStore, verifyStore } from '../../src/index.ts'
import { linesOf } from '../../src/line/store-lines.ts'
import { sharedServer } from '../helpers/postgres-server.ts'

const config = { presenceIntervalMs: 500, presenceTtlMs: 3_000 }

/** A process with a worker that runs what it is given, and a hand on the database. */
async function newStage({ lines = false } = {}) {
  const server = await sharedServer()
  const url = server.newStore()
  const store = await openStore(url, { thread: false, config, lines, checked: !lines })
  const client = await server.connect(url)
  onTestFinished(() => client.end())
  const given: string[] = []
  store.listen({
    claimed: (claims) => {
      for (const { taskId, leaseId } of claims) {
        given.push(taskId)
        void store.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' } })
      }
    },
  })
  const workers = [{ workerId: 'w', capacity: 5, types: ['*'] }]
  await (linesOf(store)?.register(workers) ?? store.write({ kind: 'registerWorkers', workers }))
  store.demand('w', 5)
  return {
    url,
    store,
    given,
    /** As another process writes it that took this one for dead. */
    takeForDead: () =>
      client.query(
        `BEGIN; UPDATE head SET version = version + 1; UPDATE process SET ended_at = 1; UPDATE worker SET registered = 0;
         SELECT pg_notify('ku0_' || current_schema(), '0'); COMMIT`,
      ),
    /** The lock by which others see that it lives: it loses it, and does not get it back before this is undone. */
    keepItsLock: async () => {
      const key = `hashtext('ku0 process ' || current_schema()), (SELECT max(id)::integer FROM process)`
      await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'agent-runtime listen'`,
      )
      await client.query(`SELECT pg_advisory_lock(${key})`)
      return () => client.query(`SELECT pg_advisory_unlock(${key})`)
    },
    registered: async () => {
      const text = `SELECT (SELECT count(*)::int FROM worker WHERE registered = 1) AS workers, (SELECT count(*)::int FROM process WHERE ended_at IS NULL) AS processes`
      return (await client.query(text)).rows[0] as object
    },
  }
}

async function submit(store: ExecutionStore): Promise<string> {
  const [receipt] = await store.write({
    kind: 'submit',
    tasks: [{ type: 'work', lane: 'normal', input: 'null' }],
  })
  return receipt?.accepted === true ? receipt.taskId : ''
}

const all = { workers: 1, processes: 1 }
const none = { workers: 0, processes: 0 }

test('a process that was taken for dead registers itself and its workers again, and they are given tasks', async () => {
  const { url, store, given, takeForDead, registered } = await newStage()
  const before = await submit(store)
  await expect.poll(() => given).toEqual([before])
  await takeForDead()
  const after = await submit(store)
  await expect.poll(() => given).toEqual([before, after])
  expect(await registered()).toEqual(all)
  await store.write({ kind: 'removeWorkers', workerIds: ['w'] })
  expect(await registered()).toEqual({ ...all, workers: 0 })
  await store.close()
  expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 2 })
})

test('C6 a worker on its line that another process has taken for gone is registered again, and is given tasks', async () => {
  const { url, store, given, takeForDead, registered } = await newStage({ lines: true })
  const before = await submit(store)
  await expect.poll(() => given).toEqual([before])
  await takeForDead()
  const after = await submit(store)
  await expect.poll(() => given).toEqual([before, after])
  expect(await registered()).toMatchObject({ workers: 1 })
  // Its line breaks: whoever takes it for gone then is right.
  linesOf(store)?.absent(['w'])
  await takeForDead()
  await submit(store)
  expect(await registered()).toMatchObject({ workers: 0 })
  await store.close()
  expect(await verifyStore(url)).toMatchObject({ ok: true, tasks: 3 })
})

test('it does so once others can see again that it lives', async () => {
  const { store, given, takeForDead, keepItsLock, registered } = await newStage()
  const giveBack = await keepItsLock()
  await takeForDead()
  const first = await submit(store)
  await submit(store)
  expect(await registered()).toEqual(none)
  expect(given).toEqual([])
  await giveBack()
  await expect.poll(registered).toEqual(all)
  await expect.poll(() => given[0]).toBe(first)
  await store.close()
})

test('a worker that is removed meanwhile stays away', async () => {
  const { store, takeForDead, keepItsLock, registered } = await newStage()
  const giveBack = await keepItsLock()
  await takeForDead()
  await submit(store)
  await store.write({ kind: 'removeWorkers', workerIds: ['w'] })
  await giveBack()
  await expect.poll(registered).toEqual({ ...all, workers: 0 })
  await store.close()
})
