import { join } from 'node:path'
import { takeSnapshot } from '@ku0/agent-runtime-conformance'
import type { Claim, ExecutionStore } from '@ku0/agent-runtime-core'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { describe, expect, test } from 'vitest'
import { backupStore, importStore, openStore, verifyStore } from '../../src/index.ts'
import { newPostgresStore } from '../helpers/postgres-store.ts'
import { sharedServer } from '../helpers/postgres-server.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { config, live } from '../helpers/whole-life.ts'

describe('a store moves from a file to PostgreSQL, and back', () => {
  test('H09 with every row: ids, events, hashes and the journal, and it verifies', async () => {
    const path = join(scratchFolder(), 'it.db')
    const url = (await sharedServer()).newStore()
    const before = await live(path)
    const rows: number[] = []
    const report = await importStore(path, url, { onProgress: (count) => rows.push(count) })
    expect(report).toMatchObject({ tasks: before.tasks.length, restored: false })
    expect(rows.at(-1)).toBeGreaterThan(report.events)
    expect(await verifyStore(url)).toMatchObject({ ok: true, storeId: report.storeId })

    // The server plans for as many tasks as there are, and not for empty tables.
    const client = await (await sharedServer()).connect(url)
    const planned = await client.query("SELECT reltuples FROM pg_class WHERE oid = 'task'::regclass")
    await client.end()
    expect(planned.rows).toEqual([{ reltuples: report.tasks }])

    const environment = { ...createVirtualEnvironment('moved'), digest: nodeDigest }
    const store = await newPostgresStore(config, environment, url)
    const after = await takeSnapshot(store)
    expect(after.tasks.map(({ events }) => events.slice(0, 1))).toEqual(
      before.tasks.map(({ events }) => events.slice(0, 1)),
    )
    await store.close()

    const copy = join(scratchFolder(), 'copy.db')
    expect(await backupStore(url, copy)).toMatchObject({ path: copy, tasks: report.tasks })
    expect(await verifyStore(copy)).toMatchObject({ ok: true })
    // A copy is a store of its own.
    await (await openStore(`sqlite:${copy}`, { config })).close()
    await expect(backupStore(url, copy)).rejects.toMatchObject({ code: 'already_exists' })
  })

  test('only into an empty store, and only from a file that nobody uses', async () => {
    const path = join(scratchFolder(), 'it.db')
    const url = (await sharedServer()).newStore()
    await live(path)
    await expect(importStore(path, 'sqlite:other.db')).rejects.toMatchObject({ code: 'invalid_argument' })
    const open = await openStore(`sqlite:${path}`, { config })
    await expect(importStore(path, url)).rejects.toThrow(`in use by process ${process.pid}`)
    await open.close()
    await importStore(path, url)
    await expect(importStore(path, url)).rejects.toMatchObject({
      code: 'already_exists',
      message: expect.stringContaining('is not empty') as string,
    })
    expect(await verifyStore(url)).toMatchObject({ ok: true })
  })

  test('a store without tasks that has something else, or is in use, stays as it is', async () => {
    const path = join(scratchFolder(), 'it.db')
    const url = (await sharedServer()).newStore()
    await live(path)
    const target = await openStore(url, { config })
    await expect(importStore(path, url)).rejects.toThrow('is in use')
    await target.write({ kind: 'pauseQueue', types: ['work'], lanes: [], paused: true })
    await target.close()
    await expect(importStore(path, url)).rejects.toThrow('is not empty')
  })
})

