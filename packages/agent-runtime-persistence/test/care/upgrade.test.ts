import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import { Scene, takeSnapshot, violationsIn } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { draws, everyNth } from '../../../../tools/draws.ts'
import { openStore } from '../../src/index.ts'
import { columns } from '../../src/sqlite/columns.ts'
import { breaking } from '../../src/migration.ts'
import { migrate, openDatabase } from '../../src/sqlite/open.ts'
import { applicationId, migrations, schemaVersion } from '../../src/sqlite/schema.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { assertClosedStore } from '../helpers/closed-store.ts'

export const { config } = parseExecutionConfig()

test('the columns that a store is held against, and their types, are those that the migrations make', () => {
  const db = new Database(':memory:')
  onTestFinished(() => void db.close())
  for (const { sql } of migrations) db.exec(sql)
  const tables = db.prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all()
  const made = tables.map((table) => {
    const found = db.pragma(`table_info(${table})`) as {
      name: string
      type: string
      notnull: number
      pk: number
    }[]
    // A column of a primary key is never null in tables of these kinds.
    return [
      table,
      found.map((it) => `${it.name} ${it.type.toLowerCase()}${it.notnull + it.pk > 0 ? '' : '?'}`),
    ]
  })
  expect(Object.fromEntries(made)).toEqual(columns)
})

/** The rows of a store, as a version with fewer migrations has them: in its own tables, without the columns that it does not know. */
export function asOfVersion(version: number, from: string, to: string): void {
  const db = new Database(to)
  for (const { sql } of migrations.slice(0, version)) db.exec(sql)
  db.exec(`ATTACH '${from}' AS later`)
  const tables = db
    .prepare<[], string>("SELECT name FROM main.sqlite_schema WHERE type = 'table'")
    .pluck()
    .all()
  for (const table of tables) {
    const names = db
      .prepare<[], string>(`SELECT name FROM pragma_table_info('${table}')`)
      .pluck()
      .all()
      .join()
    db.exec(
      `DELETE FROM main.${table}; INSERT INTO main.${table} (${names}) SELECT ${names} FROM later.${table}`,
    )
  }
  // Rows of their own that later schemas bring.
  db.exec(
    "DETACH later; DELETE FROM meta WHERE key IN ('clients_removed', 'journal_base', 'oldest_schema', 'pruned_unhashed_until')",
  )
  db.pragma(`application_id = ${applicationId}`)
  db.pragma(`user_version = ${version}`)
  db.close()
}

test('D12 a database of the first schema is brought up to date, and what waited in it goes on', async () => {
  const folder = scratchFolder()
  const environment = { ...createVirtualEnvironment('upgrade'), digest: nodeDigest }
  const open = async (path: string) => {
    const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
    return new Scene(store, config, environment.clock, { digest: nodeDigest })
  }
  const before = await open(join(folder, 'later.db'))
  const sleeper = await before.running()
  await before.step(sleeper, 'draft', '1')
  const nap = { key: 'nap', position: 1, kind: 'timer', delayMs: 60_000 } as const
  await before.write({ kind: 'suspend', leaseId: sleeper.leaseId, waits: [nap], stay: false })
  before.free(sleeper.workerId)
  await before.accepted()
  const listener = await before.claim()
  const reply = { key: 'answer', position: 0, kind: 'signal', name: 'reply', delayMs: 90_000 } as const
  await before.write({ kind: 'suspend', leaseId: listener.leaseId, waits: [reply], stay: false })
  await before.write({ kind: 'signal', taskId: listener.taskId, name: 'other', value: '"kept"' })
  await before.store.close()

  const path = join(folder, 'first.db')
  asOfVersion(1, join(folder, 'later.db'), path)
  const after = await open(path)
  const looked = new Database(path, { readonly: true })
  expect(looked.pragma('user_version', { simple: true })).toBe(schemaVersion)
  looked.close()
  expect(await after.task(sleeper.taskId)).toMatchObject({ state: 'waiting', waits: [{ key: 'nap' }] })
  expect(await after.task(listener.taskId)).toMatchObject({ state: 'waiting', waits: [{ key: 'answer' }] })

  await after.worker('again', 1)
  await after.write({ kind: 'signal', taskId: listener.taskId, name: 'reply', value: '"yes"' })
  const answered = await after.claim()
  expect(answered).toMatchObject({ taskId: listener.taskId, attempt: 1 })
  const kept = { key: 'more', position: 1, kind: 'signal', name: 'other' } as const
  expect(
    await after.write({ kind: 'suspend', leaseId: answered.leaseId, waits: [kept], stay: false }),
  ).toMatchObject({ resolved: [{ key: 'more', value: '"kept"' }] })
  await after.settle(answered)
  after.free('again')
  environment.clock.advanceBy(60_000)
  const woken = await after.claim()
  expect(woken).toMatchObject({ taskId: sleeper.taskId, steps: 1 })
  expect(await after.read({ kind: 'memos', taskId: sleeper.taskId })).toMatchObject({
    steps: [{ key: 'draft', result: '1' }],
    waits: [{ key: 'nap', outcome: 'fired' }],
  })
  await after.settle(woken)
  expect(violationsIn(await takeSnapshot(after.store), { config, digest: nodeDigest })).toEqual([])
  await after.store.close()
  await assertClosedStore(path, config)
})

