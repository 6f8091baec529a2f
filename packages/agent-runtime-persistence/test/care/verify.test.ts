import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseExecutionConfig } from '@ku0/agent-runtime-core/schemas'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { draws } from '../../../../tools/draws.ts'
import { openStore, verifyStore } from '../../src/index.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { forge, forgeJournal } from '../helpers/forged.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { good, places, Spoiled, verify } from '../helpers/spoiled-store.ts'
import { lived } from '../helpers/whole-life.ts'

describe('every edit of a stored event is found, where it is (docs/reliability.md H08, R9)', () => {
  test('a store that nobody edited is well, and looking at it changes nothing', async () => {
    const path = await lived()
    const before = readFileSync(path)
    expect(await verify(path)).toMatchObject({ ...good, tasks: 17, anchored: expect.any(Number) as number })
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  describe('beside refused submissions whose records were deleted', () => {
    /** Two commits of an accepted submission and a refused one; of the refused ones only the last is kept. */
    async function pruned(): Promise<string> {
      const path = join(scratchFolder(), 'pruned.db')
      const { config } = parseExecutionConfig({ maxRejectedKept: 1 })
      const store = await openStore(`sqlite:${path}`, { config, thread: false, durability: 'normal' })
      const refused = { reason: 'invalid_payload', message: 'no' } as const
      const work = { type: 'work', lane: 'normal', input: '1' } as const
      for (let n = 0; n < 2; n += 1)
        await store.write({ kind: 'submit', tasks: [work, { ...work, refused }] })
      await store.close()
      return path
    }

    test('the journal is checked all the same', async () => {
      const path = await pruned()
      const db = new Database(path, { readonly: true })
      expect(db.prepare('SELECT id FROM task').pluck().all()).toEqual([1, 3, 4])
      db.close()
      expect(await verify(path)).toMatchObject({ ...good, tasks: 3 })
    })

    test('an edit in the same commit, with a chain that was made to fit it, is found', async () => {
      const it = new Spoiled(await pruned())
      const event = it.events.find(({ task }) => task === 1)!
      const found = await it.after((db) => forge(db, event))
      expect(found?.faults).toContainEqual(expect.objectContaining({ what: 'journal', where: 'commit 1' }))
    })

    test.each([
      ['another hash', 'UPDATE pruned SET hash = zeroblob(32)', 'commit 1'],
      ['no hash', 'DELETE FROM pruned', 'commit 1'],
      ['a hash of one that is there', 'UPDATE pruned SET task = 4', 'pruned records'],
      [
        'an accepted task that is deleted as if it had been refused',
        'DELETE FROM event WHERE task = 3; DELETE FROM task WHERE id = 3; UPDATE totals SET rejected = rejected + 1, rejected_pruned = rejected_pruned + 1, submitted = submitted - 1',
        'commit 2',
      ],
    ])('%s is found', async (_, sql, where) => {
      const it = new Spoiled(await pruned())
      expect(places(await it.after((db) => db.exec(sql)))).toContain(where)
    })
  })

  test('an edit with a chain and a journal that were made to fit it: the anchor tells', async () => {
    const it = new Spoiled(await lived())
    const event = it.events.find(({ type }) => type === 'task.started')
    if (event === undefined) throw new Error('nothing was started')
    const found = await it.after((db) => {
      forge(db, event)
      forgeJournal(db)
    })
    expect(found?.faults).toContainEqual(
      expect.objectContaining({ what: 'anchor', where: `commit ${it.lastCommit}`, actual: 'another commit' }),
    )
  })
})

describe('a store that others write to meanwhile', () => {
  test('gives way: it can be ended between two slices, and the event loop runs', async () => {
    const path = await lived()
    const controller = new AbortController()
    setImmediate(() => controller.abort(new Error('enough')))
    await expect(verifyStore(`sqlite:${path}`, { signal: controller.signal })).rejects.toThrow('enough')
  })
})

describe('a log that was damaged (docs/reliability.md T6, D05)', () => {
  test('the anchor is a fault, and the last good commit is the last that is left', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    const child = await ChildStore.open({ path })
    for (let n = 1; n <= 6; n++) {
      child.send({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: String(n) }] })
      await child.heard(({ answer }) => answer !== undefined, n)
    }
    await child.kill()
    expect(await verify(path)).toMatchObject({ ...good, tasks: 6, commits: 6, anchored: 6 })
    truncateSync(`${path}-wal`, statSync(`${path}-wal`).size - 5_000)
    const log = readFileSync(`${path}-wal`)
    const found = await verify(path)
    expect(found).toMatchObject({ ok: false, lastGood: { commit: found.commits }, anchored: 6 })
    expect(found.commits).toBeLessThan(6)
    expect(found.faults).toEqual([
      { what: 'anchor', where: 'commit 6', expected: 'commit 6', actual: `commit ${found.commits}` },
    ])
    expect(readFileSync(`${path}-wal`).equals(log)).toBe(true)
  })
})