describe('a backup that is imported is a new incarnation of its store (docs/reliability.md D25)', () => {
  const task = { type: 'work', lane: 'normal', input: 'null' } as const

  /** Submits a task. */
  async function submitted(store: ExecutionStore): Promise<string> {
    const [receipt] = await store.write({ kind: 'submit', tasks: [task] })
    return receipt?.taskId ?? ''
  }

  /** What a worker of the store is given, one task after the other. */
  async function claimed(store: ExecutionStore, tasks: number): Promise<readonly Claim[]> {
    const claims: Claim[] = []
    const all = Promise.withResolvers<void>()
    store.listen({
      claimed: (more) => {
        if (claims.push(...more) === tasks) all.resolve()
      },
    })
    await store.write({
      kind: 'registerWorkers',
      workers: [{ workerId: 'w', capacity: tasks, types: ['*'] }],
    })
    store.demand('w', tasks)
    await all.promise
    return claims
  }

  const settle = (store: ExecutionStore, { leaseId }: Claim) =>
    store.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: 'null' } })
  const isThere = async (store: ExecutionStore, taskId: string) =>
    (await store.read({ kind: 'task', taskId })) !== undefined

  /** A store on PostgreSQL that was copied while a worker held its two tasks, and went on. */
  async function goneOn() {
    const server = await sharedServer()
    const url = server.newStore()
    const store = await openStore(url, { thread: false })
    const tasks = [await submitted(store), await submitted(store)]
    const held = await claimed(store, 2)
    const copy = join(scratchFolder(), 'copy.db')
    await backupStore(url, copy)
    const lost = await submitted(store)
    for (const claim of held) expect(await settle(store, claim)).toBe('ok')
    const { storeId } = store.info
    await store.close()
    return { server, copy, tasks, held, lost, storeId }
  }

  test('an earlier holder of a lease writes no more, tokens are above those before, and no id is given again', async () => {
    const { server, copy, tasks, held, lost, storeId } = await goneOn()
    const url = server.newStore()
    const report = await importStore(copy, url)
    expect(report).toMatchObject({ restored: true, tasks: 2 })
    const restored = await openStore(url, { thread: false })
    expect(restored.info.storeId).toBe(report.storeId)
    expect(report.storeId).not.toBe(storeId)
    for (const claim of held) expect(await settle(restored, claim)).toBe('stale')
    const claims = await claimed(restored, 2)
    for (const claim of held) expect(await settle(restored, claim)).toBe('stale')
    expect(claims.map(({ taskId }) => taskId).toSorted()).toEqual(tasks.toSorted())
    expect(Math.min(...claims.map((it) => it.fencingToken))).toBeGreaterThan(2 ** 20)
    const next = await submitted(restored)
    expect(next).not.toBe(lost)
    expect(next.slice(-12)).toBe(lost.slice(-12))
    expect([await isThere(restored, lost), await isThere(restored, next)]).toEqual([false, true])
    for (const claim of claims) expect(await settle(restored, claim)).toBe('ok')
    await restored.close()
    expect(await verifyStore(url)).toMatchObject({ ok: true, faults: [], tasks: 3 })
  })

  test('it is exported and imported again, or restored as a file and moved then: all ids stay', async () => {
    const { server, copy, tasks, lost } = await goneOn()
    const [first, second, third] = [server.newStore(), server.newStore(), server.newStore()]
    await importStore(copy, first)
    const once = await openStore(first, { thread: false })
    const own = await submitted(once)
    await once.close()
    const exported = join(scratchFolder(), 'exported.db')
    await backupStore(first, exported)
    expect(await importStore(exported, second)).toMatchObject({ restored: true, tasks: 3 })

    const file = await openStore(`sqlite:${copy}`, { durability: 'normal' })
    const inFile = await submitted(file)
    await file.close()
    expect(await importStore(copy, third)).toMatchObject({ restored: false, tasks: 3 })
    for (const [url, there, not] of [
      [second, [...tasks, own], [lost, inFile]],
      [third, [...tasks, inFile], [lost, own]],
    ] as const) {
      const store = await openStore(url, { thread: false })
      for (const taskId of there) expect(await isThere(store, taskId)).toBe(true)
      for (const taskId of not) expect(await isThere(store, taskId)).toBe(false)
      await store.close()
      expect(await verifyStore(url)).toMatchObject({ ok: true, faults: [] })
    }
  })

  test('a store whose earlier incarnations cannot be read is not opened', async () => {
    const { server, copy } = await goneOn()
    const url = server.newStore()
    await importStore(copy, url)
    const client = await server.connect(url)
    await client.query("UPDATE meta SET value = 'nonsense' WHERE key = 'incarnations'")
    await client.end()
    await expect(openStore(url, { thread: false })).rejects.toMatchObject({
      code: 'store_corrupt',
      message: expect.stringContaining('incarnations') as string,
    })
  })
})