test('H11 tasks in flight, a thousand of them among the long tests, are upgraded with the file: all end, and what was recorded is not asked for again', async () => {
  const folder = scratchFolder()
  const count = draws(100, 1_000)
  const many = { ...config, maxInFlightPerWorker: count }
  const environment = { ...createVirtualEnvironment('many'), digest: nodeDigest }
  const open = async (path: string) => {
    const store = await openStore(`sqlite:${path}`, { config: many, environment, durability: 'normal' })
    return new Scene(store, many, environment.clock, { digest: nodeDigest })
  }
  const before = await open(join(folder, 'later.db'))
  await before.worker('w', count)
  await before.submitMany(count)
  await Promise.all(before.claims.map((claim, n) => before.step(claim, 'draft', String(n))))
  const nap = { key: 'nap', position: 1, kind: 'timer', delayMs: 10_000 } as const
  // Half of them wait, the others run on: their process is gone when the new version comes.
  const parked = before.claims.filter((_, n) => n % 2 === 0)
  await Promise.all(
    parked.map(({ leaseId }) => before.write({ kind: 'suspend', leaseId, waits: [nap], stay: false })),
  )
  await before.store.close()

  const path = join(folder, 'first.db')
  asOfVersion(1, join(folder, 'later.db'), path)
  const after = await open(path)
  await after.worker('again', count)
  await after.pass(31_000)
  expect(after.claims).toHaveLength(count)
  expect(new Set(after.claims.map(({ steps }) => steps))).toEqual(new Set([1]))
  const attempts = after.claims.map(({ sequence, attempt }) => [sequence % 2, attempt].join())
  expect(new Set(attempts)).toEqual(new Set(['1,1', '0,2']))
  const memos = await Promise.all(after.claims.map(({ taskId }) => after.read({ kind: 'memos', taskId })))
  expect(memos.map(({ steps }) => steps.map(({ key, result }) => [key, result].join()))).toEqual(
    after.claims.map(({ sequence }) => [`draft,${sequence - 1}`]),
  )
  const settled = await Promise.all(after.claims.map((claim) => after.settle(claim)))
  expect(new Set(settled)).toEqual(new Set(['ok']))
  expect((await after.stats()).totals).toMatchObject({ submitted: count, completed: count })
  expect(violationsIn(await takeSnapshot(after.store), { config: many, digest: nodeDigest })).toEqual([])
  await after.store.close()
  await assertClosedStore(path, many)
})

test.each([
  ['that submits', (scene: Scene): Promise<unknown> => scene.submit()],
  ['that only runs a task', (scene: Scene): Promise<unknown> => scene.pass(200)],
] as const)(
  'J04 a process %s stops when a later version has migrated the file, and writes no more',
  async (_, act) => {
    const path = join(scratchFolder(), 'store.db')
    const environment = { ...createVirtualEnvironment('newer'), digest: nodeDigest }
    const store = await openStore(`sqlite:${path}`, { config, environment, durability: 'normal' })
    const scene = new Scene(store, config, environment.clock, { digest: nodeDigest })
    const claim = await scene.running()
    const later = new Database(path)
    migrate(later, path, [
      ...migrations,
      breaking('ALTER TABLE task ADD COLUMN novelty INTEGER NOT NULL DEFAULT 1'),
    ])
    const kept = (): unknown => later.prepare('SELECT count(*), sum(novelty), max(seq) FROM task').raw().get()
    const before = kept()

    const told = await act(scene).then(
      () => 'store_newer',
      (error: { code: string }) => error.code,
    )
    expect(told).toBe('store_newer')
    expect(scene.failures).toMatchObject([
      { code: 'store_newer', message: expect.stringContaining(`schema ${schemaVersion + 1}`) as string },
    ])
    await expect(scene.settle(claim)).rejects.toMatchObject({ code: 'store_newer' })
    await expect(scene.task(claim.taskId)).rejects.toMatchObject({ code: 'store_newer' })
    expect(kept()).toEqual(before)
    await store.close()
    expect(kept()).toEqual(before)
    later.close()
  },
)

describe('a migration that is cut (docs/reliability.md A16)', () => {
  /** A store of the first version with a task. */
  async function firstVersion(folder: string): Promise<string> {
    const store = await openStore(`sqlite:${join(folder, 'later.db')}`, { config, durability: 'normal' })
    await store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
    await store.close()
    const path = join(folder, 'first.db')
    asOfVersion(1, join(folder, 'later.db'), path)
    return path
  }

  test('A16 a machine that stops at any statement of it: the old schema or the new one is there, and it starts over', async () => {
    const folder = scratchFolder()
    const path = await firstVersion(folder)
    const copies: string[] = []
    const run: (this: Database.Database, sql: string) => Database.Database = Reflect.get(
      Database.prototype,
      'exec',
    )
    onTestFinished(() => void (Database.prototype.exec = run))
    Database.prototype.exec = function exec(sql) {
      const done = run.call(this, sql)
      const copy = join(folder, `${copies.length}.db`)
      for (const suffix of ['', '-wal'])
        if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix)
      copies.push(copy)
      return done
    }
    openDatabase(path, 'full').db.close()
    Database.prototype.exec = run
    // The beginning, each migration, the commit; then the first write, which begins and commits.
    expect(copies).toHaveLength(schemaVersion + 3)
    const versions: unknown[] = []
    for (const copy of copies) {
      const looked = new Database(copy)
      versions.push(looked.pragma('user_version', { simple: true }))
      looked.close()
    }
    for (const copy of everyNth(copies, draws(4, 1), copies.length - 1)) {
      const store = await openStore(`sqlite:${copy}`, { config, thread: false })
      expect((await store.read({ kind: 'stats' })).depth.normal).toBe(1)
      await store.close()
      await assertClosedStore(copy, config)
    }
    const before = Array.from({ length: schemaVersion }, () => 1)
    expect(versions).toEqual([...before, schemaVersion, schemaVersion, schemaVersion])
  })
})
