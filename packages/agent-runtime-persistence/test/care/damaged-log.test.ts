import { copyFileSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type StoreError } from '@ku0/agent-runtime-core'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { draws, everyNth } from '../../../../tools/draws.ts'
import { backupStore, inspectStore, openStore, type OpenStoreOptions, verifyStore } from '../../src/index.ts'
import { damageIn } from '../../src/sqlite/log-damage.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

const open = (path: string, options: OpenStoreOptions = {}) =>
  openStore(`sqlite:${path}`, { thread: false, ...options })
const codeOf = (path: string) =>
  open(path).then(
    (store) => store.close().then(() => 'opened'),
    ({ code }: StoreError) => code,
  )
const submission = { kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] } as const
const acknowledged = 10

/** What a process that was killed left in the database and in its log. */
let remains: { readonly database: Buffer; readonly log: Buffer } | undefined

/** The files of a store, without its anchor, whose process was killed after so many commits. */
async function killed(folder: string): Promise<string> {
  const path = join(folder, 'killed.db')
  if (remains === undefined) {
    await kill(path)
    remains = { database: readFileSync(path), log: readFileSync(`${path}-wal`) }
  } else {
    writeFileSync(path, remains.database)
    writeFileSync(`${path}-wal`, remains.log)
  }
  return path
}

async function kill(path: string): Promise<void> {
  const child = await ChildStore.open({ path })
  for (let n = 1; n <= acknowledged; n++) {
    child.send(submission)
    await child.heard(({ answer }) => answer !== undefined, n)
  }
  await child.kill()
  rmSync(`${path}-anchor`)
}

function copied(from: string, to: string, change: (log: Buffer) => Buffer | void = () => undefined): string {
  copyFileSync(from, to)
  const log = readFileSync(`${from}-wal`)
  writeFileSync(`${to}-wal`, change(log) ?? log)
  return to
}

const flipped = (at: number) => (log: Buffer) => void (log[at] = (log[at] ?? 0) ^ 0x10)
/** A frame of the log: 24 bytes of its own and a page; the log begins with 32. */
const frameBytes = 24 + 4_096
const frameAt = (frame: number) => 32 + (frame - 1) * frameBytes
const framesIn = (path: string) => (statSync(`${path}-wal`).size - 32) / frameBytes

/** The last frame of each transaction in a log that is whole, from 1. */
function ends(path: string): readonly number[] {
  const log = readFileSync(`${path}-wal`)
  const frames = Array.from({ length: framesIn(path) }, (_, index) => index + 1)
  return frames.filter((frame) => log.readUInt32BE(frameAt(frame) + 4) > 0)
}

/** A copy with a changed byte in the page of a frame that four transactions come behind. */
function damaged(from: string, to: string): string {
  return copied(from, to, flipped(frameAt((ends(from).at(-6) ?? 0) + 1) + 500))
}

