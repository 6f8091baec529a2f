import fs, {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StoreError, type ExecutionStore } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import Database from 'better-sqlite3'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { backupStore, inspectStore, openStore, type OpenStoreOptions, verifyStore } from '../../src/index.ts'
import { readAnchor } from '../../src/sqlite/anchor.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'

const parts = ['', '-wal', '-anchor'] as const
const open = (path: string, options: OpenStoreOptions = {}) =>
  openStore(`sqlite:${path}`, { thread: false, ...options })

async function outcome(path: string, options: OpenStoreOptions = {}): Promise<ExecutionStore | StoreError> {
  return open(path, options).catch((error: unknown) => error as StoreError)
}

async function refusal(path: string): Promise<StoreError> {
  const error = await outcome(path)
  expect(error).toBeInstanceOf(StoreError)
  return error as StoreError
}

function submission(n: number) {
  return { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: String(n) }] } as const
}

/** The files of a process that was killed after so many submissions had been acknowledged, one commit each. */
async function killed(folder: string, acknowledged: number): Promise<string> {
  const made = madeOf.get(acknowledged) ?? (await kill(acknowledged))
  madeOf.set(acknowledged, made)
  return copied(made, join(folder, 'killed.db'))
}

/** They are made once for all tests, which get copies. */
const madeOf = new Map<number, string>()
const templates = mkdtempSync(join(tmpdir(), 'lost-tail-'))
afterAll(() => rmSync(templates, { recursive: true, force: true }))

async function kill(acknowledged: number): Promise<string> {
  const path = join(templates, `${acknowledged}.db`)
  const child = await ChildStore.open({ path })
  for (let n = 1; n <= acknowledged; n++) {
    child.send(submission(n))
    await child.heard(({ answer }) => answer !== undefined, n)
  }
  await child.kill()
  return path
}

function copied(from: string, to: string): string {
  for (const part of parts) if (existsSync(from + part)) copyFileSync(from + part, to + part)
  return to
}

/** What a database has, read without the store's code: the last commit, or 0. */
function lastCommit(path: string): number {
  const db = new Database(path, { readonly: true })
  try {
    return db.prepare<[], number | null>('SELECT max(number) FROM journal').pluck().get() ?? 0
  } catch {
    return 0
  } finally {
    db.close()
  }
}

/** A log that is not there and an empty one are the same. */
const bytes = (path: string) =>
  parts.map((part) =>
    nodeDigest.sha256Hex(existsSync(path + part) ? readFileSync(path + part, 'latin1') : ''),
  )

function flip(path: string, at: number): void {
  const content = readFileSync(path)
  content[at] = (content[at] ?? 0) ^ 0x10
  writeFileSync(path, content)
}

/** A frame of the log: 24 bytes of its own and a page; the log begins with 32. */
const frame = 24 + 4_096
const acknowledged = 12

