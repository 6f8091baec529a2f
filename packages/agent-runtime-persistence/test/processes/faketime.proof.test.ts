import { join } from 'node:path'
import type { ExecutionStore } from '@ku0/agent-runtime-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openStore, verifyStore } from '../../src/index.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { fakeTime, offBy } from '../helpers/faketime.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

const config = {
  leaseTtlMs: 2_000,
  heartbeatIntervalMs: 500,
  presenceIntervalMs: 500,
  presenceTtlMs: 3_000,
}
const hour = 3_600

/** Where two processes find the same store. */
const places = {
  file: async () => join(scratchFolder(), 'tasks.db'),
  PostgreSQL: async () => (await sharedServer()).newStore(),
} as const

const urlOf = (path: string): string => (path.startsWith('postgres:') ? path : `sqlite:${path}`)

async function submit(store: ExecutionStore, type: string, count: number): Promise<readonly string[]> {
  const receipts = await store.write({
    kind: 'submit',
    tasks: Array.from({ length: count }, () => ({ type, lane: 'normal' as const, input: 'null' })),
  })
  return receipts.map((receipt) => (receipt.accepted ? receipt.taskId : ''))
}

/** When its first attempt started, by the events of the task. */
async function startedAt(store: ExecutionStore, taskId: string): Promise<number> {
  const events = (await store.read({ kind: 'events', taskId, after: 0, limit: 10 })) ?? []
  return events.find(({ type }) => type === 'task.started')?.at ?? Number.NaN
}

describe.skipIf(fakeTime === undefined)(
  'real processes whose wall clocks are wrong, by libfaketime (the Debian package faketime)',
  () => {
    test.each(['file', 'PostgreSQL'] as const)(
      'an hour ahead and an hour behind, they share tasks of one %s, take no lease from each other while it is renewed, and take over when its holder is killed',
      async (kind) => {
        const path = await places[kind]()
        const child = (name: string, seconds: number, types: readonly string[]) =>
          ChildStore.open({
            path,
            config,
            worker: { workerId: name, capacity: 4, types },
            settles: types.length > 1,
            env: offBy(seconds),
          })
        // It opens the store first: if a date counted for leases, it would be that of this process.
        const holder = await child('holder', hour, ['held'])
        const store = await openStore(urlOf(path), { config, thread: false })
        onTestFinished(() => store.close())
        const [held = ''] = await submit(store, 'held', 1)
        const claim = (await holder.heard(({ claimed }) => claimed !== undefined)).claimed
        const others = [
          await child('behind', -hour, ['work', 'held']),
          await child('ahead', hour, ['work', 'held']),
        ]
        const tasks = await submit(store, 'work', 60)
        const completed = async () => (await store.read({ kind: 'stats' })).totals.completed
        await expect.poll(completed, { timeout: 60_000 }).toBe(tasks.length)
        // Its lease was renewed over more than two times its length.
        const expiresAt = async () => (await store.read({ kind: 'leases', taskId: held }))[0]?.expiresAt ?? 0
        await expect
          .poll(expiresAt, { timeout: 60_000 })
          .toBeGreaterThan((claim?.expiresAt ?? 0) + 2 * config.leaseTtlMs)
        expect(await store.read({ kind: 'task', taskId: held })).toMatchObject({
          state: 'running',
          attempt: 1,
        })
        expect(
          [holder, ...others].flatMap(({ lines }) => lines.flatMap(({ noticed }) => noticed ?? [])),
        ).toEqual([])

        const off = Math.abs((await startedAt(store, held)) - Date.now())
        // A file is dated by who writes, and a server by itself.
        expect(off > (hour / 2) * 1_000).toBe(kind === 'file')

        await holder.kill()
        await expect.poll(completed, { timeout: 60_000 }).toBe(tasks.length + 1)
        expect(await Promise.all(others.map((it) => it.end()))).toEqual([0, 0])
        const claims = [holder, ...others].flatMap((it) => it.claims)
        const distinct = new Set(claims.map(({ taskId, fencingToken }) => `${taskId} ${fencingToken}`))
        expect(distinct.size).toBe(claims.length)
        expect(claims).toHaveLength(tasks.length + 2)
        await store.close()
        expect(await verifyStore(urlOf(path))).toMatchObject({
          faults: [],
          ok: true,
          tasks: tasks.length + 1,
        })
      },
    )
  },
)
