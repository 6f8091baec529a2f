import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Scene } from '@ku0/agent-runtime-conformance'
import { createVirtualEnvironment } from '@ku0/agent-runtime-core/testing'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../src/index.ts'
import { config, rounds, sceneAt } from '../helpers/retention.ts'
import { nodeDigest, scratchFolder } from '../helpers/scratch-folder.ts'
import { good, places, Spoiled, verify } from '../helpers/spoiled-store.ts'

/** A copy of a store of which tasks were deleted. */
async function kept(): Promise<string> {
  const path = join(scratchFolder(), 'kept.db')
  if (pruned === undefined) {
    await rounds(path, 2, 4)
    pruned = [readFileSync(path), readFileSync(`${path}-anchor`)]
  }
  for (const [index, suffix] of ['', '-anchor'].entries())
    writeFileSync(path + suffix, pruned[index] as Buffer)
  return path
}

/** Its file and its anchor. */
let pruned: readonly Buffer[] | undefined

describe('a store with retention is verified like any other (docs/semantics.md 6.6)', () => {
  test('6.6 the rest of a pruned store is proven: the journal is cut at a hash that is kept, and the sums add up', async () => {
    const path = join(scratchFolder(), 'kept.db')
    // The newest task is never deleted.
    expect(await rounds(path, 4, 10)).toBe(4 * 9 - 1)
    const db = new Database(path, { readonly: true })
    const number = (sql: string) => db.prepare<[], number>(sql).pluck().get()
    expect(number('SELECT count(*) FROM task')).toBe(5)
    expect(number('SELECT count(*) FROM event')).toBe(15)
    expect(number('SELECT count(*) FROM lease')).toBe(5)
    expect(number('SELECT min(number) FROM journal')).toBeGreaterThan(1)
    expect(number('SELECT count(*) FROM pruned')).toBeLessThan(35)
    expect(number("SELECT value FROM retired WHERE name = 'state completed'")).toBe(35)
    expect(number('SELECT count(*) FROM blob')).toBe(1)
    db.close()
    expect(await verify(path)).toMatchObject({ ...good, tasks: 5 })
  })

  test.each([
    [
      'a task that is left is removed',
      'DELETE FROM event WHERE task = 1; DELETE FROM lease WHERE task = 1; DELETE FROM task WHERE id = 1',
      'tasks',
    ],
    [
      'the number of deleted tasks is edited',
      "UPDATE retired SET value = value + 1 WHERE name = 'state completed'",
      'tasks',
    ],
    [
      'the kept hash of the cut is edited',
      "UPDATE meta SET value = substr(value, 1, instr(value, ':')) || printf('%064d', 1) WHERE key = 'journal_base'",
      'commit',
    ],
    [
      'the first commit after the cut is removed',
      'DELETE FROM journal WHERE number = (SELECT min(number) FROM journal)',
      'commit',
    ],
    ['hashes of deleted tasks are edited', 'UPDATE pruned SET hash = zeroblob(length(hash))', 'commit'],
    ['hashes of deleted tasks are removed', 'DELETE FROM pruned', 'commit'],
  ])('6.6 %s: verify finds it', async (_, sql, where) => {
    const it = new Spoiled(await kept())
    expect(places(await it.after((db) => db.exec(sql)))?.some((place) => place.startsWith(where))).toBe(true)
  })
})

/** A store with the ledgers of two clients. Of each, five entries were folded in two steps; two entries came after them. */
async function foldedLedgers(path: string): Promise<readonly unknown[][]> {
  const { store, scene } = await sceneAt(path, 'folded')
  const rows = new Map<string, unknown[]>()
  const db = new Database(path, { readonly: true })
  const fold = async (purchases: number) => {
    for (const name of ['ada', 'bob'])
      for (let n = 0; n < purchases; n += 1)
        await scene.write({ kind: 'purchaseCredits', name, amount: n + 1, note: `invoice ${n}` })
    await scene.pass(60_000)
    for (const row of db
      .prepare<[], unknown[]>('SELECT * FROM ledger WHERE kind <> 0 OR seq = 1')
      .raw()
      .all())
      rows.set(JSON.stringify(row.slice(0, 2)), row)
    await scene.write({ kind: 'foldLedger', until: scene.now })
  }
  await fold(2)
  await fold(2)
  for (const name of ['ada', 'bob', 'eve'])
    for (const amount of [3, 4]) await scene.write({ kind: 'purchaseCredits', name, amount })
  await store.close()
  db.close()
  return [...rows.values()]
}

