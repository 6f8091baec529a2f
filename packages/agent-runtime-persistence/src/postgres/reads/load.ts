import { memoSeqs } from '@ku0/agent-runtime-core/transition'
import { listed } from '../../sqlite/columns.ts'
import { costIn } from '../../sqlite/cost-in.ts'
import { type HeadRow, headOf, prepareLoad, shortSubmission, type Load } from '../../sqlite/load.ts'
import type { Queries } from '../../views/queries.ts'

/** The statements that read a working set, but for those that PostgreSQL has to be asked in another way. */
export function prepareFarLoad(db: Queries): Load {
  const load = prepareLoad(db)
  // A key may hold what PostgreSQL reads in no JSON: then all of the event comes.
  const memoKeys = db
    .prepare<[number], readonly [data: string, seq: number]>(
      `SELECT CASE WHEN data ~ '\\\\u(0000|[dD][89a-fA-F])' THEN data ELSE '{"key":' || json_part(data, 'key')::text || '}' END, seq
       FROM event WHERE task = ? AND type IN ('step.completed', 'step.inherited') ORDER BY seq`,
    )
    .raw()
  // In an order that only the index of queued tasks has, and with the event by its key: else the planner may read all tasks, or the events of all.
  const heads = db
    .prepare<unknown[], HeadRow>(
      `SELECT ${listed('task', 'task.')}, event.submission
       FROM task CROSS JOIN LATERAL (SELECT ${shortSubmission} AS submission FROM event WHERE event.task = task.id AND event.seq = 1 OFFSET 0) AS event
       WHERE (stream, id) > (?, ?) AND stream <= ? AND state = 0 AND due_at IS NULL ORDER BY stream, id LIMIT ? + 0`,
    )
    .raw()
  const taskOfLease =
    'CROSS JOIN LATERAL (SELECT stream, tokens, account FROM task WHERE task.id = lease.task OFFSET 0) AS held WHERE lease.state = 0'
  const runningByStream = db
    .prepare<[], readonly [stream: number, running: number]>(
      `SELECT held.stream, count(*) FROM lease ${taskOfLease} GROUP BY held.stream ORDER BY held.stream`,
    )
    .raw()
  const heldByStream = db
    .prepare<[], readonly [stream: number, tokens: number, account: string | null]>(
      `SELECT held.stream, held.tokens, held.account FROM lease ${taskOfLease} ORDER BY lease.task`,
    )
    .raw()
  return {
    ...load,
    runningByStream: () => runningByStream.all(),
    heldByStream: () =>
      heldByStream.all().map(([stream, tokens, account]) => [stream, tokens, costIn(account)] as const),
    heads: (stream, after, limit) => heads.all(stream, after, stream, limit).map(headOf),
    memoKeys: (task) => {
      const steps = memoKeys
        .all(task)
        .map(([data, seq]) => [(JSON.parse(data) as { readonly key: string }).key, seq] as const)
      return memoSeqs(steps, load.rejections(task))
    },
  }
}
