import { join } from 'node:path'
import { takeSnapshot } from '@ku0/agent-runtime-conformance'
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
    expect(report).toMatchObject({ tasks: before.tasks.length })
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

  test('only into an empty store, only from a file that nobody uses, and not from a backup', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    const url = (await sharedServer()).newStore()
    await live(path)
    const backup = join(folder, 'backup.db')
    await backupStore(path, backup)
    await expect(importStore(backup, url)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('is a backup') as string,
    })
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