describe('T6 a log whose end is gone (docs/reliability.md T6, D05)', () => {
  test('wherever it is cut or changed, the store is refused with the last good commit, and its files are left as they are', async () => {
    const folder = scratchFolder()
    const path = await killed(folder, acknowledged)
    const { size } = statSync(`${path}-wal`)
    const frames = Math.floor((size - 32) / frame)
    expect(frames).toBeGreaterThan(acknowledged)
    const damages: ((copy: string) => void)[] = [
      (copy) => rmSync(`${copy}-wal`),
      (copy) => truncateSync(`${copy}-wal`, 0),
      (copy) => flip(`${copy}-wal`, 17),
      (copy) => truncateSync(`${copy}-wal`, size - 1),
      (copy) => flip(`${copy}-wal`, size - 1),
    ]
    for (let n = 1; n < frames; n += 3) {
      damages.push((copy) => truncateSync(`${copy}-wal`, 32 + n * frame + 100))
      damages.push((copy) => flip(`${copy}-wal`, 32 + n * frame + 200 + n))
    }
    const losses = new Set<number>()
    for (const [k, damage] of damages.entries()) {
      const copy = copied(path, join(folder, `${k}.db`))
      damage(copy)
      const before = bytes(copy)
      const error = await refusal(copy)
      const last = lastCommit(copied(copy, join(folder, `${k}-seen.db`)))
      expect(last).toBeLessThan(acknowledged)
      losses.add(last)
      expect([error.code, error.details['lastGood'], error.details['anchored']]).toEqual([
        'store_data_loss',
        last,
        acknowledged,
      ])
      expect(error.message).toContain(copy)
      expect(error.message).toContain('acceptLoss')
      expect(bytes(copy)).toEqual(before)
      expect((await refusal(copy)).details).toEqual(error.details)
    }
    expect(losses.size).toBeGreaterThan(5)
  })

  test('whole, it opens with all that was acknowledged', async () => {
    const path = await killed(scratchFolder(), acknowledged)
    const store = await open(path)
    expect(await store.read({ kind: 'stats' })).toMatchObject({ totals: { submitted: acknowledged } })
    expect(store.info.acceptedLoss).toBeUndefined()
    await store.close()
  })

  test('before its first checkpoint, when all is in the log: whoever only reads it says so, too', async () => {
    const folder = scratchFolder()
    const whole = await killed(folder, 3)
    const cut = copied(whole, join(folder, 'cut.db'))
    truncateSync(`${cut}-wal`, 100)
    expect(statSync(cut).size).toBeLessThan(5_000)
    const url = `sqlite:${cut}`
    const readers = [inspectStore, (it: string) => backupStore(it, join(folder, 'copy.db'))]
    for (const read of readers)
      await expect(read(url)).rejects.toMatchObject({
        code: 'store_data_loss',
        details: { anchored: 3, lastGood: 0 },
      })
    expect(existsSync(join(folder, 'copy.db'))).toBe(false)
    expect(await verifyStore(url)).toMatchObject({
      ok: false,
      faults: [{ what: 'anchor', where: 'commit 3' }],
      anchored: 3,
    })
  })

  test('an anchor that is behind, missing or empty says nothing against the store', async () => {
    const folder = scratchFolder()
    const path = await killed(folder, 3)
    const behind = readFileSync(`${path}-anchor`)
    const store = await open(path)
    await store.write(submission(4))
    await store.close()
    for (const spoil of [
      (copy: string) => writeFileSync(`${copy}-anchor`, behind),
      (copy: string) => rmSync(`${copy}-anchor`),
      (copy: string) => writeFileSync(`${copy}-anchor`, ''),
      (copy: string) => writeFileSync(`${copy}-anchor`, Buffer.alloc(2_048)),
      (copy: string) => truncateSync(`${copy}-anchor`, 300),
    ]) {
      const copy = copied(path, join(folder, 'copy.db'))
      spoil(copy)
      await (await open(copy)).close()
      expect(readAnchor(copy)).toMatchObject({ commit: 4 })
    }
  })

  test('an anchor that cannot be read is reported, and the store is left as it is: it may lack its last commits', async () => {
    const folder = scratchFolder()
    const path = await killed(folder, 3)
    for (const [index, text] of [
      'ku0.anchor.1 nonsense\n'.repeat(50),
      '\u0007'.repeat(2_048),
      'x',
    ].entries()) {
      const copy = copied(path, join(folder, `copy ${index}.db`))
      const url = `sqlite:${copy}`
      writeFileSync(`${copy}-anchor`, text)
      const refused = {
        code: 'store_corrupt',
        message: expect.stringMatching(
          /^.*-anchor is damaged.* restore a backup; or remove the anchor to continue with what is there$/,
        ) as string,
      }
      await expect(open(copy)).rejects.toMatchObject(refused)
      await expect(backupStore(url, join(folder, 'backup.db'))).rejects.toMatchObject(refused)
      expect(readFileSync(`${copy}-anchor`, 'utf8')).toBe(text)
      expect(await verifyStore(url)).toMatchObject({
        ok: false,
        anchored: null,
        faults: [{ what: 'anchor' }],
      })
      expect(await inspectStore(url)).toMatchObject({
        ok: false,
        anchor: { commit: null, isDamaged: true },
        problems: expect.arrayContaining([
          expect.objectContaining({
            level: 'error',
            message: expect.stringContaining('-anchor is damaged') as string,
          }),
        ]) as unknown,
      })
      rmSync(`${copy}-anchor`)
      await (await open(copy)).close()
    }
  })

  test('the anchor counts changes without events, such as a schedule, too', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'killed.db')
    const child = await ChildStore.open({ path })
    child.send(submission(1))
    await child.heard(({ answer }) => answer !== undefined, 1)
    const { size } = statSync(`${path}-wal`)
    child.send({ kind: 'registerWorkers', workers: [{ workerId: 'w', capacity: 1, types: ['*'] }] })
    await child.heard(({ answer }) => answer !== undefined, 2)
    await child.kill()
    truncateSync(`${path}-wal`, size)
    expect((await refusal(path)).details).toMatchObject({ kind: 'lost_tail', anchored: 2, lastGood: 1 })
  })
})

