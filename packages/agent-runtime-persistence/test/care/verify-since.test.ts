import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RuntimeError } from '@ku0/agent-runtime-core'
import { describe, expect, test } from 'vitest'
import { openStore, verifyStore } from '../../src/index.ts'
import { forge, forgeJournal } from '../helpers/forged.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { changed, type EventRow, good, places, Spoiled, verify } from '../helpers/spoiled-store.ts'
import { config, lived } from '../helpers/whole-life.ts'

/** Source: `docs/operating.md`, Verify. */
describe('a verification that begins after a seal', () => {
  const middle = (it: Spoiled) => Math.floor(it.lastCommit / 2)

  test('reads what is new: nothing after the last seal, and after an earlier one each task that a commit touched', async () => {
    const path = await lived()
    const it = new Spoiled(path)
    const whole = await verify(path)
    expect(whole).toMatchObject({ ...good, since: null, commits: it.lastCommit })
    expect(whole.seal).toEqual(it.sealOf(it.lastCommit))
    const none = await verify(path, whole.seal ?? undefined)
    expect(none).toMatchObject({ ...good, since: it.lastCommit, tasks: 0, events: 0, seal: whole.seal })
    const seal = it.sealOf(middle(it))
    const touched = new Set(
      it.events.filter((event) => it.commitOf(event) > seal.commit).map(({ task }) => task),
    )
    expect(touched.size).toBeGreaterThan(2)
    expect(touched.size).toBeLessThan(whole.tasks)
    const half = await verify(path, seal)
    expect(half).toMatchObject({ ...good, since: seal.commit, tasks: touched.size, seal: whole.seal })
  })

  test('goes on where the last one ended, while the store grows', async () => {
    const own = join(scratchFolder(), 'grows.db')
    const store = await openStore(`sqlite:${own}`, { config, thread: false })
    const work = { type: 'work', lane: 'normal', input: '1' } as const
    await store.write({ kind: 'submit', tasks: [work, work] })
    const first = await verify(own)
    await store.write({ kind: 'submit', tasks: [work] })
    const second = await verify(own, first.seal ?? undefined)
    await store.close()
    expect([first.tasks, second.tasks]).toEqual([2, 1])
    expect(second).toMatchObject({ ...good, since: first.commits, commits: first.commits + 1 })
  })

  test('finds each edit of an event that came after it, where it is, and returns no seal', async () => {
    const path = await lived()
    const it = new Spoiled(path)
    const seal = it.sealOf(middle(it))
    const later = it.events.filter((event) => it.commitOf(event) > seal.commit)
    for (const event of later.filter((_, index) => index % 4 === 0)) {
      const found = await it.after((db) => {
        db.prepare('UPDATE event SET data = ? WHERE task = ? AND seq = ?').run(
          changed(event.data),
          event.task,
          event.seq,
        )
      }, seal)
      expect(places(found)).toContain(`task ${event.task}, event ${event.seq}`)
      expect(found).toMatchObject({ ok: false, seal: null, lastGood: { commit: it.commitOf(event) - 1 } })
    }
  })

  test('finds an earlier event that was edited, if a later commit touched its task', async () => {
    const path = await lived()
    const it = new Spoiled(path)
    const isAfter = (later: EventRow, event: EventRow) =>
      later.task === event.task && it.commitOf(later) > it.commitOf(event)
    const event = it.events.find((one) => it.events.some((later) => isAfter(later, one)))!
    const found = await it.after((db) => forge(db, event), it.sealOf(it.commitOf(event)))
    expect(found?.ok).toBe(false)
  })

  test.each([
    [
      'a lease of another worker',
      'UPDATE lease SET worker = worker + 1 WHERE id = (SELECT max(id) FROM lease)',
      'worker',
    ],
    [
      'a commit that is gone',
      'DELETE FROM journal WHERE number = (SELECT max(number) - 1 FROM journal)',
      'commit',
    ],
    ['a sum that counts too much', 'UPDATE totals SET running = running + 1', 'totals, running'],
    ['a table that is gone', 'DROP TABLE sample', 'table sample'],
    ['a row of a task that is gone', 'DELETE FROM task WHERE id = (SELECT max(id) FROM task)', 'task'],
  ])('finds %s', async (_, sql, where) => {
    const path = await lived()
    const it = new Spoiled(path)
    const found = await it.after(
      (db) => {
        db.pragma('foreign_keys = OFF')
        db.exec(sql)
      },
      it.sealOf(middle(it)),
    )
    expect(places(found)?.join('; ')).toContain(where)
  })

  test('finds that the history before it is another one, although all of it fits', async () => {
    const path = await lived()
    const it = new Spoiled(path)
    const early = it.events.find((event) => it.commitOf(event) < middle(it))!
    const spoil = (db: Spoiled['db']) => {
      forge(db, early)
      forgeJournal(db)
    }
    const found = await it.after(spoil, it.sealOf(middle(it)))
    expect(places(found)).toContain(`commit ${middle(it)}`)
  })

  test('finds that the store is an older one, whose last commits are missing', async () => {
    const path = await lived()
    const it = new Spoiled(path)
    const seal = it.sealOf(it.lastCommit)
    const older = `${path}.older`
    writeFileSync(older, it.db.serialize())
    const found = await verify(older, { ...seal, commit: seal.commit + 3 })
    rmSync(older)
    expect(found).toMatchObject({ ok: false, seal: null })
    expect(found.faults).toContainEqual(
      expect.objectContaining({ where: `commit ${seal.commit + 3}`, actual: 'no such commit' }),
    )
  })

  test('believes what no commit touched since: only one that reads all finds it', async () => {
    const path = await lived()
    const it = new Spoiled(path)
    const seal = it.sealOf(it.lastCommit)
    const spoil = (db: Spoiled['db']) => db.exec("UPDATE event SET data = '{}' WHERE task = 1 AND seq = 1")
    expect(await it.after(spoil, seal)).toMatchObject(good)
    expect(await it.after(spoil)).toMatchObject({ ok: false })
  })

  test('is refused with the seal of another store, and with what is no seal', async () => {
    const path = await lived()
    const it = new Spoiled(path)
    const seal = it.sealOf(1)
    const refused = (since: unknown) =>
      verifyStore(`sqlite:${path}`, { since: since as never }).then(
        () => 'verified',
        ({ code, message }: RuntimeError) => `${code}: ${message}`,
      )
    expect(await refused({ ...seal, storeId: '0'.repeat(17) })).toMatch(
      /^invalid_argument: .* is store [0-9a-f]{17}; leave it out to read all$/,
    )
    for (const given of [{}, 'seal', null, { ...seal, commit: -1 }, { ...seal, hash: 'x' }])
      expect(await refused(given)).toMatch(/^invalid_argument: .*a seal/)
  })
})