describe('folded ledgers are verified like any other (docs/semantics.md 11.8)', () => {
  test('11.8 the rest is proven, and the hash is that of the entries that were folded', async () => {
    const path = join(scratchFolder(), 'folded.db')
    const rows = await foldedLedgers(path)
    expect(await verify(path)).toMatchObject(good)
    const db = new Database(path, { readonly: true })
    const kinds = ['opening', 'purchase']
    let hash: Buffer = Buffer.alloc(32)
    for (const row of rows.filter(([client]) => client === 'bob')) {
      const named = row.with(3, kinds[Number(row[3])])
      hash = createHash('sha256')
        .update(hash)
        .update(`ku0.ledger.1\n${JSON.stringify(named)}`)
        .digest()
    }
    const note = db
      .prepare<[], string>("SELECT note FROM ledger WHERE client = 'bob' AND kind = 0")
      .pluck()
      .get()
    expect(note).toBe(`folded:5:${hash.toString('hex')}`)
    db.close()
  })

  const opening = "kind = 0 AND client = 'ada'"
  test.each([
    ['has other credits', `UPDATE ledger SET amount = amount + 1, credits = credits + 1 WHERE ${opening}`],
    ['has another amount', `UPDATE ledger SET amount = amount + 1 WHERE ${opening}`],
    ['holds credits', `UPDATE ledger SET held = 1 WHERE ${opening}`],
    ['counts one more', `UPDATE ledger SET note = replace(note, 'folded:5', 'folded:6') WHERE ${opening}`],
    [
      'has another hash',
      `UPDATE ledger SET note = substr(note, 1, 9) || printf('%064d', 1) WHERE ${opening}`,
    ],
    ['has no note', `UPDATE ledger SET note = NULL WHERE ${opening}`],
    ['is another kind of entry', `UPDATE ledger SET kind = 1 WHERE ${opening}`],
    ['is missing', `DELETE FROM ledger WHERE ${opening}`],
    ['is that of another client', `UPDATE ledger SET client = 'cyd' WHERE ${opening}`],
    ['has another number', `UPDATE ledger SET seq = 4 WHERE ${opening}`],
    ['has no fold', "DELETE FROM folded WHERE client = 'ada'"],
    ['is of another fold', "UPDATE folded SET hash = printf('%064d', 1) WHERE client = 'ada'"],
    ['is of a shorter fold', "UPDATE folded SET entries = 4 WHERE client = 'ada'"],
    [
      'takes the place of one more',
      "DELETE FROM ledger WHERE client = 'ada' AND kind = 0; UPDATE ledger SET kind = 0, amount = credits, note = 'folded:6:' || printf('%064d', 1) WHERE client = 'ada' AND seq = 6",
    ],
    [
      'is invented by somebody who knows how folds are noted',
      "DELETE FROM ledger WHERE client = 'eve' AND seq = 1; UPDATE ledger SET kind = 0, amount = credits, note = 'folded:2:' || printf('%064d', 1) WHERE client = 'eve' AND seq = 2",
    ],
    ['is followed by another', "UPDATE ledger SET kind = 0 WHERE client = 'ada' AND seq = 7"],
    ['is a fold of nobody', "INSERT INTO folded VALUES ('nobody', 2, printf('%064d', 1))"],
  ])('11.8 an opening entry that %s is found', async (_, sql) => {
    const path = join(scratchFolder(), 'folded.db')
    await foldedLedgers(path)
    const it = new Spoiled(path)
    expect((await it.after((db) => db.exec(sql)))?.ok).toBe(false)
  })

  test('11.8 a ledger that is damaged is not folded, so that the damage stays to be found', async () => {
    const path = join(scratchFolder(), 'folded.db')
    await foldedLedgers(path)
    const it = new Spoiled(path)
    it.db.exec("UPDATE ledger SET amount = amount + 1 WHERE client = 'ada' AND seq = 6")
    const environment = { ...createVirtualEnvironment('later'), digest: nodeDigest }
    environment.clock.advanceBy(1_000_000)
    const store = await openStore(`sqlite:${path}`, { config, environment, thread: false })
    const scene = new Scene(store, config, environment.clock)
    expect(await scene.write({ kind: 'foldLedger', until: scene.now })).toEqual({ folded: 5 })
    await store.close()
    expect(places(await verify(path))).toContain('client ada, entry 6, credits')
  })
})
