import { spawnSync } from 'node:child_process'
import Database from 'better-sqlite3'
import { readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openStore, backupStore, verifyStore } from '../../src/index.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { closed, inspect, submission } from './inspect-scene.ts'

describe('an inspection', () => {
  test('the doctor of a store in use lists its processes, and which of them are dead', async () => {
    const path = join(scratchFolder(), 'it.db')
    const [one, two] = [await ChildStore.open({ path }), await ChildStore.open({ path })]
    one.send(submission)
    await one.heard(({ answer }) => answer !== undefined)
    expect((await inspect(path)).processes).toMatchObject([{ alive: true }, { alive: true }])
    // The second cannot declare the first one dead before it dies itself.
    two.signal('SIGSTOP')
    await one.kill()
    await two.kill()
    const found = await inspect(path)
    expect(found.processes).toMatchObject([{ alive: false }, { alive: false }])
    expect(found.size.walBytes).toBeGreaterThan(0)
    expect(found.problems.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('2 processes ended without closing the store'),
    )
  })

  test('tells lost commits as an error, and a loss that was accepted ever after', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    const child = await ChildStore.open({ path })
    for (let n = 1; n <= 2; n++) {
      child.send(submission)
      await child.heard(({ answer }) => answer !== undefined, n)
    }
    await child.kill()
    truncateSync(`${path}-wal`, readFileSync(`${path}-wal`).length - 100)
    const lost = await inspect(path)
    expect(lost).toMatchObject({ ok: false, anchor: { commit: 2, loss: { kind: 'lost_tail', lastGood: 1 } } })
    expect(lost.problems[0]).toMatchObject({ level: 'error' })
    const store = await openStore(`sqlite:${path}`, { thread: false, acceptLoss: true })
    await store.close()
    const accepted = await inspect(path)
    expect(accepted).toMatchObject({ ok: true, acceptedLosses: [{ anchored: 2, lastGood: 1 }] })
    expect(accepted.problems.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('commits 2 to 2 were missing'),
    )
  })

  test('T5 no verification and no backup drops the locks of its own process', async () => {
    const path = await closed()
    const store = await openStore(`sqlite:${path}`, { thread: false })
    const holder = new Database(path)
    holder.exec("BEGIN IMMEDIATE; INSERT INTO meta (key, value) VALUES ('mine', '1')")
    expect((await inspect(path)).processes).toMatchObject([{ pid: process.pid, alive: true }])
    expect(await verifyStore(`sqlite:${path}`)).toMatchObject({ ok: true })
    await backupStore(`sqlite:${path}`, `${path}.copy`)
    const fixture = join(import.meta.dirname, '../fixtures/try-lock.ts')
    const other = spawnSync(process.execPath, [fixture, path], { encoding: 'utf8' })
    expect([other.stdout.trim(), other.stderr]).toEqual(['SQLITE_BUSY', ''])
    holder.exec('COMMIT')
    expect(holder.prepare("SELECT value FROM meta WHERE key = 'mine'").pluck().get()).toBe('1')
    holder.close()
    const probe = await openStore(`sqlite:${path}`, { thread: false })
    expect((await inspect(path)).processes).toMatchObject([{ alive: true }, { alive: true }])
    await probe.close()
    await store.close()
  })
})
