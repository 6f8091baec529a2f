import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { migrate, openDatabase } from '../../src/sqlite/open.ts'
import { applicationId, migrations, schemaVersion } from '../../src/sqlite/schema.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

const existing = { existing: true, thread: false } as const

test('a store that has to exist is not made', async () => {
  const folder = scratchFolder()
  await expect(openStore(`sqlite:${folder}/it.db`, existing)).rejects.toMatchObject({
    code: 'not_found',
    message: `there is no store at ${folder}/it.db`,
  })
  expect(readdirSync(folder)).toEqual([])
  writeFileSync(join(folder, 'it.db'), '')
  await expect(openStore(`sqlite:${folder}/it.db`, existing)).rejects.toMatchObject({ code: 'not_found' })
  expect(readFileSync(join(folder, 'it.db')).length).toBe(0)
  await expect(openStore('sqlite::memory:', existing)).rejects.toMatchObject({ code: 'invalid_argument' })
})

test('a store that has to exist is not migrated, and is opened when it is of this version', async () => {
  const path = join(scratchFolder(), 'it.db')
  const db = new Database(path)
  for (const { sql } of migrations.slice(0, 3)) db.exec(sql)
  db.pragma(`application_id = ${applicationId}`)
  db.pragma('user_version = 3')
  db.close()
  const before = readFileSync(path)
  await expect(openStore(`sqlite:${path}`, existing)).rejects.toMatchObject({
    code: 'store_schema',
    message: `${path} was made by an older version (schema 3, and this version has ${schemaVersion}): open it once with a worker or a server of this version, which migrates it`,
  })
  expect(readFileSync(path).equals(before)).toBe(true)
  await (await openStore(`sqlite:${path}`, { thread: false })).close()
  const store = await openStore(`sqlite:${path}`, existing)
  expect(await store.read({ kind: 'stats' })).toMatchObject({ totals: { submitted: 0 } })
  await store.close()
})

test('a new store is what all migrations make, also one that is made at once after others of its process', () => {
  const folder = scratchFolder()
  const contentsOf = (db: Database.Database) => {
    // Each opening writes this row.
    const all = (sql: string) =>
      db
        .prepare<[], unknown[]>(sql)
        .raw()
        .all()
        .filter(([key]) => key !== 'opened')
    const tables = all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").flat()
    return {
      made: all('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name'),
      rows: tables.map((table) => [table, all(`SELECT * FROM "${String(table)}"`)]),
      marks: ['application_id', 'user_version'].map((name) => db.pragma(name, { simple: true })),
    }
  }
  const stepped = new Database(join(folder, 'stepped.db'))
  migrate(stepped, 'stepped.db', [...migrations])
  const expected = contentsOf(stepped)
  stepped.close()
  expect(expected.rows.length).toBeGreaterThan(20)
  for (const name of ['first.db', 'second.db', 'third.db', ':memory:']) {
    const { db } = openDatabase(name === ':memory:' ? name : join(folder, name), 'full')
    expect(contentsOf(db)).toEqual(expected)
    db.close()
  }
})
