import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  chmodSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { backupStore, openStore, verifyStore } from '../src/index.ts'
import { ChildStore } from './child-store.ts'
import { scratchFolder } from './scratch-folder.ts'
import { live } from './whole-life.ts'

const limits = { queueDepthLimit: 1_000_000, batchBackpressureThreshold: 1_000_000 }
const { config } = parseExecutionConfig(limits)
const task = { type: 'work', lane: 'normal', input: JSON.stringify('x'.repeat(300)) } as const
const backup = (path: string, target: string) => backupStore(`sqlite:${path}`, target)
const copiesIn = (folder: string) => readdirSync(folder).filter((name) => /^(?:copy|backup)/.test(name))

describe('a backup (docs/reliability.md D25)', () => {
  test(
    'of a store in use is as the store was at one moment, verifies, and opens',
    { timeout: 120_000 },
    async () => {
      const folder = scratchFolder()
      const path = join(folder, 'it.db')
      const store = await openStore(`sqlite:${path}`, { config, durability: 'normal' })
      const submit = () => store.write({ kind: 'submit', tasks: Array.from({ length: 20 }, () => task) })
      while ((await store.read({ kind: 'stats' })).totals.submitted < 10_000) await submit()
      const other = await ChildStore.open({
        path,
        config: limits,
        worker: { workerId: 'w', capacity: 8 },
        settles: true,
      })
      const control = new AbortController()
      let turns = 0
      const writing = (async () => {
        while (!control.signal.aborted) {
          await submit()
          turns += 1
        }
      })()
      const slices: number[] = []
      const before = await store.read({ kind: 'stats' })
      const made = await backupStore(`sqlite:${path}`, join(folder, 'copy.db'), {
        onProgress: (copied, pages) => void slices.push(copied / pages),
      })
      control.abort()
      await writing
      const after = await store.read({ kind: 'stats' })
      await other.kill()
      await store.close()

      expect(made.tasks).toBeGreaterThanOrEqual(before.totals.submitted)
      expect(made.tasks).toBeLessThan(after.totals.submitted)
      expect(slices.length).toBeGreaterThan(2)
      expect(slices).toEqual(slices.toSorted((a, b) => a - b))
      expect(turns).toBeGreaterThan(3)
      const found = await verifyStore(`sqlite:${made.path}`)
      expect(found).toMatchObject({
        ok: true,
        tasks: made.tasks,
        events: made.events,
        storeId: made.storeId,
        lastGood: { commit: made.commit, at: made.at },
        anchored: null,
      })
      const restored = await openStore(`sqlite:${made.path}`, { config, durability: 'normal' })
      expect((await restored.read({ kind: 'stats' })).totals.submitted).toBe(made.tasks)
      await restored.close()
    },
  )

  test('has the rights of the store, and leaves nothing else behind', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await live(path)
    chmodSync(path, 0o600)
    const made = await backup(path, join(folder, 'copy.db'))
    expect(statSync(made.path).mode & 0o777).toBe(0o600)
    expect(copiesIn(folder)).toEqual(['copy.db'])
    expect(made.bytes).toBe(statSync(made.path).size)
    await verifyStore(`sqlite:${made.path}`)
    expect(copiesIn(folder)).toEqual(['copy.db'])
  })

  test.each(['', '-wal', '-anchor'])('never replaces a file: copy.db%s', async (suffix) => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await live(path)
    writeFileSync(join(folder, `copy.db${suffix}`), 'mine')
    await expect(backup(path, join(folder, 'copy.db'))).rejects.toMatchObject({ code: 'already_exists' })
    expect(readFileSync(join(folder, `copy.db${suffix}`), 'utf8')).toBe('mine')
  })

  test('of a damaged store is none: it says what is wrong, and leaves nothing', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await live(path)
    const db = new Database(path)
    db.exec('UPDATE event SET at = at + 1 WHERE task = 2 AND seq = 1')
    db.close()
    await expect(backup(path, join(folder, 'copy.db'))).rejects.toMatchObject({
      code: 'store_corrupt',
      message: expect.stringContaining('task 2, event 1') as string,
    })
    expect(copiesIn(folder)).toEqual([])
  })

  test('of a store that has lost commits is none either', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await live(path)
    copyFileSync(path, join(folder, 'older.db'))
    const store = await openStore(`sqlite:${path}`, { thread: false })
    await store.write({ kind: 'submit', tasks: [task] })
    await store.close()
    copyFileSync(join(folder, 'older.db'), path)
    await expect(backup(path, join(folder, 'copy.db'))).rejects.toMatchObject({ code: 'store_data_loss' })
    expect(copiesIn(folder)).toEqual([])
  })

  test('that is ended early leaves nothing', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await live(path)
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(backupStore(`sqlite:${path}`, join(folder, 'copy.db'), { signal })).rejects.toThrow('enough')
    expect(copiesIn(folder)).toEqual([])
  })

  test('X11 is its owner’s alone from the beginning, whatever the umask', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await live(path)
    const umask = process.umask(0)
    onTestFinished(() => void process.umask(umask))
    const modes = new Set<number>()
    const onProgress = () => {
      for (const name of readdirSync(folder))
        if (name.startsWith('backup-')) modes.add(statSync(join(folder, name)).mode & 0o777)
    }
    await backupStore(`sqlite:${path}`, join(folder, 'copy.db'), { onProgress })
    expect([...modes]).toEqual([0o600])
    expect(statSync(join(folder, 'copy.db')).mode & 0o777).toBe(0o600)
  })

  test('ends with what onProgress throws', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await live(path)
    const thrown = new SyntaxError('theirs')
    const onProgress = () => {
      throw thrown
    }
    await expect(backupStore(`sqlite:${path}`, join(folder, 'copy.db'), { onProgress })).rejects.toBe(thrown)
    expect(copiesIn(folder)).toEqual([])
  })

  test('has a name that the folder takes, as long as any; a longer one is refused before a page is copied', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await live(path)
    const name = `copy${'x'.repeat(244)}`
    expect(await backup(path, join(folder, name))).toMatchObject({ path: join(folder, name) })
    await expect(backup(path, join(folder, 'x'.repeat(300)))).rejects.toMatchObject({
      code: 'store_read_only',
      message: expect.stringContaining('name too long') as string,
    })
    expect(copiesIn(folder)).toEqual([name])
  })

  test('of nothing, or into a missing folder', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await expect(backup(path, join(folder, 'copy.db'))).rejects.toMatchObject({ code: 'not_found' })
    await live(path)
    const target = join(folder, 'no', 'copy.db')
    await expect(backup(path, target)).rejects.toMatchObject({ code: 'store_folder_missing' })
    expect(existsSync(join(folder, 'no'))).toBe(false)
  })
})
