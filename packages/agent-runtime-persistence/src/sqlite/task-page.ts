import type { TaskFilter } from '@ku0/agent-runtime-core'
import { laneRank, taskStates } from '@ku0/agent-runtime-core'
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'

/** The columns that lists are filtered by. */
interface Tables {
  task: {
    id: number
    stream: number | null
    state: number
    attempt: number
    fence: number
    lease: number | null
    crashes: number
    steps: number
    seq: number
    tail: Uint8Array
    submitted_at: number
    due_at: number | null
    queued_at: number
    started_at: number | null
    finished_at: number | null
    wait_reason: string | null
    tokens: number
    explicit_id: string | null
  }
  stream: { id: number; lane_rank: number; type: string }
}

/** Builds SQL only; the store's own connection runs it. */
const builder = new Kysely<Tables>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
})

/** The query behind a page of tasks, newest first. */
export function compileTaskPage(
  filter: TaskFilter,
  limit: number,
): { sql: string; parameters: readonly unknown[] } {
  let query = builder
    .selectFrom('task')
    .select([
      'task.id',
      'task.stream',
      'task.state',
      'task.attempt',
      'task.fence',
      'task.lease',
      'task.crashes',
      'task.steps',
      'task.seq',
      'task.tail',
      'task.submitted_at',
      'task.due_at',
      'task.queued_at',
      'task.started_at',
      'task.finished_at',
      'task.wait_reason',
      'task.tokens',
      'task.explicit_id',
    ])
    .orderBy('task.id', 'desc')
    .limit(limit)
  if (filter.cursor !== undefined) query = query.where('task.id', '<', filter.cursor)
  if (filter.states !== undefined)
    query = query.where(
      'task.state',
      'in',
      filter.states.map((state) => taskStates.indexOf(state)),
    )
  const { types, lanes } = filter
  if (types !== undefined || lanes !== undefined)
    query = query.where('task.stream', 'in', (inner) => {
      let streams = inner.selectFrom('stream').select('stream.id')
      if (types !== undefined) streams = streams.where('stream.type', 'in', [...types])
      if (lanes !== undefined)
        streams = streams.where(
          'stream.lane_rank',
          'in',
          lanes.map((lane) => laneRank[lane]),
        )
      return streams
    })
  return query.compile()
}
