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
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { backupStore, openStore, verifyStore } from '../../src/index.ts'
import { OwnStore } from '../helpers/own-store.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { live } from '../helpers/whole-life.ts'

export const limits = { queueDepthLimit: 1_000_000, batchBackpressureThreshold: 1_000_000 }
export const { config } = parseExecutionConfig(limits)
export const task = { type: 'work', lane: 'normal', input: JSON.stringify('x'.repeat(300)) } as const
const backup = (path: string, target: string) => backupStore(`sqlite:${path}`, target)
const copiesIn = (folder: string) => readdirSync(folder).filter((name) => /^(?:copy|backup)/.test(name))

describe('a backup (docs/reliability.md D25)', () => {
  test('has the rights of the store, and leaves nothing else behind', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await live(path)
    // Others than those that a file is made with here.
    chmodSync(path, 0o640)
    const made = await backup(path, join(folder, 'copy.db'))
    expect(statSync(made.path).mode & 0o777).toBe(0o640)
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

  test('a backup of a damaged store is refused: it says what is wrong, and leaves nothing', async () => {
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

  test('a backup of a store that has lost commits is refused, too', async () => {
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

  test.each([' ', '\n', '\u00a0'])(
    'has no name that ends in %j, by which it could not be opened',
    async (end) => {
      const folder = scratchFolder()
      const path = join(folder, 'it.db')
      await live(path)
      await expect(backup(path, `${join(folder, 'copy.db')}${end}`)).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining('must not end in white space') as string,
      })
      expect(copiesIn(folder)).toEqual([])
    },
  )

  test('a backup of nothing, or into a missing folder, is refused', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    await expect(backup(path, join(folder, 'copy.db'))).rejects.toMatchObject({ code: 'not_found' })
    await live(path)
    const target = join(folder, 'no', 'copy.db')
    await expect(backup(path, target)).rejects.toMatchObject({ code: 'store_folder_missing' })
    expect(existsSync(join(folder, 'no'))).toBe(false)
  })
})

/** A store with two queued tasks and one that runs, a copy of it, and what it went on to do afterwards. */
export async function goneOn(folder: string) {
  const path = join(folder, 'it.db')
  const own = await OwnStore.open(path)
  const tasks = await own.submit(3)
  await own.worker('w', 1)
  await own.until(() => own.claims.length === 1, 'a claim')
  const copy = join(folder, 'copy.db')
  const made = await backup(path, copy)
  const [held] = own.claims
  const [lost = ''] = await own.submit(1)
  await own.worker('w', 4)
  await own.until(() => own.claims.length === 4, 'the rest')
  await own.store.close()
  return { copy, made, tasks, lost, held: held!, claims: own.claims }
}

describe('a copy that is restored is a new incarnation of its store (docs/reliability.md D25)', () => {
  const settle = (own: OwnStore, leaseId: string) =>
    own.store.write({ kind: 'settle', leaseId, settlement: { as: 'completed', output: '"late"' } })

  test('an earlier holder of a lease can write no more, whatever has been claimed since', async () => {
    const { copy, made, tasks, claims } = await goneOn(scratchFolder())
    const restored = await OwnStore.open(copy)
    expect(restored.store.info.storeId).not.toBe(made.storeId)
    for (const { leaseId } of claims) expect(await settle(restored, leaseId)).toBe('stale')
    await restored.worker('w', 4)
    await restored.until(() => restored.claims.length === tasks.length, 'all of its tasks')
    for (const { leaseId } of claims) expect(await settle(restored, leaseId)).toBe('stale')
    expect(restored.claims.map(({ leaseId }) => leaseId)).not.toContain(claims.at(-1)?.leaseId)
    for (const claim of restored.claims) expect(await restored.complete(claim)).toBe('ok')
    await restored.store.close()
    expect(await verifyStore(`sqlite:${copy}`)).toMatchObject({ ok: true, faults: [] })
  })

  test('its tasks keep their ids; what was submitted after the copy is not found, and its id is never given again', async () => {
    const { copy, tasks, lost } = await goneOn(scratchFolder())
    const restored = await OwnStore.open(copy)
    const stateOf = async (taskId: string) => (await restored.store.read({ kind: 'task', taskId }))?.state
    for (const taskId of tasks) expect(await stateOf(taskId)).toBeDefined()
    expect(await stateOf(lost)).toBeUndefined()
    const [next = ''] = await restored.submit(1)
    expect(next).not.toBe(lost)
    expect(next.slice(-12)).toBe(lost.slice(-12))
    expect([await stateOf(next), await stateOf(lost)]).toEqual(['queued', undefined])
    await restored.store.close()
    const again = await OwnStore.open(copy)
    expect((await again.store.read({ kind: 'task', taskId: next }))?.state).toBe('queued')
    expect(again.store.info.storeId).toBe(restored.store.info.storeId)
  })

  test('its fencing tokens are above all of those before, also of another copy that was restored earlier', async () => {
    const folder = scratchFolder()
    const { copy, tasks, claims } = await goneOn(folder)
    copyFileSync(copy, join(folder, 'other.db'))
    const environment = createVirtualEnvironment('restored')
    environment.clock.advanceBy(Date.parse('2026-01-01'))
    const tokensOf = async (path: string) => {
      const store = await openStore(`sqlite:${path}`, {
        environment: { ...environment, digest: nodeDigest },
        durability: 'normal',
      })
      const scene = new Scene(store, config, environment.clock, { digest: nodeDigest })
      await scene.worker('w', 4)
      const tokens = []
      for (const _ of tasks) tokens.push((await scene.claim()).fencingToken)
      await store.close()
      expect(await verifyStore(`sqlite:${path}`)).toMatchObject({ ok: true })
      return tokens
    }
    const early = await tokensOf(copy)
    environment.clock.advanceBy(1_000)
    const late = await tokensOf(join(folder, 'other.db'))
    expect(Math.min(...early)).toBeGreaterThan(Math.max(...claims.map((claim) => claim.fencingToken)))
    expect(Math.min(...late)).toBeGreaterThan(Math.max(...early) + 1_000_000)
  })

  test('a copy of a copy is another incarnation', async () => {
    const folder = scratchFolder()
    const { copy, tasks, claims } = await goneOn(folder)
    const restored = await OwnStore.open(copy)
    const [second = ''] = await restored.submit(1)
    await backup(copy, join(folder, 'copy 2.db'))
    const [lost = ''] = await restored.submit(1)
    await restored.store.close()
    const third = await OwnStore.open(join(folder, 'copy 2.db'))
    const isThere = async (taskId: string) => (await third.store.read({ kind: 'task', taskId })) !== undefined
    expect(await Promise.all([...tasks, second, lost].map(isThere))).toEqual([true, true, true, true, false])
    for (const { leaseId } of claims) expect(await settle(third, leaseId)).toBe('stale')
    await third.store.close()
    expect(await verifyStore(`sqlite:${join(folder, 'copy 2.db')}`)).toMatchObject({ ok: true })
  })

  test.each(draws(['[{"storeId":"x"}]'], ['nonsense', '{}', '[{"storeId":"x"}]']))(
    'a file whose earlier incarnations are %s is damaged',
    async (text) => {
      const { copy } = await goneOn(scratchFolder())
      const restored = await OwnStore.open(copy)
      await restored.store.close()
      const db = new Database(copy)
      db.prepare("UPDATE meta SET value = ? WHERE key = 'incarnations'").run(text)
      db.close()
      const { faults } = await verifyStore(`sqlite:${copy}`)
      expect(faults.map(({ where }) => where)).toContain('meta, incarnations')
      await expect(openStore(`sqlite:${copy}`)).rejects.toMatchObject({
        code: 'store_corrupt',
        message: expect.stringContaining('incarnations') as string,
      })
    },
  )
})
