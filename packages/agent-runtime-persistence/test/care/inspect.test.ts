import { chmodSync, copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { schemaVersion } from '../../src/sqlite/schema.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { closed, inspect } from './inspect-scene.ts'

/** What is told of a store after somebody was at it. */
async function problemsAfter(spoil: (path: string) => void): Promise<readonly [string, string][]> {
  const path = await closed()
  spoil(path)
  const { problems } = await inspect(path)
  return problems.map(({ level, message }) => [level, message.replaceAll(path, 'PATH')])
}

const change = (path: string, sql: string) => new Database(path).exec(sql).close()

describe('an inspection', () => {
  test('the doctor of a sound store says how it is, and changes nothing', async () => {
    const path = await closed()
    const before = readFileSync(path)
    const found = await inspect(path)
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(found).toMatchObject({
      ok: true,
      path,
      versions: { node: process.versions.node, schema: schemaVersion, schemaKnown: schemaVersion },
      durability: { journalMode: 'wal', synchronous: { full: 2, normal: 1 }, lastWriter: 'full' },
      size: { pageBytes: 4_096, pages: before.length / 4_096 },
      counts: { tasks: 3, running: 0, waiting: 0, commits: 3 },
      clock: { isThisBoot: true },
      processes: [],
      anchor: { commit: 3, isDamaged: false, loss: null },
      acceptedLosses: [],
      problems: [],
    })
    expect(found.files[0]).toEqual({ path, bytes: before.length, mode: '600' })
    expect(Math.abs(found.clock.offsetMs ?? Number.NaN)).toBeLessThan(1_000)
  })

  test('where no scratch database can be made, the settings are untried, and that is no error of the store', async () => {
    const path = await closed()
    const { TMPDIR } = process.env
    onTestFinished(() => {
      if (TMPDIR === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = TMPDIR
    })
    process.env['TMPDIR'] = join(path, 'no folder')
    expect(await inspect(path)).toMatchObject({
      ok: true,
      durability: { synchronous: { full: null, normal: null } },
      problems: [{ level: 'warning', message: expect.stringContaining(join(path, 'no folder')) as string }],
    })
  })

  const offset = "UPDATE meta SET value = value - 20000 WHERE key = 'boot_offset'"
  const cases: readonly [string, string, RegExp, (path: string) => void][] = [
    ['rights of others', 'warning', /access to PATH \(644\)/, (path) => chmodSync(path, 0o644)],
    ['a wall clock that moved', 'warning', /moved by (?:20|19)\d{3} ms/, (path) => change(path, offset)],
    [
      'another journal mode',
      'warning',
      /the journal mode is delete/,
      (path) => {
        const db = new Database(path)
        db.pragma('journal_mode = DELETE')
        db.close()
      },
    ],
    [
      'an anchor of another store',
      'error',
      /is not the store that was here/,
      (path) => change(path, "UPDATE meta SET value = '00000000000000000' WHERE key = 'store_id'"),
    ],
    ['no anchor', 'warning', /there is no PATH-anchor/, (path) => truncateSync(`${path}-anchor`)],
    [
      'a record of accepted losses that is none',
      'error',
      /^the record of accepted losses is damaged$/,
      (path) => change(path, "INSERT INTO meta VALUES ('accepted_losses', '[{}]')"),
    ],
    [
      'a long log',
      'warning',
      /^PATH-wal has 134217729 bytes$/,
      (path) => {
        writeFileSync(`${path}-wal`, '', { mode: 0o600 })
        truncateSync(`${path}-wal`, 128 * 1024 * 1024 + 1)
      },
    ],
  ]
  test.each(cases)('tells %s as %s', async (_, level, message, spoil) => {
    expect(await problemsAfter(spoil)).toEqual([[level, expect.stringMatching(message)]])
  })

  const settings = [
    ['full', 'synchronous = 2', 1, { full: 1, normal: 1 }],
    ['normal', 'synchronous = 1', 0, { full: 2, normal: 0 }],
  ] as const
  test.each(settings)(
    'tells as an error that durability %s is not what this program gets',
    async (durability, asked, gotten, synchronous) => {
      const path = await closed()
      // A driver that was built with another default, and keeps to it.
      const own = Object.getOwnPropertyDescriptor(Database.prototype, 'pragma') as PropertyDescriptor
      onTestFinished(() => void Object.defineProperty(Database.prototype, 'pragma', own))
      Object.defineProperty(Database.prototype, 'pragma', {
        ...own,
        value(source: string, ...options: unknown[]): unknown {
          const pragma = own.value as (...args: unknown[]) => unknown
          return pragma.call(this, source === asked ? `synchronous = ${gotten}` : source, ...options)
        },
      })
      expect(await inspect(path)).toMatchObject({
        ok: false,
        durability: { synchronous },
        problems: [
          {
            level: 'error',
            message: `with durability ${durability} synchronous is ${gotten}, not ${gotten + 1}`,
          },
        ],
      })
    },
  )

  test('a log of a size that is allowed is none of its problems', async () => {
    expect(
      await problemsAfter((path) => {
        writeFileSync(`${path}-wal`, '', { mode: 0o600 })
        truncateSync(`${path}-wal`, 128 * 1024 * 1024)
      }),
    ).toEqual([])
  })

  test.each(['', 'x'])('a process whose offset of the clock cannot be read (%j) has none', async (value) => {
    const path = await closed()
    change(path, `UPDATE meta SET value = '${value}' WHERE key = 'boot_offset'`)
    expect((await inspect(path)).clock.offsetMs).toBeNull()
  })

  test('a process of another boot has no offset of the clock', async () => {
    const path = await closed()
    change(path, "UPDATE meta SET value = 'another' WHERE key = 'boot_id'")
    expect((await inspect(path)).clock).toMatchObject({ isThisBoot: false, offsetMs: null })
  })

  test('a check of nothing is refused', async () => {
    const folder = scratchFolder()
    await expect(inspect(join(folder, 'it.db'))).rejects.toMatchObject({ code: 'not_found' })
    copyFileSync(import.meta.filename, join(folder, 'text.db'))
    await expect(inspect(join(folder, 'text.db'))).rejects.toMatchObject({ code: 'store_not_a_database' })
  })
})