describe('a file that is damaged', () => {
  test.each([
    [
      'index evaluation_key',
      'DROP INDEX evaluation_key; CREATE INDEX evaluation_key ON evaluation (agent, key)',
    ],
    ['view tasks', 'DROP VIEW tasks; CREATE VIEW tasks AS SELECT 1 AS id'],
  ])('%s, made as something else', async (name, sql) => {
    const it = new Spoiled(await lived())
    expect((await it.after((db) => db.exec(sql)))?.faults).toMatchObject([
      { what: 'file', where: name, expected: 'as it was made' },
    ])
  })

  test('a commit after the last one that was checked is not called good', async () => {
    const path = await lived()
    const store = await openStore(`sqlite:${path}`, { thread: false, durability: 'normal' })
    onTestFinished(() => store.close())
    const found = verify(path)
    const over = found.then(() => 'over')
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    let written = 0
    while ((await Promise.race([over, turn()])) !== 'over') {
      await store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: '1' }] })
      written += 1
    }
    const { commits, lastGood, ok } = await found
    expect({ ok, good: lastGood.commit }).toEqual({ ok: true, good: commits })
    expect(written).toBeGreaterThan(5)
  })

  test('pages, a missing index, a trigger that somebody added', async () => {
    const path = await lived()
    const it = new Spoiled(path)
    const missing = await it.after((db) => db.exec('DROP INDEX task_due'))
    expect(missing?.faults).toEqual([
      { what: 'file', where: 'index task_due', expected: 'to be there', actual: 'missing' },
    ])
    const trigger = await it.after((db) =>
      db.exec('CREATE TRIGGER mine AFTER INSERT ON task BEGIN DELETE FROM lease; END'),
    )
    expect(trigger?.faults).toMatchObject([{ what: 'file', where: 'trigger mine' }])
    const outcomes: string[] = []
    const { size } = statSync(path)
    for (let page = 1; page < size / 4_096; page += draws(15, 1)) {
      const copy = join(scratchFolder(), 'copy.db')
      const content = readFileSync(path)
      content.fill(0xa5, page * 4_096, page * 4_096 + 200)
      writeFileSync(copy, content)
      const { ok, lastGood, remedy } = await verify(copy)
      outcomes.push(ok ? 'well' : lastGood.commit < it.lastCommit ? 'damaged' : 'damaged beside events')
      expect(remedy?.includes('restore a backup') ?? ok).toBe(true)
    }
    const free = readFileSync(path).readUInt32BE(36)
    expect(outcomes.filter((outcome) => outcome === 'well').length).toBeLessThanOrEqual(free)
    expect(outcomes.length).toBeGreaterThan(draws(1, 20))
    const kinds = ['damaged', 'damaged beside events']
    expect(outcomes.filter((outcome) => !kinds.includes(outcome))).toEqual([])
    expect(new Set(outcomes).size).toBeGreaterThanOrEqual(draws(1, kinds.length))
  })

  test('so many of many faults are described, and all are counted', async () => {
    const it = new Spoiled(await lived())
    it.db.exec('UPDATE task SET crashes = crashes + 1')
    const { faults, faultCount } = await verifyStore(`sqlite:${it.path}`, { maxFaults: 3 })
    expect([faults.length, faultCount]).toEqual([3, 17])
  })
})