describe('T6 a log that is damaged, without its anchor (docs/reliability.md T6)', () => {
  test(
    'a changed byte is found wherever two whole transactions come behind it',
    { timeout: 120_000 },
    async () => {
      const folder = scratchFolder()
      const path = await killed(folder)
      expect(damageIn(path)).toBeUndefined()
      const told = ends(path).at(-3) ?? 0
      expect(told).toBeGreaterThan(20)
      // The header, then each part of a frame: page, size, salt, checksum, and the page itself.
      const places = [1, 9, 17, 25]
      for (let frame = 1; frame <= told; frame += 2)
        for (const at of [1, 5, 9, 14, 17, 22, 24 + frame * 7]) places.push(frameAt(frame) + at)
      const copy = join(folder, 'copy.db')
      for (const at of everyNth(places, draws(24, 4, 1))) {
        const damage = damageIn(copied(path, copy, flipped(at)))
        expect([at, damage?.frame]).toEqual([at, at < 32 ? 0 : Math.floor((at - 32) / frameBytes) + 1])
        expect(damage?.commits).toBeGreaterThan(0)
      }
    },
  )

  test('the store is refused, left as it is, and opened by whoever accepts the loss', async () => {
    const folder = scratchFolder()
    const path = damaged(await killed(folder), join(folder, 'copy.db'))
    const before = readFileSync(`${path}-wal`)
    const error = await open(path).catch((refusal: StoreError) => refusal)
    expect(error).toMatchObject({
      code: 'store_data_loss',
      message: expect.stringMatching(
        /copy\.db-wal is damaged: the store ends with .*and \d+ transactions after the damage are lost\..*acceptLoss: true to continue with what is left$/,
      ) as string,
      details: { kind: 'damaged_log', lastGood: expect.any(Number) as number },
    })
    expect(readFileSync(`${path}-wal`).equals(before)).toBe(true)

    const store = await open(path, { acceptLoss: true })
    expect(store.info.acceptedLoss).toMatchObject({ kind: 'damaged_log' })
    await store.write(submission)
    // As whoever is killed now leaves it: what was lost is told no more.
    copied(path, join(folder, 'later.db'))
    await store.close()
    expect(await codeOf(join(folder, 'later.db'))).toBe('opened')
  })

  test('verify, doctor and backup report it', async () => {
    const folder = scratchFolder()
    const path = damaged(await killed(folder), join(folder, 'copy.db'))
    const url = `sqlite:${path}`
    const { ok, faults } = await verifyStore(url)
    expect([ok, faults.map(({ what, where }) => [what, where])]).toEqual([false, [['file', 'log']]])
    const { problems } = await inspectStore(url)
    expect(problems.filter(({ level }) => level === 'error').map(({ message }) => message)).toEqual([
      expect.stringContaining('-wal is damaged'),
    ])
    await expect(backupStore(url, join(folder, 'backup.db'))).rejects.toMatchObject({
      code: 'store_data_loss',
      details: { kind: 'damaged_log' },
    })
    expect(existsSync(join(folder, 'backup.db'))).toBe(false)
  })

  test(
    'one that is cut anywhere, or whose last transaction was torn, opens: a power loss leaves that, too',
    { timeout: 120_000 },
    async () => {
      const folder = scratchFolder()
      const path = await killed(folder)
      const last = ends(path).at(-2) ?? 0
      const copy = join(folder, 'copy.db')
      for (let frame = 1; frame <= framesIn(path); frame += draws(24, 6, 2))
        for (const at of [0, 10, 24, 2_000]) {
          copied(path, copy, (log) => log.subarray(0, frameAt(frame) + at))
          expect([frame, at, damageIn(copy)]).toEqual([frame, at, undefined])
        }
      for (let frame = last + 1; frame <= framesIn(path); frame++) {
        copied(path, copy, flipped(frameAt(frame) + 700))
        expect([frame, damageIn(copy)]).toEqual([frame, undefined])
      }
      expect(await codeOf(copy)).toBe('opened')
    },
  )
})

/** A database whose log is written by hand, and copies of it as they are while it is open. */
function written(folder: string) {
  const path = join(folder, 'it.db')
  const db = new Database(path)
  onTestFinished(() => void db.close())
  db.pragma('journal_mode = WAL')
  db.pragma('wal_autocheckpoint = 0')
  db.exec('CREATE TABLE t (value)')
  const insert = db.prepare('INSERT INTO t VALUES (?)')
  /** One transaction of some more than so many frames. */
  const commit = (pages: number) =>
    db.transaction(() => {
      for (let n = 0; n < pages; n++) insert.run('x'.repeat(3_000))
    })()
  return { db, commit, copy: (name: string) => copied(path, join(folder, name)) }
}

describe('a log that holds frames behind its end, and lost nothing', () => {
  test('commits of an earlier round, after the log began again', () => {
    const { db, commit, copy } = written(scratchFolder())
    for (let n = 0; n < 10; n++) commit(3)
    db.pragma('wal_checkpoint(RESTART)')
    for (let n = 0; n < 4; n++) commit(1)
    const path = copy('begun-anew.db')
    expect(ends(path).length).toBeGreaterThan(10)
    expect(damageIn(path)).toBeUndefined()
  })

  /** The log that one process left who was killed before its transaction counted, overwritten by a shorter one of another. */
  async function overwritten(first: readonly number[]): Promise<string> {
    const folder = scratchFolder()
    const { commit, copy } = written(folder)
    commit(3)
    const start = copy('start.db')
    const left = { db: new Database(start), path: start }
    left.db.pragma('wal_autocheckpoint = 0')
    const insert = left.db.prepare('INSERT INTO t VALUES (?)')
    for (const pages of first)
      left.db.transaction(() => {
        for (let n = 0; n < pages; n++) insert.run('y'.repeat(3_000))
      })()
    const old = readFileSync(`${start}-wal`)
    left.db.close()
    commit(2)
    const path = copy('overwritten.db')
    const log = readFileSync(`${path}-wal`)
    expect(old.length).toBeGreaterThan(log.length + 2 * frameBytes)
    expect(old.subarray(0, 32).equals(log.subarray(0, 32))).toBe(true)
    writeFileSync(`${path}-wal`, Buffer.concat([log, old.subarray(log.length)]))
    return path
  }

  test('commits of a transaction that nobody had seen committed', async () => {
    expect(damageIn(await overwritten([12]))).toBeUndefined()
  })

  test('two transactions that go on from each other were committed', async () => {
    expect(damageIn(await overwritten([12, 4]))).toMatchObject({ commits: 2 })
  })
})
