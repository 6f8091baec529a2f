import {
  type ApprovalTerms,
  canonical,
  type EventData,
  type PendingApproval,
  type Reads,
} from '@ku0/agent-runtime-core'
import { type Instant } from '@ku0/agent-runtime-core/transition'
import type { StoredTables } from '../sqlite/stored-tables.ts'
import type { Queries } from './queries.ts'

interface PendingColumns {
  readonly task: number
  readonly explicitId: string | null
  readonly type: string
  readonly dueAt: number | null
  readonly terms: string
  readonly at: number
  readonly data: string
  readonly blob: string | null
}

/** Reads the approvals that a verdict can be given on, whole tasks at a time. Source: `docs/semantics.md 12.3`. */
export function prepareApprovals(
  db: Queries,
  tables: StoredTables,
  now: () => Instant,
): (query: Reads['approvals']['fields']) => Reads['approvals']['answer'] {
  const { load, ids } = tables
  const waiting = db
    .prepare<[number, number, number], number>(
      'SELECT DISTINCT task FROM wait WHERE kind = 2 AND task > ? AND task <= ? ORDER BY task LIMIT ? + 0',
    )
    .pluck()
  const below = db
    .prepare<[number, number, number], number>(
      `WITH RECURSIVE family (id) AS (SELECT ? UNION ALL SELECT task.id FROM family JOIN task ON task.parent = family.id)
       SELECT DISTINCT wait.task FROM family JOIN wait ON wait.task = family.id
       WHERE wait.kind = 2 AND wait.task > ? ORDER BY wait.task LIMIT ? + 0`,
    )
    .pluck()
  // Nobody is asked where a spot check let it through, and the task has yet to hear that. An answer that the task has not taken yet
  // stands among its signals.
  const pending = db.prepare<[number, number], PendingColumns>(
    `SELECT wait.task, task.explicit_id AS "explicitId", stream.type, wait.due_at AS "dueAt", wait.terms, event.at, event.data, event.blob
     FROM wait JOIN task ON task.id = wait.task JOIN stream ON stream.id = task.stream
       JOIN event ON event.task = wait.task AND event.seq = CAST(wait.terms ->> '$.request' AS INTEGER)
     WHERE wait.task = ? AND wait.kind = 2 AND CAST(wait.terms ->> '$.asked' AS TEXT) IN ('1', 'true') AND (wait.due_at IS NULL OR wait.due_at >= ?)
       AND NOT EXISTS (SELECT 1 FROM signal WHERE signal.task = wait.task AND signal.name = wait.name)
     ORDER BY wait.position, wait.key`,
  )

  return ({ taskId, children = false, limit, after = 0 }) => {
    const only = taskId === undefined ? undefined : (load.explicit(taskId) ?? ids.taskNumber(taskId) ?? 0)
    const [from, to] = only === undefined ? [after, Number.MAX_SAFE_INTEGER] : [only - 1, only]
    const found =
      only !== undefined && children ? below.all(only, after, limit + 1) : waiting.all(from, to, limit + 1)
    const { at } = now()
    const readOf = (task: number) => pending.all(task, at).map(approvalOf)
    const tasks = found.slice(0, limit)
    db.ahead(tasks, readOf)
    const approvals = tasks.flatMap(readOf)
    const cursor = found.length > limit ? found[limit - 1] : undefined
    return { approvals, ...(cursor === undefined ? {} : { cursor }) }
  }

  function approvalOf(row: PendingColumns): PendingApproval {
    const data = row.blob === null ? row.data : tables.withBlob(row.data, row.blob, load.blob(row.blob) ?? '')
    const { key, mode, artifact } = JSON.parse(data) as EventData['approval.requested']
    const { request } = JSON.parse(row.terms) as ApprovalTerms
    return {
      taskId: row.explicitId ?? ids.task(row.task),
      type: row.type,
      key,
      request,
      mode,
      artifact: canonical(artifact),
      requestedAt: row.at,
      ...(row.dueAt === null ? {} : { dueAt: row.dueAt }),
      rejections: load.verdicts(row.task).rejections,
    }
  }
}
