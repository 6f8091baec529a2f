import { statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { connectionOf } from '../helpers/connection-of.ts'
import { clean, OwnStore } from '../helpers/own-store.ts'
import { scratchFolder } from '../helpers/scratch-folder.ts'

const large = JSON.stringify('x'.repeat(20_000))

/** Writes to a store for a while, a reader beside each write, and gives how long its log became, in bytes. */
async function longestLog(path: string, own: OwnStore, read: () => Promise<unknown>): Promise<number> {
  let longest = 0
  for (let n = 0; n < 100; n++) {
    await own.store.write({ kind: 'submit', tasks: [{ type: 'work', lane: 'normal', input: large }] })
    await read()
    longest = Math.max(longest, statSync(`${path}-wal`).size)
  }
  return longest
}

test('D10 a reader that reads a history page by page keeps the log from nothing: it begins again when it was copied', async () => {
  const path = join(scratchFolder(), 'it.db')
  const [own, reader] = [await OwnStore.open(path), await OwnStore.open(path)]
  const settings = connectionOf(own.store)
  expect(settings.pragma('wal_autocheckpoint', { simple: true })).toBe(4_000)
  expect(settings.pragma('journal_size_limit', { simple: true })).toBe(64 * 1_024 * 1_024)
  // Of a size at which a test comes round to it.
  settings.pragma('wal_autocheckpoint = 50')
  const [taskId = ''] = await own.submit(1)
  const page = async () => {
    await reader.store.read({ kind: 'events', taskId, after: 0, limit: 1 })
    await reader.store.read({ kind: 'tasks', filter: { limit: 5 } })
  }
  const written = 100 * large.length
  expect(await longestLog(path, own, page)).toBeLessThan(written / 2)

  // Somebody with a transaction of his own does keep it: it is that which `docs/operating.md` tells to look for.
  const other = new Database(path)
  other.exec('BEGIN; SELECT count(*) FROM task')
  expect(await longestLog(path, own, page)).toBeGreaterThan(written)
  other.close()
  await reader.store.close()
  await clean(own, path)
})