describe('a store that is opened although commits are missing', () => {
  test('goes on from the last good one, says so, keeps a record of it, and opens again without being asked', async () => {
    const folder = scratchFolder()
    const path = await killed(folder, acknowledged)
    truncateSync(`${path}-wal`, statSync(`${path}-wal`).size - frame)
    const { details } = await refusal(path)
    const store = await open(path, { acceptLoss: true })
    expect(store.info.acceptedLoss).toEqual({
      kind: 'lost_tail',
      anchored: acknowledged,
      lastGood: acknowledged - 1,
      lastGoodAt: details['lastGoodAt'],
    })
    await store.write(submission(1))
    await store.close()
    expect(readAnchor(path)).toMatchObject({ commit: acknowledged })
    const again = await open(path)
    expect(again.info.acceptedLoss).toBeUndefined()
    expect(await again.read({ kind: 'stats' })).toMatchObject({ totals: { submitted: acknowledged } })
    await again.close()
    const db = new Database(path, { readonly: true })
    const record = db.prepare("SELECT value FROM meta WHERE key = 'accepted_losses'").pluck().get() as string
    expect(JSON.parse(record)).toMatchObject([{ kind: 'lost_tail', lastGood: acknowledged - 1 }])
    db.close()
  })

  test('is a new incarnation: an id that was lost is never given again, also when the first start breaks off', async () => {
    const path = join(scratchFolder(), 'killed.db')
    const child = await ChildStore.open({ path })
    const given: string[] = []
    for (const n of [1, 2, 3]) {
      child.send(submission(n))
      const { answer } = await child.heard((line) => line.answer !== undefined, n)
      given.push((answer as readonly { readonly taskId: string }[])[0]!.taskId)
    }
    await child.kill()
    truncateSync(`${path}-wal`, statSync(`${path}-wal`).size - frame)
    const anchor = readFileSync(`${path}-anchor`)
    await (await open(path, { acceptLoss: true })).close()
    // As where it was killed before it had an anchor of its own: the loss is still to be accepted, and then all is as before.
    writeFileSync(`${path}-anchor`, anchor)
    expect((await refusal(path)).details).toMatchObject({ kind: 'lost_tail', anchored: 3, lastGood: 2 })
    const store = await open(path, { acceptLoss: true })
    const [receipt] = await store.write(submission(4))
    const isThere = async (taskId = '') => (await store.read({ kind: 'task', taskId })) !== undefined
    expect(await Promise.all(given.map(isThere))).toEqual([true, true, false])
    expect([given.includes(receipt!.taskId), await isThere(receipt!.taskId)]).toEqual([false, true])
    await store.close()
    const db = new Database(path, { readonly: true })
    const past = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'incarnations'").pluck().get()
    db.close()
    expect(JSON.parse(past ?? '')).toMatchObject([{ tasks: 2, leases: 0 }])
    expect(await verifyStore(`sqlite:${path}`)).toMatchObject({ ok: true, faults: [] })
  })

  test('stays closed where the record of earlier losses cannot be read, which would be gone', async () => {
    const path = await killed(scratchFolder(), acknowledged)
    const db = new Database(path)
    db.exec("INSERT INTO meta VALUES ('accepted_losses', '{}')")
    db.exec(`DELETE FROM journal WHERE number = ${acknowledged}`)
    db.close()
    expect(await outcome(path, { acceptLoss: true })).toMatchObject({
      code: 'store_corrupt',
      message: `${path}: the record of accepted losses is damaged; run verify to see where, and restore a backup`,
    })
  })

  test('where nothing is missing the option changes nothing', async () => {
    const path = await killed(scratchFolder(), 2)
    const store = await open(path, { acceptLoss: true })
    expect(store.info.acceptedLoss).toBeUndefined()
    await store.close()
  })

  test('a store that lost its last commits in a power loss, as durability `normal` says it may, needs no option', async () => {
    const path = join(scratchFolder(), 'it.db')
    const boot = (bootId: string): OpenStoreOptions => ({
      environment: { ...createVirtualEnvironment(bootId), digest: nodeDigest },
      durability: 'normal',
    })
    // It was written in another boot: the anchor outlived a log that nobody had synced.
    const child = await ChildStore.open({ path })
    child.send(submission(1))
    child.send(submission(2))
    await child.heard(({ answer }) => answer !== undefined, 2)
    await child.kill()
    truncateSync(`${path}-wal`, statSync(`${path}-wal`).size - frame)
    expect((await refusal(path)).code).toBe('store_data_loss')
    const store = await open(path, boot('later'))
    expect(store.info.acceptedLoss).toMatchObject({ kind: 'lost_tail', anchored: 2, lastGood: 1 })
    await store.close()
  })
})

