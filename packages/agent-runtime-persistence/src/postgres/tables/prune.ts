import type { WorkingSet } from '@ku0/agent-runtime-core/transition'
import { CUT_COMMITS, JOURNAL_KEPT_MS, owned, sumsOf } from '../../sqlite/prune.ts'
import { type Statement, statement } from '../connection/statement.ts'
import { arrayParameter } from '../connection/parameters.ts'
import { inserted } from './write.ts'

/** Deletes tasks that retention no longer keeps, as `preparePrune` does in a file. Source: `docs/semantics.md 6.6`. */
export function prunedTasksOf(ws: WorkingSet, commit: number): Statement[] {
  const { pruned } = ws
  if (pruned.length === 0) return []
  const ids = numbers(pruned.map(({ id }) => id))
  const keys = pruned.flatMap(({ key }) => (key === null ? [] : [key]))
  const adding = 'ON CONFLICT (name) DO UPDATE SET value = it.value + excluded.value'
  const addTo = (table: 'retired' | 'retired_named', of: 'sums' | 'named') =>
    inserted(table, [...sumsOf(pruned, of)], adding.replace('it.', `${table}.`))
  return [
    statement(
      "WITH done AS (DELETE FROM task WHERE id = ANY($1::bigint[]) AND state BETWEEN 3 AND 5 RETURNING 1) SELECT must_be((SELECT count(*) FROM done), $2::bigint, 'task')",
      [ids, pruned.length],
    ),
    ...owned.map(([table, column]) =>
      statement(`DELETE FROM ${table} WHERE ${column} = ANY($1::bigint[])`, [ids]),
    ),
    statement('DELETE FROM lease WHERE id = ANY($1::bigint[])', [
      numbers(pruned.flatMap(({ leases }) => leases)),
    ]),
    statement('DELETE FROM idempotency WHERE key = ANY($1::text[]) AND task = ANY($2::bigint[])', [
      arrayParameter('text', keys),
      ids,
    ]),
    ...inserted(
      'pruned',
      // Their events stand in commits before this one.
      pruned.map(({ id, hashes }) => [id, hashes, commit - 1]),
    ),
    ...addTo('retired', 'sums'),
    ...addTo('retired_named', 'named'),
    statement(
      'DELETE FROM blob WHERE sha256 = ANY($1::text[]) AND NOT EXISTS (SELECT 1 FROM event WHERE event.blob = blob.sha256)',
      [arrayParameter('text', [...new Set(pruned.flatMap(({ blobs }) => blobs))])],
    ),
    statement(
      `WITH last AS (
          SELECT number, hash FROM journal
          WHERE number < (SELECT min(number) FROM journal) + $1::bigint AND number < $2::bigint AND at < $3::bigint
          ORDER BY number DESC LIMIT 1),
        base AS (UPDATE meta SET value = last.number || ':' || encode(last.hash, 'hex') FROM last WHERE key = 'journal_base'),
        cut AS (DELETE FROM journal USING last WHERE journal.number <= last.number)
        DELETE FROM pruned USING last WHERE pruned.until <= last.number`,
      [
        CUT_COMMITS,
        commit - 1,
        Math.min(Math.max(...pruned.map(({ finishedAt }) => finishedAt)), ws.now.at - JOURNAL_KEPT_MS),
      ],
    ),
  ]
}

function numbers(values: readonly number[]): Buffer {
  return arrayParameter('bigint', values)
}
