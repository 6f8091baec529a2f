import { memoSeqs } from '@ku0/agent-runtime-core/transition'
import { prepareLoad, type Load } from '../sqlite/load.ts'
import type { Queries } from '../views/queries.ts'

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
  return {
    ...load,
    memoKeys: (task) => {
      const steps = memoKeys
        .all(task)
        .map(([data, seq]) => [(JSON.parse(data) as { readonly key: string }).key, seq] as const)
      return memoSeqs(steps, load.rejections(task))
    },
  }
}
