import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { backupStore, inspectStore, openStore, verifyStore } from '../../src/index.ts'
import { storeErrorOf } from '../../src/sqlite/errors.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

/** The rights that a process gives, which leaves all of them to everybody unless its umask says otherwise. */
function rightsOf(path: string, umask = '0'): string[] {
  const program = join(import.meta.dirname, '../fixtures/file-rights.ts')
  const { stdout, stderr } = spawnSync(
    'sh',
    ['-c', `umask ${umask}; exec "$0" "$@"`, process.execPath, program, path],
    {
      encoding: 'utf8',
    },
  )
  expect(stderr).toBe('')
  return stdout.trim().split('\n')
}

test('X11 a new store is its owner’s alone, whatever the umask: the file, its log, and the folder of locks', () => {
  expect(rightsOf(join(scratchFolder(), 'it.db'))).toEqual([
    'it.db 600',
    'it.db-anchor 600',
    'it.db-owners 700',
    'it.db-shm 600',
    'it.db-wal 600',
    'lock 600',
  ])
})

test('X11 a file that is there keeps the rights it has', () => {
  const path = join(scratchFolder(), 'it.db')
  writeFileSync(path, '')
  chmodSync(path, 0o640)
  expect(rightsOf(path)).toEqual([
    'it.db 640',
    'it.db-anchor 640',
    'it.db-owners 750',
    'it.db-shm 640',
    'it.db-wal 640',
    'lock 640',
  ])
})

/** A user of no group but this one, as far as the process itself can tell: what the system says is as it was. */
function becomeUser(user: number, group: number): void {
  const real = { geteuid: process.geteuid, getegid: process.getegid, getgroups: process.getgroups }
  onTestFinished(() => void Object.assign(process, real))
  Object.assign(process, { geteuid: () => user, getegid: () => group, getgroups: () => [] })
}

const stranger = 54_321

/** A store that nobody has open, of the user who runs the tests. */
async function closedStore(mode: number): Promise<string> {
  const path = join(scratchFolder(), 'it.db')
  const store = await openStore(`sqlite:${path}`, { thread: false })
  await store.close()
  chmodSync(path, mode)
  return path
}

test('X11 a user whose files would lock its owner out of a closed store is refused, and leaves none', async () => {
  const path = await closedStore(0o640)
  const before = readdirSync(dirname(path))
  becomeUser(stranger, statSync(path).gid)
  const { uid } = statSync(path)
  const refusal = {
    code: 'store_read_only',
    message: `no process has ${path} open, and reading it as user ${stranger} would leave files beside it that its owner, user ${uid}, may not write; run this as user ${uid}, or while a process has the store open`,
  }
  const url = `sqlite:${path}`
  await expect(verifyStore(url)).rejects.toMatchObject(refusal)
  await expect(inspectStore(url)).rejects.toMatchObject(refusal)
  await expect(backupStore(url, `${path}.copy`)).rejects.toMatchObject(refusal)
  expect(readdirSync(dirname(path))).toEqual(before)
})

test('X11 a user whose files its owner may write reads a closed store: one of its group, where the group may write', async () => {
  const path = await closedStore(0o660)
  chmodSync(dirname(path), 0o700)
  becomeUser(stranger, statSync(path).gid)
  expect(await verifyStore(`sqlite:${path}`)).toMatchObject({ ok: true })
  const other = await closedStore(0o660)
  becomeUser(stranger, statSync(other).gid + 1)
  await expect(verifyStore(`sqlite:${other}`)).rejects.toMatchObject({ code: 'store_read_only' })
})

test('X11 a user who may only read verifies a store that is open, and a backup, which has no log', async () => {
  const path = await closedStore(0o640)
  await backupStore(`sqlite:${path}`, `${path}.copy`)
  const store = await openStore(`sqlite:${path}`, { thread: false })
  becomeUser(stranger, statSync(path).gid)
  expect(await verifyStore(`sqlite:${path}`)).toMatchObject({ ok: true })
  expect(await verifyStore(`sqlite:${path}.copy`)).toMatchObject({ ok: true })
  expect(existsSync(`${path}.copy-wal`)).toBe(false)
  await store.close()
})

test('X11 a store that the files of another user keep from being written says which, whose, and what to do', async () => {
  const path = await closedStore(0o666)
  writeFileSync(`${path}-wal`, '', { mode: 0o600 })
  writeFileSync(`${path}-shm`, '', { mode: 0o640 })
  const { uid, gid } = statSync(path)
  becomeUser(stranger, gid)
  for (const code of ['SQLITE_READONLY', 'SQLITE_CANTOPEN'])
    expect(storeErrorOf(Object.assign(new Error('no'), { code }), path)).toMatchObject({
      code: 'store_read_only',
      message: `${path} cannot be written: user ${stranger} may not write ${path}-wal (user ${uid}, mode 600) and ${path}-shm (user ${uid}, mode 640); keep these files, because the log may hold commits, and give them to the owner of the database: chown ${uid}:${gid} ${path}-wal ${path}-shm`,
    })
})

test('X11 a user who may write a file that is there may write all files beside it, whatever the umask', () => {
  const path = join(scratchFolder(), 'it.db')
  writeFileSync(path, '')
  chmodSync(path, 0o664)
  const expected = [
    'it.db 664',
    'it.db-anchor 664',
    'it.db-owners 775',
    'it.db-shm 664',
    'it.db-wal 664',
    'lock 664',
  ]
  expect(rightsOf(path, '077')).toEqual(expected)
})

const isRoot = process.getuid?.() === 0

test('X11 a file beside another one has its group, and a file that root makes there has its owner', async () => {
  const path = join(scratchFolder(), 'it.db')
  writeFileSync(path, '')
  const own = statSync(path)
  // Root gives a file to anybody, others to the groups that they are in: who is in one only sees no difference.
  const group = isRoot ? stranger : process.getgroups?.().find((it) => it !== own.gid)
  chownSync(path, isRoot ? stranger : own.uid, group ?? own.gid)
  const store = await openStore(`sqlite:${path}`, { thread: false })
  const owners = `${path}-owners`
  const locks = readdirSync(owners).map((name) => join(owners, name))
  expect(locks).not.toEqual([])
  const { uid, gid } = statSync(path)
  for (const file of [`${path}-anchor`, owners, ...locks])
    expect([file, statSync(file)]).toMatchObject([file, { uid, gid }])
  await store.close()
})

test('X11 root reads a closed store of another user: what SQLite makes then is that user’s', async () => {
  const path = await closedStore(0o600)
  if (isRoot) chownSync(path, stranger, stranger)
  becomeUser(0, 0)
  expect(await verifyStore(`sqlite:${path}`)).toMatchObject({ ok: true })
  const { uid } = statSync(path)
  expect(['-wal', '-shm'].map((suffix) => statSync(path + suffix).uid)).toEqual([uid, uid])
})
