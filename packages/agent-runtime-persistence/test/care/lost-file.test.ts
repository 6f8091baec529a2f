import { copyFileSync, existsSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { openScene, codeOf } from './lost-file-scene.ts'

const files = (path: string) => [path, `${path}-wal`, `${path}-shm`]

/** What takes the file away from under the store. */
const thefts: readonly [string, (path: string) => void][] = [
  ['deleted', (path) => files(path).forEach((file) => rmSync(file, { force: true }))],
  ['deprived of its log', (path) => rmSync(`${path}-wal`)],
  ['deprived of the index of its log', (path) => rmSync(`${path}-shm`)],
  ['moved away', (path) => renameSync(path, `${path}.old`)],
  [
    'replaced by a copy',
    (path) => {
      copyFileSync(path, `${path}.copy`)
      renameSync(`${path}.copy`, path)
    },
  ],
]

describe('a database file that is gone from under the open store (docs/reliability.md T8, D07)', () => {
  for (const [what, steal] of thefts) {
    test(`D07 ${what}: a submission is not acknowledged, at once`, async () => {
      const path = join(scratchFolder(), 'it.db')
      const scene = await openScene(path)
      await scene.submit()
      steal(path)
      expect(await codeOf(scene.submit())).toBe('store_unlinked')
      expect(scene.failures).toMatchObject([{ code: 'store_unlinked' }])
      await scene.store.close()
    })

    test(`D07 ${what}: the store finds out by itself within a second, and stops`, async () => {
      const path = join(scratchFolder(), 'it.db')
      const scene = await openScene(path)
      const claim = await scene.running()
      steal(path)
      await scene.pass(1_000)
      expect(scene.failures).toMatchObject([{ code: 'store_unlinked' }])
      expect((scene.failures[0] as Error).message).toContain(path)
      expect(await codeOf(scene.settle(claim))).toBe('store_unlinked')
      expect(await codeOf(scene.read({ kind: 'stats' }))).toBe('store_unlinked')
      scene.free(claim.workerId)
      await scene.pass(60_000)
      expect(scene.claims).toHaveLength(1)
      expect(scene.failures).toHaveLength(1)
      await scene.store.close()
      expect(await codeOf(scene.submit())).toBe('store_unlinked')
    })
  }

  test('a log that is cut under the open store takes nothing more, and the next open says what is lost', async () => {
    const path = join(scratchFolder(), 'it.db')
    const scene = await openScene(path)
    const claim = await scene.running()
    truncateSync(`${path}-wal`, 0)
    expect(await codeOf(scene.settle(claim))).toBe('store_corrupt')
    expect(scene.failures).toMatchObject([
      {
        code: 'store_corrupt',
        message: expect.stringContaining('was truncated while it was open') as string,
      },
    ])
    expect(await codeOf(scene.submit())).toBe('store_corrupt')
    await scene.store.close()
    expect(await codeOf(openStore(`sqlite:${path}`))).toBe('store_data_loss')
  })

  test('a log that SQLite itself shortens, since it had become very long, takes what comes', async () => {
    const path = join(scratchFolder(), 'it.db')
    const scene = await openScene(path)
    await scene.submit()
    const [long, limit] = [200 * 1024 * 1024, 64 * 1024 * 1024]
    // What is behind its last frame is nobody's; the file system keeps no room for it.
    truncateSync(`${path}-wal`, long)
    await scene.submit()
    expect(statSync(`${path}-wal`).size).toBe(long)
    const other = new Database(path)
    other.pragma('wal_checkpoint(RESTART)')
    other.close()
    await scene.submit()
    expect(statSync(`${path}-wal`).size).toBe(limit)
    await scene.submit()
    expect(scene.failures).toEqual([])
    expect(await scene.depth()).toBe(4)
    await scene.store.close()
  })

  test('the acknowledged commits are in the file that was moved away', async () => {
    const path = join(scratchFolder(), 'it.db')
    const scene = await openScene(path)
    const taskId = await scene.accepted()
    for (const file of files(path)) if (existsSync(file)) renameSync(file, file.replace('it.db', 'moved.db'))
    await codeOf(scene.submit())
    await scene.store.close()
    const moved = await openScene(path.replace('it.db', 'moved.db'), 'found')
    expect(await moved.state(taskId)).toBe('queued')
    expect(await moved.depth()).toBe(1)
    await moved.store.close()
  })

  test('calls that wait when the store stops are rejected with the reason', async () => {
    const path = join(scratchFolder(), 'it.db')
    const scene = await openScene(path)
    await scene.submit()
    rmSync(path)
    const calls = [scene.submit(), scene.cancel('nobody'), scene.submit()].map(codeOf)
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['store_unlinked']))
    await scene.store.close()
  })
})
