import { spawnSync } from 'node:child_process'
import fs, {
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { StoreError } from '@ku0/agent-runtime-core'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { backupStore, inspectStore, openStore, verifyStore } from '../../src/index.ts'
import { assertOurs, openDatabase } from '../../src/sqlite/open.ts'
import { applicationId, schemaVersion } from '../../src/sqlite/schema.ts'
import { goodStore } from '../helpers/good-store.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'

const open = (path: string) =>
  openStore(`sqlite:${path}`, { environment: { ...createVirtualEnvironment('bad'), digest: nodeDigest } })

async function refusal(path: string): Promise<StoreError> {
  const error: unknown = await open(path).then(
    () => 'it was opened',
    (caught: unknown) => caught,
  )
  expect(error).toBeInstanceOf(StoreError)
  return error as StoreError
}

/** Everything in a folder, by name, with its bytes. */
function contents(folder: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(folder).map((name) => {
      const path = join(folder, name)
      return [name, lstatSync(path).isFile() ? readFileSync(path).toString('base64') : 'no file']
    }),
  )
}

describe('a file that is no store is refused with its path and what to do, and left as it is (docs/reliability.md D06, D12)', () => {
  const cases: readonly [string, string, (path: string) => void][] = [
    ['text', 'store_not_a_database', (path) => writeFileSync(path, 'dear diary\n'.repeat(1_000))],
    ['a few bytes', 'store_not_a_database', (path) => writeFileSync(path, 'x')],
    ['random bytes', 'store_not_a_database', (path) => writeFileSync(path, Buffer.alloc(8_192, 0xa5))],
    [
      'a database of another program',
      'store_not_a_database',
      (path) => {
        const db = new Database(path)
        db.exec('CREATE TABLE diary (day TEXT, entry TEXT); INSERT INTO diary VALUES (1, 2)')
        db.close()
      },
    ],
    [
      'a database of another program in WAL mode',
      'store_not_a_database',
      (path) => {
        const db = new Database(path)
        db.pragma('journal_mode = WAL')
        db.exec('CREATE TABLE diary (day TEXT)')
        db.close()
      },
    ],
    [
      'an empty database that another program has marked as its own',
      'store_not_a_database',
      (path) => {
        const db = new Database(path)
        db.pragma('application_id = 4711')
        db.close()
      },
    ],
    [
      'a store of a later version',
      'store_newer',
      (path) => {
        const db = new Database(path)
        db.exec('CREATE TABLE unheard_of (x)')
        db.pragma(`application_id = ${applicationId}`)
        db.pragma(`user_version = ${schemaVersion + 1}`)
        db.close()
      },
    ],
    ['a folder', 'store_not_a_database', (path) => mkdirSync(path)],
    ['a link to a folder', 'store_not_a_database', (path) => symlinkSync('.', path)],
    ['a folder where the log belongs', 'store_not_a_database', (path) => mkdirSync(`${path}-wal`)],
    ['a named pipe', 'store_not_a_database', (path) => void spawnSync('mkfifo', [path])],
  ]
  test.each(cases)('%s: %s', async (_, code, make) => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    make(path)
    const before = contents(folder)
    const error = await refusal(path)
    expect([error.code, error.message.includes(path), error.message.includes('\n')]).toEqual([
      code,
      true,
      false,
    ])
    expect(contents(folder)).toEqual(before)
  })

  test.each([' ', '\n', '\t', '\u00a0'])(
    'a name that ends in %j, which the driver would cut off: nothing is made',
    async (end) => {
      const folder = scratchFolder()
      const url = `sqlite:${join(folder, 'it.db')}${end}`
      const refused = {
        code: 'invalid_argument',
        message: expect.stringContaining('must not end in white space') as string,
      }
      await expect(open(url.slice('sqlite:'.length))).rejects.toMatchObject(refused)
      symlinkSync(`it.db${end}`, join(folder, 'link.db'))
      await expect(open(join(folder, 'link.db'))).rejects.toMatchObject(refused)
      expect(readdirSync(folder)).toEqual(['link.db'])
      // Somebody else may have made such a file.
      writeFileSync(join(folder, `it.db${end}`), '')
      await goodStore(join(folder, 'it.db'))
      await expect(verifyStore(url)).rejects.toMatchObject(refused)
    },
  )

  test('a file with two names is refused by both, with the reason: each would have a log of its own', async () => {
    const folder = scratchFolder()
    const [path, other] = [join(folder, 'it.db'), join(folder, 'other.db')]
    await goodStore(path)
    linkSync(path, other)
    const before = contents(folder)
    for (const name of [path, other]) {
      const error = await refusal(name)
      expect(error.code).toBe('store_not_durable')
      expect(error.message).toContain(`${name} has 2 names (hard links)`)
    }
    expect(contents(folder)).toEqual(before)
    expect(await inspectStore(`sqlite:${path}`)).toMatchObject({
      ok: false,
      problems: expect.arrayContaining([
        expect.objectContaining({ level: 'error', message: expect.stringContaining('2 names') as string }),
      ]) as unknown,
    })
    rmSync(other)
    await (await open(path)).close()
  })

  test('a few bytes, or none: whoever only reads says the same as whoever opens', async () => {
    const path = join(scratchFolder(), 'it.db')
    const readers = [inspectStore, (url: string) => backupStore(url, `${path}-copy`)]
    for (const [bytes, error] of [
      [
        'x',
        { code: 'store_not_a_database', message: `${path} is not a SQLite database; choose another file` },
      ],
      ['', { code: 'not_found', message: expect.stringContaining('the file is empty') as string }],
    ] as const) {
      writeFileSync(path, bytes)
      for (const read of readers) await expect(read(`sqlite:${path}`)).rejects.toMatchObject(error)
      expect(readFileSync(path, 'utf8')).toBe(bytes)
    }
    // An empty file may be what is left of a store.
    expect(await verifyStore(`sqlite:${path}`)).toMatchObject({ ok: false, faultCount: 1 })
    writeFileSync(path, 'x')
    await expect(verifyStore(`sqlite:${path}`)).rejects.toMatchObject({ code: 'store_not_a_database' })
  })

  test('a missing folder: it is named, and not made', async () => {
    const folder = join(scratchFolder(), 'not', 'there')
    const error = await refusal(join(folder, 'it.db'))
    expect([error.code, error.message.includes(folder)]).toEqual(['store_folder_missing', true])
  })

  test.each([
    ['NUL', 'a\0b.db'],
    ['too long', `${'x'.repeat(300)}.db`],
  ])('a name that no file can have: %s', async (_, name) => {
    const error = await refusal(join(scratchFolder(), name))
    expect([error.code, error.message.includes('cannot be opened')]).toEqual(['store_read_only', true])
  })

  test('a link into a missing folder: the folder is named', async () => {
    const folder = scratchFolder()
    symlinkSync('gone/real.db', join(folder, 'link.db'))
    const error = await refusal(join(folder, 'link.db'))
    expect([error.code, error.message.includes(join(folder, 'gone'))]).toEqual(['store_folder_missing', true])
  })

  test('a file where the locks of processes belong', async () => {
    const path = join(scratchFolder(), 'it.db')
    writeFileSync(`${path}-owners`, '')
    const error = await refusal(path)
    expect([error.code, error.message.includes(`${path}-owners`)]).toEqual(['store_read_only', true])
  })

  test.each([
    ['table', 'DROP TABLE totals', '(totals.id)'],
    ['column', 'ALTER TABLE lease DROP COLUMN progress', '(lease.progress)'],
  ])('a store that lacks a %s', async (_, change, named) => {
    const path = join(scratchFolder(), 'it.db')
    await goodStore(path)
    const db = new Database(path)
    db.exec(change)
    db.close()
    const error = await refusal(path)
    expect([error.code, error.message.includes(path), error.message.includes(named)]).toEqual([
      'store_schema',
      true,
      true,
    ])
  })

  test('a store that another process makes just now is no database of another program', () => {
    const path = join(scratchFolder(), 'it.db')
    const db = new Database(path)
    db.pragma('journal_mode = WAL')
    const look = db.pragma.bind(db)
    db.pragma = (...args) => {
      db.pragma = look
      const seen = look(...args)
      openDatabase(path, 'full').db.close()
      return seen
    }
    expect(() => assertOurs(db, path)).not.toThrow()
    db.close()
  })

  test('a link and its file are one store: their processes know of each other', async () => {
    const folder = scratchFolder()
    symlinkSync('real.db', join(folder, 'link.db'))
    const stores = [
      await open(join(folder, 'link.db')),
      await openStore(`sqlite:${join(folder, 'real.db')}`, {
        environment: { ...createVirtualEnvironment('other'), digest: nodeDigest },
      }),
    ]
    expect(new Set(stores.map(({ info }) => info.location)).size).toBe(1)
    const locks = readdirSync(join(folder, 'real.db-owners')).filter((name) => name.endsWith('.lock'))
    expect(locks).toHaveLength(2)
    for (const store of stores) await store.close()
  })

  test('a file where a folder should be', async () => {
    const file = join(scratchFolder(), 'file')
    writeFileSync(file, '')
    expect(await refusal(join(file, 'it.db'))).toMatchObject({ code: 'store_folder_missing' })
  })

  test('a missing file is made, and so is a store in an empty one: neither holds anything that could be lost', async () => {
    const folder = scratchFolder()
    const empty = join(folder, 'empty.db')
    closeSync(openSync(empty, 'w'))
    for (const path of [join(folder, 'missing.db'), empty]) {
      const store = await open(path)
      expect(store.info).toMatchObject({ location: path, kind: 'sqlite', durability: 'full', schemaVersion })
      await store.close()
    }
  })

  test('a link to a file is that file', async () => {
    const folder = scratchFolder()
    await goodStore(join(folder, 'real.db'))
    symlinkSync('real.db', join(folder, 'link.db'))
    const store = await open(join(folder, 'link.db'))
    expect((await store.read({ kind: 'tasks', filter: {} })).tasks).toHaveLength(1)
    await store.close()
  })

  const damages: readonly [string, (path: string) => void][] = [
    ['its header overwritten', (path) => overwrite(path, 0, 'not a database')],
    ['cut in the middle', (path) => truncateSync(path, Math.floor(statSync(path).size / 2))],
    [
      'every page but the first zeroed',
      (path) => overwrite(path, 4_096, '\0'.repeat(statSync(path).size - 4_096)),
    ],
  ]
  for (const [what, damage] of damages)
    test(`a store with ${what}: refused, at the latest by the first call, and never acknowledged to`, async () => {
      const path = join(scratchFolder(), 'it.db')
      await goodStore(path)
      damage(path)
      const codes: string[] = []
      try {
        const store = await open(path)
        store.listen({ failed: (error) => void codes.push((error as StoreError).code) })
        await store
          .write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
          .catch((error: StoreError) => codes.push(error.code))
        await store.close()
      } catch (error) {
        codes.push((error as StoreError).code)
      }
      expect(codes.length).toBeGreaterThan(0)
      for (const code of codes)
        expect(['store_not_a_database', 'store_corrupt', 'store_schema']).toContain(code)
    })

  test.each([
    [
      'another boot, whose clock stood elsewhere',
      "UPDATE meta SET value = 'another boot' WHERE key = 'boot_id'; UPDATE meta SET value = value + 3600000 WHERE key = 'boot_offset'",
    ],
    ['no boot', "DELETE FROM meta WHERE key IN ('boot_id', 'boot_offset')"],
  ])('C09 a store of %s opens: its statement of the clock is set again', async (_, sql) => {
    const path = join(scratchFolder(), 'it.db')
    await goodStore(path)
    const db = new Database(path)
    onTestFinished(() => void db.close())
    const clockOf = () =>
      db.prepare("SELECT value FROM meta WHERE key IN ('boot_id', 'boot_offset') ORDER BY key").pluck().all()
    const before = clockOf()
    db.exec(sql)
    expect(clockOf()).not.toEqual(before)
    const store = await open(path)
    expect(clockOf()).toEqual(before)
    expect(await store.read({ kind: 'stats' })).toMatchObject({ totals: { completed: 1 } })
    await store.close()
  })
})

describe('a file system that is no local disk (docs/reliability.md D09)', () => {
  test.each([
    [0x6969, 'NFS'],
    [0xfe534d42, 'SMB'],
  ])('D09 one of the kind %i is refused as %s, and nothing is made on it', async (type, name) => {
    const path = join(scratchFolder(), 'it.db')
    const real = fs.statfsSync
    onTestFinished(() => {
      fs.statfsSync = real
      syncBuiltinESMExports()
    })
    fs.statfsSync = ((folder: string) => Object.assign(real(folder), { type })) as typeof real
    syncBuiltinESMExports()
    const { code, message } = await refusal(path)
    expect([code, message]).toEqual([
      'store_not_durable',
      `${path} is on ${name}, where SQLite's locks do not work between machines; use a local disk`,
    ])
    expect(existsSync(path)).toBe(false)
  })
})

function overwrite(path: string, at: number, text: string): void {
  const file = openSync(path, 'r+')
  writeSync(file, text, at, 'latin1')
  closeSync(file)
}
