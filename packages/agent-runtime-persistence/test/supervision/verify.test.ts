import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scratchFolder } from '../helpers/scratch-folder.ts'
import { good, places, Spoiled, verify } from '../helpers/spoiled-store.ts'
import { playSeed } from './play-seeds.ts'

test('14.2 the rows of supervisors are what their events say, and an edit of them is found', async () => {
  const path = join(scratchFolder(), 'store.db')
  // A supervisor of this tree has restarts that count at its end, and waits to start a child after others.
  expect(await playSeed(2, path)).toEqual([])
  expect(await verify(path)).toMatchObject(good)
  const it = new Spoiled(path)
  const restarts = it.db.prepare("SELECT count(*) FROM signal WHERE name = '$ku0/restart'").pluck().get()
  expect(restarts).toBeGreaterThan(0)
  for (const [edit, place] of [
    ["DELETE FROM signal WHERE name = '$ku0/restart'", 'unread signals'],
    ["UPDATE wait SET key = replace(key, 'cancel', 'children')", 'open waits'],
    ["UPDATE wait SET key = replace(key, 'after', 'before')", 'open waits'],
    ["UPDATE child SET key = replace(key, 'transient', 'temporary') WHERE key LIKE '%transient%'", 'child'],
  ] as const) {
    const found = places(await it.after((db) => db.exec(edit)))
    expect(found?.some((where) => where.includes(place))).toBe(true)
  }
})
