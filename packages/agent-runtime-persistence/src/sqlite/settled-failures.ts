import { canonical, type EventData, isVoid, type Reads, type Rejection } from '@ku0/agent-runtime-core'
import type { Statements } from './statements.ts'
import type { SqliteTables } from './tables.ts'

interface Columns {
  readonly seq: number
  readonly type: 'step.failed' | 'step.completed' | 'task.waiting' | 'task.requeued'
  readonly data: string | null
  readonly blob: string | null
}

type Failures = Reads['memos']['answer']['failures']

/**
 * The calls that failed for good in a pass which did not end of it: it was put aside, so the handler had caught the error and gone
 * on. Later passes are answered with it, until the handler is tried anew. Source: `docs/semantics.md 7.2`.
 */
export function prepareSettledFailures(
  db: Statements,
  tables: SqliteTables,
): (task: number, sentBack: readonly Pick<Rejection, 'since' | 'seq'>[]) => Failures {
  const events = db.prepare<[number], Columns>(
    `SELECT seq, type, CASE WHEN type <> 'task.waiting' THEN data END AS data, blob FROM event
     WHERE task = ? AND type IN ('step.failed', 'step.completed', 'task.waiting', 'task.requeued') ORDER BY seq`,
  )

  return (task, sentBack) => {
    const settled = new Map<string, Failures[number]>()
    const fresh = new Map<string, Failures[number]>()
    const settle = () => {
      for (const [key, failure] of fresh) settled.set(key, failure)
      fresh.clear()
    }
    for (const { seq, type, data: text, blob } of events.all(task)) {
      if (type === 'task.waiting') {
        settle()
        continue
      }
      if (isVoid(seq, sentBack)) continue
      const whole =
        blob === null ? (text ?? '{}') : tables.withBlob(text ?? '{}', blob, tables.load.blob(blob) ?? '')
      const data = JSON.parse(whole) as EventData['step.failed'] & EventData['task.requeued']
      if (type === 'task.requeued') {
        if (data.reason === 'yielded' || data.reason === 'drained') settle()
        fresh.clear()
        if (data.reason === 'retry') settled.clear()
      } else if (type === 'step.completed') {
        fresh.delete(data.key)
        settled.delete(data.key)
      } else if (data.retry === undefined)
        fresh.set(data.key, { key: data.key, seq, error: canonical(data.error) })
    }
    return [...settled.values()]
  }
}
