import { lineKey } from '../../sqlite/line-key.ts'
import { type Statement, statement } from '../connection/statement.ts'
import { arrayParameter } from '../connection/parameters.ts'

/** These processes live. `isSeen`: others see it, too, and take one back that they took for dead. */
export function livingProcesses(ids: readonly number[], at: number, isSeen: boolean): Statement {
  const set = `last_seen_at = $2::bigint${isSeen ? ', ended_at = NULL' : ''}`
  return statement(`UPDATE process SET ${set} WHERE id = ANY($1::bigint[])`, [
    arrayParameter('bigint', ids),
    at,
  ])
}

interface Renewal {
  readonly at: number
  readonly leaseAt: number
  /** A later program may have changed it, so that this process is to stop. */
  readonly schema: number
}

/** A process and its workers live, if they are registered: that is the first and the second of these, and the last is the commit. */
export function renewedIdle(
  process: number,
  workers: readonly number[],
  { at, leaseAt, schema }: Renewal,
): readonly Statement[] {
  return [
    statement(
      'UPDATE process SET last_seen_at = $2::bigint WHERE id = $1::bigint AND ended_at IS NULL AND EXISTS (SELECT FROM head WHERE schema = $3::bigint)',
      [process, at, schema],
    ),
    statement('UPDATE worker SET last_seen_at = $2::bigint WHERE id = ANY($1::bigint[]) AND registered = 1', [
      arrayParameter('bigint', workers),
      leaseAt,
    ]),
    statement('COMMIT'),
  ]
}

/** These processes, and their workers, are registered no more. */
export function endedProcesses(ids: readonly number[], at: number): readonly Statement[] {
  const list = arrayParameter('bigint', ids)
  return [
    statement('UPDATE process SET ended_at = $2::bigint WHERE id = ANY($1::bigint[])', [list, at]),
    statement('UPDATE worker SET registered = 0 WHERE registered = 1 AND process = ANY($1::bigint[])', [
      list,
    ]),
  ]
}

/** What is kept of a line. */
export function keptLine(line: string, record: string): Statement {
  return statement(
    'INSERT INTO meta VALUES ($1::text, $2::text) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
    [lineKey(line), record],
  )
}

/** The lines are forgotten that were last written before a moment. */
export function droppedLines(before: number): Statement {
  return statement(
    "DELETE FROM meta WHERE key LIKE 'line:%' AND (value::jsonb ->> 'at')::bigint < $1::bigint",
    [before],
  )
}