describe('a file that is cut', () => {
  /** In the header, in the definitions of tables, at an end of a page, and within the last one. */
  const cutsOf = (size: number): readonly number[] => [
    0,
    1,
    99,
    511,
    512,
    4_095,
    4_096,
    4_097,
    ...Array.from({ length: draws(4, 60) }, (_, n) => Math.floor((size / draws(4, 60)) * n)),
    // Within a page: SQLite may call that a failure of the disk.
    ...[1, 3, 5, 7, 9, 11].map((pages) => size - pages * 4_096 - 1_000),
    size - 4_096,
    size - 4_095,
    size - 1,
  ]

  test.each([true, false])('is reported wherever that is (with its anchor: %s)', async (isAnchored) => {
    const path = await lived()
    const content = readFileSync(path)
    const anchor = readFileSync(`${path}-anchor`)
    const { anchored: commit } = await verify(path)
    const folder = scratchFolder()
    for (const size of new Set(cutsOf(content.length))) {
      const copy = join(folder, `${size}.db`)
      writeFileSync(copy, content.subarray(0, size))
      if (isAnchored) writeFileSync(`${copy}-anchor`, anchor)
      const report = await verify(copy)
      expect([size, report]).toMatchObject([
        size,
        {
          ok: false,
          remedy: expect.stringMatching(/keep a copy of its files, and restore a backup/) as string,
          anchored: isAnchored ? commit : null,
        },
      ])
      expect(report.faults[0]).toMatchObject({ what: 'file' })
    }
  })

  test('only at its end still says what is left of it', async () => {
    const path = await lived()
    const content = readFileSync(path)
    const copy = join(scratchFolder(), 'copy.db')
    writeFileSync(copy, content.subarray(0, content.length - 4_096))
    const { storeId } = await verify(path)
    const report = await verify(copy)
    expect(report.faults[0]).toEqual({
      what: 'file',
      where: 'the end of the file',
      expected: 'all pages that its header names',
      actual: `${content.length - 4_096} bytes, ${content.length / 4_096 - 1} pages: the rest is cut off`,
    })
    expect(report.storeId).toBe(storeId)
    writeFileSync(copy, content.subarray(0, content.length - 1))
    expect((await verify(copy)).faults[0]).toMatchObject({
      expected: 'whole pages of 4096 bytes',
      actual: expect.stringContaining(`which end in page ${content.length / 4_096}`) as string,
    })
  })
})

describe('files that are no store', () => {
  const refusals: readonly [string, string, (path: string) => void][] = [
    ['nothing', 'not_found', () => undefined],
    ['a text', 'store_not_a_database', (path) => writeFileSync(path, 'dear diary\n'.repeat(1_000))],
    [
      'a database of another program',
      'store_not_a_database',
      (path) => new Database(path).exec('CREATE TABLE diary (day)').close(),
    ],
    [
      'a store of an earlier version',
      'store_schema',
      (path) => {
        const db = new Database(path)
        db.pragma('application_id = 0x6b753072')
        db.pragma('user_version = 1')
        db.close()
      },
    ],
  ]
  test.each(refusals)('%s: %s', async (_, code, make) => {
    const path = join(scratchFolder(), 'it.db')
    make(path)
    await expect(verify(path)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(path) as string,
    })
  })

  test('a store in memory, a URL that is none, a number that is none', async () => {
    for (const url of ['sqlite::memory:', 'postgres://x'])
      await expect(verifyStore(url)).rejects.toMatchObject({ code: 'invalid_argument' })
    await expect(verifyStore('sqlite:x.db', { maxFaults: 0 })).rejects.toMatchObject({
      code: 'invalid_argument',
    })
  })
})
