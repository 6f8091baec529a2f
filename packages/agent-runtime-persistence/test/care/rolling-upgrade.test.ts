import { join } from 'node:path'
import type { WriteKind } from '@ku0/agent-runtime-core'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import { Scene } from '@ku0/agent-runtime-conformance'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { draws, everyNth } from '../../../../tools/draws.ts'
import { backupStore, inspectStore, openStore, verifyStore } from '../../src/index.ts'
import { additive, breaking, oldestOf } from '../../src/migration.ts'
import { columns } from '../../src/sqlite/columns.ts'
import { migrate } from '../../src/sqlite/open.ts'
import { migrations, schemaVersion } from '../../src/sqlite/schema.ts'
import { addition, breach, marking } from '../helpers/later-version.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { deeds, settingsOfDeeds } from '../helpers/writes-of-every-kind.ts'

const { config } = parseExecutionConfig(settingsOfDeeds)

let programs = 0

async function older(path: string): Promise<Scene> {
  programs += 1
  const environment = { ...createVirtualEnvironment(`older ${programs}`), digest: nodeDigest }
  const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
  return new Scene(store, config, environment.clock, { digest: nodeDigest })
}

/** The connection of a later program, which brings the tables up to date as it opens the file. */
function newer(path: string, ...steps: readonly (typeof addition)[]): Database.Database {
  const db = new Database(path)
  onTestFinished(() => void db.close())
  migrate(db, path, [...migrations, ...steps])
  return db
}

/** The rows of each table that have this novelty, by their keys. */
function rowsWith(db: Database.Database, novelty: number): ReadonlySet<string> {
  const found = Object.keys(columns).flatMap((table) => {
    const keys = db
      .prepare<[], string>(`SELECT name FROM pragma_table_info('${table}') WHERE pk > 0`)
      .pluck()
      .all()
    return db
      .prepare<[number], string>(
        `SELECT json_array('${table}', ${keys.join()}) FROM ${table} WHERE novelty = ?`,
      )
      .pluck()
      .all(novelty)
  })
  return new Set(found)
}

test('the oldest schema that may use a store is that of its last step that is not additive', () => {
  expect(oldestOf([])).toBe(0)
  expect(oldestOf([breaking(''), breaking('')])).toBe(2)
  expect(oldestOf([breaking(''), breaking(''), additive(''), additive('')])).toBe(2)
  expect(oldestOf([breaking(''), additive(''), breaking('')])).toBe(3)
})

test('J04 an older program makes each kind of write beside a later one that has only added, and keeps what that has written', async () => {
  for (const kind of everyNth(Object.keys(deeds) as WriteKind[], draws(4, 1))) {
    const path = join(scratchFolder(), `${kind}.db`)
    const scene = await older(path)
    const { write, answer } = await deeds[kind](scene)
    const later = newer(path, addition)
    later.exec(marking)
    const before = rowsWith(later, 8)
    const found = await scene.write(write)
    expect({ kind, found }).toMatchObject({ kind, found: answer as object })
    // Folded entries give way to one with the number of the last.
    const isNew = (row: string) => !before.has(row) || row.startsWith('["ledger"')
    const reset = [...rowsWith(later, 7)].filter((row) => !isNew(row))
    expect({ kind, reset, failures: scene.failures }).toEqual({ kind, reset: [], failures: [] })
    await scene.store.close()
  }
})

test('J04 an older program that starts beside a later one works with the store, and cannot check or copy it', async () => {
  const path = join(scratchFolder(), 'store.db')
  const first = await older(path)
  const claim = await first.running()
  const later = newer(path, addition)
  const second = await older(path)
  expect(await second.task(claim.taskId)).toMatchObject({ state: 'running' })
  expect(await first.settle(claim)).toBe('ok')
  expect(await second.state(claim.taskId)).toBe('completed')
  expect(later.pragma('user_version', { simple: true })).toBe(schemaVersion + 1)
  for (const care of [
    () => verifyStore(`sqlite:${path}`),
    () => backupStore(`sqlite:${path}`, join(scratchFolder(), 'copy.db')),
    () => Promise.resolve().then(() => inspectStore(`sqlite:${path}`)),
  ])
    await expect(care()).rejects.toMatchObject({
      code: 'store_newer',
      message: expect.stringContaining('check or copy it with the later version') as string,
    })
  await Promise.all([first.store.close(), second.store.close()])
})

test('J04 a step that is not additive stops older programs, also after one that is', async () => {
  const path = join(scratchFolder(), 'store.db')
  const scene = await older(path)
  newer(path, addition)
  const taskId = await scene.accepted()
  const later = newer(path, addition, breach)
  await expect(scene.submit()).rejects.toMatchObject({
    code: 'store_newer',
    message: expect.stringContaining(
      `schema ${schemaVersion + 2}, for programs from schema ${schemaVersion + 2} on; this version knows ${schemaVersion}`,
    ) as string,
  })
  await expect(older(path)).rejects.toMatchObject({ code: 'store_newer' })
  // The later one is refused nothing: it goes on with what the older one has left.
  migrate(later, path, [...migrations, addition, breach])
  expect(later.prepare('SELECT count(*) FROM task WHERE state = 0').pluck().get()).toBe(1)
  expect(taskId).toBeDefined()
  await scene.store.close()
})
