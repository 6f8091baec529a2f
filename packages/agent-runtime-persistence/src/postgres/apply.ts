import { canonical } from '@ku0/agent-runtime-core'
import { storedLog, workerFlags, type WorkingSet } from '@ku0/agent-runtime-core/transition'
import { clientsOf, leasesOf, streamsOf, tasksOf } from './apply-tasks.ts'
import { childrenOf, signalsOf, waitsOf } from './apply-waits.ts'
import { evaluationsOf, ledgerOf, workOf } from './apply-work.ts'
import type { Statement } from './batch.ts'
import { accessTokenRow, endedTokensUpTo } from '../sqlite/access-tokens.ts'
import { MAX_DELETED, outdated, sampleRow } from '../sqlite/samples.ts'
import { prunedTasksOf } from './prune.ts'
import { deleted, inserted, put, type Row, statement } from './write.ts'

/**
 * What a flush decided as statements, one or two a table, each final row once. `commit`: the number of the journal's next row, by which
 * other processes find what has changed.
 */
export function statementsOf(ws: WorkingSet, commit: number): readonly Statement[] {
  return [
    ...streamsOf(ws, commit),
    ...clientsOf(ws, commit),
    ...tasksOf(ws),
    ...leasesOf(ws),
    ...inserted(
      'event',
      ws.events.map((it) => [it.task, it.seq, it.type, it.at, it.data, it.blob, it.hash]),
    ),
    ...inserted('blob', [...ws.blobs.changed], 'ON CONFLICT DO NOTHING'),
    ...inserted(
      'idempotency',
      Array.from(ws.keys.changed.values(), (it) => [it.key, it.task, it.payloadHash]),
    ),
    ...put(
      'checkpoint',
      ['task'],
      Array.from(ws.checkpoints.values(), (it) => [it.task, it.seq, it.data, it.at]),
    ),
    ...inserted(
      'output',
      ws.outputs.map((it) => [it.task, it.seq, it.attempt, it.at, it.data, it.round]),
    ),
    ...schedulesOf(ws),
    ...budgetsOf(ws),
    ...put(
      'pipeline',
      ['task'],
      Array.from(ws.pipelines.changed.values(), ({ task, terms, log }) => [
        task,
        canonical(terms),
        canonical(storedLog(log)),
      ]),
    ),
    ...waitsOf(ws),
    ...signalsOf(ws),
    ...childrenOf(ws),
    ...workOf(ws),
    ...put(
      'quota',
      ['key'],
      Array.from(ws.quotas.changed.values(), (it) => [
        it.key,
        it.queued,
        it.running,
        it.windowStart,
        it.windowCount,
        it.windowTokens,
        it.blockedUntil,
      ]),
    ),
    ...put(
      'worker',
      ['id'],
      Array.from(ws.workers.changed.values(), (it) => [
        it.id,
        it.workerId,
        it.process,
        it.capacity,
        workerFlags(it),
        JSON.stringify(it.types),
        it.lastSeenAt,
        Number(it.registered),
        it.settings === undefined ? null : JSON.stringify(it.settings),
      ]),
    ),
    ...evaluationsOf(ws),
    ...ledgerOf(ws),
    ...samplesOf(ws),
    ...accessTokensOf(ws),
    ...prunedOf(ws, commit),
    ...prunedTasksOf(ws, commit),
    ...totalsOf(ws),
  ]
}

function schedulesOf({ schedules }: WorkingSet): Statement[] {
  const rows: Row[] = []
  const gone: Row[] = []
  for (const [name, row] of schedules.changed)
    if (row === undefined) gone.push([name])
    else
      rows.push([
        name,
        canonical(row.definition),
        Number(row.paused),
        row.createdAt,
        row.changedAt,
        row.nextAt,
        row.lastAt,
        row.lastDueAt,
        row.lastTask,
        row.runs,
        row.rejected,
        row.missed,
        row.skipped,
      ])
  return [...deleted('schedule', ['name'], gone), ...put('schedule', ['name'], rows)]
}

function budgetsOf({ budgets }: WorkingSet): Statement[] {
  const rows = Array.from(budgets.changed.values(), (it) => [
    it.task,
    it.above,
    JSON.stringify(it.limits),
    JSON.stringify(it.soft),
    JSON.stringify(it.used),
    JSON.stringify(it.own),
    it.startedAt,
    it.dueAt,
    it.asked === null ? null : JSON.stringify(it.asked),
    it.asks,
  ])
  return put('budget', ['task'], rows)
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

function samplesOf({ samples }: WorkingSet): Statement[] {
  // Of the same step, type and lane the last one counts.
  const rows = new Map(samples.map((it) => [`${it.stepMs} ${it.at} ${it.lane} ${it.type}`, sampleRow(it)]))
  return [
    ...put('sample', ['step_ms', 'type', 'at', 'lane_rank'], [...rows.values()]),
    ...outdated(samples).map(([stepMs, upTo]) =>
      statement(
        'DELETE FROM sample WHERE (step_ms, type, at, lane_rank) IN (SELECT step_ms, type, at, lane_rank FROM sample WHERE step_ms = $1::bigint AND at <= $2::bigint ORDER BY at LIMIT $3::bigint)',
        [stepMs, upTo, MAX_DELETED],
      ),
    ),
  ]
}

function accessTokensOf(ws: WorkingSet): Statement[] {
  const upTo = endedTokensUpTo(ws)
  return [
    ...put('access_token', ['name'], Array.from(ws.accessTokens.changed.values(), accessTokenRow)),
    ...(upTo === undefined
      ? []
      : [
          statement('DELETE FROM access_token WHERE revoked_at <= $1::bigint OR expires_at <= $1::bigint', [
            upTo,
          ]),
        ]),
  ]
}

function totalsOf({ totals, base }: WorkingSet): Statement[] {
  if (totals === base.totals) return []
  const t = totals
  return put(
    'totals',
    ['id'],
    [
      [
        1,
        t.submitted,
        t.rejected,
        t.rejectedPruned,
        t.completed,
        t.failed,
        t.canceled,
        t.requeued,
        t.expired,
        t.preempted,
        t.running,
        t.waiting,
      ],
    ],
  )
}
