import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
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
