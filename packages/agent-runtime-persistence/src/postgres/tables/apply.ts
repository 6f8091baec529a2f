import type { WorkingSet } from '@ku0/agent-runtime-core/transition'
import { endedTokensUpTo } from '../../sqlite/access-tokens.ts'
import { changedRows, plainTables, streamRow, totalsRow } from '../../sqlite/changed-rows.ts'
import { excessEvaluations } from '../../sqlite/evaluations.ts'
import { valuesOf } from '../../sqlite/ledger.ts'
import { MAX_DELETED, outdated } from '../../sqlite/samples.ts'
import { clientsOf, leasesOf, tasksOf } from './apply-tasks.ts'
import { type Statement, statement } from '../connection/statement.ts'
import { prunedTasksOf } from './prune.ts'
import { deleted, inserted, put, type Row } from './write.ts'

/**
 * What a flush decided as statements, one or two a table, each final row once. `commit`: the number of the journal's next row, by which
 * other processes find what has changed.
 */
export function statementsOf(ws: WorkingSet, commit: number): readonly Statement[] {
  return [
    ...put(
      'stream',
      ['id'],
      Array.from(ws.streams.changed.values(), (it) => streamRow(it, commit)),
    ),
    ...clientsOf(ws, commit),
    ...tasksOf(ws),
    ...leasesOf(ws),
    ...inserted(
      'event',
      ws.events.map((it) => [it.task, it.seq, it.type, it.at, it.data, it.blob, it.hash]),
    ),
    ...inserted('blob', [...ws.blobs.changed], 'ON CONFLICT DO NOTHING'),
    ...plainOf(ws),
    ...deleted('evaluation', ['agent', 'seq'], excessEvaluations(ws), '<='),
    ...ledgerOf(ws),
    ...outdatedOf(ws),
    ...prunedOf(ws, commit),
    ...prunedTasksOf(ws, commit),
    ...(ws.totals === ws.base.totals ? [] : put('totals', ['id'], [[1, ...totalsRow(ws)]])),
  ]
}

function plainOf(ws: WorkingSet): Statement[] {
  return changedRows(ws).flatMap(({ table, rows, gone }) => {
    const { key, isFixed } = plainTables[table]
    return [...deleted(table, key, gone), ...(isFixed ? inserted(table, rows) : put(table, key, rows))]
  })
}

/** As `prepareLedgerApply` does in a file. */
function ledgerOf({ ledger, closedLedgers, folds }: WorkingSet): Statement[] {
  const closed = Array.from(closedLedgers, (name): Row => [name])
  const folded = Array.from(folds.values(), (it) => it.folded)
  const openings = Array.from(folds.values(), (it) => it.opening)
  return [
    ...deleted('ledger', ['client'], closed),
    ...deleted('folded', ['client'], closed),
    ...deleted(
      'ledger',
      ['client', 'seq'],
      folded.map(({ client, entries }) => [client, entries]),
      '<=',
    ),
    ...put(
      'folded',
      ['client'],
      folded.map(({ client, entries, hash }) => [client, entries, hash]),
    ),
    ...inserted('ledger', [...openings, ...ledger].map(valuesOf)),
  ]
}

/** Samples and tokens that are too old. */
function outdatedOf(ws: WorkingSet): Statement[] {
  const upTo = endedTokensUpTo(ws)
  return [
    ...outdated(ws.samples).map(([stepMs, before]) =>
      statement(
        'DELETE FROM sample WHERE (step_ms, type, at, lane_rank) IN (SELECT step_ms, type, at, lane_rank FROM sample WHERE step_ms = $1::bigint AND at <= $2::bigint ORDER BY at LIMIT $3::bigint)',
        [stepMs, before, MAX_DELETED],
      ),
    ),
    ...(upTo === undefined
      ? []
      : [
          statement('DELETE FROM access_token WHERE revoked_at <= $1::bigint OR expires_at <= $1::bigint', [
            upTo,
          ]),
        ]),
  ]
}

/** Rejected records are bounded: the oldest go when there are more than `maxRejectedKept`. */
function prunedOf(ws: WorkingSet, commit: number): Statement[] {
  const { rejected, rejectedPruned } = ws.totals
  const excess = Math.min(rejected - rejectedPruned - ws.config.maxRejectedKept, 1000)
  if (excess <= 0) return []
  ws.count('rejectedPruned', excess)
  const oldest = '(SELECT id FROM task WHERE state = 6 ORDER BY id LIMIT $1::bigint)'
  return [
    // The journal is checked by it once its event is no more.
    statement(
      `INSERT INTO pruned SELECT task, hash, $2::bigint FROM event WHERE task IN ${oldest} AND seq = 1`,
      [excess, commit],
    ),
    statement(`DELETE FROM event WHERE task IN ${oldest}`, [excess]),
    statement(
      `WITH done AS (DELETE FROM task WHERE id IN ${oldest} RETURNING 1) SELECT must_be((SELECT count(*) FROM done), $1::bigint, 'task')`,
      [excess],
    ),
  ]
}
