import type { PrunableRow, WorkingSet } from '@ku0/agent-runtime-core/transition'
import type { Statements } from './statements.ts'
import { insertInto } from './put.ts'

/** Rows of the journal that one commit removes at the most. */
export const CUT_COMMITS = 4_000
/**
 * What is younger stays in the journal: by it other processes hear of commits, which they look for many times a second. With a minute 3 000 000 tasks
 * of which 100 000 were kept took 230 MB at 11 000 a second: half of that was the journal and what it has to prove.
 */
export const JOURNAL_KEPT_MS = 10_000

/** The tables with rows of tasks, and where the task stands in them. */
export const owned = [
  ['event', 'task'],
  ['output', 'task'],
  ['wait', 'task'],
  ['signal', 'task'],
  ['checkpoint', 'task'],
  ['budget', 'task'],
  ['pipeline', 'task'],
  ['usage', 'task'],
  ['child', 'parent'],
] as const

/**
 * Deletes tasks that retention no longer keeps, with all rows of theirs. What `verify` has to know of them stays: what they added to sums,
 * and the hashes of their events until the journal that names them is cut. The journal is cut up to the youngest of them; its last hash is
 * kept, so that what follows is still proven. Source: `docs/semantics.md 6.6`.
 */
export function preparePrune(db: Statements): (ws: WorkingSet, commit: number) => void {
  const deleteOwned = owned.map(([table, column]) => db.prepare(`DELETE FROM ${table} WHERE ${column} = ?`))
  const deleteTask = db.prepare('DELETE FROM task WHERE id = ? AND state BETWEEN 3 AND 5')
  const deleteLease = db.prepare('DELETE FROM lease WHERE id = ?')
  const deleteKey = db.prepare('DELETE FROM idempotency WHERE key = ? AND task = ?')
  const keepHashes = db.prepare(insertInto('pruned'))
  const adding = (table: 'retired' | 'retired_named') =>
    db.prepare(`${insertInto(table)} ON CONFLICT (name) DO UPDATE SET value = value + excluded.value`)
  const [addSum, addNamed] = [adding('retired'), adding('retired_named')]
  const deleteBlob = db.prepare(
    'DELETE FROM blob WHERE sha256 = ? AND NOT EXISTS (SELECT 1 FROM event WHERE blob = sha256)',
  )
  const cutAt = db.prepare<[number, number, number], { number: number; hash: Buffer }>(
    'SELECT number, hash FROM journal WHERE number < (SELECT min(number) FROM journal) + ? AND number < ? AND at < ? ORDER BY number DESC LIMIT 1',
  )
  const putBase = db.prepare("UPDATE meta SET value = ? WHERE key = 'journal_base'")
  const cut = db.prepare('DELETE FROM journal WHERE number <= ?')
  const forgetHashes = db.prepare('DELETE FROM pruned WHERE until <= ?')

  return function prune(ws: WorkingSet, commit: number): void {
    if (ws.pruned.length === 0) return
    for (const row of ws.pruned) pruneTask(row, commit)
    for (const [name, by] of sumsOf(ws.pruned, 'sums')) addSum.run(name, by)
    for (const [name, by] of sumsOf(ws.pruned, 'named')) addNamed.run(name, by)
    for (const sha256 of new Set(ws.pruned.flatMap(({ blobs }) => blobs))) deleteBlob.run(sha256)
    const youngest = Math.max(...ws.pruned.map(({ finishedAt }) => finishedAt))
    const last = cutAt.get(CUT_COMMITS, commit - 1, Math.min(youngest, ws.now.at - JOURNAL_KEPT_MS))
    if (last === undefined) return
    putBase.run(`${last.number}:${last.hash.toString('hex')}`)
    cut.run(last.number)
    forgetHashes.run(last.number)
  }

  function pruneTask({ id, key, leases, hashes }: PrunableRow, commit: number): void {
    const { changes } = deleteTask.run(id)
    if (changes !== 1) throw new Error(`task ${id} is not one that ended`)
    for (const statement of deleteOwned) statement.run(id)
    for (const lease of leases) deleteLease.run(lease)
    if (key !== null) deleteKey.run(key, id)
    // Its events stand in commits before this one.
    keepHashes.run(id, hashes, commit - 1)
  }
}

/** What deleted tasks add to sums, added up. */
export function sumsOf(rows: readonly PrunableRow[], of: 'sums' | 'named'): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const row of rows) for (const [name, by] of row[of]) sums.set(name, (sums.get(name) ?? 0) + by)
  return sums
}
