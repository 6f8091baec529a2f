import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { backupStore, openStore, verifyStore } from '../../src/index.ts'
import { ChildStore } from '../helpers/child-store.ts'
import { OwnStore } from '../helpers/own-store.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { config, limits, task, goneOn } from './backup.test.ts'

describe('a backup (docs/reliability.md D25)', () => {
  test('a backup of a store in use is the store at one moment, verifies, and opens', async () => {
    const folder = scratchFolder()
    const path = join(folder, 'it.db')
    const store = await openStore(`sqlite:${path}`, { config, durability: 'normal' })
    const submit = () => store.write({ kind: 'submit', tasks: Array.from({ length: 20 }, () => task) })
    while ((await store.read({ kind: 'stats' })).totals.submitted < 10_000) await submit()
    const other = await ChildStore.open({
      path,
      config: limits,
      worker: { workerId: 'w', capacity: 8 },
      settles: true,
    })
    const control = new AbortController()
    let turns = 0
    const writing = (async () => {
      while (!control.signal.aborted) {
        await submit()
        turns += 1
      }
    })()
    const slices: number[] = []
    const before = await store.read({ kind: 'stats' })
    const made = await backupStore(`sqlite:${path}`, join(folder, 'copy.db'), {
      onProgress: (copied, pages) => void slices.push(copied / pages),
    })
    control.abort()
    await writing
    const after = await store.read({ kind: 'stats' })
    await other.kill()
    await store.close()

    expect(made.tasks).toBeGreaterThanOrEqual(before.totals.submitted)
    expect(made.tasks).toBeLessThan(after.totals.submitted)
    expect(slices.length).toBeGreaterThan(2)
    expect(slices).toEqual(slices.toSorted((a, b) => a - b))
    expect(turns).toBeGreaterThan(3)
    const found = await verifyStore(`sqlite:${made.path}`)
    expect(found).toMatchObject({
      ok: true,
      tasks: made.tasks,
      events: made.events,
      storeId: made.storeId,
      lastGood: { commit: made.commit, at: made.at },
      anchored: null,
    })
    const restored = await openStore(`sqlite:${made.path}`, { config, durability: 'normal' })
    expect((await restored.read({ kind: 'stats' })).totals.submitted).toBe(made.tasks)
    await restored.close()
  })
})

describe('a copy that is restored is a new incarnation of its store (docs/reliability.md D25)', () => {
  test('several processes that open it at once begin one', async () => {
    const { copy } = await goneOn(scratchFolder())
    const children = await Promise.all([1, 2, 3].map(() => ChildStore.open({ path: copy })))
    const own = await OwnStore.open(copy)
    await own.submit(1)
    for (const child of children) {
      child.send({ kind: 'submit', tasks: [task] })
      await child.heard(({ answer }) => answer !== undefined)
      await child.kill()
    }
    await own.store.close()
    const db = new Database(copy, { readonly: true })
    const past = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'incarnations'").pluck().get()
    db.close()
    expect(JSON.parse(past ?? '')).toHaveLength(1)
    expect(await verifyStore(`sqlite:${copy}`)).toMatchObject({ ok: true })
  })
})