describe('a database that is not the one that its anchor names', () => {
  async function closed(path: string, submissions: number): Promise<string> {
    const store = await open(path)
    for (let n = 1; n <= submissions; n++) await store.write(submission(n))
    await store.close()
    return path
  }

  test('an anchor that is gone is not made again in silence', async () => {
    const path = await closed(join(scratchFolder(), 'it.db'), 2)
    rmSync(path)
    const error = await refusal(path)
    expect([error.code, error.details['kind'], existsSync(path)]).toEqual([
      'store_data_loss',
      'other_store',
      false,
    ])
    expect(error.message).toContain(`remove ${path}-anchor`)
    rmSync(`${path}-anchor`)
    await (await open(path)).close()
  })

  test('an anchor that nothing was written to is made again', async () => {
    const path = await closed(join(scratchFolder(), 'it.db'), 0)
    rmSync(path)
    await (await open(path)).close()
    expect([existsSync(path), readAnchor(path)?.commit]).toEqual([true, 0])
  })

  test('another store under its name', async () => {
    const folder = scratchFolder()
    const path = await closed(join(folder, 'it.db'), 2)
    copyFileSync(await closed(join(folder, 'other.db'), 5), path)
    expect((await refusal(path)).details).toMatchObject({ kind: 'other_store', anchored: 2, lastGood: 0 })
  })

  test('an older copy of itself, which then went on: the commits differ', async () => {
    const folder = scratchFolder()
    const path = await closed(join(folder, 'it.db'), 3)
    const older = join(folder, 'older.db')
    copyFileSync(path, older)
    await closed(path, 2)
    expect(readAnchor(path)).toMatchObject({ commit: 5 })
    await closed(older, 4)
    copyFileSync(older, path)
    expect((await refusal(path)).details).toMatchObject({
      kind: 'other_history',
      anchored: 5,
      lastGood: 4,
    })
  })

  test('a database of another program is refused as that', async () => {
    const path = await closed(join(scratchFolder(), 'it.db'), 2)
    rmSync(path)
    const db = new Database(path)
    db.exec('CREATE TABLE diary (day TEXT)')
    db.close()
    expect((await refusal(path)).code).toBe('store_not_a_database')
  })

  test('a link and its file have one anchor', async () => {
    const folder = scratchFolder()
    symlinkSync('real.db', join(folder, 'link.db'))
    await closed(join(folder, 'link.db'), 2)
    expect([existsSync(join(folder, 'link.db-anchor')), readAnchor(join(folder, 'real.db'))?.commit]).toEqual(
      [false, 2],
    )
  })
})

describe('the anchor of an open store', () => {
  test('is the last commit before that is acknowledged, whichever process it is of', async () => {
    const path = join(scratchFolder(), 'it.db')
    const stores = [await open(path), await open(path), await open(path)]
    for (let n = 1; n <= 40; n++) {
      await stores[n % 3]?.write(submission(n))
      expect(readAnchor(path)?.commit).toBe(n)
    }
    for (const store of stores) await store.close()
    expect(readAnchor(path)).toMatchObject({ commit: 40, durability: 'full' })
  })

  test('an anchor is made again within a second of its removal', async () => {
    const environment = { ...createVirtualEnvironment('removed'), digest: nodeDigest }
    const path = join(scratchFolder(), 'it.db')
    const store = await openStore(`sqlite:${path}`, { environment })
    const scene = new Scene(store, parseExecutionConfig().config, environment.clock, { digest: nodeDigest })
    await scene.submit()
    await scene.pass(2_000)
    rmSync(`${path}-anchor`)
    await scene.submit()
    await scene.pass(1_500)
    expect(readAnchor(path)).toMatchObject({ commit: 2 })
    await store.close()
  })

  test.each([
    ['full', 5],
    ['normal', 0],
  ] as const)('with durability %s: synced %i times in five seconds of commits', async (durability, times) => {
    const environment = { ...createVirtualEnvironment('synced'), digest: nodeDigest }
    const path = join(scratchFolder(), 'it.db')
    const store = await openStore(`sqlite:${path}`, { environment, durability })
    const scene = new Scene(store, parseExecutionConfig().config, environment.clock, { digest: nodeDigest })
    const real = fs.fdatasyncSync
    let synced = 0
    onTestFinished(() => {
      fs.fdatasyncSync = real
      syncBuiltinESMExports()
    })
    fs.fdatasyncSync = (file) => {
      synced += 1
      real(file)
    }
    syncBuiltinESMExports()
    // SQLite syncs its own files by itself.
    for (let n = 0; n < 20; n += 1) {
      await scene.submit()
      await scene.pass(250)
    }
    await store.close()
    expect(Math.abs(synced - times)).toBeLessThanOrEqual(times === 0 ? 0 : 1)
  })

  test('a store in memory has none, and a store that may not write it is not opened', async () => {
    const memory = await openStore('sqlite::memory:', { thread: false })
    await memory.close()
    expect(existsSync(':memory:-anchor')).toBe(false)
    const path = join(scratchFolder(), 'it.db')
    await (await open(path)).close()
    rmSync(`${path}-anchor`)
    symlinkSync('nowhere/at/all', `${path}-anchor`)
    expect((await refusal(path)).message).toMatch(/^.*it\.db-anchor cannot be written/)
  })
})
